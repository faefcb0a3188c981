//! The options of the Lasso: as written, then checked.

use crate::Error;
use crate::catalog::{OptionSpec, Request};
use crate::descent::guide::Penalties;
use crate::options::Options;
use crate::run::refuse;
use crate::samples::{self, INDEX_BASE, LABELS};

/// What `slackline train lasso` can be told.
pub const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        name: "lambda",
        value: "X",
        default: "",
        help: "the penalty λ, more than 0; in place of --lambda-ratio",
    },
    OptionSpec {
        name: "lambda-ratio",
        value: "R",
        default: "0.1, with --path 0.001",
        help: "the penalty as a share of the smallest that makes every coefficient 0; more than 0, at most 1",
    },
    OptionSpec {
        name: "tol",
        value: "T",
        default: "1e-6",
        help: "the duality gap to reach, relative to the objective; more than 0",
    },
    OptionSpec {
        name: "intercept",
        value: "true|false",
        default: "true",
        help: "fit an intercept, unpenalised",
    },
    OptionSpec {
        name: "standardize",
        value: "true|false",
        default: "false",
        help: "penalise each column as if scaled to deviation 1; the objective is then that of the scaled problem",
    },
    OptionSpec {
        name: "path",
        value: "N",
        default: "",
        help: "fit N penalties, evenly spaced in logarithm from the largest useful one down to the one asked for",
    },
    OptionSpec {
        name: "max-sweeps",
        value: "N",
        default: "1000",
        help: "give up on a penalty after so many passes over all columns; 1 or more",
    },
    OptionSpec {
        name: "parts",
        value: "N",
        default: "one a worker",
        help: "parts of the columns; 1 or more",
    },
    INDEX_BASE,
    LABELS,
];

/// Checked options.
#[derive(Debug, Clone, PartialEq)]
pub struct Params {
    /// The penalty.
    pub penalty: Penalty,
    /// Gap to reach, relative to the objective.
    pub tolerance: f64,
    /// Whether an intercept is fitted.
    pub intercept: bool,
    /// Whether columns are penalised as if scaled.
    pub standardize: bool,
    /// Penalties on the way, if more than the last one.
    pub path: Option<usize>,
    /// Most passes over all columns for one penalty.
    pub max_sweeps: usize,
    /// Parts of the columns.
    pub parts: usize,
}

/// A penalty, as itself or as a share of the largest useful one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Penalty {
    /// λ.
    Value(f64),
    /// λ / λ_max.
    Share(f64),
}

/// The share of the largest useful penalty that is asked for unless told otherwise, alone and at the end of a path.
const SHARES: (f64, f64) = (0.1, 0.001);

impl Params {
    /// Checks the options of a request.
    ///
    /// # Errors
    /// [`Error::Option`] names the first bad value and its rule.
    pub fn parse(request: &Request) -> Result<Self, Error> {
        let options = Options(&request.options);
        let path = options.count("path")?;
        let share_rule = "a number more than 0 and at most 1";
        let share = options.given("lambda-ratio", share_rule, |r: &f64| *r > 0.0 && *r <= 1.0)?;
        let penalty = match (options.positive("lambda")?, share) {
            (Some(_), Some(_)) => {
                let ratio = options.text("lambda-ratio").unwrap_or_default();
                return Err(refuse("lambda-ratio", ratio, "absent where --lambda is given"));
            }
            (Some(lambda), None) => Penalty::Value(lambda),
            (None, Some(share)) => Penalty::Share(share),
            (None, None) => Penalty::Share(if path.is_some() { SHARES.1 } else { SHARES.0 }),
        };
        Ok(Self {
            penalty,
            tolerance: options.positive("tol")?.unwrap_or(1e-6),
            intercept: options.switch("intercept")?.unwrap_or(true),
            standardize: options.switch("standardize")?.unwrap_or(false),
            path,
            max_sweeps: options.count("max-sweeps")?.unwrap_or(1000),
            parts: options.count("parts")?.unwrap_or(request.workers),
        })
    }

    /// What must be the same for a run to go on from a checkpoint.
    pub(super) fn settings(&self, request: &Request, schedule: &str) -> Vec<(&'static str, String)> {
        let penalty = match self.penalty {
            Penalty::Value(lambda) => ("lambda", lambda.to_string()),
            Penalty::Share(share) => ("lambda-ratio", share.to_string()),
        };
        let path = self.path.map(|n| ("path", n.to_string()));
        let mut settings = vec![
            penalty,
            ("tol", self.tolerance.to_string()),
            ("intercept", self.intercept.to_string()),
            ("standardize", self.standardize.to_string()),
            ("max-sweeps", self.max_sweeps.to_string()),
            ("parts", self.parts.to_string()),
            ("schedule", schedule.to_owned()),
        ];
        settings.extend(path);
        settings.extend(samples::settings(request));
        settings
    }

    /// The penalties to solve for, largest first.
    pub fn penalties(&self) -> Penalties {
        match (self.penalty, self.path) {
            (Penalty::Value(lambda), None) => Penalties::Given(vec![lambda]),
            (Penalty::Value(lambda), Some(n)) => Penalties::DownTo(lambda, n),
            (Penalty::Share(share), n) => {
                let n = n.unwrap_or(1);
                let exponent = |k: usize| if n == 1 { 1.0 } else { k as f64 / (n - 1) as f64 };
                Penalties::Shares((0..n).map(|k| share.powf(exponent(k))).collect())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(options: &[(&str, &str)]) -> Result<Params, Error> {
        let request =
            options.iter().fold(Request::on("data"), |request, (name, value)| request.with(name, value));
        Params::parse(&request)
    }

    #[test]
    fn every_bad_value_is_named_with_its_rule() {
        let bad =
            [("lambda", "0"), ("lambda-ratio", "1.5"), ("tol", "-1"), ("intercept", "maybe"), ("path", "0")];
        for (name, value) in bad {
            let error = parse(&[(name, value)]).unwrap_err().to_string();
            assert!(error.starts_with(&format!("--{name} is {value}, must be ")), "{error}");
        }
        let error = parse(&[("lambda", "1"), ("lambda-ratio", "0.5")]).unwrap_err().to_string();
        assert_eq!(error, "--lambda-ratio is 0.5, must be absent where --lambda is given");
    }

    #[test]
    fn a_path_goes_from_the_largest_useful_penalty_to_the_one_asked_for() {
        let params = parse(&[("path", "3"), ("lambda-ratio", "0.01")]).unwrap();
        let Penalties::Shares(shares) = params.penalties() else { panic!("shares") };
        assert_eq!(shares.len(), 3);
        [1.0, 0.1, 0.01].iter().zip(&shares).for_each(|(a, b)| assert!((a - b).abs() < 1e-12));
        let params = parse(&[("path", "2"), ("lambda", "0.5")]).unwrap();
        assert_eq!(params.penalties(), Penalties::DownTo(0.5, 2));
    }
}
