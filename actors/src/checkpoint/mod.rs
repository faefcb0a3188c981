//! Checkpoints: a run's state at one moment, as a value and as a file, and how a run goes on from one.
//!
//! The scheduler stops handing out steps; once nothing is in flight, tables, schedule and clocks belong together
//! ([`Saved`]). Training goes on at once, while a thread writes the file: under a temporary name, synced, renamed, its
//! directory synced, so that a file with its final name is whole. The newest two are kept. A file says which job it is
//! of ([`Fingerprint`]); one that is torn, damaged, newer than this program, or of another job is refused by name. Rows
//! are stored by page and block, so that a run goes on with any number of shards and workers.

mod content;
mod directory;
mod fingerprint;
mod pack;
mod read;
mod saved;
mod write;

pub use directory::{Directory, Newest};
pub use fingerprint::{Fingerprint, Layout, Shape};
pub use pack::{Bytes, pack, unpack};
pub use read::Checkpoint;
pub use saved::Saved;

use std::path::PathBuf;

/// Why a checkpoint cannot be used or written: a file, and a sentence about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {problem}", path = path.display())]
pub struct CheckpointError {
    /// The file or the directory.
    pub path: PathBuf,
    /// What is wrong and what to do.
    pub problem: String,
}
