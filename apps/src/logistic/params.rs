//! The options of logistic regression: as written, then checked.

use serde_json::{Map, Value};

use crate::Error;
use crate::catalog::{OptionSpec, Request};
use crate::options::Options;
use crate::run::refuse;
use crate::samples::{self, INDEX_BASE, LABELS};

/// What `slackline train logistic` can be told.
pub const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        name: "l1",
        value: "X",
        default: "1e-4",
        help: "the penalty of the coefficients' absolute values, 0 or more",
    },
    OptionSpec {
        name: "l2",
        value: "X",
        default: "0",
        help: "half the penalty of their squares, 0 or more; with two classes one of l1 and l2 must be more than 0",
    },
    OptionSpec {
        name: "intercept",
        value: "true|false",
        default: "true",
        help: "fit an intercept, unpenalised",
    },
    OptionSpec {
        name: "tol",
        value: "T",
        default: "1e-6",
        help: "two classes: the duality gap to reach, relative to the objective; more than 0",
    },
    OptionSpec {
        name: "max-sweeps",
        value: "N",
        default: "1000",
        help: "two classes: give up after so many passes over all columns; 1 or more",
    },
    OptionSpec {
        name: "epochs",
        value: "N",
        default: "20",
        help: "more classes: passes over the samples; 1 or more",
    },
    OptionSpec {
        name: "batch",
        value: "N",
        default: "64",
        help: "more classes: samples in a mini-batch; 1 or more; in place of --parts",
    },
    OptionSpec {
        name: "rate",
        value: "X",
        default: "from the share of non-zeros",
        help: "more classes: step before it is divided by the root of the summed squared gradients; more than 0",
    },
    OptionSpec {
        name: "parts",
        value: "N",
        default: "one a worker; with more classes one a mini-batch",
        help: "parts of the columns (two classes) or of the samples (more); 1 or more",
    },
    INDEX_BASE,
    LABELS,
];

/// Checked options.
#[derive(Debug, Clone, PartialEq)]
pub struct Params {
    /// Penalty of |w|.
    pub l1: f64,
    /// Half the penalty of w².
    pub l2: f64,
    /// Whether an intercept is fitted.
    pub intercept: bool,
    /// Gap to reach, relative to the objective (two classes).
    pub tolerance: f64,
    /// Most passes over all columns (two classes).
    pub max_sweeps: usize,
    /// Passes over the samples (more classes).
    pub epochs: usize,
    /// Samples in a mini-batch (more classes).
    pub batch: Option<usize>,
    /// First step (more classes).
    pub rate: Option<f64>,
    /// Parts of the columns or of the samples.
    pub parts: Option<usize>,
}

/// Samples in a mini-batch unless told otherwise.
const BATCH: usize = 64;

impl Params {
    /// Checks the options of a request.
    ///
    /// # Errors
    /// [`Error::Option`] names the first bad value and its rule.
    pub fn parse(request: &Request) -> Result<Self, Error> {
        let options = Options(&request.options);
        let (batch, parts) = (options.count("batch")?, options.count("parts")?);
        if let (Some(_), Some(text)) = (parts, options.text("batch")) {
            return Err(refuse("batch", text, "absent where --parts is given"));
        }
        Ok(Self {
            l1: options.penalty("l1")?.unwrap_or(1e-4),
            l2: options.penalty("l2")?.unwrap_or(0.0),
            intercept: options.switch("intercept")?.unwrap_or(true),
            tolerance: options.positive("tol")?.unwrap_or(1e-6),
            max_sweeps: options.count("max-sweeps")?.unwrap_or(1000),
            epochs: options.count("epochs")?.unwrap_or(20),
            batch,
            rate: options.positive("rate")?,
            parts,
        })
    }

    /// Samples in a mini-batch of `n` samples in all.
    pub fn batch_size(&self, n: usize) -> usize {
        match (self.batch, self.parts) {
            (Some(batch), _) => batch,
            (None, Some(parts)) => n.div_ceil(parts).max(1),
            (None, None) => BATCH,
        }
    }

    /// What must be the same for a run to go on from a checkpoint, whatever the number of classes.
    pub(super) fn settings(&self, request: &Request, schedule: &str) -> Vec<(&'static str, String)> {
        let mut settings = vec![
            ("l1", self.l1.to_string()),
            ("l2", self.l2.to_string()),
            ("intercept", self.intercept.to_string()),
            ("schedule", schedule.to_owned()),
        ];
        settings.extend(samples::settings(request));
        settings
    }

    /// The options that matter for so many classes, for `summary.json`.
    pub fn config(&self, classes: usize) -> Map<String, Value> {
        let mut config = Map::new();
        let mut put = |name: &str, value: Value| drop(config.insert(name.to_owned(), value));
        put("l1", self.l1.into());
        put("l2", self.l2.into());
        put("intercept", self.intercept.into());
        if classes == 2 {
            put("tol", self.tolerance.into());
            put("max-sweeps", self.max_sweeps.into());
        } else {
            put("epochs", self.epochs.into());
        }
        put("classes", classes.into());
        config
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bad_value_is_named_with_its_rule() {
        let bad =
            [("l1", "-1"), ("l2", "x"), ("tol", "0"), ("epochs", "0"), ("batch", "1.5"), ("rate", "-2")];
        for (name, value) in bad {
            let error = Params::parse(&Request::on("data").with(name, value)).unwrap_err().to_string();
            assert!(error.starts_with(&format!("--{name} is {value}, must be ")), "{error}");
        }
    }

    #[test]
    fn parts_and_batch_are_two_ways_to_say_one_thing() {
        let size = |name: &str, value: &str| {
            Params::parse(&Request::on("data").with(name, value)).unwrap().batch_size(100)
        };
        assert_eq!((size("parts", "8"), size("batch", "7"), size("l1", "1")), (13, 7, 64));
        let both = Request::on("data").with("parts", 2).with("batch", 3);
        assert!(Params::parse(&both).unwrap_err().to_string().ends_with("absent where --parts is given"));
    }
}
