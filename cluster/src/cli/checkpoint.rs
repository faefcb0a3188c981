//! What the command line says and does about checkpoints: whose directory it is, and how to go on.

use std::path::Path;

use slackline::checkpoint::{CheckpointError, Directory};
use slackline_apps::catalog::Checkpointing;

use crate::Error;
use crate::console::Screen;
use crate::signals::RESUMABLE;

/// Makes sure that a run which starts from the beginning does not write over the checkpoints of another; with `force`
/// they are removed.
///
/// # Errors
/// The directory holds checkpoints, and the run neither goes on from them nor may replace them.
pub(crate) fn prepare(checkpoint: Option<&Checkpointing>, force: bool) -> Result<(), Error> {
    let Some(Checkpointing { directory, resume: false, .. }) = checkpoint else { return Ok(()) };
    if !Directory::holds_some(directory) {
        return Ok(());
    }
    if !force {
        let problem =
            "holds checkpoints already; they belong to an earlier run: give --resume to go on from them, --force to remove \
                       them, or another directory for checkpoints"
                .to_owned();
        return Err(Error::Run { path: directory.clone(), problem });
    }
    Directory::clear(directory).map_err(|CheckpointError { path, problem }| Error::Run { path, problem })
}

/// Says how to go on after a stop; the exit code.
pub(crate) fn left(checkpoint: &Path, screen: Option<&Screen>) -> u8 {
    if let Some(screen) = screen {
        screen.say(&format!("stopped; the same command with --resume goes on from {}", checkpoint.display()));
    }
    RESUMABLE
}

/// An error of a run that has left a checkpoint says so.
pub(crate) fn with_remedy(error: Error, checkpoint: Option<&Path>) -> Error {
    let Some(checkpoint) = checkpoint else { return error };
    let problem = match error {
        Error::App(slackline_apps::Error::Run(problem)) => problem,
        Error::Diverged(objective) => format!("the objective is {objective}: the run diverged"),
        error => return error,
    };
    let remedy = format!("the last checkpoint is {}, and --resume goes on from it", checkpoint.display());
    slackline_apps::Error::Run(format!("{problem}; {remedy}")).into()
}
