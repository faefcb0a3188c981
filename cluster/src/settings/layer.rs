//! The places a setting can come from, each as a source for the `config` crate.

use std::ffi::OsString;
use std::path::Path;

use clap::ArgMatches;
use config::{ConfigError, Environment, File, FileFormat, Map, Source, Value, ValueKind};
use slackline_apps::catalog::App;

use super::COMMON;
use crate::Error;
use slackline_apps::nearest;

/// The key of a job file that names the app.
const APP: &str = "app";
const PREFIX: &str = "SLACKLINE";

/// Settings from one place; each value's origin is the setting as its author wrote it.
#[derive(Debug, Clone)]
pub(crate) struct Layer {
    place: Place,
    values: Map<String, Value>,
    /// Keys of the same place that somebody else reads: an unknown key may have been meant to be one of them.
    neighbours: &'static [&'static str],
}

#[derive(Debug, Clone)]
enum Place {
    /// A job file: its name and its text.
    File(String, String),
    Environment,
    Flags,
}

impl Layer {
    /// The keys of a job file. Paths in it are relative to the working directory, as on the command line.
    ///
    /// # Errors
    /// It cannot be read, or is not one YAML mapping.
    pub(crate) fn file(path: &Path) -> Result<Self, Error> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| Error::Usage(format!("{name}: {error}")))?;
        Self::text(&name, &text)
    }

    /// The keys of a job file that is at hand as text.
    ///
    /// # Errors
    /// It is not one YAML mapping.
    pub(crate) fn text(name: &str, text: &str) -> Result<Self, Error> {
        let name = name.to_owned();
        let text = text.trim_start_matches('\u{feff}').to_owned(); // a byte order mark, as some editors leave
        let values = File::from_str(&text, FileFormat::Yaml)
            .collect()
            .map_err(|error| Error::Usage(format!("{name}: {}", yaml_problem(&error))))?;
        Ok(Self::new(Place::File(name, text), values))
    }

    /// `SLACKLINE__WORKERS=4` sets `workers`; an empty variable counts as unset.
    ///
    /// # Errors
    /// A value that is not Unicode.
    pub(crate) fn environment(variables: impl Iterator<Item = (OsString, OsString)>) -> Result<Self, Error> {
        let mut ours = Map::new();
        for (name, value) in variables {
            let Ok(name) = name.into_string() else { continue }; // none of ours
            if name.starts_with(PREFIX) {
                let value = value.into_string();
                let value = value.map_err(|_| Error::Usage(format!("{name} is not valid UTF-8")))?;
                ours.insert(name, value);
            }
        }
        let values = Environment::with_prefix(PREFIX)
            .prefix_separator("__")
            .ignore_empty(true)
            .source(Some(ours))
            .collect()
            .map_err(|error| Error::Usage(error.to_string()))?;
        let values = values.into_iter().map(|(key, value)| (key.replace('_', "-"), value)).collect();
        Ok(Self::new(Place::Environment, values))
    }

    /// The flags that were given.
    pub(crate) fn flags(app: &dyn App, matches: &ArgMatches) -> Self {
        let given = |key: &&str| {
            let value = matches.get_one::<String>(key)?;
            Some(((*key).to_owned(), Value::new(None, ValueKind::String(value.clone()))))
        };
        Self::new(Place::Flags, keys(app).filter(|key| *key != APP).filter_map(|key| given(&key)).collect())
    }

    fn new(place: Place, values: Map<String, Value>) -> Self {
        let values = values.into_iter().map(|(key, value)| {
            let origin = place.origin(&key);
            (key, Value::new(Some(&origin), value.kind))
        });
        Self { values: values.collect(), place, neighbours: &[] }
    }

    /// The same without these keys, which somebody else reads.
    pub(crate) fn without(mut self, keys: &'static [&'static str]) -> Self {
        self.values.retain(|key, _| !keys.contains(&key.as_str()));
        self.neighbours = keys;
        self
    }

    /// Where a key is set, as its author wrote it, if it is.
    pub(crate) fn origin_of(&self, key: &str) -> Option<&str> {
        self.values.get(key).and_then(Value::origin)
    }

    /// The text of a key, if it is set to one.
    pub(crate) fn text_of(&self, key: &str) -> Option<&str> {
        match &self.values.get(key)?.kind {
            ValueKind::String(text) => Some(text),
            _ => None,
        }
    }

    /// Refuses keys that neither every app nor this one has, and mappings, which lose their place when merged.
    ///
    /// # Errors
    /// Such a key, with the nearest known one.
    pub(crate) fn check_keys(&self, app: &dyn App) -> Result<(), Error> {
        let known: Vec<&str> = keys(app).collect();
        let mut unknown: Vec<_> = self.values.keys().filter(|key| !known.contains(&key.as_str())).collect();
        unknown.sort_by_key(|key| self.place.line(key));
        let Some(key) = unknown.first() else { return self.check_plain() };
        let remedy = match nearest(key, known.iter().chain(self.neighbours).copied()) {
            Some(meant) => format!("did you mean {}?", self.place.name(meant)),
            None => format!("{} knows {}", app.name(), known.join(", ")),
        };
        Err(Error::Usage(format!("{} is not an option of {}; {remedy}", self.place.origin(key), app.name())))
    }

    fn check_plain(&self) -> Result<(), Error> {
        let is_mapping = |value: &&Value| matches!(value.kind, ValueKind::Table(_));
        let mapping = self.values.values().find(is_mapping).and_then(Value::origin);
        mapping.map_or(Ok(()), |origin| {
            Err(Error::Usage(format!(
                "{origin} is a mapping, must be a plain value (all keys are at the top level)"
            )))
        })
    }
}

/// The app that the last of `layers` with the key `app` names, with the place that names it.
pub(crate) fn key_of_app(layers: &[&Layer]) -> Option<(String, String)> {
    let value = layers.iter().rev().find_map(|layer| layer.values.get(APP))?;
    Some((value.kind.to_string(), value.origin().unwrap_or(APP).to_owned()))
}

impl Source for Layer {
    fn clone_into_box(&self) -> Box<dyn Source + Send + Sync> {
        Box::new(self.clone())
    }

    fn collect(&self) -> Result<Map<String, Value>, ConfigError> {
        Ok(self.values.clone())
    }
}

impl Place {
    /// The key as it is written in this place.
    fn name(&self, key: &str) -> String {
        match self {
            Self::File(..) => key.to_owned(),
            Self::Environment => format!("{PREFIX}__{}", key.replace('-', "_").to_uppercase()),
            Self::Flags => format!("--{key}"),
        }
    }

    /// The key with the file and line it is in.
    fn origin(&self, key: &str) -> String {
        match (self, self.line(key)) {
            (Self::File(file, _), Some(line)) => format!("{file}:{line}: {key}"),
            (Self::File(file, _), None) => format!("{file}: {key}"),
            _ => self.name(key),
        }
    }

    /// The line of a job file that begins with the key, from 1.
    fn line(&self, key: &str) -> Option<usize> {
        let Self::File(_, text) = self else { return None };
        let is_key = |line: &str| {
            let rest = line.trim_start_matches(['"', '\'']).strip_prefix(key);
            rest.is_some_and(|rest| rest.trim_start_matches(['"', '\'', ' ']).starts_with(':'))
        };
        text.lines().position(is_key).map(|index| index + 1)
    }
}

/// Every key that a run of `app` can be told.
fn keys(app: &dyn App) -> impl Iterator<Item = &'static str> + use<> {
    std::iter::once(APP).chain(COMMON).chain(app.options().iter().map(|option| option.name))
}

/// What the YAML reader found, in one line.
fn yaml_problem(error: &ConfigError) -> String {
    let text = error.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
    let Some((key, place)) = text.split_once(": duplicated key in mapping at ") else { return text };
    let key = key.trim_start_matches("String(").trim_matches(['"', ')']);
    format!("the key {key} is given twice, again at {place}")
}
