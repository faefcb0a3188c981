//! Faults of the runtime that the simulation must find: each is put between a lane and the core that it leads to.

use std::collections::BTreeMap;
use std::sync::Arc;

use slackline::id::PageKey;
use slackline::message::{Push, Rows};
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
}

impl Mutant {
    pub(crate) fn of(fault: Fault) -> Self {
        Self { fault, times: 0, first: BTreeMap::new() }
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

    /// What a worker gets for rows.
    pub(crate) fn rows(&mut self, rows: &mut Rows) {
        if self.fault == Fault::ServesStalePages {
            for page in &mut rows.pages {
                let first =
                    self.first.entry((page.table, page.page)).or_insert_with(|| Arc::clone(&page.rows));
                page.rows = Arc::clone(first);
            }
        }
    }
}
