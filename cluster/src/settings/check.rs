//! One value from its written form to its checked one.

use std::path::PathBuf;
use std::time::Duration;

use config::{Value, ValueKind};

use crate::Error;

/// `KEY:` with nothing behind it is the same as no such line.
pub(crate) fn is_absent(value: &Value) -> bool {
    matches!(value.kind, ValueKind::Nil)
}

/// A value as text; a list is its items with commas between them.
pub(crate) fn text(value: &Value) -> Result<String, Error> {
    match &value.kind {
        ValueKind::Array(items) => {
            let items: Result<Vec<_>, _> = items.iter().map(|item| scalar(&item.kind)).collect();
            items
                .map(|items| items.join(","))
                .map_err(|shown| refuse(value, &shown, "a list of plain values"))
        }
        kind => scalar(kind).map_err(|shown| refuse(value, &shown, "a plain value")),
    }
}

/// A path; a number would not be the name that was written (`007`, `1.10`).
pub(crate) fn path(value: &Value) -> Result<PathBuf, Error> {
    match &value.kind {
        ValueKind::String(path) if !path.is_empty() => Ok(path.into()),
        _ => Err(refuse(value, &shown(value), "a path, in quotes where it looks like a number")),
    }
}

/// `true` or `false`.
pub(crate) fn flag(value: &Value) -> Result<bool, Error> {
    match &value.kind {
        ValueKind::Boolean(flag) => Ok(*flag),
        ValueKind::String(text) if text == "true" || text == "false" => Ok(text == "true"),
        _ => Err(refuse(value, &shown(value), "true or false")),
    }
}

/// A whole number from `least` to `most`.
pub(crate) fn whole(value: &Value, least: u64, most: u64) -> Result<u64, Error> {
    let number = match &value.kind {
        ValueKind::Float(_) => None, // 2.7, or an integer too large for the reader: never rounded
        _ => shown(value).parse().ok().filter(|number| (least..=most).contains(number)),
    };
    number.ok_or_else(|| refuse(value, &shown(value), &format!("a whole number from {least} to {most}")))
}

/// A time with its unit; a bare number would leave open of what.
pub(crate) fn duration(value: &Value) -> Result<Duration, Error> {
    let refuse = || refuse(value, &shown(value), "a time such as 500ms, 30s, 5m or 1h");
    let ValueKind::String(text) = &value.kind else { return Err(refuse()) };
    let unit = text.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(refuse)?;
    let (number, unit) = (text[..unit].trim().parse::<f64>(), &text[unit..]);
    let seconds = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(refuse()),
    };
    let time = number.ok().and_then(|number| Duration::try_from_secs_f64(number * seconds).ok());
    time.filter(|time| !time.is_zero()).ok_or_else(refuse)
}

/// A number of bytes, with or without a unit of thousands.
pub(crate) fn size(value: &Value) -> Result<u64, Error> {
    let written = shown(value);
    let digits = written.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &written[digits.len()..] {
        "" => Some(1),
        "k" | "kB" => Some(1_000),
        "M" | "MB" => Some(1_000_000),
        "G" | "GB" => Some(1_000_000_000),
        _ => None,
    };
    let number =
        digits.trim().parse::<u64>().ok().zip(unit).and_then(|(number, unit)| number.checked_mul(unit));
    number
        .filter(|number| *number > 0)
        .ok_or_else(|| refuse(value, &written, "a number of bytes such as 500k or 20M"))
}

fn refuse(value: &Value, shown: &str, rule: &str) -> Error {
    Error::Usage(format!("{} is {shown}, must be {rule}", value.origin().unwrap_or("a setting")))
}

fn shown(value: &Value) -> String {
    scalar(&value.kind).unwrap_or_else(|shown| shown)
}

/// The text of a plain value, or what else it is.
fn scalar(kind: &ValueKind) -> Result<String, String> {
    match kind {
        ValueKind::Float(number) => Ok(format!("{number:?}")),
        ValueKind::Array(_) => Err("a list".into()),
        ValueKind::Table(_) => Err("a mapping".into()),
        ValueKind::Nil => Err("nothing".into()),
        plain => Ok(plain.to_string()),
    }
}
