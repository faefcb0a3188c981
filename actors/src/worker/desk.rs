//! What a worker decides: what to pull for a step, when it can be computed, when it is finished.
//!
//! The scheduler may assign step *t+1* while *t* computes: its rows and leases are then already on their way, and
//! the updates of *t−1* on theirs. Steps are computed and reported in the order of their clocks.

mod needs;
mod pulling;
mod reading;
mod refusal;
mod sending;
mod setting;

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use needs::Needs;
pub use setting::{Prepared, Setting, Spent};

use super::cache::{Cached, RowCache, SeenBlock};
use super::kept::KeptBack;
use super::outbox::Outbox;
use crate::app::Leaving;
use crate::audit::Witness;
use crate::budget::Budget;
use crate::clock::{Clock, Consistency};
use crate::id::{BlockKey, PageKey, PartId, ShardId, TableId, WorkerId};
use crate::message::{Applied, Assign, Lease, Pull, Push, Report, RowBatch, Rows};
use crate::placement::Placement;
use crate::table::{Table, Usage};
use crate::traffic::Traffic;

/// What a worker does next.
#[derive(Debug)]
pub enum Action {
    /// Ask a shard.
    Pull(ShardId, Pull),
    /// Send updates to a shard.
    Push(ShardId, Push),
    /// Have the app compute a step.
    Compute(Prepared),
    /// Tell the scheduler.
    Report(Report),
    /// Tell a shard that what it sent by itself is here.
    Got(ShardId),
}

/// The work on one worker's desk.
pub struct Desk {
    worker: WorkerId,
    tables: Arc<Vec<Table>>,
    placement: Placement,
    consistency: Consistency,
    seed: u64,
    generation: u32,
    transactional: bool,
    backed: Arc<BTreeSet<ShardId>>,
    away: Arc<BTreeSet<ShardId>>,
    cache: Arc<RowCache>,
    outbox: Outbox,
    kept: KeptBack,
    /// The largest value read last of the rows of a shard, where updates may be kept back.
    largest_read: HashMap<(TableId, ShardId), f64>,
    /// Updates that may wait leave within it.
    budget: Option<Budget>,
    /// What time it is, where there is a budget.
    now: Duration,
    /// Since the last report.
    traffic: Traffic,
    witness: Witness,
    tickets: u64,
    /// Assigned and not yet computing, in clock order.
    waiting: VecDeque<Gathering>,
    computing: Option<Computing>,
    /// Updates of the step that computes: the app sends to the first, the desk takes from the second.
    exit: (mpsc::Sender<Leaving>, mpsc::Receiver<Leaving>),
    /// Computed, updates not yet acknowledged by all shards, in clock order.
    unacknowledged: VecDeque<Sent>,
    /// The pages that every step reads, and what steps on a part read besides.
    whole: Arc<Vec<PageKey>>,
    reads: HashMap<PartId, Arc<Needs>>,
}

/// A step whose rows are on their way.
struct Gathering {
    assign: Assign,
    ticket: u64,
    /// Why it cannot be done.
    refused: Option<String>,
    pulled: bool,
    awaited: BTreeSet<ShardId>,
    pages: BTreeMap<PageKey, Cached>,
    batches: Vec<ReadBatch>,
    leases: Vec<Lease>,
    copies: Vec<Lease>,
    /// Blocks of shards on other nodes, as they were when the step was pulled for.
    seen: BTreeMap<BlockKey, SeenBlock>,
}

/// Rows of one table at one shard, and what they contain.
struct ReadBatch {
    batch: RowBatch,
    shard: ShardId,
    applied: Arc<Vec<u64>>,
    min: Clock,
}

struct Computing {
    assign: Assign,
    staleness: u64,
    leased: bool,
    /// What left already.
    early: Option<Pushed>,
}

/// What was sent of a step.
#[derive(Default)]
struct Pushed {
    /// Who has not acknowledged what; `true` for a shard's backup.
    awaited: BTreeSet<(ShardId, u64, bool)>,
    shards: BTreeSet<ShardId>,
}

struct Sent {
    clock: Clock,
    /// Who has not acknowledged what; `true` for a shard's backup.
    awaited: BTreeSet<(ShardId, u64, bool)>,
    report: Report,
}

impl Gathering {
    /// Blocks that are as they were seen.
    fn seen(&mut self, known: &[BlockKey]) -> Vec<Lease> {
        let lease = |key: &BlockKey| {
            let (version, rows) = self.seen.remove(key)?;
            Some(Lease { table: key.0, block: key.1, version, rows })
        };
        known.iter().filter_map(lease).collect()
    }
}

impl Desk {
    /// An empty desk.
    pub fn new(worker: WorkerId, setting: Setting, cache: Arc<RowCache>) -> Self {
        let Setting {
            tables,
            placement,
            consistency,
            seed,
            generation,
            transactional,
            backed,
            away,
            budget,
            witness,
        } = setting;
        Self {
            worker,
            whole: needs::whole(&tables),
            tables,
            placement,
            consistency,
            seed,
            generation,
            transactional,
            backed,
            away,
            cache,
            outbox: Outbox::new(worker, placement),
            kept: KeptBack::default(),
            largest_read: HashMap::new(),
            budget,
            now: Duration::ZERO,
            traffic: Traffic::default(),
            witness,
            tickets: 0,
            waiting: VecDeque::new(),
            computing: None,
            exit: mpsc::channel(),
            unacknowledged: VecDeque::new(),
            reads: HashMap::new(),
        }
    }

    /// The generation of the run's members that it belongs to.
    pub fn generation(&self) -> u32 {
        self.generation
    }

    /// What time it is, by a clock that never falls; needed where there is a budget.
    pub fn tell_time(&mut self, now: Duration) {
        self.now = now;
    }

    /// Whether updates may have to wait for a budget.
    pub fn has_budget(&self) -> bool {
        self.budget.is_some()
    }

    /// Takes a step on: pulls what it needs and the cache does not have.
    pub fn assign(&mut self, assign: Assign) -> Vec<Action> {
        self.tickets += 1;
        let flushes = assign.flush;
        let reads = if flushes { Ok(()) } else { self.learn_reads(assign.task.part) };
        let refused = reads.err().or_else(|| refusal::refusal(&self.tables, &assign.task));
        let refused = refused.filter(|_| !flushes);
        self.waiting.push_back(Gathering {
            assign,
            ticket: self.tickets,
            pulled: flushes || refused.is_some(),
            refused,
            awaited: BTreeSet::new(),
            pages: BTreeMap::new(),
            batches: Vec::new(),
            leases: Vec::new(),
            copies: Vec::new(),
            seen: BTreeMap::new(),
        });
        self.go_on()
    }

    /// Takes rows in.
    pub fn rows(&mut self, rows: Rows) -> Vec<Action> {
        if self.consistency != Consistency::Async {
            self.cache.take_in(self.worker, &rows); // without a bound every step pulls
        }
        if rows.is_eager() {
            self.traffic.eager += rows.n_bytes();
            return vec![Action::Got(rows.shard)]; // the cache has them
        }
        self.traffic.rows += rows.n_bytes();
        let Some(gathering) = self.waiting.iter_mut().find(|g| g.pulled && g.ticket == rows.ticket) else {
            return Vec::new();
        };
        gathering.awaited.remove(&rows.shard);
        for page in &rows.pages {
            gathering.pages.insert((page.table, page.page), Cached::of(page, &rows, self.worker));
        }
        let (shard, min) = (rows.shard, rows.min);
        let known = |batch| ReadBatch { batch, shard, applied: Arc::clone(&rows.applied), min };
        gathering.batches.extend(rows.batches.into_iter().map(known));
        let known = (gathering.seen(&rows.known_leases), gathering.seen(&rows.known_copies));
        gathering.leases.extend(rows.leases.into_iter().chain(known.0));
        self.cache.saw_all(&rows.copies, |block| self.away.contains(&self.placement.of_block(block)));
        gathering.copies.extend(rows.copies.into_iter().chain(known.1));
        self.go_on()
    }

    /// Takes an acknowledgement in.
    pub fn applied(&mut self, applied: Applied) -> Vec<Action> {
        let acknowledged = (applied.shard, applied.sequence, applied.backup);
        let early =
            self.computing.iter_mut().filter_map(|step| step.early.as_mut()).map(|early| &mut early.awaited);
        for awaited in early.chain(self.unacknowledged.iter_mut().map(|sent| &mut sent.awaited)) {
            awaited.remove(&acknowledged);
        }
        self.reports()
    }

    /// Pulls for steps that have not, and computes the first if it has everything.
    fn go_on(&mut self) -> Vec<Action> {
        let mut actions = Vec::new();
        for place in 0..self.waiting.len() {
            let may_pull = place == 0 && self.computing.is_none() || !self.reads_custom_rules();
            if !self.waiting[place].pulled && may_pull {
                actions.extend(self.pull(place));
            }
        }
        while self.computing.is_none()
            && self.waiting.front().is_some_and(|g| g.pulled && g.awaited.is_empty())
        {
            let mut gathering = self.waiting.pop_front().expect("looked at");
            match gathering.refused.take() {
                None if gathering.assign.flush => {
                    actions.extend(self.flush(&gathering.assign));
                }
                None => actions.push(Action::Compute(self.prepare(gathering))),
                Some(why) => actions.extend(self.refuse(gathering.assign.clock, why)),
            }
        }
        actions
    }

    /// Where a shard runs a rule of its own, a worker cannot complete a reading by itself: it reads after it wrote.
    fn reads_custom_rules(&self) -> bool {
        self.tables
            .iter()
            .any(|table| *table.usage() == Usage::Shared && !table.update_rule().is_known_to_workers())
    }

    /// Asks the app once for each part what its steps read.
    fn learn_reads(&mut self, part: PartId) -> Result<(), String> {
        if let Entry::Vacant(unknown) = self.reads.entry(part) {
            unknown.insert(Arc::new(Needs::of(part, &self.whole, &self.tables, self.placement)?));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
