//! The shipped sets, and the larger sets in the folder that `SLACKLINE_DATA` names: sizes as their tables tell them.

use super::*;
use crate::data::corpus::CorpusOptions;

/// Rows, columns, values.
type Size = (usize, usize, usize);

fn check(path: &Path, (rows, columns, non_zeros): Size) {
    let options = ReadOptions { n_columns: Some(columns), ..ReadOptions::default() };
    let samples = read_samples(path, &options, &quiet).unwrap();
    // The tables count values that are written, and some files write a zero here and there.
    let written = samples.features.nnz() + samples.facts.zeros as usize;
    let size = (samples.features.rows(), samples.features.cols(), written);
    assert_eq!(size, (rows, columns, non_zeros), "{}", path.display());
    assert_eq!(samples.facts.index_base, IndexBase::One);
    assert_eq!(samples.facts.duplicates, 0, "{}", path.display());
}

#[test]
fn the_shipped_samples_have_their_sizes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    check(&folder.join("diabetes.svm"), (442, 10, 4_420));
    check(&folder.join("a9a.train.svm.zst"), (32_561, 123, 451_592));
    check(&folder.join("a9a.test.svm.zst"), (16_281, 123, 225_732));
    check(&folder.join("mushrooms.train.svm.zst"), (6_513, 126, 143_286));
    check(&folder.join("mushrooms.test.svm.zst"), (1_611, 126, 35_442));
}

#[test]
fn the_shared_samples_have_their_sizes() {
    let Some(folder) = std::env::var_os("SLACKLINE_DATA").map(PathBuf::from) else { return };
    let cases: [(&str, Size); 23] = [
        ("debsize.train.svm.zst", (57_034, 54_782, 3_816_296)),
        ("debsize.test.svm.zst", (6_280, 54_782, 410_813)),
        ("prostate.train.svm", (67, 8, 536)),
        ("20news-tfidf.train.svm.zst", (11_269, 61_188, 1_467_345)),
        ("20news-tfidf.test.svm.zst", (7_505, 61_188, 967_874)),
        ("sector.train.svm.zst", (6_412, 55_197, 1_045_412)),
        ("sector.test.svm.zst", (3_207, 55_197, 524_492)),
        ("w8a.svm.zst", (49_749, 300, 579_586)),
        ("ijcnn1.train.svm.zst", (49_990, 22, 649_870)),
        ("ijcnn1.test.svm.zst", (91_701, 22, 1_192_113)),
        ("heart_scale.svm", (270, 13, 3_378)),
        ("leukemia.train.svm.zst", (38, 7_129, 270_879)),
        ("colon.svm.zst", (62, 2_000, 124_000)),
        ("prostate-ge.svm.zst", (102, 12_600, 1_285_071)),
        ("arcene.svm.zst", (200, 10_000, 1_087_539)),
        ("madelon.svm.zst", (2_600, 500, 1_299_999)),
        ("letter.train.svm.zst", (15_000, 16, 240_000)),
        ("letter.test.svm.zst", (5_000, 16, 80_000)),
        ("pendigits.train.svm.zst", (7_494, 16, 104_535)),
        ("usps.train.svm.zst", (7_291, 256, 1_866_151)),
        ("usps.test.svm.zst", (2_007, 256, 513_650)),
        ("isolet.svm.zst", (1_560, 617, 959_173)),
        ("digits.svm.zst", (1_797, 64, 58_736)),
    ];
    for (name, size) in cases {
        check(&folder.join("svm").join(name), size);
    }
}

#[test]
fn the_shared_ratings_have_their_sizes() {
    let Some(folder) = std::env::var_os("SLACKLINE_DATA").map(PathBuf::from) else { return };
    let cases = [
        ("jester1", 24_983, 1_629_409, 181_046),
        ("epinions", 18_564, 685_615, 76_180),
        ("douban", 2_999, 123_202, 13_689),
        ("flixster", 2_307, 23_556, 2_617),
        ("ml-latest-small", 610, 90_752, 10_084),
    ];
    for (name, users, n_train, n_test) in cases {
        let folder = folder.join("ratings").join(name);
        let train = read_ratings(&folder.join("train.tsv.zst"), &quiet).unwrap();
        assert_eq!((train.user_ids.len(), train.values.len()), (users, n_train), "{name}");
        assert_eq!(train.facts.repeated, 0, "{name}");
        let path = folder.join("test.tsv.zst");
        let test = read_ratings_with(&path, &train.user_ids, &train.item_ids, &quiet).unwrap();
        assert_eq!((test.values.len(), test.facts.repeated), (n_test, 0), "{name}");
    }
}

#[test]
fn the_shared_documents_have_their_sizes() {
    let Some(folder) = std::env::var_os("SLACKLINE_DATA").map(PathBuf::from) else { return };
    // Words, then documents and tokens to train on and held out, by SciPy.
    let cases = [
        ("ap/docword.txt.zst", 10_473, (2_021, 391_189), (225, 44_649)),
        ("20news/docword.train.txt.zst", 61_188, (11_269, 2_765_300), (7_505, 1_796_919)),
        ("20news-clean/docword.train.txt.zst", 12_515, (11_268, 1_172_299), (7_500, 738_274)),
        ("debdesc/docword.txt.zst", 11_327, (54_602, 1_869_721), (6_067, 206_993)),
        ("techdocs/docword.txt.zst", 11_251, (62_038, 10_425_343), (6_893, 1_245_840)),
        ("reuters395/reuters.ldac", 4_258, (356, 75_121), (39, 8_889)),
    ];
    for (name, words, train, held_out) in cases {
        let path = folder.join("topics").join(name);
        let all = crate::data::corpus::read_corpus(&path, &CorpusOptions::default(), &quiet).unwrap();
        let size = |corpus: &Corpus| (corpus.n_docs(), corpus.n_tokens());
        assert_eq!(all.train.corpus.n_words, words, "{name}");
        assert_eq!((size(&all.train.corpus), size(&all.held_out.corpus)), (train, held_out), "{name}");
    }
}
