//! The options of binary logistic regression, from text to checked values.

use std::collections::BTreeMap;

use crate::Error;
use crate::descent::options::{flag, number};

/// Checked options.
#[derive(Debug, Clone, PartialEq)]
pub struct Params {
    /// The L1 penalty.
    pub l1: f64,
    /// The L2 penalty.
    pub l2: f64,
    /// The relative duality gap to reach.
    pub tolerance: f64,
    /// Whether to fit an intercept.
    pub intercept: bool,
}

impl Params {
    /// Reads the options by their long names.
    ///
    /// # Errors
    /// The first option with a bad value, with the rule it breaks; and both penalties zero, since separable data
    /// then have no solution and no certificate.
    pub fn parse(options: &BTreeMap<String, String>) -> Result<Self, Error> {
        let allowed = |v: f64| v >= 0.0 && v.is_finite();
        let rule = "a finite number, 0 or more";
        let l1 = number(options, "l1", allowed, rule)?;
        let l2 = number(options, "l2", allowed, rule)?.unwrap_or(0.0);
        let l1 = l1.unwrap_or(if l2 > 0.0 { 0.0 } else { 1e-3 });
        if l1 == 0.0 && l2 == 0.0 {
            let rule = "more than 0 unless --l2 is".to_owned();
            return Err(Error::Option { option: "--l1".into(), value: "0".into(), rule });
        }
        let tolerance = number(options, "tol", |v| v > 0.0 && v < 1.0, "more than 0 and less than 1")?;
        Ok(Self {
            l1,
            l2,
            tolerance: tolerance.unwrap_or(1e-6),
            intercept: flag(options, "intercept", true)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_the_penalties_must_be_more_than_zero() {
        let parse = |pairs: &[(&str, &str)]| {
            Params::parse(&pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect())
        };
        assert_eq!(parse(&[]).unwrap(), Params { l1: 1e-3, l2: 0.0, tolerance: 1e-6, intercept: true });
        assert_eq!(parse(&[("l2", "0.5")]).unwrap().l1, 0.0);
        assert_eq!(
            parse(&[("l1", "0")]).unwrap_err().to_string(),
            "--l1 is 0, must be more than 0 unless --l2 is"
        );
        let negative = parse(&[("l2", "-1")]).unwrap_err();
        assert_eq!(negative.to_string(), "--l2 is -1, must be a finite number, 0 or more");
    }
}
