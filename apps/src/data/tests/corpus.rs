//! Files of counts: read, put in order, and refused with their line.

use std::sync::Mutex;

use super::*;
use crate::data::corpus::{Collection, CorpusFormat, CorpusOptions, HeldOut, Known, Vocabulary};
use crate::data::corpus::{read_corpus, read_documents};

/// Everything is for training.
fn whole() -> CorpusOptions {
    CorpusOptions { held_out: HeldOut::None, ..CorpusOptions::default() }
}

fn read(bytes: impl AsRef<[u8]>) -> Collection {
    read_corpus(&file(bytes).path, &whole(), &quiet).unwrap()
}

fn refused(bytes: impl AsRef<[u8]>, options: &CorpusOptions) -> String {
    let kept = file(bytes);
    message(read_corpus(&kept.path, options, &quiet), &kept.path)
}

fn warnings(result: impl FnOnce(&(dyn Fn(News) + Sync))) -> Vec<String> {
    let heard = Mutex::new(Vec::new());
    result(&|news| {
        if let News::Warning(warning) = news {
            heard.lock().unwrap().push(warning);
        }
    });
    heard.into_inner().unwrap()
}

/// Document 0: word 1 twice, word 3 once; document 1: nothing; document 2: word 0 five times.
fn expected() -> (Vec<usize>, Vec<u32>, Vec<u32>) {
    (vec![0, 2, 3], vec![1, 3, 0], vec![2, 1, 5])
}

#[test]
fn each_format_gives_the_same_documents() {
    let cases: [(&str, CorpusFormat); 9] = [
        ("3\n4\n3\n1 2 2\n1 4 1\n3 1 5\n", CorpusFormat::Docword),
        ("3\r\n4\r\n3\r\n1 2 2\r\n1 4 1\r\n3 1 5\r\n", CorpusFormat::Docword),
        ("\u{FEFF}3\n4\n3\n1\t2  2 \n1 4 1\n\n3 1 5.0", CorpusFormat::Docword),
        (
            "%%MatrixMarket matrix coordinate integer general\n% by hand\n3 4 3\n1 2 2\n1 4 1\n3 1 5\n",
            CorpusFormat::MatrixMarket,
        ),
        ("2 1:2 3:1\n0\n1 0:5\n", CorpusFormat::LdaC),
        ("2 1:2 3:1\r\n\r\n1 0:5\r\n", CorpusFormat::LdaC),
        ("7 2:2 4:1\n\n-1 1:5 # three\n", CorpusFormat::Libsvm),
        ("# by hand\nsport qid:1 2:2 4:1\n1,2\n 1:5.0\n", CorpusFormat::Libsvm),
        ("+1 2:2 4:1 3:0\n+1\n+1 1:5\n", CorpusFormat::Libsvm),
    ];
    for (text, format) in cases {
        for bytes in [text.as_bytes().to_vec(), gzip(text.as_bytes()), zstd(text.as_bytes())] {
            let all = read(bytes);
            let Corpus { starts, words, counts, n_words } = all.train.corpus;
            assert_eq!((starts, words, counts), expected(), "{text}");
            assert_eq!((n_words, all.train.numbers), (4, vec![0, 2]), "{text}");
            assert_eq!((all.facts.format, all.facts.documents, all.facts.empty), (format, 3, 1), "{text}");
        }
    }
}

#[test]
fn what_is_repeated_or_out_of_order_is_put_right_and_told() {
    let all = read("4\n5\n7\n2 3 1\n2 1 2\n1 5 1\n2 3 4\n4 1 1\n1 5 1\n4 2 0\n");
    assert_eq!(all.train.corpus.starts, [0, 1, 3, 4]);
    assert_eq!(
        (&all.train.corpus.words[..], &all.train.corpus.counts[..]),
        (&[4, 0, 2, 0][..], &[2, 2, 5, 1][..])
    );
    assert_eq!(
        all.facts.to_string(),
        "docword, 4 documents, 5 words, 10 tokens, 1 empty document, 2 repeated words joined, 1 document put in \
         order, 1 count of 0 dropped"
    );
    let all = read("3 5:1 2:1 5:3\n1 2:1\n");
    assert_eq!((&all.train.corpus.words[..], &all.train.corpus.counts[..]), (&[2, 5, 2][..], &[1, 4, 1][..]));
    assert_eq!(all.facts.joined, 1);
}

#[test]
fn a_header_that_is_wrong_is_refused() {
    let cases = [
        (
            "1\n4\n2\n1 2 2\n2 4 1\n",
            ":5: document 2, but the header says that there are 1; correct the header or fetch \
          the file again",
        ),
        (
            "2\n3\n2\n1 2 2\n2 4 1\n",
            ":5: word 4, but the header says that there are 3 words; correct the header or fetch \
          the file again",
        ),
        (
            "2\n4\n3\n1 2 2\n2 4 1\n",
            ": 2 entries, but the header promises 3; the file is cut short or the header is \
          wrong: fetch the file again, or write 2 there if it is whole",
        ),
        (
            "2\n4\n1\n1 2 2\n2 4 1\n",
            ": 2 entries, but the header promises 1; the header is wrong: fetch the file again, \
          or write 2 there if it is whole",
        ),
        (
            "5000000000\n4\n0\n",
            ": 5000000000 documents and 4 words by the header, at most 4294967295 are possible",
        ),
        ("4000000000\n4\n1\n1 1 1\n", ": 4000000000 documents of 1 entries by the header; correct it"),
        (
            "2\n4000000000\n1\n1 1 1\n",
            ": word 4000000000 in a file of 1 entries: a model of so many words would not fit \
          in memory; number the words that occur from the start",
        ),
        (
            "1 2 2\n2 4 1\n2 5 2\n",
            ": lines of three numbers as in docword, but without its header; put three lines \
          before them: the numbers of documents, words and entries",
        ),
        ("2\n4\n1\n1 2\n", ":4: a number is missing; the line may be cut short"),
        (
            "2\n4\n1\n1 2 2 7\n",
            ":4: 7 is left over at the end of the line, expected document, word and count",
        ),
        ("2\n4\n1\n0 2 2\n", ":4: document 0, but documents count from 1"),
        ("2\n4\n1\n1 0 2\n", ":4: word 0, but words count from 1"),
        ("2\n4\n1\n1 -2 2\n", ":4: -2 is not a word, expected a whole number up to 4294967295"),
        ("2\n4\n0\n", ": no document with a word in it is left to train on"),
    ];
    for (text, problem) in cases {
        let said = refused(text, &whole());
        let problem = problem.replace("a number is missing", "the count: a number is missing");
        assert_eq!(said, problem);
    }
}

#[test]
fn counts_that_are_none_are_refused() {
    let cases = [
        ("-1", "the count -1 is negative, expected a whole number"),
        (
            "0.5",
            "the count 0.5 is no whole number; topic models take counts of words, not weights such as tf-idf",
        ),
        ("4294967296", "the count 4294967296 is too large, at most 4294967295 is possible"),
        ("1e20", "the count 1e20 is too large, at most 4294967295 is possible"),
        ("x", "the count: x is not a number"),
        ("nan", "the count: nan is not a finite number; drop the line or put a number in its place"),
        ("", "the count: a number is missing; the line may be cut short"),
    ];
    for (count, problem) in cases {
        let docword = CorpusOptions { format: Some(CorpusFormat::Docword), ..whole() };
        assert_eq!(refused(format!("1\n4\n1\n1 2 {count}\n"), &docword), format!(":4: {problem}"));
        let libsvm = CorpusOptions { format: Some(CorpusFormat::Libsvm), ..whole() };
        assert_eq!(refused(format!("1 1:1\n1 2:{count}\n"), &libsvm), format!(":2: word 2: {problem}"));
    }
    let sum = refused("2 1:4294967295 1:1\n", &whole());
    assert_eq!(sum, ": the counts of word 1 in document 1 add up to more than 4294967295");
}

#[test]
fn lines_of_pairs_that_are_wrong_are_refused() {
    let ldac = CorpusOptions { format: Some(CorpusFormat::LdaC), ..whole() };
    let libsvm = CorpusOptions { format: Some(CorpusFormat::Libsvm), ..whole() };
    let cases = [
        (
            "2 1:1\n",
            &ldac,
            ":1: 2 pairs word:count are promised, there are 1; the line may be cut short, or the file is \
          libsvm (--format libsvm)",
        ),
        ("1 1:1\nx 1:1\n", &ldac, ":2: x is not a number of pairs, expected a whole number up to 4294967295"),
        ("1 x:1\n", &ldac, ":1: x:1 is no pair word:count of whole numbers"),
        ("1 3\n", &ldac, ":1: 3 is no pair word:count of whole numbers"),
        ("1 4294967296:1\n", &ldac, ":1: 4294967296:1 is no pair word:count of whole numbers"),
        (
            "1 0:1\n",
            &libsvm,
            ":1: word 0, but words count from 1 in libsvm text; add 1 to all of them, or give --format \
          ldac if each line starts with its number of pairs",
        ),
        ("1 3:1 a\n", &libsvm, ":1: a is no pair word:count of whole numbers"),
    ];
    for (text, options, problem) in cases {
        assert_eq!(refused(text, options), problem);
    }
}

#[test]
fn pairs_are_told_apart_by_their_numbers() {
    // Most first numbers are those of the pairs: LDA-C, and the line that is not so is wrong.
    let said = refused("1 0:1\n2 0:1 1:1\n3 0:1 1:1\n", &whole());
    assert!(said.starts_with(":3: 3 pairs word:count are promised, there are 2"), "{said}");
    assert_eq!(read("1 3:1 4:1\n2 1:1\n1 2:1\n").facts.format, CorpusFormat::Libsvm);
    let told = CorpusOptions { format: Some(CorpusFormat::Libsvm), ..whole() };
    let all = read_corpus(&file("1 3:1\n").path, &told, &quiet).unwrap();
    assert_eq!((all.facts.format, &all.train.corpus.words[..]), (CorpusFormat::Libsvm, &[2][..]));
}

#[test]
fn a_vocabulary_has_a_word_a_line_with_blanks_and_all() {
    let kept = file("\u{FEFF}new york\r\n the\r\n\r\nnaïve\t12\r\n\r\n");
    let words = Vocabulary::read(&kept.path, &quiet).unwrap();
    assert_eq!(words.iter().collect::<Vec<_>>(), ["new york", " the", "", "naïve"]);
    assert_eq!((words.row("naïve"), words.row("york"), words.word(0)), (Some(3), None, "new york"));
    words.write(&kept.path).unwrap();
    assert_eq!(Vocabulary::read(&kept.path, &quiet).unwrap(), words);
    let latin = file(b"a\n\xE9\n");
    let said = message(Vocabulary::read(&latin.path, &quiet), &latin.path);
    assert_eq!(said, ":2: not UTF-8 text; convert the file with iconv -t UTF-8");
    let empty = file("\n\n");
    let said = message(Vocabulary::read(&empty.path, &quiet), &empty.path);
    assert_eq!(said, ": no words in the file, expected a word a line");
}

#[test]
fn repeated_words_of_a_vocabulary_are_told_and_stay() {
    let kept = file("a\nb\na\na\n");
    let heard = warnings(|tell| assert_eq!(Vocabulary::read(&kept.path, tell).unwrap().row("a"), Some(0)));
    let said = heard[0].strip_prefix(kept.path.to_str().unwrap()).unwrap();
    assert_eq!(said, ": 2 lines repeat a word, such as \"a\" in lines 1 and 3; each stays a word of its own");
}

#[test]
fn numbers_beyond_the_vocabulary_are_refused() {
    let vocabulary = file("a\nb\nc\n");
    let options = CorpusOptions { vocabulary: Some(vocabulary.path.clone()), ..whole() };
    let problem = "is beyond the 3 words of the vocabulary; is it that of another corpus?";
    assert_eq!(refused("1 1:1\n1 3:1\n", &options), format!(":2: word 3 {problem}"));
    assert_eq!(refused("1\n4\n1\n1 4 1\n", &options), format!(":4: word 4 {problem}"));
    assert_eq!(refused("+1 4:1\n", &options), format!(":1: word 4 {problem}"));
    let kept = file("1\n9\n1\n1 3 1\n");
    let heard = warnings(|tell| {
        let all = read_corpus(&kept.path, &options, tell).unwrap();
        assert_eq!((all.train.corpus.n_words, all.vocabulary.unwrap().word(2)), (3, "c"));
    });
    let said = heard[0].strip_prefix(kept.path.to_str().unwrap()).unwrap();
    assert_eq!(said, ": 9 words by the header, 3 in the vocabulary; check that they belong together");
}

#[test]
fn new_documents_meet_the_known_words_by_word_or_by_number() {
    let words: Vocabulary = ["dog", "cat", "ox"].into_iter().collect();
    let known = Known { n_words: 3, vocabulary: Some(&words) };
    let kept = file("3 0:1 1:2 2:1\n0\n1 2:4\n");
    let own = file("cat\nbird\ndog\n");
    let by_word = CorpusOptions { vocabulary: Some(own.path.clone()), ..CorpusOptions::default() };
    let new = read_documents(&kept.path, &known, &by_word, &quiet).unwrap();
    assert_eq!(new.corpus.starts, [0, 2, 2, 3]);
    assert_eq!((new.corpus.words, new.corpus.counts, new.corpus.n_words), (vec![0, 1, 0], vec![1, 1, 4], 3));
    assert_eq!((new.facts.unknown_words, new.facts.unknown_tokens), (1, 2));
    assert!(new.facts.to_string().ends_with("2 tokens (25.00 %) of 1 unknown word dropped"), "{}", new.facts);
    let by_number =
        read_documents(&file("2 0:1 7:2\n").path, &known, &CorpusOptions::default(), &quiet).unwrap();
    assert_eq!((by_number.corpus.words, by_number.facts.unknown_tokens), (vec![0], 2));
    let text =
        read_documents(&file("A cat and an owl\n").path, &known, &CorpusOptions::default(), &quiet).unwrap();
    assert_eq!((text.corpus.words, text.facts.unknown_words, text.facts.stop_words), (vec![1], 1, 2));
    let numbers = Known { n_words: 3, vocabulary: None };
    let kept = file("A cat\n");
    let said = message(read_documents(&kept.path, &numbers, &CorpusOptions::default(), &quiet), &kept.path);
    assert!(said.starts_with(": text, but the model was trained on numbers without words"), "{said}");
}

#[test]
fn the_result_does_not_depend_on_the_threads() {
    let mut lines = String::from("4000\n500\n40000\n");
    for entry in 0..40_000_u32 {
        let (doc, word) = (entry / 10 + entry % 7 / 6, entry * 31 % 500);
        lines.push_str(&format!("{} {} {}\n", doc.min(3999) + 1, word + 1, entry % 3));
    }
    lines.push_str(&" \n".repeat(1 << 20)); // into further chunks
    let kept = file(lines);
    let one = read_corpus(&kept.path, &CorpusOptions { threads: 1, ..whole() }, &quiet).unwrap();
    let four = read_corpus(&kept.path, &CorpusOptions { threads: 4, ..whole() }, &quiet).unwrap();
    assert_eq!((one.train, one.facts), (four.train, four.facts));
}
