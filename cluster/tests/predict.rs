//! `slackline predict` on models whose predictions were computed by numpy, and on one that was trained.

#![allow(clippy::unwrap_used)] // the lint lets tests unwrap, but not the functions beside them

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use ndarray::{ArrayD, arr1, arr2};
use serde_json::Value;
use tempfile::TempDir;

/// What the rows of `new.svm` are about; the second has no label, and the third a column that no model knows.
const NEW: &str = "7 1:2 3:4\n2:0.3\n0 1:1 2:-1 3:0.5 4:8 9:5\n-1 4:-3\n";

/// numpy: Z = X @ W.T + b; classes[Z.argmax(1)] of the model of three classes.
const LABELS: [f64; 4] = [1.0, 4.0, 4.0, 2.0];
/// numpy: P = np.exp(Z) / np.exp(Z).sum(1, keepdims=True); P.T
const PROBABILITIES: [[f64; 4]; 3] = [
    [0.5695364744385714, 0.19021357069026637, 0.04011603599140672, 0.29400404617857895],
    [0.42192299760692115, 0.3465917232441434, 3.479700895059628e-05, 0.6708821779038876],
    [0.008540527954507634, 0.46319470606559027, 0.9598491669996426, 0.035113775917533376],
];

/// A directory with run directories and data.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        place.write("new.svm", NEW);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    fn array(&self, name: &str, array: impl Into<ArrayD<f64>>) {
        ndarray_npy::write_npy(self.path(name), &array.into()).unwrap();
    }

    fn lasso(self) -> Self {
        self.write("lasso/summary.json", r#"{"app": "lasso"}"#);
        self.write("lasso/model/index_base.txt", "1\n");
        self.array("lasso/model/coefficients.npy", arr1(&[0.5, -2.0, 0.25, 0.125]).into_dyn());
        self.array("lasso/model/intercept.npy", arr1(&[1.5]).into_dyn());
        self
    }

    fn logistic(self, classes: &str, coefficients: ArrayD<f64>, intercepts: &[f64]) -> Self {
        self.write("logistic/summary.json", r#"{"app": "logistic"}"#);
        self.write("logistic/model/index_base.txt", "1\n");
        self.write("logistic/model/classes.txt", classes);
        self.array("logistic/model/coefficients.npy", coefficients);
        self.array("logistic/model/intercept.npy", arr1(intercepts).into_dyn());
        self
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_slackline"));
        command.current_dir(self.0.path()).args(line.split_whitespace());
        command
    }

    fn run(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }

    /// What is printed, between tabs.
    fn table(&self, line: &str) -> Vec<Vec<String>> {
        let output = self.run(line);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
    }

    fn refusal(&self, line: &str) -> (i32, String) {
        let output = self.run(line);
        assert!(output.stdout.is_empty());
        (output.status.code().unwrap(), said(&output))
    }
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap().trim_end().to_owned()
}

fn shipped(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../apps/data").join(name).display().to_string()
}

fn numbers(rows: &[Vec<String>], column: usize) -> Vec<f64> {
    rows[1..].iter().map(|row| row[column].parse().unwrap()).collect()
}

fn near(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() <= 1e-13 * b.abs(), "{found:?} against {expected:?}");
    }
}

#[test]
fn predictions_of_lasso_are_the_product_that_numpy_computes() {
    let place = Place::new().lasso();
    let rows = place.table("predict lasso --data new.svm");
    assert_eq!(rows[0], ["prediction"]);
    near(&numbers(&rows, 0), &[3.5, 0.9, 5.125, 1.125]); // numpy: X @ w + b
    let told = said(&place.run("predict lasso --data new.svm"));
    assert!(told.contains("1 value in unknown columns dropped, 1 row without a label"), "{told}");
    let matrix = "%%MatrixMarket matrix coordinate real general\n2 3 3\n1 1 2\n1 3 4\n2 2 0.3\n";
    place.write("new.mtx", matrix);
    near(&numbers(&place.table("predict lasso --data new.mtx"), 0), &[3.5, 0.9]);
}

#[test]
fn two_classes_have_the_probabilities_that_numpy_computes() {
    let place = Place::new().logistic("-1\n3\n", arr1(&[0.5, -2.0, 0.25, 0.125]).into_dyn(), &[-1.5]);
    let rows = place.table("predict logistic --data new.svm");
    assert_eq!(rows[0], ["label", "p(-1)", "p(3)"]);
    assert_eq!(rows[1..].iter().map(|row| row[0].as_str()).collect::<Vec<_>>(), ["3", "-1", "3", "-1"]);
    // numpy: 1 / (1 + np.exp(-(X @ w + b)))
    let positive = [0.6224593312018546, 0.10909682119561294, 0.8933094060543487, 0.13296424019782926];
    near(&numbers(&rows, 2), &positive);
    near(&numbers(&rows, 1), &positive.map(|p| 1.0 - p));
}

#[test]
fn more_classes_have_the_probabilities_that_numpy_computes() {
    let coefficients = arr2(&[[0.5, -2.0, 0.25, 0.125], [-0.5, 1.0, 0.75, -0.25], [0.0, 0.3, -0.6, 0.9]]);
    let place = Place::new().logistic("1\n2\n4\n", coefficients.into_dyn(), &[0.1, -0.2, 0.3]);
    let rows = place.table("predict logistic --data new.svm");
    assert_eq!(rows[0], ["label", "p(1)", "p(2)", "p(4)"]);
    assert_eq!(numbers(&rows, 0), LABELS);
    for (class, expected) in PROBABILITIES.iter().enumerate() {
        near(&numbers(&rows, class + 1), expected);
    }
    let objects = place.run("predict logistic --data new.svm --json");
    let text = String::from_utf8(objects.stdout).unwrap();
    let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(first["label"].as_f64(), Some(LABELS[0]));
    near(&[first["p(2)"].as_f64().unwrap()], &PROBABILITIES[1][..1]);
    let output = place.run("predict logistic --data new.svm --out p.npy");
    assert!(output.status.success() && output.stdout.is_empty());
    let array: ndarray::Array2<f64> = ndarray_npy::read_npy(place.path("p.npy")).unwrap();
    assert_eq!(array.dim(), (4, 4));
    near(&array.column(3).to_vec(), &PROBABILITIES[2]);
}

#[test]
fn predicted_ratings_have_the_error_that_evaluate_says() {
    let place = Place::new();
    let (train, test) = (shipped("ratings.train.tsv"), shipped("ratings.test.tsv"));
    let trained = place.run(&format!("train mf --data {train} --rank 4 --epochs 5 --out mf --quiet"));
    assert!(trained.status.success(), "{}", said(&trained));
    let score = place.run(&format!("evaluate mf --data {test} --json"));
    let score: Value = serde_json::from_slice(&score.stdout).unwrap();

    let rows = place.table(&format!("predict mf --data {test}"));
    assert_eq!(rows[0], ["user", "item", "rating"]);
    let text = fs::read_to_string(&test).unwrap();
    let given: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(given.len(), rows.len() - 1);
    let mut squares = 0.0;
    for (given, row) in given.iter().zip(&rows[1..]) {
        assert_eq!(given[..2], row[..2], "pairs come in the order of the file");
        squares += (given[2].parse::<f64>().unwrap() - row[2].parse::<f64>().unwrap()).powi(2);
    }
    let rmse = (squares / given.len() as f64).sqrt();
    assert!((rmse - score["rmse"].as_f64().unwrap()).abs() < 1e-6, "{rmse} against {score}");

    let pairs: String = given.iter().take(3).map(|line| format!("{},{}\n", line[0], line[1])).collect();
    place.write("pairs.csv", &format!("user,item\n{pairs}nobody,{}\n", given[0][1]));
    let output = place.run("predict mf --data pairs.csv");
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let expected: Vec<String> = rows[..4].iter().map(|row| row.join("\t")).collect();
    assert_eq!(lines[..4], expected);
    assert!(lines[4].starts_with("nobody\t"), "an unknown user gets what the item alone says: {text}");
    let told = said(&output);
    let expected = "pairs between commas, header line, ";
    assert!(
        told.starts_with(expected) && told.ends_with("1 pair of users not in the training data"),
        "{told}"
    );
    assert!(place.run("predict mf --data pairs.csv --out r.npy").status.success());
    let ratings: ndarray::Array1<f32> = ndarray_npy::read_npy(place.path("r.npy")).unwrap();
    assert_eq!(ratings[2], rows[3][2].parse::<f32>().unwrap());
}

#[test]
fn a_file_is_replaced_whole_and_a_full_disk_is_a_sentence() {
    let place = Place::new().lasso();
    place.write("out.tsv", "old\n");
    let failed = place.refusal("predict lasso --data none.svm --out out.tsv");
    assert_eq!(failed, (3, "slackline: none.svm: No such file or directory (os error 2)".to_owned()));
    assert_eq!(fs::read_to_string(place.path("out.tsv")).unwrap(), "old\n");
    assert!(place.run("predict lasso --data new.svm --out out.tsv").status.success());
    assert_eq!(fs::read_to_string(place.path("out.tsv")).unwrap(), "prediction\n3.5\n0.9\n5.125\n1.125\n");
    let full = place.run("predict lasso --data new.svm --out /dev/full");
    let last = said(&full).lines().last().unwrap().to_owned();
    assert_eq!(
        (full.status.code(), last.as_str()),
        (Some(1), "slackline: /dev/full: No space left on device (os error 28)")
    );
    let (code, sentence) = place.refusal("predict lasso --data new.svm --out none/out.tsv");
    let sentence = sentence.lines().last().unwrap().to_owned();
    assert_eq!(
        (code, sentence.as_str()),
        (1, "slackline: none/out.tsv: No such file or directory (os error 2)")
    );
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let place = Place::new().lasso();
    place.write("many.svm", &NEW.repeat(20_000));
    let mut child = place
        .command("predict lasso --data many.svm")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn what_cannot_be_predicted_is_refused_in_a_sentence() {
    let place = Place::new().lasso();
    let sentence = |line: &str| place.refusal(line).1;
    assert_eq!(sentence("predict lasso --data new.svm --top 3"), "slackline: lasso has no option --top");
    let both = sentence("predict lasso --data new.svm --json --out p.npy");
    assert_eq!(both, "slackline: --json writes text, and p.npy is to be an array; give one of them");
    place.write("bad.svm", "1 1:2\n1 2:x\n");
    let (code, bad) = place.refusal("predict lasso --data bad.svm");
    assert!(code == 3 && bad.starts_with("slackline: bad.svm:2: after 2: "), "{bad}");
    fs::remove_file(place.path("lasso/model/intercept.npy")).unwrap();
    assert!(sentence("predict lasso --data new.svm").contains("lasso/model/intercept.npy: No such file"));
    assert!(sentence("predict nowhere --data new.svm").contains("nowhere/summary.json: no such file"));
    let place =
        Place::new().logistic("1\n2\n4\n", arr2(&[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]).into_dyn(), &[0.5]);
    let (_, torn) = place.refusal("predict logistic --data new.svm");
    assert!(
        torn.ends_with("intercept.npy: does not hold 3 intercepts, one per class of classes.txt"),
        "{torn}"
    );
}
