//! The options of the Lasso, from text to checked values.

use std::collections::BTreeMap;

use crate::Error;
use crate::descent::guide::Penalties;
use crate::descent::options::{flag, number};

/// The smallest penalty of a path, as a share of the largest useful one, where no penalty is given.
const PATH_END: f64 = 1e-3;
/// The penalty, as a share of the largest useful one, where nothing is given.
const DEFAULT_RATIO: f64 = 0.1;

/// Checked options.
#[derive(Debug, Clone, PartialEq)]
pub struct Params {
    /// The penalties to solve for, largest first.
    pub penalties: Target,
    /// The relative duality gap to reach.
    pub tolerance: f64,
    /// Whether to fit an intercept.
    pub intercept: bool,
    /// Whether to weigh each column's penalty by its standard deviation.
    pub standardize: bool,
}

/// The penalties as asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// This penalty, after so many larger ones (0 for none) from the largest useful one down.
    Lambda(f64, usize),
    /// This share of the largest useful penalty, likewise.
    Ratio(f64, usize),
}

impl Params {
    /// Reads the options by their long names.
    ///
    /// # Errors
    /// The first option with a bad value, with the rule it breaks.
    pub fn parse(options: &BTreeMap<String, String>) -> Result<Self, Error> {
        let positive = |v: f64| v > 0.0 && v.is_finite();
        let lambda = number(options, "lambda", positive, "a finite number more than 0")?;
        let ratio = number(options, "lambda-ratio", |v| v > 0.0 && v <= 1.0, "more than 0 and at most 1")?;
        let whole = |v: f64| (1.0..=10_000.0).contains(&v) && v.fract() == 0.0;
        let path = number(options, "path", whole, "a whole number from 1 to 10000")?.map(|v| v as usize);
        let penalties = match (lambda, ratio) {
            (Some(_), Some(ratio)) => {
                return Err(Error::Option {
                    option: "--lambda-ratio".into(),
                    value: ratio.to_string(),
                    rule: "left out beside --lambda".into(),
                });
            }
            (Some(lambda), None) => Target::Lambda(lambda, path.unwrap_or(0)),
            (None, ratio) => {
                let default = if path.is_some() { PATH_END } else { DEFAULT_RATIO };
                Target::Ratio(ratio.unwrap_or(default), path.unwrap_or(0))
            }
        };
        let tolerance = number(options, "tol", |v| v > 0.0 && v < 1.0, "more than 0 and less than 1")?;
        Ok(Self {
            penalties,
            tolerance: tolerance.unwrap_or(1e-6),
            intercept: flag(options, "intercept", true)?,
            standardize: flag(options, "standardize", false)?,
        })
    }

    /// The penalties for the guide: evenly spaced on a logarithmic scale.
    pub fn penalties(&self) -> Penalties {
        match self.penalties {
            Target::Lambda(lambda, 0 | 1) => Penalties::Given(vec![lambda]),
            Target::Lambda(lambda, n) => Penalties::DownTo(lambda, n),
            Target::Ratio(ratio, 0 | 1) => Penalties::Shares(vec![ratio]),
            Target::Ratio(ratio, n) => {
                Penalties::Shares((0..n).map(|i| ratio.powf(i as f64 / (n - 1) as f64)).collect())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    #[test]
    fn the_defaults_are_a_tenth_of_the_largest_penalty_with_an_intercept() {
        let params = Params::parse(&BTreeMap::new()).unwrap();
        assert_eq!(params.penalties(), Penalties::Shares(vec![0.1]));
        assert!(params.intercept && !params.standardize && params.tolerance == 1e-6);
    }

    #[test]
    fn a_path_is_even_on_a_logarithmic_scale() {
        let params = Params::parse(&options(&[("lambda-ratio", "0.01"), ("path", "3")])).unwrap();
        let Penalties::Shares(shares) = params.penalties() else { panic!("shares") };
        assert!(shares.iter().zip([1.0, 0.1, 0.01]).all(|(a, b)| (a - b).abs() < 1e-12));
    }

    #[test]
    fn each_bad_value_is_named_with_its_rule() {
        let bad = [
            ("lambda", "0", "--lambda is 0, must be a finite number more than 0"),
            ("lambda", "x", "--lambda is x, must be a finite number more than 0"),
            ("lambda", "inf", "--lambda is inf, must be a finite number more than 0"),
            ("lambda-ratio", "1.5", "--lambda-ratio is 1.5, must be more than 0 and at most 1"),
            ("tol", "0", "--tol is 0, must be more than 0 and less than 1"),
            ("path", "2.5", "--path is 2.5, must be a whole number from 1 to 10000"),
            ("intercept", "maybe", "--intercept is maybe, must be true or false"),
        ];
        for (name, value, expected) in bad {
            assert_eq!(Params::parse(&options(&[(name, value)])).unwrap_err().to_string(), expected);
        }
        let both = Params::parse(&options(&[("lambda", "1"), ("lambda-ratio", "0.1")])).unwrap_err();
        assert_eq!(both.to_string(), "--lambda-ratio is 0.1, must be left out beside --lambda");
    }
}
