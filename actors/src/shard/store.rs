//! What a shard decides: when a pull can be answered, when an update is folded in, who is told.
//!
//! * A pull is answered once the shard knows that everyone finished the clocks it needs, the asker's own updates are
//!   in, and the blocks it leases are home; until then it is parked here.
//! * A push is applied once, in the order of its worker's sequence. Under `bsp` the updates of a clock are kept until
//!   `min` passes that clock, then folded in worker order: the sum has the same bits whatever the order of arrival.
//! * In a cluster a shard is *transactional*: it keeps the updates and blocks of a step back until the scheduler says that
//!   the step counts, so that the steps of a node that dies count wholly or not at all.
//! * Under `essp` a changed page goes to its readers when `min` advances, one message at a time to each.

mod eager;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::readers::Readers;
use super::tables::Tables;
use crate::audit::{Entry, Witness};
use crate::budget::Budget;
use crate::clock::{Clock, Consistency};
use crate::id::{BlockId, BlockKey, ShardId, TableId, WorkerId};
use crate::message::{
    Advance, Applied, Commit, Lease, Page, Pull, Push, RowBatch, Rows, Snap, Snapshot, Version,
};
use crate::placement::Placement;
use crate::scheduler::Halted;
use crate::table::Table;
use crate::values::Buffer;

/// A message that a shard sends.
#[derive(Debug)]
pub enum Outgoing {
    /// Rows for a worker.
    Rows(WorkerId, Rows),
    /// An acknowledgement for a worker.
    Applied(WorkerId, Applied),
    /// The answer to the snapshot that was asked for under this number.
    Snapshot(u64, Snapshot),
}

/// The rows of one shard and what it owes to whom.
#[derive(Clone)]
pub struct Store {
    id: ShardId,
    consistency: Consistency,
    /// Whether steps count only once the scheduler says so.
    transactional: bool,
    /// Whether it stands by for another shard.
    backup: bool,
    tables: Tables,
    min: Clock,
    /// Commits heard of in this generation.
    commits: u64,
    /// The last push taken in, per worker.
    taken: BTreeMap<WorkerId, u64>,
    /// The last push folded in, per worker, as readers see it.
    applied: Arc<Vec<u64>>,
    /// Under `bsp`: updates of clocks that not everyone has finished, in the order they will be folded. In a cluster:
    /// of steps that do not count yet.
    held: BTreeMap<(Clock, WorkerId), Vec<Held>>,
    /// Pulls that cannot be answered yet, in order of arrival.
    parked: Vec<Pull>,
    /// Under `essp` and its kin: who reads which pages.
    readers: Readers,
    /// What may wait is sent within it.
    budget: Option<Budget>,
    /// What time it is, where there is a budget.
    now: Duration,
    witness: Witness,
    /// Snapshots that wait for their clock, and for blocks to come home.
    snapshots: Vec<Pending>,
}

/// A push that is not folded in yet.
#[derive(Clone)]
struct Held {
    sequence: u64,
    deltas: Vec<Page>,
    batches: Vec<RowBatch>,
    returns: Vec<Lease>,
}

#[derive(Clone)]
struct Pending {
    number: u64,
    snap: Snap,
    so_far: Snapshot,
    /// Blocks that were out; `None` until the clock is reached.
    missing: Option<BTreeSet<BlockId>>,
}

impl Store {
    /// A shard of the job's tables, rows at their start.
    pub fn new(id: ShardId, placement: Placement, tables: Arc<Vec<Table>>, consistency: Consistency) -> Self {
        Self {
            id,
            consistency,
            transactional: false,
            backup: false,
            tables: Tables::new(id, placement, tables),
            min: Clock(0),
            commits: 0,
            taken: BTreeMap::new(),
            applied: Arc::new(Vec::new()),
            held: BTreeMap::new(),
            parked: Vec::new(),
            readers: Readers::default(),
            budget: None,
            now: Duration::ZERO,
            witness: Witness::default(),
            snapshots: Vec::new(),
        }
    }

    /// The same, as part of a cluster: the updates of a step count once it is committed.
    #[must_use]
    pub fn transactional(mut self) -> Self {
        self.transactional = true;
        self
    }

    /// Whether it stands by for the shard of its number, which others read, or is that shard.
    pub fn stand_by(&mut self, backup: bool) {
        self.backup = backup;
    }

    /// Tells `witness` what it folds in.
    pub fn witnessed(&mut self, witness: Witness) {
        self.witness = witness;
    }

    /// Its number.
    pub fn id(&self) -> ShardId {
        self.id
    }

    /// Answers a pull, or parks it.
    pub fn pull(&mut self, pull: Pull) -> Option<Outgoing> {
        if self.can_answer(&pull) {
            return Some(self.answer(&pull));
        }
        self.parked.push(pull);
        None
    }

    /// Takes in the updates of a step and the blocks it gives back; says what follows from it.
    pub fn push(&mut self, push: Push) -> Vec<Outgoing> {
        let ack = Applied { shard: self.id, sequence: push.sequence, backup: self.backup };
        let mut out = vec![Outgoing::Applied(push.worker, ack)];
        let taken = self.taken.entry(push.worker).or_default();
        if push.sequence <= *taken {
            return out; // seen before: acknowledged again, applied once
        }
        assert_eq!(push.sequence, *taken + 1, "updates of worker {} arrive in order", push.worker);
        *taken = push.sequence;
        let Push { worker, sequence, clock, deltas, batches, mut returns } = push;
        if !self.transactional {
            let returns = std::mem::take(&mut returns).into_iter();
            returns.for_each(|lease| self.tables.take_back(lease, (worker, sequence)));
        }
        let held = Held { sequence, deltas, batches, returns };
        if self.transactional || self.consistency == Consistency::Bsp && clock >= self.min {
            self.held.entry((clock, worker)).or_default().push(held);
        } else {
            self.fold(worker, held);
        }
        out.extend(self.release());
        out
    }

    /// Learns that a step counts.
    pub fn commit(&mut self, Commit { worker, clock }: Commit) -> Vec<Outgoing> {
        self.commits += 1;
        let held = self.held.remove(&(clock, worker)).unwrap_or_default(); // a step without a word for this shard
        held.into_iter().for_each(|held| self.fold(worker, held));
        self.release()
    }

    /// Forgets every step that does not count, and everyone who was waiting: the members of the run have changed, and the
    /// next generation of workers begins with nothing in hand.
    pub fn regroup(&mut self, halted: &Halted) {
        let counts: BTreeMap<WorkerId, Clock> = halted.finished.iter().copied().collect();
        for ((clock, worker), held) in std::mem::take(&mut self.held) {
            if counts.get(&worker).is_some_and(|finished| clock < *finished) {
                held.into_iter().for_each(|held| self.fold(worker, held)); // its commit is still on the way
            }
        }
        self.tables.bring_home();
        self.commits = 0;
        self.taken.clear();
        self.applied = Arc::default();
        self.parked.clear();
        self.readers.clear();
        self.snapshots.clear();
        self.min = self.min.max(halted.min);
    }

    /// Learns that everyone has finished the clocks before `min`.
    pub fn advance(&mut self, Advance { min }: Advance) -> Vec<Outgoing> {
        self.min = self.min.max(min);
        let later = self.held.split_off(&(self.min, WorkerId(0)));
        for ((_, worker), pushes) in std::mem::replace(&mut self.held, later) {
            pushes.into_iter().for_each(|held| self.fold(worker, held));
        }
        self.readers.advance();
        let mut out = self.release();
        out.extend(self.send_eagerly());
        out
    }

    /// Starts a snapshot under `number`; [`Outgoing::Snapshot`] follows at once, or when its clock is reached and
    /// the last block is home.
    pub fn snapshot(&mut self, number: u64, snap: Snap) -> Vec<Outgoing> {
        self.snapshots.push(Pending { number, snap, so_far: Snapshot::default(), missing: None });
        self.finish_snapshots()
    }

    /// Goes on from these pages and blocks, with everyone having finished the clocks before `min` and nothing under
    /// way; returns whether they are all that this shard owns, and changes nothing where they are not.
    pub fn restore(&mut self, tables: Vec<(TableId, Snapshot)>, min: Clock) -> bool {
        if !self.tables.restore(tables) {
            return false;
        }
        self.min = min;
        self.taken.clear();
        self.applied = Arc::new(Vec::new());
        self.held.clear();
        self.parked.clear();
        self.readers.clear();
        self.snapshots.clear();
        true
    }

    fn can_answer(&self, pull: &Pull) -> bool {
        pull.need <= self.min
            && pull.commits <= self.commits
            && pull.after <= self.applied.get(pull.worker.index()).copied().unwrap_or(0)
            && pull
                .leases
                .iter()
                .chain(&pull.copies)
                .all(|(table, block)| self.tables.is_home(*table, *block))
    }

    fn answer(&mut self, pull: &Pull) -> Outgoing {
        if pull.subscribe {
            pull.pages.iter().for_each(|page| self.readers.subscribe(pull.worker, *page));
        }
        let known: BTreeSet<BlockKey> =
            pull.known.iter().filter(|known| self.is_present(known)).map(|(key, _)| *key).collect();
        let is_known = |key: &BlockKey| known.contains(key);
        let (known_copies, copies): (Vec<_>, Vec<_>) = pull.copies.iter().copied().partition(is_known);
        let (known_leases, leases): (Vec<_>, Vec<_>) = pull.leases.iter().copied().partition(is_known);
        let copies = copies.iter().filter_map(|(table, block)| self.tables.copy(*table, *block)).collect();
        let (keep, to) = (self.transactional, pull.worker);
        known_leases.iter().for_each(|key| self.tables.lend_known(*key, to));
        let leases = leases.iter().map(|(table, block)| self.tables.lend(*table, *block, to, keep)).collect();
        let rows = Rows {
            shard: self.id,
            ticket: pull.ticket,
            min: self.min,
            applied: Arc::clone(&self.applied),
            pages: pull.pages.iter().map(|(table, page)| self.tables.page(*table, *page)).collect(),
            withheld: Vec::new(),
            batches: pull.rows.iter().map(|(table, rows)| self.tables.gather(*table, rows)).collect(),
            leases,
            copies,
            known_leases,
            known_copies,
        };
        self.charge(&rows);
        Outgoing::Rows(pull.worker, rows)
    }

    /// Whether somebody knows a block as it is.
    fn is_present(&self, (key, version): &(BlockKey, Version)) -> bool {
        self.tables.version(*key) == Some(*version)
    }

    fn fold(&mut self, worker: WorkerId, held: Held) {
        let Held { sequence, deltas, batches, returns } = held;
        let number = self.applied.iter().sum::<u64>() + 1;
        for delta in &deltas {
            self.tables.fold(delta, (worker, number));
            self.note_change(delta);
        }
        returns.into_iter().for_each(|lease| self.tables.take_back(lease, (worker, sequence)));
        batches.iter().for_each(|batch| self.tables.fold_rows(batch));
        let applied = Arc::make_mut(&mut self.applied);
        if applied.len() <= worker.index() {
            applied.resize(worker.index() + 1, 0);
        }
        applied[worker.index()] = sequence;
        let (shard, backup) = (self.id, self.backup);
        self.witness.tell(|| Entry::Fold { shard, backup, worker, sequence });
    }

    /// Answers the parked pulls that can be answered now, the oldest first, and finishes snapshots.
    fn release(&mut self) -> Vec<Outgoing> {
        let mut out = self.finish_snapshots();
        for pull in std::mem::take(&mut self.parked) {
            out.extend(self.pull(pull));
        }
        out
    }

    fn finish_snapshots(&mut self) -> Vec<Outgoing> {
        let (mut done, mut waiting) = (Vec::new(), Vec::new());
        for mut pending in std::mem::take(&mut self.snapshots) {
            match pending.go_on(&self.tables, self.min) {
                true => done.push(Outgoing::Snapshot(pending.number, pending.so_far)),
                false => waiting.push(pending),
            }
        }
        self.snapshots = waiting;
        done
    }
}

impl Pending {
    /// Takes in what can be had by now; returns whether that is all.
    fn go_on(&mut self, tables: &Tables, min: Clock) -> bool {
        if self.missing.is_none() && self.snap.need <= min {
            let (so_far, out) = tables.snapshot(self.snap.table);
            (self.so_far, self.missing) = (so_far, Some(out.into_iter().collect()));
        }
        let Some(missing) = &mut self.missing else { return false };
        let home: Vec<_> = missing.iter().filter_map(|b| tables.copy(self.snap.table, *b)).collect();
        for lease in home {
            missing.remove(&lease.block);
            self.so_far.blocks.push((lease.block, Buffer::clone(&lease.rows)));
        }
        missing.is_empty()
    }
}

#[cfg(test)]
mod tests;
