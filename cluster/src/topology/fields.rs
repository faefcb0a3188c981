//! The fields of one mapping of a topology, taken out one by one, each checked as it was written.

use std::path::PathBuf;
use std::time::Duration;

use config::{Value, ValueKind};
use slackline_apps::nearest;

use super::tree::{Entry, Kind, Tree};
use crate::Error;
use crate::settings::check;

/// One mapping of a topology.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a> {
    /// The file, for refusals.
    file: &'a str,
    /// What the mapping is, such as `a node`.
    what: &'static str,
    entries: &'a [Entry],
    /// Where the mapping begins.
    pub(super) line: usize,
}

impl<'a> Fields<'a> {
    /// The fields of `tree`, which must be a mapping and have no key but `known`.
    pub(super) fn new(
        file: &'a str,
        what: &'static str,
        tree: &'a Tree,
        known: &[&str],
    ) -> Result<Self, Error> {
        let Kind::Mapping(entries) = &tree.kind else {
            let shown = if matches!(tree.kind, Kind::List(_)) { "a list" } else { "a plain value" };
            let problem = format!("{what} is {shown}, must be a mapping with the keys {}", known.join(", "));
            return Err(at(file, tree.line, &problem));
        };
        let fields = Self { file, what, entries, line: tree.line };
        fields.only(known)?;
        Ok(fields)
    }

    /// Refuses a key that is not `known`, with the nearest that is.
    fn only(&self, known: &[&str]) -> Result<(), Error> {
        let Some(entry) = self.entries.iter().find(|entry| !known.contains(&entry.key.as_str())) else {
            return Ok(());
        };
        let remedy = match nearest(&entry.key, known.iter().copied()) {
            Some(meant) => format!("did you mean {meant}?"),
            None => format!("known are {}", known.join(", ")),
        };
        Err(at(self.file, entry.line, &format!("{} is not a key of {}; {remedy}", entry.key, self.what)))
    }

    fn find(&self, key: &str) -> Option<&'a Entry> {
        self.entries.iter().find(|entry| entry.key == key && !entry.value.is_absent())
    }

    /// Whether a key has a plain value.
    pub(super) fn is_plain(&self, key: &str) -> bool {
        self.find(key).is_some_and(|entry| matches!(entry.value.kind, Kind::Plain { .. }))
    }

    /// The line of a key, or of the mapping where it is not given.
    pub(super) fn line_of(&self, key: &str) -> usize {
        self.find(key).map_or(self.line, |entry| entry.line)
    }

    /// A key's value as a list.
    pub(super) fn list(&self, key: &str) -> Result<Option<&'a [Tree]>, Error> {
        let Some(entry) = self.find(key) else { return Ok(None) };
        match &entry.value.kind {
            Kind::List(items) => Ok(Some(items)),
            _ => Err(self.refuse(key, "not a list", "a list")),
        }
    }

    /// A key's value as a mapping.
    pub(super) fn mapping(
        &self,
        key: &str,
        what: &'static str,
        known: &[&str],
    ) -> Result<Option<Fields<'a>>, Error> {
        let Some(entry) = self.find(key) else { return Ok(None) };
        Fields::new(self.file, what, &entry.value, known).map(Some)
    }

    /// Names and values of a mapping whose keys are free.
    pub(super) fn pairs(&self, key: &str) -> Result<Vec<(String, String)>, Error> {
        let Some(entry) = self.find(key) else { return Ok(Vec::new()) };
        let Kind::Mapping(entries) = &entry.value.kind else {
            return Err(self.refuse(key, "not a mapping", "a mapping of names to values"));
        };
        let pair = |entry: &Entry| match &entry.value.kind {
            Kind::Plain { text, .. } => Ok((entry.key.clone(), text.clone())),
            _ => Err(at(self.file, entry.line, &format!("{} must be a plain value", entry.key))),
        };
        entries.iter().map(pair).collect()
    }

    /// A plain value as it was written.
    pub(super) fn text(&self, key: &str) -> Result<Option<&'a str>, Error> {
        let Some(entry) = self.find(key) else { return Ok(None) };
        match &entry.value.kind {
            Kind::Plain { text, .. } if !text.trim().is_empty() => Ok(Some(text)),
            Kind::Plain { .. } => Err(self.refuse(key, "empty", "a plain value")),
            _ => Err(self.refuse(key, "not a plain value", "a plain value")),
        }
    }

    /// A name of letters, digits, `.`, `-` and `_`: it appears in commands, files and messages.
    pub(super) fn name(&self, key: &str) -> Result<Option<String>, Error> {
        let Some(text) = self.text(key)? else { return Ok(None) };
        let rule = name_rule(text);
        rule.map_or_else(|| Ok(Some(text.to_owned())), |rule| Err(self.refuse(key, text, rule)))
    }

    /// A path.
    pub(super) fn path(&self, key: &str) -> Result<Option<PathBuf>, Error> {
        self.checked(key, check::path)
    }

    /// `true` or `false`.
    pub(super) fn flag(&self, key: &str) -> Result<Option<bool>, Error> {
        self.checked(key, check::flag)
    }

    /// A whole number.
    pub(super) fn whole(&self, key: &str, least: u64, most: u64) -> Result<Option<usize>, Error> {
        let number = self.checked(key, |value| check::whole(value, least, most))?;
        Ok(number.map(|number| number as usize)) // `most` is far below the limit
    }

    /// A time such as `250ms` or `2s`.
    pub(super) fn duration(&self, key: &str) -> Result<Option<Duration>, Error> {
        self.checked(key, check::duration)
    }

    fn checked<T>(
        &self,
        key: &str,
        check: impl FnOnce(&Value) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        let Some(entry) = self.find(key) else { return Ok(None) };
        let origin = format!("{}:{}: {key}", self.file, entry.line);
        check(&Value::new(Some(&origin), kind(&entry.value))).map(Some)
    }

    /// A key whose value breaks a rule.
    pub(super) fn refuse(&self, key: &str, shown: &str, rule: &str) -> Error {
        at(self.file, self.line_of(key), &format!("{key} is {shown}, must be {rule}"))
    }

    /// A problem at the line of a key.
    pub(super) fn problem(&self, key: &str, problem: &str) -> Error {
        at(self.file, self.line_of(key), problem)
    }
}

/// A problem in a line of a file.
pub(super) fn at(file: &str, line: usize, problem: &str) -> Error {
    Error::Usage(format!("{file}:{line}: {problem}"))
}

/// The rule of names that `text` breaks, if any.
pub(crate) fn name_rule(text: &str) -> Option<&'static str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let good =
        text.len() <= 63 && text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.chars().all(plain);
    (!good).then_some("1 to 63 letters, digits, dots, dashes and underscores, the first a letter or a digit")
}

/// What a value is to the checks of settings.
fn kind(tree: &Tree) -> ValueKind {
    match &tree.kind {
        Kind::List(_) => ValueKind::Array(Vec::new()),
        Kind::Mapping(_) => ValueKind::Table(config::Map::new()),
        Kind::Plain { text, quoted: true } => ValueKind::String(text.clone()),
        Kind::Plain { text, .. } => match (text.as_str(), text.parse(), text.parse()) {
            ("true" | "false", _, _) => ValueKind::Boolean(text == "true"),
            (_, Ok(whole), _) => ValueKind::I64(whole),
            (_, _, Ok(number)) => ValueKind::Float(number),
            _ => ValueKind::String(text.clone()),
        },
    }
}
