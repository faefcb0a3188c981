//! What can go wrong on the command line, and the exit code that tells a script which it was.

use std::path::{Path, PathBuf};

/// An error of the command line. Every message is one sentence with the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The command, a setting or a job file is not as it must be.
    #[error("{0}")]
    Usage(String),
    /// A file of ours could not be read or written.
    #[error("{path}: {source}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A directory that is not what a finished run leaves behind.
    #[error("{path}: {problem}", path = path.display())]
    Run {
        /// The directory or the file in it.
        path: PathBuf,
        /// What is wrong and what to do.
        problem: String,
    },
    /// An audit record that cannot be read.
    #[error("{0}")]
    Audit(String),
    /// The numbers left the range of numbers.
    #[error("the objective is {0}: the run diverged; nothing was kept")]
    Diverged(f64),
    /// The cluster could not be formed, or one of its nodes ended.
    #[error("{problem}")]
    Cluster {
        /// Which node, why, and what to do.
        problem: String,
        /// The exit code that says it best: that of the node where it is known.
        code: u8,
    },
    /// The app refused the data or the options, or could not go on.
    #[error(transparent)]
    App(#[from] slackline_apps::Error),
}

impl Error {
    /// `path` could not be read or written.
    pub(crate) fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::File { path, source }
    }

    /// The cluster could not be formed.
    pub(crate) fn cluster(problem: impl Into<String>) -> Self {
        Self::Cluster { problem: problem.into(), code: 1 }
    }

    /// 1 error, 2 usage and settings, 3 bad data, 4 diverged.
    pub fn exit_code(&self) -> u8 {
        use slackline_apps::Error as App;
        match self {
            Self::Usage(_) | Self::App(App::Option { .. } | App::UnknownOption { .. }) => 2,
            Self::App(App::File { .. } | App::Line { .. } | App::Data { .. }) => 3,
            Self::Diverged(_) => 4,
            Self::Cluster { code, .. } => *code,
            Self::App(App::Run(problem)) if problem.contains("diverge") => 4,
            Self::File { .. } | Self::Run { .. } | Self::Audit(_) | Self::App(_) => 1,
        }
    }

    /// The whole chain of causes as one sentence; a cause that a message already contains is not said twice.
    pub fn sentence(&self) -> String {
        let mut sentence = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            let text = error.to_string();
            if !sentence.contains(&text) {
                sentence = format!("{sentence}: {text}");
            }
            cause = error.source();
        }
        sentence
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_said_once() {
        let error = Error::file(Path::new("a.svm"))(std::io::Error::other("disk on fire"));
        assert_eq!(error.sentence(), "a.svm: disk on fire");
    }

    #[test]
    fn exit_codes_tell_what_went_wrong() {
        let line = slackline_apps::Error::Line { path: "a".into(), line: 3, problem: "?".into() };
        assert_eq!(Error::from(line).exit_code(), 3);
        assert_eq!(Error::Usage(String::new()).exit_code(), 2);
        assert_eq!(Error::from(slackline_apps::Error::Run("the loss diverged".into())).exit_code(), 4);
        assert_eq!(Error::from(slackline_apps::Error::Run("a worker died".into())).exit_code(), 1);
    }
}
