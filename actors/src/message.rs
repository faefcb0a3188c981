//! Every message between actors: the arrows of the ring, nothing else.
//!
//! `scheduler —Assign→ worker —Pull/Push→ shard —Rows/Applied→ worker —Report→ scheduler`. Each message is a value
//! that can be encoded, so any arrow may cross a bridge; inside a process it moves, and bulk moves by pointer.

use std::sync::Arc;

use actix::prelude::*;
use serde::{Deserialize, Serialize};

use crate::clock::Clock;
use crate::id::{BlockId, BlockKey, PageId, PageKey, PartId, ShardId, TableId, VariableId, WorkerId};
use crate::traffic::Traffic;
use crate::values::Buffer;

/// What one step has to do: made by a schedule, carried to the worker, handed to the app.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// The part of the data.
    pub part: PartId,
    /// Further parts, for a task that spans several: it leases the blocks of all of them.
    pub with: Vec<PartId>,
    /// The block of leased rows, where the schedule picks one.
    pub block: Option<BlockId>,
    /// Training or evaluation.
    pub phase: Phase,
    /// The variables to work on, where the schedule picks them; empty for all of the part.
    pub variables: Vec<VariableId>,
    /// Numbers that the schedule has for the app, such as a penalty or a tolerance.
    pub orders: Vec<f64>,
    /// Whether the step must see every update acknowledged so far, whatever the consistency allows.
    pub fresh: bool,
}

impl Task {
    /// A training step on a whole part.
    pub fn train(part: PartId) -> Self {
        Self {
            part,
            with: Vec::new(),
            block: None,
            phase: Phase::Train,
            variables: Vec::new(),
            orders: Vec::new(),
            fresh: false,
        }
    }

    /// All parts that it works on.
    pub fn parts(&self) -> impl Iterator<Item = PartId> + '_ {
        std::iter::once(self.part).chain(self.with.iter().copied())
    }

    /// An evaluation of a part.
    pub fn evaluate(part: PartId) -> Self {
        Self { phase: Phase::Evaluate, fresh: true, ..Self::train(part) }
    }
}

/// What a step is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Phase {
    /// It changes the model, and its time counts as training.
    Train,
    /// It measures the model and changes nothing; its time does not count.
    Evaluate,
}

/// What a step found out, for the schedule.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Findings {
    /// Its share of the objective.
    pub cost: f64,
    /// Further sums, such as squared errors and counts, in an order that the app fixes.
    pub sums: Vec<f64>,
    /// How much each variable it looked at still has to move; those left out have nothing to do.
    pub priorities: Vec<(VariableId, f32)>,
    /// Values of variables for the schedule's own record, such as the coefficients along a path.
    pub values: Vec<(VariableId, f64)>,
}

impl Findings {
    /// Takes in what another step found on the same part: costs and sums add up, lists are joined.
    pub fn merge(&mut self, other: &Self) {
        self.cost += other.cost;
        self.sums.resize(self.sums.len().max(other.sums.len()), 0.0);
        self.sums.iter_mut().zip(&other.sums).for_each(|(sum, more)| *sum += more);
        self.priorities.extend_from_slice(&other.priorities);
        self.values.extend_from_slice(&other.values);
    }
}

/// Scheduler → worker: a step to do, as the clock `clock`.
#[derive(Debug, Clone, PartialEq, Message, Serialize, Deserialize)]
#[rtype(result = "()")]
pub struct Assign {
    /// The worker's clock that this step is.
    pub clock: Clock,
    /// The clocks that everyone had finished when it was assigned.
    pub min: Clock,
    /// How many clocks old what it reads may be; `None` without a bound.
    pub staleness: Option<u64>,
    /// In a cluster, of a step that must see everything: of how many steps of this generation each shard was told that they
    /// count; it sees those.
    pub commits: Vec<(ShardId, u64)>,
    /// Whether the worker is only to send the updates that it keeps back: there is no task, and no app sees it.
    pub flush: bool,
    /// What to do.
    pub task: Task,
}

/// Worker → shard: rows to read and blocks to lease for one step, in one message.
///
/// Answered by one [`Rows`] as soon as all of it can be had.
#[derive(Debug, Clone, Message, Serialize, Deserialize)]
#[rtype(result = "()")]
pub struct Pull {
    /// Who asks.
    pub worker: WorkerId,
    /// The worker's number for the step, to match the answer.
    pub ticket: u64,
    /// The shard must have seen everyone finish these clocks before it answers.
    pub need: Clock,
    /// The worker's own updates up to this one must be in the answer.
    pub after: u64,
    /// So many [`Commit`]s must have reached the shard.
    pub commits: u64,
    /// Pages of shared rows.
    pub pages: Vec<PageKey>,
    /// Single rows of shared tables, ascending.
    pub rows: Vec<(TableId, Arc<Vec<u32>>)>,
    /// Blocks to lease.
    pub leases: Vec<BlockKey>,
    /// Blocks to look at without leasing them.
    pub copies: Vec<BlockKey>,
    /// Those of the blocks that the asker's node has in a version that may still be the present one.
    pub known: Vec<(BlockKey, Version)>,
    /// Whether the shard shall send the pages again when they change (ESSP).
    pub subscribe: bool,
}

/// A page of shared rows on its way to a worker, or an update of one on its way to a shard.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Page {
    /// Its table.
    pub table: TableId,
    /// Which page of the table.
    pub page: PageId,
    /// Of an update: how many updates its shard had folded in when the rows were sent that it was computed from.
    pub seen: u64,
    /// The rows; shared memory inside a process.
    pub rows: Arc<Buffer>,
}

/// Some whole rows of a dense shared table, one after the other.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RowBatch {
    /// Their table.
    pub table: TableId,
    /// Which rows, ascending.
    pub rows: Arc<Vec<u32>>,
    /// Their values, or what is to be folded into them.
    pub values: Arc<Buffer>,
}

/// A block of leased rows on its way to or from a worker.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Lease {
    /// Its table.
    pub table: TableId,
    /// Which block of the table.
    pub block: BlockId,
    /// From a shard: which state of the block this is.
    pub version: Version,
    /// The rows; moved inside a process.
    pub rows: Arc<Buffer>,
}

impl Lease {
    /// The table and the block.
    pub fn key(&self) -> BlockKey {
        (self.table, self.block)
    }
}

/// Which state of a block: as the push of a worker with this number left it, or as it was when the generation began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version(pub Option<(WorkerId, u64)>);

/// Shard → worker: the rows of a [`Pull`], or rows pushed to a reader (ESSP).
#[derive(Debug, Clone, Message, Serialize, Deserialize)]
#[rtype(result = "()")]
pub struct Rows {
    /// Who sends.
    pub shard: ShardId,
    /// The ticket of the pull; 0 for rows that nobody asked for, which the worker answers with [`Got`].
    pub ticket: u64,
    /// The rows contain every update of every worker from clocks before this one.
    pub min: Clock,
    /// The last update of each worker that the rows contain.
    pub applied: Arc<Vec<u64>>,
    /// Pages of shared rows. Pushed to a reader, they are those that changed; the others that it reads are as fresh...
    pub pages: Vec<Page>,
    /// ...except these, which have changed too and are to come: what the reader has is as old as it was.
    pub withheld: Vec<PageKey>,
    /// Single rows of shared tables.
    pub batches: Vec<RowBatch>,
    /// Leased blocks.
    pub leases: Vec<Lease>,
    /// Blocks to look at.
    pub copies: Vec<Lease>,
    /// Leased blocks whose rows are as the asker knows them.
    pub known_leases: Vec<BlockKey>,
    /// Blocks to look at that are as the asker knows them.
    pub known_copies: Vec<BlockKey>,
}

impl Rows {
    /// Whether nobody asked for them.
    pub fn is_eager(&self) -> bool {
        self.ticket == 0
    }
}

/// Worker → shard: rows that were pushed to it have arrived, and it is ready for the next ones.
#[derive(Debug, Clone, Copy, Message, Serialize, Deserialize)]
#[rtype(result = "()")]
pub struct Got {
    /// Who.
    pub worker: WorkerId,
}

/// Worker → shard: the updates of one step and the blocks it gives back.
#[derive(Debug, Clone, Message, Serialize, Deserialize)]
#[rtype(result = "()")]
pub struct Push {
    /// Who sends.
    pub worker: WorkerId,
    /// Its number at this shard, from 1 without gaps: each is applied once, in order.
    pub sequence: u64,
    /// The clock of the step.
    pub clock: Clock,
    /// Updates, by page.
    pub deltas: Vec<Page>,
    /// Updates of single rows.
    pub batches: Vec<RowBatch>,
    /// Blocks given back.
    pub returns: Vec<Lease>,
}

/// Shard → worker: a push has been applied (or, under `bsp`, safely taken in).
#[derive(Debug, Clone, Copy, Message, Serialize, Deserialize)]
#[rtype(result = "()")]
pub struct Applied {
    /// Who acknowledges.
    pub shard: ShardId,
    /// The push.
    pub sequence: u64,
    /// Whether it is the shard's backup that has it.
    pub backup: bool,
}

/// Worker → scheduler: ready for work.
#[derive(Debug, Clone, Message, Serialize, Deserialize)]
#[rtype(result = "()")]
pub struct Join {
    /// Who.
    pub worker: WorkerId,
    /// In which generation of the run's members.
    pub generation: u32,
}

/// Worker → scheduler: a step is done and every shard has acknowledged its updates.
#[derive(Debug, Clone, Message, Serialize, Deserialize)]
#[rtype(result = "()")]
pub struct Report {
    /// Who.
    pub worker: WorkerId,
    /// In which generation of the run's members: reports of an older one do not count.
    pub generation: u32,
    /// The clock that is finished.
    pub clock: Clock,
    /// What was found, or why the step failed.
    pub result: Result<Findings, Failure>,
    /// Microseconds that the step computed.
    pub computed: u64,
    /// Microseconds that the worker had nothing to compute before it.
    pub waited: u64,
    /// How many clocks old the oldest row was that it read.
    pub staleness: u64,
    /// Whether the worker keeps updates back, of this step or of earlier ones.
    pub keeps: bool,
    /// In a cluster: the shards that have something of the step, and must be told that it counts.
    pub pushed: Vec<ShardId>,
    /// Bytes of the worker's messages since its last report.
    pub traffic: Traffic,
}

/// Why a step failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Failure {
    /// The app panicked before it wrote anything that others see: the task can be given out again.
    Again(String),
    /// The app gave up, panicked with leased rows in its hands or after it had sent updates, found a cost that is not finite, or the task names
    /// rows that do not exist.
    Fatal(String),
}

/// Scheduler → shard: everyone has finished the clocks before `min`.
#[derive(Debug, Clone, Copy, Message, Serialize, Deserialize)]
#[rtype(result = "()")]
pub struct Advance {
    /// The smallest clock over the workers.
    pub min: Clock,
}

/// Scheduler → shard that has something of it: the step of a worker counts. In a cluster a shard keeps updates back until
/// then, so that the steps of a node that dies count wholly or not at all.
#[derive(Debug, Clone, Copy, Message, Serialize, Deserialize)]
#[rtype(result = "()")]
pub struct Commit {
    /// Whose step.
    pub worker: WorkerId,
    /// Which one.
    pub clock: Clock,
}

/// Anyone → scheduler: stop at a clock.
#[derive(Debug, Clone, Copy, Message, Serialize, Deserialize)]
#[rtype(result = "()")]
pub struct Stop;

/// Anyone → shard: the rows of a table as they are now; leased blocks as soon as they are home.
///
/// Answered with `None` when the shard is gone before it can tell.
#[derive(Debug, Clone, Copy, Message, Serialize, Deserialize)]
#[rtype(result = "Option<Snapshot>")]
pub struct Snap {
    /// The table.
    pub table: TableId,
    /// The shard must have seen everyone finish these clocks: the end of a run may overtake the last [`Advance`].
    pub need: Clock,
}

/// Scheduler or node → shard: the rows of a checkpoint in the place of those it has, before anything else.
///
/// Answered with whether they are all of this shard's.
#[derive(Debug, Clone, Message, Serialize, Deserialize)]
#[rtype(result = "bool")]
pub struct Restore {
    /// The shard's pages and blocks of every table.
    pub tables: Vec<(TableId, Snapshot)>,
    /// The clocks that everyone has finished.
    pub min: Clock,
}

/// The share of a table that one shard owns.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Snapshot {
    /// Pages of a shared table.
    pub pages: Vec<(PageId, Arc<Buffer>)>,
    /// What its update rule keeps beside each page, where it does.
    pub kept: Vec<(PageId, Buffer)>,
    /// Blocks of a leased one.
    pub blocks: Vec<(BlockId, Buffer)>,
}
