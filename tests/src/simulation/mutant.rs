//! Faults of the runtime that the simulation must find: each is put between a lane and the core that it leads to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use slackline::WorkerId;
use slackline::id::{BlockKey, PageKey};
use slackline::message::{Lease, Pull, Push, Rows};
use slackline::values::Buffer;

/// A fault of the runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A shard does not hear of every third step that counts.
    DropsCommits,
    /// Every fifth update is folded in twice.
    FoldsTwice,
    /// A shard answers with a page as it first was.
    ServesStalePages,
    /// A shard folds updates in as soon as it has them.
    FoldsAtOnce,
    /// A worker takes a block to be as it was last seen on its node, although it has changed.
    TrustsOldBlocks,
    /// The scheduler does not listen to workers of a generation before it has met its members.
    ForgetsWhoIsEarly,
    /// A node does not tell a lead that was started again whom it cannot reach.
    ForgetsWhoIsDown,
}

/// A fault at work.
pub(crate) struct Mutant {
    pub(crate) fault: Fault,
    times: u32,
    first: BTreeMap<PageKey, Arc<Buffer>>,
    /// The blocks that were known to who asked for them.
    known: BTreeSet<(WorkerId, u64, BlockKey)>,
}

impl Mutant {
    pub(crate) fn of(fault: Fault) -> Self {
        Self { fault, times: 0, first: BTreeMap::new(), known: BTreeSet::new() }
    }

    fn every(&mut self, fault: Fault, nth: u32) -> bool {
        self.times += u32::from(self.fault == fault);
        self.fault == fault && self.times.is_multiple_of(nth)
    }

    /// Whether a shard hears that a step counts.
    pub(crate) fn hears_commit(&mut self) -> bool {
        !self.every(Fault::DropsCommits, 3)
    }

    /// What a shard gets for a push.
    pub(crate) fn push(&mut self, push: &mut Push) {
        if self.every(Fault::FoldsTwice, 5) {
            push.deltas.extend(push.deltas.clone());
        }
    }

    /// What a shard is asked for.
    pub(crate) fn pull(&mut self, pull: &Pull) {
        self.known.extend(pull.known.iter().map(|(block, _)| (pull.worker, pull.ticket, *block)));
    }

    /// What a worker gets for rows.
    pub(crate) fn rows(&mut self, worker: WorkerId, rows: &mut Rows) {
        if self.fault == Fault::TrustsOldBlocks {
            let ticket = rows.ticket;
            let is_known = |lease: &Lease| self.known.contains(&(worker, ticket, lease.key()));
            rows.known_leases.extend(rows.leases.iter().filter(|lease| is_known(lease)).map(Lease::key));
            rows.leases.retain(|lease| !is_known(lease));
        }
        if self.fault == Fault::ServesStalePages {
            for page in &mut rows.pages {
                let first =
                    self.first.entry((page.table, page.page)).or_insert_with(|| Arc::clone(&page.rows));
                page.rows = Arc::clone(first);
            }
        }
    }
}
