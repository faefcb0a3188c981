//! Plain text, and which documents are held out.

use super::*;
use crate::data::corpus::read_corpus;
use crate::data::corpus::{Collection, CorpusOptions, DocumentFrequency, HeldOut, StopWords, TextOptions};

const CATS: &str = "The cat sat on the mat.\nA dog, a cat!\n\nDogs and cats; CATS\n";

fn options(text: TextOptions) -> CorpusOptions {
    CorpusOptions { text, held_out: HeldOut::None, ..CorpusOptions::default() }
}

fn words(all: &Collection) -> Vec<&str> {
    all.vocabulary.as_ref().unwrap().iter().collect()
}

#[test]
fn a_line_is_a_document_and_words_are_sorted() {
    let all = read_corpus(&file(CATS).path, &options(TextOptions::default()), &quiet).unwrap();
    assert_eq!(words(&all), ["cat", "cats", "dog", "dogs", "mat", "sat"]);
    let corpus = &all.train.corpus;
    assert_eq!((corpus.n_words, &all.train.numbers[..]), (6, &[0, 1, 3][..]));
    assert_eq!(corpus.doc(0), (&[0, 4, 5][..], &[1, 1, 1][..]));
    assert_eq!(corpus.doc(2), (&[1, 3][..], &[2, 1][..]));
    assert_eq!(
        all.facts.to_string(),
        "text, 4 documents, 6 words, 8 tokens, 1 empty document, 4 tokens of stop words dropped"
    );
}

#[test]
fn words_are_chosen_by_stop_words_and_by_their_documents() {
    let stop = file("CAT mat\nsat\n");
    let own = TextOptions { stop_words: Some(StopWords::File(stop.path.clone())), ..TextOptions::default() };
    let all = read_corpus(&file(CATS).path, &options(own), &quiet).unwrap();
    assert_eq!(words(&all), ["and", "cats", "dog", "dogs", "on", "the"]);
    let none = TextOptions {
        stop_words: Some(StopWords::None),
        min_df: Some(DocumentFrequency::Count(2)),
        max_df: None,
    };
    let all = read_corpus(&file(CATS).path, &options(none.clone()), &quiet).unwrap();
    assert_eq!((words(&all), all.facts.rare), (vec!["cat"], 8));
    let share = TextOptions { min_df: None, max_df: Some(DocumentFrequency::Share(0.25)), ..none };
    let all = read_corpus(&file(CATS).path, &options(share), &quiet).unwrap();
    assert_eq!(words(&all), ["and", "cats", "dog", "dogs", "mat", "on", "sat", "the"]);
    assert_eq!(all.facts.frequent, 1);
    let most = TextOptions { min_df: Some(DocumentFrequency::Count(3)), ..TextOptions::default() };
    let kept = file(CATS);
    let said = message(read_corpus(&kept.path, &options(most), &quiet), &kept.path);
    assert!(said.starts_with(": no words are left"), "{said}");
}

#[test]
fn a_directory_has_a_document_in_each_file() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(directory.path().join(name), bytes).unwrap();
    std::fs::create_dir(directory.path().join("b")).unwrap();
    write("c.txt", b"ox ox\n\nowl\n");
    write("b/2.txt", b"owl\r\nape");
    write("b/1.txt.gz", &gzip(b"ape"));
    write("a", b"");
    write(".hidden", b"secret");
    let read = || read_corpus(directory.path(), &options(TextOptions::default()), &quiet);
    let all = read().unwrap();
    assert_eq!(words(&all), ["ape", "owl", "ox"]);
    assert_eq!((all.train.numbers, all.facts.empty), (vec![1, 2, 3], 1));
    assert_eq!((all.train.corpus.words, all.train.corpus.counts), (vec![0, 0, 1, 1, 2], vec![1, 1, 1, 1, 2]));
    write("b/2.txt", b"fine\n\xE9\n");
    let said = message(read(), directory.path());
    assert_eq!(said, "/b/2.txt:2: not UTF-8 text; convert the file with iconv -t UTF-8");
}

#[test]
fn options_that_do_not_go_with_the_format_are_refused() {
    let rare = TextOptions { min_df: Some(DocumentFrequency::Count(2)), ..TextOptions::default() };
    let kept = file("1 0:1\n");
    let said = message(read_corpus(&kept.path, &options(rare), &quiet), &kept.path);
    assert_eq!(said, ": the data is LDA-C, which has no use for --min-df; drop it, or say --format");
    let given = |name: &str, value: &str| CorpusOptions::parse(&[(name.to_owned(), value.to_owned())].into());
    let parsed = given("held-out", "5").unwrap();
    assert_eq!(parsed.held_out, HeldOut::Every(5));
    assert_eq!(given("held-out", "list.txt").unwrap().held_out, HeldOut::Listed("list.txt".into()));
    assert_eq!(given("held-out", "none").unwrap().held_out, HeldOut::None);
    let refused = |name, value| given(name, value).unwrap_err().to_string();
    assert_eq!(
        refused("held-out", "1"),
        "--held-out is 1, must be 2 or more to hold out every Nth document, a file of numbers, or none"
    );
    assert_eq!(refused("format", "csv"), "--format is csv, must be docword, ldac, libsvm or text");
    assert!(refused("min-df", "-1").starts_with("--min-df is -1, must be a number of documents"));
}

/// A document of one word for each number, in LDA-C.
fn documents(numbers: impl Iterator<Item = u32>) -> String {
    numbers.map(|number| if number == 5 { "0\n".to_owned() } else { format!("1 {number}:1\n") }).collect()
}

fn held_out(path: &Path, held_out: HeldOut) -> (Vec<u32>, Vec<u32>) {
    let all = read_corpus(path, &CorpusOptions { held_out, ..CorpusOptions::default() }, &quiet).unwrap();
    assert_eq!(all.train.corpus.n_words, all.held_out.corpus.n_words);
    assert_eq!(all.train.corpus.n_docs(), all.train.numbers.len());
    (all.train.corpus.words, all.held_out.corpus.words)
}

#[test]
fn every_tenth_document_is_held_out_unless_something_else_is_said() {
    let kept = file(documents(0..21));
    let tenth = (vec![0, 1, 2, 3, 4, 6, 7, 8, 10, 11, 12, 13, 14, 15, 16, 17, 18, 20], vec![9, 19]);
    assert_eq!(held_out(&kept.path, HeldOut::Auto), tenth);
    assert_eq!(held_out(&kept.path, HeldOut::Every(7)).1, [6, 13, 20]);
    assert_eq!(held_out(&kept.path, HeldOut::None).1, [0; 0]);
    let list = kept.path.with_file_name("heldout.txt");
    std::fs::write(&list, "# chosen by hand\n3\n6\r\n2 21\n").unwrap();
    assert_eq!(held_out(&kept.path, HeldOut::Auto).1, [1, 2, 20]); // document 6 is empty
    assert_eq!(held_out(&kept.path, HeldOut::Every(10)), tenth);
    assert_eq!(held_out(&kept.path, HeldOut::Listed(list.clone())).1, [1, 2, 20]);
    for (line, number) in ["0", "22", "x"].into_iter().enumerate() {
        std::fs::write(&list, format!("{}{number}\n", "1\n".repeat(line))).unwrap();
        let said = message(read_corpus(&kept.path, &CorpusOptions::default(), &quiet), &list);
        assert_eq!(
            said,
            format!(":{}: {number} is not the number of a document, expected 1 to 21", line + 1)
        );
    }
}

#[test]
fn a_test_file_holds_the_documents_that_are_held_out() {
    let directory = tempfile::tempdir().unwrap();
    let (train, test) = (directory.path().join("x.train.ldac"), directory.path().join("x.test.ldac"));
    std::fs::write(&train, documents(0..12)).unwrap();
    std::fs::write(&test, documents(4..15)).unwrap();
    let (trained, tested) = held_out(&train, HeldOut::Auto);
    assert_eq!((trained.len(), tested), (11, vec![4, 6, 7, 8, 9, 10, 11, 12, 13, 14]));
    let named = CorpusOptions { test: Some(test), ..CorpusOptions::default() };
    let all = read_corpus(&directory.path().join("x.train.ldac"), &named, &quiet).unwrap();
    assert_eq!((all.held_out.numbers[1], all.train.corpus.n_words), (2, 15));
    let both = CorpusOptions { held_out: HeldOut::Every(3), ..named };
    let said = read_corpus(&train, &both, &quiet).unwrap_err().to_string();
    assert!(said.starts_with("--held-out is given with --test, must be absent"), "{said}");
}

#[test]
fn a_test_file_of_text_is_read_in_the_words_of_the_training_data() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("train.txt"), "cat dog\n").unwrap();
    std::fs::write(directory.path().join("test.txt"), "owl dog dog\nowl\n").unwrap();
    let path = directory.path().join("train.txt");
    let all = read_corpus(&path, &CorpusOptions::default(), &quiet).unwrap();
    assert_eq!((all.held_out.corpus.words, all.held_out.corpus.counts), (vec![1], vec![2]));
}
