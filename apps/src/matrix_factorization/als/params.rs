//! The options of alternating least squares: as written, then checked.

use std::collections::BTreeMap;

use crate::Error;
use crate::catalog::OptionSpec;
use crate::options::Options;
use crate::run::refuse;

/// What `slackline train mf --method als` can be told beyond what both methods can.
pub const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        name: "implicit",
        value: "true|false",
        default: "false",
        help: "with als: ratings above 0 are choices, all other pairs are none (Hu et al. 2008); --l2 is then 0.1 \
               and not per rating",
    },
    OptionSpec {
        name: "alpha",
        value: "X",
        default: "1",
        help: "with --implicit: a rating r has confidence 1 + X r, more than 0",
    },
    OptionSpec {
        name: "solver",
        value: "cg|cholesky",
        default: "cg",
        help: "with als: rows by conjugate gradients, or each exactly",
    },
    OptionSpec {
        name: "cg-steps",
        value: "N",
        default: "3",
        help: "with als: steps of conjugate gradients a row and pass, 1 to 1000",
    },
];

/// How a row is solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// So many steps of conjugate gradients.
    Gradients(usize),
    /// Exactly, by Cholesky's factors.
    Cholesky,
    /// Factors at 0 or above, by coordinate descent.
    Nonnegative,
}

/// What a rating means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Feedback {
    /// A value to predict. Penalties are per rating; the factors' is [`DEFAULT_L2`](super::super::params::DEFAULT_L2) times
    /// the deviation of the ratings where absent.
    Explicit {
        /// Penalty of the factors per rating.
        l2: Option<f64>,
        /// Penalty of the biases per rating.
        l2_bias: f64,
        /// Imaginary ratings that every row is penalised for.
        prior: f64,
    },
    /// A choice.
    Implicit {
        /// Confidence of a rating `r` is `1 + alpha r`.
        alpha: f64,
        /// Penalty of a row.
        l2: f64,
    },
}

/// Checked options.
#[derive(Debug, Clone, PartialEq)]
pub struct Params {
    /// Factors of a row.
    pub rank: usize,
    /// Passes over the ratings.
    pub epochs: usize,
    /// What a rating means, and the penalties.
    pub feedback: Feedback,
    /// How a row is solved.
    pub method: Method,
    /// Parts of the users; as many as suit the data where absent.
    pub parts: Option<usize>,
    /// Parts of the items; as many as suit the data where absent.
    pub blocks: Option<usize>,
    /// Passes between evaluations.
    pub evaluate_every: usize,
}

impl Params {
    /// Checks options as text.
    ///
    /// # Errors
    /// [`Error::Option`] names the first bad value and its rule.
    pub fn parse(options: &BTreeMap<String, String>) -> Result<Self, Error> {
        let given = Options(options);
        let rank = given.given("rank", "a whole number from 1 to 4096", |rank| (1..=4096).contains(rank))?;
        let groups = |name| given.given(name, "a whole number from 1 to 65536", |n| (1..=65_536).contains(n));
        Ok(Self {
            rank: rank.unwrap_or(32),
            epochs: given.given("epochs", "a whole number, 1 or more", |n| *n >= 1)?.unwrap_or(10),
            feedback: feedback(given)?,
            method: method(given)?,
            parts: groups("parts")?,
            blocks: groups("blocks")?,
            evaluate_every: given
                .given("evaluate-every", "a whole number, 1 or more", |n| *n >= 1)?
                .unwrap_or(1),
        })
    }

    /// Whether ratings are choices.
    pub fn is_implicit(&self) -> bool {
        matches!(self.feedback, Feedback::Implicit { .. })
    }

    /// The options by name, as they were understood: what must be the same for a run to go on from a checkpoint.
    pub(super) fn settings(&self) -> Vec<(&'static str, String)> {
        let groups = |n: Option<usize>| n.map_or_else(|| "their default".to_owned(), |n| n.to_string());
        let mut settings = vec![
            ("method", "als".to_owned()),
            ("rank", self.rank.to_string()),
            ("epochs", self.epochs.to_string()),
            ("implicit", self.is_implicit().to_string()),
            ("nonnegative", (self.method == Method::Nonnegative).to_string()),
            ("evaluate-every", self.evaluate_every.to_string()),
            ("parts", groups(self.parts)),
            ("blocks", groups(self.blocks)),
        ];
        match self.feedback {
            Feedback::Explicit { l2, l2_bias, prior } => settings.extend([
                ("l2", l2.map_or_else(|| "its default".to_owned(), |l2| l2.to_string())),
                ("l2-bias", l2_bias.to_string()),
                ("prior", prior.to_string()),
            ]),
            Feedback::Implicit { alpha, l2 } => {
                settings.extend([("alpha", alpha.to_string()), ("l2", l2.to_string())]);
            }
        }
        match self.method {
            Method::Gradients(steps) => {
                settings.extend([("solver", "cg".to_owned()), ("cg-steps", steps.to_string())]);
            }
            Method::Cholesky => settings.push(("solver", "cholesky".to_owned())),
            Method::Nonnegative => {}
        }
        settings
    }
}

fn feedback(given: Options<'_>) -> Result<Feedback, Error> {
    let l2 = given.penalty("l2")?;
    if given.switch("implicit")?.unwrap_or(false) {
        absent(given, &["l2-bias", "prior"], "absent with --implicit, which has no biases")?;
        let alpha = given.positive("alpha")?.unwrap_or(1.0);
        return Ok(Feedback::Implicit { alpha, l2: l2.unwrap_or(0.1) });
    }
    absent(given, &["alpha"], "absent without --implicit")?;
    let l2_bias = given.penalty("l2-bias")?.or(l2).unwrap_or(0.05);
    let prior = given.penalty("prior")?.unwrap_or(if l2.is_some() { 0.0 } else { 50.0 });
    Ok(Feedback::Explicit { l2, l2_bias, prior })
}

fn method(given: Options<'_>) -> Result<Method, Error> {
    let steps = given.given("cg-steps", "a whole number from 1 to 1000", |n| (1..=1000).contains(n))?;
    if given.switch("nonnegative")?.unwrap_or(false) {
        absent(given, &["solver", "cg-steps"], "absent with --nonnegative, which has a solver of its own")?;
        return Ok(Method::Nonnegative);
    }
    match given.text("solver").unwrap_or("cg") {
        "cg" => Ok(Method::Gradients(steps.unwrap_or(3))),
        "cholesky" => {
            absent(given, &["cg-steps"], "absent with --solver cholesky")?;
            Ok(Method::Cholesky)
        }
        other => Err(refuse("solver", other, "cg or cholesky")),
    }
}

/// Refuses options that say nothing beside others.
fn absent(given: Options<'_>, names: &[&str], rule: &str) -> Result<(), Error> {
    match names.iter().find_map(|name| Some((*name, given.text(name)?))) {
        None => Ok(()),
        Some((name, value)) => Err(refuse(name, value, rule)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(options: &[(&str, &str)]) -> Result<Params, Error> {
        Params::parse(&options.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect())
    }

    #[test]
    fn what_is_not_given_has_its_default() {
        let params = parse(&[]).unwrap();
        assert_eq!(params.feedback, Feedback::Explicit { l2: None, l2_bias: 0.05, prior: 50.0 });
        assert_eq!((params.rank, params.epochs, params.method), (32, 10, Method::Gradients(3)));
        let implicit = parse(&[("implicit", "true")]).unwrap();
        assert_eq!(implicit.feedback, Feedback::Implicit { alpha: 1.0, l2: 0.1 });
    }

    #[test]
    fn a_given_l2_is_the_penalty_of_factors_and_biases_and_nothing_else() {
        let params = parse(&[("l2", "0.2")]).unwrap();
        assert_eq!(params.feedback, Feedback::Explicit { l2: Some(0.2), l2_bias: 0.2, prior: 0.0 });
    }

    #[test]
    fn a_bad_value_and_an_option_that_says_nothing_are_refused_by_name() {
        let bad: [&[(&str, &str)]; 9] = [
            &[("rank", "0")],
            &[("cg-steps", "0")],
            &[("solver", "lu")],
            &[("alpha", "0"), ("implicit", "true")],
            &[("alpha", "2")],
            &[("prior", "1"), ("implicit", "true")],
            &[("solver", "cg"), ("nonnegative", "true")],
            &[("cg-steps", "4"), ("solver", "cholesky")],
            &[("implicit", "perhaps")],
        ];
        for options in bad {
            let message = parse(options).unwrap_err().to_string();
            let (name, value) = options[0];
            assert!(message.starts_with(&format!("--{name} is {value}, must be ")), "{message}");
        }
    }
}
