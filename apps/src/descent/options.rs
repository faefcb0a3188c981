//! From the text of an option to a checked value.

use std::collections::BTreeMap;

use crate::Error;

/// The number an option is given, if it is given.
///
/// # Errors
/// If it is no number, or not one that the rule holds for.
pub fn number(
    options: &BTreeMap<String, String>,
    name: &str,
    holds: impl Fn(f64) -> bool,
    rule: &str,
) -> Result<Option<f64>, Error> {
    let Some(text) = options.get(name) else { return Ok(None) };
    match text.trim().parse::<f64>() {
        Ok(value) if holds(value) => Ok(Some(value)),
        _ => Err(refused(name, text, rule)),
    }
}

/// Whether an option is set, or its default.
///
/// # Errors
/// If it is neither `true` nor `false`.
pub fn flag(options: &BTreeMap<String, String>, name: &str, default: bool) -> Result<bool, Error> {
    match options.get(name).map(|text| text.trim()) {
        None => Ok(default),
        Some("true") => Ok(true),
        Some("false") => Ok(false),
        Some(text) => Err(refused(name, text, "true or false")),
    }
}

fn refused(name: &str, value: &str, rule: &str) -> Error {
    Error::Option { option: format!("--{name}"), value: value.to_owned(), rule: rule.to_owned() }
}
