//! What is recorded.

use serde::{Deserialize, Serialize};

use crate::clock::Clock;
use crate::id::{PageKey, ShardId, TableId, WorkerId};

/// Something that one actor did, in its order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Entry {
    /// A worker computed a step, or sends an update while it does; what it updated.
    #[serde(rename = "m")]
    Made {
        /// Who.
        worker: WorkerId,
        /// Which step.
        clock: Clock,
        /// The pages.
        pages: Vec<PageKey>,
        /// The tables whose rows were updated one by one, and at which shard.
        rows: Vec<(TableId, ShardId)>,
    },
    /// A worker sent updates.
    #[serde(rename = "p")]
    Push {
        /// Who.
        worker: WorkerId,
        /// To whom.
        shard: ShardId,
        /// Its number there.
        sequence: u64,
        /// The step with which it was sent.
        clock: Clock,
        /// The pages, and the steps that made the updates.
        pages: Vec<(PageKey, Vec<Clock>)>,
        /// The same for rows.
        rows: Vec<(TableId, Vec<Clock>)>,
    },
    /// A worker had everything that a step reads.
    #[serde(rename = "r")]
    Read {
        /// Who.
        worker: WorkerId,
        /// Which step.
        clock: Clock,
        /// What it read.
        readings: Vec<Reading>,
    },
    /// A shard folded a push in.
    #[serde(rename = "f")]
    Fold {
        /// Which shard.
        shard: ShardId,
        /// Whether it stands by.
        backup: bool,
        /// Whose push.
        worker: WorkerId,
        /// Its number.
        sequence: u64,
    },
    /// A worker joined the scheduler.
    #[serde(rename = "j")]
    Join {
        /// Who.
        worker: WorkerId,
    },
    /// The scheduler let a step begin.
    #[serde(rename = "a")]
    Assign {
        /// Whose.
        worker: WorkerId,
        /// Which one.
        clock: Clock,
        /// The clocks that everyone had finished.
        min: Clock,
        /// The staleness in force.
        staleness: Option<u64>,
        /// Whether it must see every update that was acknowledged.
        fresh: bool,
        /// Whether it only sends what was kept back.
        flushes: bool,
    },
    /// The scheduler took a finished step in.
    #[serde(rename = "d")]
    Finish {
        /// Whose.
        worker: WorkerId,
        /// Which one.
        clock: Clock,
    },
    /// The scheduler had nothing for a worker.
    #[serde(rename = "k")]
    Park {
        /// Whom.
        worker: WorkerId,
    },
    /// A new generation of members began: what was not finished is void.
    #[serde(rename = "g")]
    Regroup {
        /// The clocks that everyone had finished.
        min: Clock,
        /// Whether the run goes on from a saved state: what was done since then is void.
        back: bool,
    },
    /// The run came to its end: everything that was made is folded in.
    #[serde(rename = "e")]
    End,
}

/// Rows of one shard as a step read them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// Whose rows.
    pub shard: ShardId,
    /// They are said to contain every update that was sent at clocks before this one.
    pub min: Clock,
    /// The last push of each worker that they are said to contain.
    pub applied: Vec<u64>,
    /// The pages.
    pub pages: Vec<PageRead>,
    /// Rows read one by one.
    pub rows: Vec<RowsRead>,
}

/// A page as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageRead {
    /// Which.
    pub page: PageKey,
    /// How many pushes its shard had folded in when it sent the page; later ones are said not to touch it.
    pub folds: u64,
    /// The reader's own pushes that were folded in on top.
    pub sent: Vec<u64>,
    /// The reader's own steps whose updates are kept back and were folded in on top.
    pub kept: Vec<Clock>,
}

/// Rows of a table, read one by one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowsRead {
    /// The table.
    pub table: TableId,
    /// As for a page.
    pub sent: Vec<u64>,
    /// As for a page.
    pub kept: Vec<Clock>,
}
