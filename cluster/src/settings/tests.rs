//! Layers merged and values checked, over an app that only has options.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use slackline_apps::Error as AppError;
use slackline_apps::catalog::{App, OptionSpec, Request, Trained, Watch};

use super::{Layer, Settings};

struct Paper;

impl App for Paper {
    fn name(&self) -> &'static str {
        "paper"
    }
    fn about(&self) -> &'static str {
        "an app on paper"
    }
    fn options(&self) -> &'static [OptionSpec] {
        const fn option(name: &'static str) -> OptionSpec {
            OptionSpec { name, value: "X", default: "1", help: "" }
        }
        const OPTIONS: [OptionSpec; 3] = [option("lambda"), option("lambda-ratio"), option("layers")];
        &OPTIONS
    }
    fn train(&self, _: &Request, _: &Watch) -> Result<Trained, AppError> {
        Err(AppError::Run("never".into()))
    }
    fn evaluate(&self, _: &Path, _: &Path) -> Result<BTreeMap<String, f64>, AppError> {
        Err(AppError::Run("never".into()))
    }
}

fn yaml(text: &str) -> Result<Layer, crate::Error> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("job.yaml");
    std::fs::write(&path, text).unwrap();
    Layer::file(&path)
}

fn environment(variables: &[(&str, &str)]) -> Layer {
    let variables = variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    Layer::environment(variables).unwrap()
}

/// The settings that a job file alone gives.
fn from_yaml(text: &str) -> Result<Settings, crate::Error> {
    Settings::new(&Paper, &[yaml(&format!("data: a.svm\n{text}"))?])
}

/// How a job file is refused, without the directory it is in.
fn refusal(text: &str) -> String {
    let sentence = from_yaml(text).expect_err(text).to_string();
    sentence.split_once("job.yaml").map_or(sentence.clone(), |(_, rest)| format!("job.yaml{rest}"))
}

#[test]
fn later_layers_win_and_the_rest_are_defaults() {
    let file = yaml("data: a.svm\nworkers: 2\nseed: 5\nlambda: 0.5\n").unwrap();
    let variables = environment(&[
        ("SLACKLINE__WORKERS", "3"),
        ("SLACKLINE__LAMBDA_RATIO", "0.1"),
        ("SLACKLINE__TEST", ""),
        ("SLACKLINE_LOG", "info"),
    ]);
    let request = Settings::new(&Paper, &[file, variables]).unwrap().request;
    assert_eq!((request.workers, request.seed), (3, 5));
    let options: Vec<_> = request.options.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    assert_eq!(options, [("lambda", "0.5"), ("lambda-ratio", "0.1")]);
    assert_eq!(request.test, None, "an empty variable is an unset one");
    assert_eq!(from_yaml("").unwrap().request.seed, 0);
}

#[test]
fn whole_numbers_are_never_rounded() {
    assert_eq!(refusal("workers: 2.7"), "job.yaml:2: workers is 2.7, must be a whole number from 1 to 1024");
    assert_eq!(refusal("workers: 0"), "job.yaml:2: workers is 0, must be a whole number from 1 to 1024");
    assert_eq!(from_yaml("seed: 0").unwrap().request.seed, 0);
    assert_eq!(from_yaml("seed: 9223372036854775807").unwrap().request.seed, i64::MAX as u64);
    let rule = "must be a whole number from 0 to 9223372036854775807";
    assert_eq!(
        refusal("seed: 9223372036854775808"),
        format!("job.yaml:2: seed is 9.223372036854776e18, {rule}")
    );
    assert_eq!(refusal("seed: -1"), format!("job.yaml:2: seed is -1, {rule}"));
    let variables = environment(&[("SLACKLINE__SEED", "9223372036854775808")]);
    let error = Settings::new(&Paper, &[yaml("data: a").unwrap(), variables]).unwrap_err();
    assert_eq!(error.to_string(), format!("SLACKLINE__SEED is 9223372036854775808, {rule}"));
}

#[test]
fn an_unknown_key_names_its_line_and_the_nearest_known_one() {
    assert_eq!(refusal("wrokers: 4"), "job.yaml:2: wrokers is not an option of paper; did you mean workers?");
    assert_eq!(
        refusal("lambda_ratio: 4"),
        "job.yaml:2: lambda_ratio is not an option of paper; did you mean lambda-ratio?"
    );
    assert!(refusal("zzz: 4").contains("paper knows app, data, test"));
    let error = Settings::new(&Paper, &[environment(&[("SLACKLINE__WORKRES", "4")])]).unwrap_err();
    let expected = "SLACKLINE__WORKRES is not an option of paper; did you mean SLACKLINE__WORKERS?";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn values_reach_the_app_as_they_were_written() {
    let options = from_yaml("lambda: 1e-300\nlayers: [512, 256]").unwrap().request.options;
    assert_eq!(options["lambda"], "1e-300");
    assert_eq!(options["layers"], "512,256");
    assert!(from_yaml("lambda:").unwrap().request.options.is_empty(), "nothing behind the colon");
    assert!(refusal("lambda: {a: 1}").starts_with("job.yaml:2: lambda is a mapping, must be a plain value"));
    assert_eq!(
        refusal("out: 1.10"),
        "job.yaml:2: out is 1.1, must be a path, in quotes where it looks like a number"
    );
    assert_eq!(refusal("quiet: yes"), "job.yaml:2: quiet is yes, must be true or false");
}

#[test]
fn broken_yaml_is_refused_with_its_place() {
    let broken = yaml("data: [a").unwrap_err().to_string();
    assert!(broken.contains("job.yaml: ") && broken.contains("line 2"), "{broken}");
    let twice = yaml("data: a\ndata: b").unwrap_err().to_string();
    assert!(
        twice.contains("job.yaml: the key data is given twice, again at ") && twice.contains("line 2"),
        "{twice}"
    );
    let marked = yaml("\u{feff}data: a").unwrap();
    assert_eq!(Settings::new(&Paper, &[marked]).unwrap().request.data, Path::new("a"));
    assert!(Settings::new(&Paper, &[yaml("").unwrap()]).unwrap_err().to_string().contains("--data FILE"));
}
