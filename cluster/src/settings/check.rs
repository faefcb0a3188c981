//! One value from its written form to its checked one.

use std::path::PathBuf;
use std::time::Duration;

use config::{Value, ValueKind};

use crate::Error;

/// `KEY:` with nothing behind it is the same as no such line.
pub(super) fn is_absent(value: &Value) -> bool {
    matches!(value.kind, ValueKind::Nil)
}

/// A value as text; a list is its items with commas between them.
pub(super) fn text(value: &Value) -> Result<String, Error> {
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
pub(super) fn path(value: &Value) -> Result<PathBuf, Error> {
    match &value.kind {
        ValueKind::String(path) if !path.is_empty() => Ok(path.into()),
        _ => Err(refuse(value, &shown(value), "a path, in quotes where it looks like a number")),
    }
}

/// `true` or `false`.
pub(super) fn flag(value: &Value) -> Result<bool, Error> {
    match &value.kind {
        ValueKind::Boolean(flag) => Ok(*flag),
        ValueKind::String(text) if text == "true" || text == "false" => Ok(text == "true"),
        _ => Err(refuse(value, &shown(value), "true or false")),
    }
}

/// A time such as `500ms`, `30s`, `5m` or `1h`, more than none.
pub(super) fn duration(value: &Value) -> Result<Duration, Error> {
    let text = shown(value);
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let millis = match unit.trim() {
        "ms" => Some(1),
        "s" => Some(1000),
        "m" | "min" => Some(60_000),
        "h" => Some(3_600_000),
        _ => None,
    };
    let number = number.parse::<u64>().ok().filter(|number| (1..=1_000_000_000).contains(number));
    let duration = number.zip(millis).map(|(number, millis)| Duration::from_millis(number * millis));
    duration.ok_or_else(|| refuse(value, &text, "a time such as 500ms, 30s, 5m or 1h"))
}

/// A whole number from `least` to `most`.
pub(super) fn whole(value: &Value, least: u64, most: u64) -> Result<u64, Error> {
    let number = match &value.kind {
        ValueKind::Float(_) => None, // 2.7, or an integer too large for the reader: never rounded
        _ => shown(value).parse().ok().filter(|number| (least..=most).contains(number)),
    };
    number.ok_or_else(|| refuse(value, &shown(value), &format!("a whole number from {least} to {most}")))
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
