//! `slackline recommend` on a model written by hand and on one that was trained, and `--cold` of predict and evaluate.

#![allow(clippy::unwrap_used)] // the lint lets tests unwrap, but not the functions beside them

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use ndarray::{arr1, arr2};
use serde_json::Value;
use tempfile::TempDir;

/// A run of mf with two users and four items.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(place.path("run/model")).unwrap();
        place.write("run/summary.json", r#"{"app": "mf"}"#);
        let single = |name: &str, values: &[f32]| {
            ndarray_npy::write_npy(place.path(&format!("run/model/{name}.npy")), &arr1(values)).unwrap();
        };
        let factors = |name: &str, rows| {
            ndarray_npy::write_npy(place.path(&format!("run/model/{name}.npy")), &rows).unwrap();
        };
        factors("user_factors", arr2(&[[1.0_f32, 0.0], [0.0, 2.0]]));
        factors("item_factors", arr2(&[[1.0_f32, 0.0], [0.5, 0.5], [-1.0, 1.0], [2.0, 0.1]]));
        single("user_bias", &[0.5, 0.0]);
        single("item_bias", &[0.0, 0.25, 0.0, -2.0]);
        single("range", &[1.0, 5.0]);
        ndarray_npy::write_npy(place.path("run/model/mean.npy"), &arr1(&[3.0_f64])).unwrap();
        ndarray_npy::write_npy(place.path("run/model/rated_starts.npy"), &arr1(&[0_i64, 1, 3])).unwrap();
        ndarray_npy::write_npy(place.path("run/model/rated_items.npy"), &arr1(&[0_i32, 0, 2])).unwrap();
        place.write("run/model/users.txt", "ann\nbob\n");
        place.write("run/model/items.txt", "10\n20\n30\n40\n");
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn run(&self, line: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_slackline"));
        command.current_dir(self.0.path()).args(line.split_whitespace()).output().unwrap()
    }

    /// What is printed, between tabs.
    fn table(&self, line: &str) -> Vec<Vec<String>> {
        let output = self.run(line);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
    }

    fn refusal(&self, line: &str) -> String {
        let output = self.run(line);
        assert!(output.stdout.is_empty() && !output.status.success());
        said(&output)
    }
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap().trim_end().to_owned()
}

#[test]
fn the_best_items_that_a_user_has_not_rated_come_first() {
    let place = Place::new();
    // ann: 3.5 + 0.25 + 0.5, 3.5 - 1, 3.5 - 2 + 2; item 10 is rated, as it would have 3.5 + 1.
    let rows = place.table("recommend run --user ann");
    assert_eq!(rows[0], ["user", "item", "rating"]);
    assert_eq!(rows[1..], [["ann", "20", "4.25"], ["ann", "40", "3.5"], ["ann", "30", "2.5"]]);
    let all = place.table("recommend run --user ann --top 2 --include-rated");
    assert_eq!(all[1..], [["ann", "10", "4.5"], ["ann", "20", "4.25"]]);
}

#[test]
fn several_users_and_a_file_of_users_are_answered_in_their_order() {
    let place = Place::new();
    place.write("users.txt", "bob\n\nann\n");
    let listed = place.table("recommend run --users users.txt --top 1");
    assert_eq!(listed[1..], place.table("recommend run --user bob --user ann --top 1")[1..]);
    assert_eq!(listed[1], ["bob", "20", "4.25"]);
    let json = place.run("recommend run --user bob --top 1 --json");
    let row: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!((row["user"].as_str(), row["rating"].as_f64()), (Some("bob"), Some(4.25)));
    place.write("none.txt", "\n");
    assert!(place.refusal("recommend run --users none.txt").ends_with("names no user, expected one a line"));
}

#[test]
fn a_user_that_is_not_known_is_a_sentence_or_gets_what_the_policy_says() {
    let place = Place::new();
    let refused = place.refusal("recommend run --user bib");
    assert_eq!(refused, "slackline: run: the model does not know user bib; did you mean bob?");
    let popular = place.run("recommend run --user 77 --user ann --top 1 --cold popular");
    let text = String::from_utf8(popular.stdout.clone()).unwrap();
    assert_eq!(text, "user\titem\trating\n77\t10\t3\nann\t20\t4.25\n");
    assert!(said(&popular).ends_with("1 of 2 users are not known and get the most rated items"));
    assert_eq!(place.table("recommend run --user 77 --user ann --top 1 --cold drop").len(), 2);
}

#[test]
fn items_that_point_the_same_way_are_similar() {
    let place = Place::new();
    let rows = place.table("recommend run --item 10 --top 2");
    assert_eq!(rows[0], ["item", "similar", "cosine"]);
    assert_eq!((rows[1][1].as_str(), rows[2][1].as_str()), ("40", "20"));
    let cosine: f64 = rows[2][2].parse().unwrap();
    assert!((cosine - 0.5f64.sqrt()).abs() < 1e-6);
    assert!(place.refusal("recommend run --item 99").contains("the model does not know item 99"));
}

#[test]
fn what_is_not_known_is_predicted_left_out_or_an_error_and_never_nan() {
    let place = Place::new();
    place.write("pairs.tsv", "ann\t10\t4\ncarl\t20\t3\nbob\t50\t2\n");
    let ratings =
        |line: &str| -> Vec<String> { place.table(line)[1..].iter().map(|row| row[2].clone()).collect() };
    assert_eq!(ratings("predict run --data pairs.tsv"), ["4.5", "3.25", "3"]);
    assert_eq!(ratings("predict run --data pairs.tsv --cold drop"), ["4.5"]);
    let refused = place.refusal("predict run --data pairs.tsv --cold error");
    assert!(
        refused.contains("pairs.tsv: 2 pairs have a user or an item that the model does not know"),
        "{refused}"
    );

    let score = |line: &str| -> Value { serde_json::from_slice(&place.run(line).stdout).unwrap() };
    let mean = score("evaluate run --data pairs.tsv --json");
    let expected = ((0.5f64.powi(2) + 0.25f64.powi(2) + 1.0) / 3.0).sqrt();
    assert!((mean["rmse"].as_f64().unwrap() - expected).abs() < 1e-9, "{mean}");
    let drop = score("evaluate run --data pairs.tsv --json --cold drop");
    assert_eq!((drop["rmse"].as_f64(), drop["ratings_dropped"].as_f64()), (Some(0.5), Some(2.0)));
    assert!(place.refusal("evaluate run --data pairs.tsv --cold error").contains("2 ratings have a user"));
    place.write("strangers.tsv", "carl\t10\t4\n");
    assert!(
        place.refusal("evaluate run --data strangers.tsv --cold drop").contains("has no rating of a user")
    );
}

#[test]
fn a_run_that_recommends_nothing_and_a_model_without_rated_items_are_refused() {
    let place = Place::new();
    place.write("run/summary.json", r#"{"app": "lasso"}"#);
    let refused = place.refusal("recommend run --user ann");
    assert_eq!(refused, "slackline: run: holds a run of lasso, which recommends nothing; mf does");
    assert!(place.refusal("evaluate run --data x --cold drop").contains("lasso has no option --cold"));
    place.write("run/summary.json", r#"{"app": "mf"}"#);
    fs::remove_file(place.path("run/model/rated_starts.npy")).unwrap();
    assert!(place.refusal("recommend run --user ann").ends_with("train it again"));
}

#[test]
fn a_trained_model_recommends_without_its_data_what_was_not_rated() {
    let place = Place::new();
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../apps/data/ratings.train.tsv");
    let text = fs::read_to_string(shipped).unwrap();
    for method in ["--method sgd", "--method als", "--method als --implicit"] {
        place.write("ratings.tsv", &text);
        let train =
            format!("train mf --data ratings.tsv {method} --rank 4 --epochs 4 --out als --force --quiet");
        let trained = place.run(&train);
        assert!(trained.status.success(), "{}", said(&trained));
        fs::remove_file(place.path("ratings.tsv")).unwrap();
        let user = text.lines().next().unwrap().split('\t').next().unwrap();
        let rated: BTreeSet<&str> = text
            .lines()
            .map(|line| line.split('\t').collect::<Vec<_>>())
            .filter(|line| line[0] == user)
            .map(|line| line[1])
            .collect();
        let rows = place.table(&format!("recommend als --user {user} --top 100000"));
        let items: BTreeSet<&str> = rows[1..].iter().map(|row| row[1].as_str()).collect();
        let all: BTreeSet<&str> = text.lines().map(|line| line.split('\t').nth(1).unwrap()).collect();
        assert_eq!(items, all.difference(&rated).copied().collect(), "{method}");
        let scores: Vec<f64> = rows[1..].iter().map(|row| row[2].parse().unwrap()).collect();
        assert!(scores.is_sorted_by(|a, b| a >= b), "{method}");
    }
}
