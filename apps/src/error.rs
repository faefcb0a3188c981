//! Everything that can be wrong with what a user gave us, each as one sentence with the remedy.

use std::path::PathBuf;

/// An error of an app: bad data, bad options, or a run that could not go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be opened, read or written.
    #[error("{path}: {source}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A line of a data file is not what the format asks for.
    #[error("{path}:{line}: {problem}", path = path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What was there, what was expected, and what to do.
        problem: String,
    },
    /// A data file as a whole cannot be used (empty, wrong shape, wrong kind).
    #[error("{path}: {problem}", path = path.display())]
    Data {
        /// The file.
        path: PathBuf,
        /// What is wrong and what to do.
        problem: String,
    },
    /// An option has a value that the app refuses.
    #[error("{option} is {value}, must be {rule}")]
    Option {
        /// The option as the user writes it, such as `--lambda`.
        option: String,
        /// The value given.
        value: String,
        /// The rule it breaks, such as `more than 0`.
        rule: String,
    },
    /// An option that the app does not have.
    #[error("{app} has no option {option}{}", nearest.as_ref().map(|n| format!("; did you mean {n}?")).unwrap_or_default())]
    UnknownOption {
        /// The app.
        app: String,
        /// The unknown option.
        option: String,
        /// The nearest known one.
        nearest: Option<String>,
    },
    /// The run started but could not go on.
    #[error("{0}")]
    Run(String),
    /// This process did its part of a run whose model is with the node that leads.
    #[error("the model is with the node that leads")]
    Elsewhere,
}
