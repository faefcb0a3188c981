//! The options of variational inference: as written, then checked.

use std::collections::BTreeMap;

use crate::Error;
use crate::catalog::OptionSpec;
use crate::options::Options;
use crate::run::refuse;

/// What variational inference can be told, besides the topics and their priors.
pub const OPTIONS: &[OptionSpec] = &[
    OptionSpec { name: "epochs", value: "N", default: "10", help: "passes over the documents, 1 or more" },
    OptionSpec {
        name: "batch-size",
        value: "N",
        default: "256",
        help: "documents of a step, 1 or more; 0 for all of them: batch variational inference",
    },
    OptionSpec {
        name: "tau0",
        value: "X",
        default: "1",
        help: "step t counts (tau0 + t - 1)^-kappa; 1 or more: more makes the first steps count less",
    },
    OptionSpec {
        name: "kappa",
        value: "X",
        default: "0.7",
        help: "how fast steps come to count less, more than 0.5 and at most 1, or 0.5",
    },
    OptionSpec {
        name: "local-tol",
        value: "X",
        default: "0.001",
        help: "the mean change of a document's topic weights at which its rounds end, 0 or more",
    },
    OptionSpec {
        name: "local-rounds",
        value: "N",
        default: "50",
        help: "most rounds on a document, 1 or more",
    },
    OptionSpec {
        name: "parts",
        value: "N",
        default: "4 x workers",
        help: "parts of the documents with --batch-size 0, 1 or more",
    },
];

/// The topics and their priors: what every method of topic models has.
#[derive(Debug, Clone, PartialEq)]
pub struct Prior {
    /// The Dirichlet prior of a document's mixture, one number above 0 a topic.
    pub alpha: Vec<f64>,
    /// The symmetric Dirichlet prior of a topic's words, above 0.
    pub beta: f64,
}

impl Prior {
    /// `n_topics` topics, all alike.
    pub fn symmetric(n_topics: usize, alpha: f64, beta: f64) -> Self {
        Self { alpha: vec![alpha; n_topics], beta }
    }

    /// Topics.
    pub fn n_topics(&self) -> usize {
        self.alpha.len()
    }
}

/// Checked options.
#[derive(Debug, Clone, PartialEq)]
pub struct Params {
    /// Topics and priors.
    pub prior: Prior,
    /// Passes over the documents.
    pub epochs: usize,
    /// Documents of a step; 0 for all.
    pub batch_size: usize,
    /// The offset of the steps' weights.
    pub tau0: f64,
    /// The exponent of the steps' weights.
    pub kappa: f64,
    /// The mean change of γ at which the rounds on a document end.
    pub tolerance: f64,
    /// Most rounds on a document.
    pub rounds: u32,
    /// Parts of the documents in batch inference.
    pub parts: usize,
}

impl Params {
    /// Checks options as text; absent ones take their defaults.
    ///
    /// # Errors
    /// [`Error::Option`] names the first bad value and its rule.
    pub fn parse(options: &BTreeMap<String, String>, prior: Prior, workers: usize) -> Result<Self, Error> {
        let given = Options(options);
        for value in prior.alpha.iter().chain([&prior.beta]) {
            if !(*value > 0.0 && value.is_finite()) {
                let name = if value.to_bits() == prior.beta.to_bits() { "beta" } else { "alpha" };
                return Err(refuse(name, &value.to_string(), "a number more than 0"));
            }
        }
        if prior.alpha.is_empty() {
            return Err(refuse("topics", "0", "a whole number, 1 or more"));
        }
        let whole = "a whole number, 0 or more";
        let kappa = "a number from 0.5 to 1";
        let tau0 = "a number, 1 or more";
        Ok(Self {
            prior,
            epochs: given.count("epochs")?.unwrap_or(10),
            batch_size: given.given("batch-size", whole, |_| true)?.unwrap_or(256),
            tau0: given.given("tau0", tau0, |x: &f64| *x >= 1.0 && x.is_finite())?.unwrap_or(1.0),
            kappa: given.given("kappa", kappa, |x: &f64| (0.5..=1.0).contains(x))?.unwrap_or(0.7),
            tolerance: given.penalty("local-tol")?.unwrap_or(1e-3),
            rounds: given.count("local-rounds")?.map_or(50, |rounds| rounds as u32),
            parts: given.count("parts")?.unwrap_or(4 * workers.max(1)),
        })
    }

    /// Whether a step is a pass over all documents.
    pub fn is_batch(&self) -> bool {
        self.batch_size == 0
    }

    /// What must be the same for a run to go on from a checkpoint, besides the priors.
    pub fn settings(&self) -> Vec<(&'static str, String)> {
        vec![
            ("epochs", self.epochs.to_string()),
            ("batch-size", self.batch_size.to_string()),
            ("tau0", self.tau0.to_string()),
            ("kappa", self.kappa.to_string()),
            ("local-tol", self.tolerance.to_string()),
            ("local-rounds", self.rounds.to_string()),
            ("parts", self.parts.to_string()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(name: &str, value: &str) -> Result<Params, Error> {
        let options = BTreeMap::from([(name.to_owned(), value.to_owned())]);
        Params::parse(&options, Prior::symmetric(3, 0.1, 0.01), 2)
    }

    #[test]
    fn every_option_is_listed_and_has_a_default() {
        for option in OPTIONS {
            assert!(parse(option.name, "1").is_ok(), "{}", option.name);
        }
        let params = Params::parse(&BTreeMap::new(), Prior::symmetric(3, 0.1, 0.01), 2).unwrap();
        assert_eq!((params.epochs, params.batch_size, params.rounds, params.parts), (10, 256, 50, 8));
        assert_eq!(params.settings().len(), OPTIONS.len());
    }

    #[test]
    fn a_bad_value_is_named_with_its_rule() {
        let bad = [
            ("epochs", "0"),
            ("batch-size", "-1"),
            ("tau0", "0.5"),
            ("tau0", "inf"),
            ("kappa", "0.4"),
            ("kappa", "1.1"),
            ("local-tol", "-1"),
            ("local-tol", "NaN"),
            ("local-rounds", "0"),
            ("parts", "0"),
        ];
        for (name, value) in bad {
            let message = parse(name, value).unwrap_err().to_string();
            assert!(message.starts_with(&format!("--{name} is {value}, must be ")), "{message}");
        }
    }

    #[test]
    fn priors_must_be_above_zero() {
        let refused = |prior| Params::parse(&BTreeMap::new(), prior, 1).unwrap_err().to_string();
        assert_eq!(refused(Prior::symmetric(2, 0.0, 0.1)), "--alpha is 0, must be a number more than 0");
        assert_eq!(
            refused(Prior::symmetric(2, 0.1, f64::NAN)),
            "--beta is NaN, must be a number more than 0"
        );
        assert_eq!(
            refused(Prior::symmetric(0, 0.1, 0.1)),
            "--topics is 0, must be a whole number, 1 or more"
        );
    }
}
