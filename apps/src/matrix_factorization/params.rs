//! The options of matrix factorisation: as written, then checked.

use std::collections::BTreeMap;
use std::str::FromStr;

use crate::Error;
use crate::catalog::OptionSpec;

/// What `slackline train mf` can be told, whatever the method.
pub const SHARED: &[OptionSpec] = &[
    OptionSpec {
        name: "method",
        value: "sgd|als",
        default: "sgd",
        help: "stochastic gradient descent, or alternating least squares",
    },
    OptionSpec {
        name: "rank",
        value: "K",
        default: "32",
        help: "factors of a user and of an item, 1 to 4096",
    },
    OptionSpec { name: "epochs", value: "N", default: "10", help: "passes over the ratings, 1 or more" },
    OptionSpec {
        name: "l2",
        value: "X",
        default: "0.05 x standard deviation of the ratings",
        help: "penalty of the factors, per rating, 0 or more",
    },
    OptionSpec {
        name: "l2-bias",
        value: "X",
        default: "--l2 where it is given, or 0.05",
        help: "penalty of the biases, per rating, 0 or more",
    },
    OptionSpec {
        name: "prior",
        value: "N",
        default: "50, or 0 where --l2 is given",
        help: "a row with n ratings is penalised like one with n + N, 0 or more",
    },
    OptionSpec {
        name: "nonnegative",
        value: "true|false",
        default: "false",
        help: "keep factors at 0 or above; biases may be negative",
    },
    OptionSpec {
        name: "evaluate-every",
        value: "N",
        default: "1",
        help: "passes between exact evaluations, which do not count as training time; 1 or more",
    },
    OptionSpec {
        name: "parts",
        value: "N",
        default: "2 x workers; with als what suits the data",
        help: "parts of the users, 1 to 65536",
    },
    OptionSpec {
        name: "blocks",
        value: "N",
        default: "2 x workers + 1; with als what suits the data",
        help: "blocks of the items, 1 to 65536",
    },
];

/// What it can be told with `--method sgd`.
pub const DESCENT: &[OptionSpec] = &[
    OptionSpec {
        name: "step",
        value: "adaptive|decay",
        default: "adaptive",
        help: "steps by each row's past gradients, or one step for all that shrinks from epoch to epoch",
    },
    OptionSpec {
        name: "rate",
        value: "X",
        default: "0.1, or 0.05 with --step decay",
        help: "first step, for ratings scaled to deviation 1, more than 0",
    },
];

/// How the size of a step is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepRule {
    /// Divided by the root of the row's past squared gradients (Chin et al. 2015).
    Adaptive,
    /// The same for every row, divided by `1 + epoch / 4`.
    Decay,
}

impl StepRule {
    /// As the option has it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Adaptive => "adaptive",
            Self::Decay => "decay",
        }
    }
}

/// Checked options.
#[derive(Debug, Clone, PartialEq)]
pub struct Params {
    /// Factors of a row.
    pub rank: usize,
    /// Passes over the ratings.
    pub epochs: usize,
    /// Penalty of the factors per rating, in units of the ratings; [`DEFAULT_L2`] times their deviation where absent.
    pub l2: Option<f64>,
    /// Penalty of the biases per rating.
    pub l2_bias: f64,
    /// Imaginary ratings that every row is penalised for.
    pub prior: f64,
    /// How the size of a step is found.
    pub step: StepRule,
    /// First step, for ratings scaled to deviation 1.
    pub rate: f64,
    /// Parts of the users.
    pub parts: usize,
    /// Blocks of the items.
    pub blocks: usize,
    /// Passes between evaluations.
    pub evaluate_every: usize,
    /// Whether factors stay at 0 or above.
    pub nonnegative: bool,
}

/// The default penalty of the factors, in standard deviations of the ratings.
pub const DEFAULT_L2: f64 = 0.05;

impl Params {
    /// Checks options as text; absent ones take their defaults, which for parts and blocks depend on `workers`.
    ///
    /// # Errors
    /// [`Error::Option`] names the first bad value and its rule.
    pub fn parse(options: &BTreeMap<String, String>, workers: usize) -> Result<Self, Error> {
        let given = Given(options);
        let step = match options.get("step").map_or("adaptive", String::as_str) {
            "adaptive" => StepRule::Adaptive,
            "decay" => StepRule::Decay,
            other => return Err(refuse("step", other, "adaptive or decay")),
        };
        let rate = if step == StepRule::Adaptive { 0.1 } else { 0.05 };
        // A worker has two cells in hand, and one more block is free to choose from. Parts come out even over workers, so
        // that on a cluster each finds its share at home: rows of users are many.
        let (parts, blocks) = (2 * workers.max(1), 2 * workers.max(1) + 1);
        let l2 = match options.get("l2") {
            Some(_) => Some(given.penalty("l2", 0.0)?),
            None => None,
        };
        Ok(Self {
            rank: given
                .number("rank", 32, "a whole number from 1 to 4096", |&rank| (1..=4096).contains(&rank))?,
            epochs: given.number("epochs", 10, "a whole number, 1 or more", |&epochs| epochs >= 1)?,
            l2,
            l2_bias: given.penalty("l2-bias", l2.unwrap_or(0.05))?,
            prior: given.penalty("prior", if l2.is_some() { 0.0 } else { 50.0 })?,
            step,
            rate: given
                .number("rate", rate, "a number more than 0", |&rate: &f64| rate > 0.0 && rate.is_finite())?,
            parts: given.number("parts", parts, GROUPS, |parts| (1..=65_536).contains(parts))?,
            blocks: given.number("blocks", blocks, GROUPS, |blocks| (1..=65_536).contains(blocks))?,
            evaluate_every: given
                .number("evaluate-every", 1, "a whole number, 1 or more", |every| *every >= 1)?,
            nonnegative: given.number("nonnegative", false, "true or false", |_| true)?,
        })
    }
}

impl Params {
    /// What must be the same for a run to go on from a checkpoint.
    pub(super) fn settings(&self) -> Vec<(&'static str, String)> {
        vec![
            ("method", "sgd".to_owned()),
            ("nonnegative", self.nonnegative.to_string()),
            ("rank", self.rank.to_string()),
            ("epochs", self.epochs.to_string()),
            ("l2", self.l2.map_or_else(|| "its default".to_owned(), |l2| l2.to_string())),
            ("l2-bias", self.l2_bias.to_string()),
            ("prior", self.prior.to_string()),
            ("step", self.step.name().to_owned()),
            ("rate", self.rate.to_string()),
            ("evaluate-every", self.evaluate_every.to_string()),
            ("parts", self.parts.to_string()),
            ("blocks", self.blocks.to_string()),
        ]
    }
}

const GROUPS: &str = "a whole number from 1 to 65536";

/// Options as text.
struct Given<'a>(&'a BTreeMap<String, String>);

impl Given<'_> {
    /// The option as a number that keeps its rule.
    fn number<T: FromStr>(
        &self,
        name: &str,
        default: T,
        rule: &str,
        fits: impl Fn(&T) -> bool,
    ) -> Result<T, Error> {
        let Some(text) = self.0.get(name) else { return Ok(default) };
        text.trim().parse().ok().filter(fits).ok_or_else(|| refuse(name, text, rule))
    }

    /// The option as a finite number that is 0 or more.
    fn penalty(&self, name: &str, default: f64) -> Result<f64, Error> {
        self.number(name, default, "a number, 0 or more", |&penalty: &f64| {
            penalty >= 0.0 && penalty.is_finite()
        })
    }
}

fn refuse(name: &str, value: &str, rule: &str) -> Error {
    Error::Option { option: format!("--{name}"), value: value.to_owned(), rule: rule.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(name: &str, value: &str) -> Result<Params, Error> {
        Params::parse(&BTreeMap::from([(name.to_owned(), value.to_owned())]), 2)
    }

    #[test]
    fn what_is_not_given_has_its_default() {
        let params = Params::parse(&BTreeMap::new(), 2).unwrap();
        assert_eq!((params.rank, params.epochs, params.parts, params.blocks), (32, 10, 4, 5));
        assert_eq!((params.l2, params.l2_bias, params.prior, params.rate), (None, 0.05, 50.0, 0.1));
    }

    #[test]
    fn a_given_l2_is_the_penalty_per_rating_of_factors_and_biases_and_nothing_else() {
        let params = parse("l2", "0.2").unwrap();
        assert_eq!((params.l2, params.l2_bias, params.prior), (Some(0.2), 0.2, 0.0));
    }

    #[test]
    fn a_bad_value_is_named_with_its_rule() {
        let bad = [
            ("rank", "0"),
            ("rank", "many"),
            ("epochs", "0"),
            ("l2", "-1"),
            ("l2", "NaN"),
            ("l2-bias", "inf"),
            ("prior", "-0.5"),
            ("step", "sometimes"),
            ("rate", "0"),
            ("parts", "0"),
            ("blocks", "1.5"),
        ];
        for (name, value) in bad {
            let message = parse(name, value).unwrap_err().to_string();
            assert!(message.starts_with(&format!("--{name} is {value}, must be ")), "{message}");
        }
    }

    #[test]
    fn every_option_is_listed() {
        for name in ["rank", "epochs", "l2", "l2-bias", "prior", "rate", "evaluate-every", "parts", "blocks"]
        {
            assert!(SHARED.iter().chain(DESCENT).any(|option| option.name == name), "{name}");
            assert!(parse(name, "1").is_ok(), "{name}");
        }
    }
}
