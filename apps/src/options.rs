//! Options as text, checked: every bad value is named with the rule it breaks.

use std::collections::BTreeMap;
use std::str::FromStr;

use crate::Error;
use crate::run::refuse;

/// The options that a user gave, by long name.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a>(pub &'a BTreeMap<String, String>);

impl<'a> Options<'a> {
    /// The text of an option, if it was given.
    pub fn text(self, name: &str) -> Option<&'a str> {
        self.0.get(name).map(String::as_str)
    }

    /// An option that keeps `rule`, if it was given.
    ///
    /// # Errors
    /// [`Error::Option`] when it does not.
    pub fn given<T: FromStr>(
        self,
        name: &str,
        rule: &str,
        keeps: impl Fn(&T) -> bool,
    ) -> Result<Option<T>, Error> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let value = text.trim().parse().ok().filter(keeps);
        value.map(Some).ok_or_else(|| refuse(name, text, rule))
    }

    /// A finite number above 0, if it was given.
    ///
    /// # Errors
    /// [`Error::Option`] when it is none.
    pub fn positive(self, name: &str) -> Result<Option<f64>, Error> {
        self.given(name, "a number more than 0", |x: &f64| *x > 0.0 && x.is_finite())
    }

    /// A finite number that is 0 or more, if it was given.
    ///
    /// # Errors
    /// [`Error::Option`] when it is none.
    pub fn penalty(self, name: &str) -> Result<Option<f64>, Error> {
        self.given(name, "a number, 0 or more", |x: &f64| *x >= 0.0 && x.is_finite())
    }

    /// A whole number from 1 up, if it was given.
    ///
    /// # Errors
    /// [`Error::Option`] when it is none.
    pub fn count(self, name: &str) -> Result<Option<usize>, Error> {
        let rule = "a whole number from 1 to 1000000000";
        self.given(name, rule, |n| (1..=1_000_000_000).contains(n))
    }

    /// `true` or `false`, if it was given.
    ///
    /// # Errors
    /// [`Error::Option`] when it is neither.
    pub fn switch(self, name: &str) -> Result<Option<bool>, Error> {
        self.given(name, "true or false", |_| true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(value: &str) -> BTreeMap<String, String> {
        BTreeMap::from([("x".to_owned(), value.to_owned())])
    }

    #[test]
    fn a_bad_value_is_named_with_its_rule() {
        let why = |error: Result<Option<f64>, Error>| error.unwrap_err().to_string();
        assert_eq!(why(Options(&given("-1")).penalty("x")), "--x is -1, must be a number, 0 or more");
        assert_eq!(why(Options(&given("0")).positive("x")), "--x is 0, must be a number more than 0");
        assert_eq!(why(Options(&given("nan")).positive("x")), "--x is nan, must be a number more than 0");
        let error = Options(&given("yes")).switch("x").unwrap_err().to_string();
        assert_eq!(error, "--x is yes, must be true or false");
    }

    #[test]
    fn what_is_not_given_is_absent() {
        assert_eq!(Options(&BTreeMap::new()).count("x").unwrap(), None);
        assert_eq!(Options(&given(" 3 ")).count("x").unwrap(), Some(3));
    }
}
