//! `slackline topics` on a model written by hand.

#![allow(clippy::unwrap_used)] // the lint lets tests unwrap, but not the functions beside them

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use ndarray::{arr1, arr2};
use serde_json::Value;
use tempfile::TempDir;

/// A run of lda with three topics over four words.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(place.path("run/model")).unwrap();
        fs::write(place.path("run/summary.json"), r#"{"app": "lda"}"#).unwrap();
        let topic_word =
            arr2(&[[0.5_f32, 0.25, 0.125, 0.125], [0.1, 0.2, 0.3, 0.4], [0.25, 0.25, 0.25, 0.25]]);
        ndarray_npy::write_npy(place.path("run/model/topic_word.npy"), &topic_word).unwrap();
        ndarray_npy::write_npy(place.path("run/model/alpha.npy"), &arr1(&[0.5_f32, 0.25, 0.125])).unwrap();
        ndarray_npy::write_npy(place.path("run/model/topic_counts.npy"), &arr1(&[20_i64, 70, 10])).unwrap();
        ndarray_npy::write_npy(place.path("run/model/word_counts.npy"), &arr1(&[50_i64, 30, 15, 5])).unwrap();
        fs::write(place.path("run/model/vocab.txt"), "sea\n</script>\nice cream\n日本\n").unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, line: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_slackline"));
        command.current_dir(self.0.path()).args(line.split_whitespace()).output().unwrap()
    }

    fn printed(&self, line: &str) -> String {
        let output = self.run(line);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        String::from_utf8(output.stdout).unwrap()
    }
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap().trim_end().to_owned()
}

#[test]
fn topics_are_printed_in_words_the_most_frequent_first() {
    let place = Place::new();
    let text = "topic   share  tokens  words\n    1  70.0 %      70  日本 0.400  ice cream 0.300\n    \
                0  20.0 %      20  sea 0.500  </script> 0.250\n    2  10.0 %      10  日本 0.250  ice cream 0.250\n";
    assert_eq!(place.printed("topics run --top 2"), text);
    let chosen = place.printed("topics run --top 1 --topic 2 0 --lambda 0");
    assert!(
        chosen.ends_with("    2  10.0 %      10  日本 0.250\n    0  20.0 %      20  日本 0.125\n"),
        "{chosen}"
    );
    let object: Value = serde_json::from_str(&place.printed("topics run --json")).unwrap();
    let first = &object["topics"][0];
    assert_eq!(
        (first["topic"].as_u64(), first["share"].as_f64(), first["alpha"].as_f64()),
        (Some(1), Some(0.7), Some(0.25))
    );
    assert_eq!(
        (first["words"][3]["word"].as_str(), first["words"][3]["tokens"].as_u64()),
        (Some("sea"), Some(50))
    );
}

#[test]
fn a_page_is_one_file_that_needs_no_other() {
    let place = Place::new();
    assert_eq!(place.printed("topics run --html topics.html"), "3 topics in topics.html\n");
    let page = fs::read_to_string(place.path("topics.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n") && page.len() < 50_000);
    assert!(!["src=", "href=", "@import", "fetch(", "url("].iter().any(|loads| page.contains(loads)));
    assert_eq!(page.matches("</script>").count(), 2, "the word does not end the data");
    assert!(page.contains(r#""name":"run","lambda":0.6,"#) && page.contains(r"\u003c/script>"));
}

#[test]
fn what_has_no_topics_is_refused_in_a_sentence() {
    let place = Place::new();
    let refused = |line: &str| {
        let output = place.run(line);
        assert!(output.stdout.is_empty());
        (output.status.code().unwrap(), said(&output))
    };
    let usage = |text: &str| (2, format!("slackline: {text}"));
    assert_eq!(refused("topics run --topic 3"), usage("--topic is 3, must be 0 to 2, a topic of run"));
    let (code, beyond) = refused("topics run --lambda 1.5");
    assert!(code == 2 && beyond.ends_with("expected a number from 0 to 1"), "{beyond}");
    assert_eq!(refused("topics run --topic 1 --html x.html").0, 2);
    let (code, nowhere) = refused("topics run --html none/x.html");
    assert_eq!(
        (code, nowhere.as_str()),
        (1, "slackline: none/x.html: No such file or directory (os error 2)")
    );
    let bytes = fs::read(place.path("run/model/topic_word.npy")).unwrap();
    fs::write(place.path("run/model/topic_word.npy"), &bytes[..bytes.len() - 1]).unwrap();
    let torn = "slackline: run/model/topic_word.npy: the array is cut short; copy or write the file again";
    assert_eq!(refused("topics run"), (3, torn.to_owned()));
    fs::write(place.path("run/summary.json"), r#"{"app": "lasso"}"#).unwrap();
    let other =
        "slackline: run: holds a run of lasso, which has no topics; give the directory of a run of lda";
    assert_eq!(refused("topics run"), (1, other.to_owned()));
    assert_eq!(refused("topics none").0, 1);
}
