//! A promise that did not hold.

use std::fmt;

use crate::clock::Clock;
use crate::id::{PageId, ShardId, TableId, WorkerId};

/// Where in a record something is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file.
    pub file: String,
    /// The number of the entry, from 1.
    pub entry: usize,
}

/// A promise that did not hold: where, and what was expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// Where it shows.
    pub place: Place,
    /// Which promise: `gate`, `freshness`, `own writes`, `exactly once`.
    pub promise: &'static str,
    /// Whose step.
    pub worker: WorkerId,
    /// Which step.
    pub clock: Clock,
    /// At which shard.
    pub shard: Option<ShardId>,
    /// Which rows; without a page those that are read one by one.
    pub rows: Option<(TableId, Option<PageId>)>,
    /// What was found and what was expected.
    pub what: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { file, entry } = &self.place;
        write!(f, "{}: {file}, entry {entry}: worker {} at clock {}", self.promise, self.worker, self.clock)?;
        if let Some(shard) = self.shard {
            write!(f, ", shard {shard}")?;
        }
        match self.rows {
            Some((table, Some(page))) => write!(f, ", table {} page {}", table.0, page.0)?,
            Some((table, None)) => write!(f, ", rows of table {}", table.0)?,
            None => {}
        }
        write!(f, ": {}", self.what)
    }
}
