//! What a shard keeps beside a page for an update rule that asks for it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::id::WorkerId;
use crate::message::Page;
use crate::rule::{Beside, UpdateRule};
use crate::values::Buffer;

/// Updates that are kept although everyone heard of so far has read them: a worker that is new may not have.
const FEW: usize = 16;

/// The rule's own numbers beside one page, and the latest updates of it where the rule looks back.
#[derive(Clone)]
pub(super) struct Memory {
    /// The rule's own numbers.
    pub(super) kept: Buffer,
    /// Updates, each with how many its shard had folded in with it, the oldest first.
    recent: VecDeque<(u64, Arc<Buffer>)>,
    /// Up to which update each worker's last update was made with everything read.
    seen: BTreeMap<WorkerId, u64>,
}

impl Memory {
    /// Nothing but the rule's own numbers.
    pub(super) fn of(kept: Buffer) -> Self {
        Self { kept, recent: VecDeque::new(), seen: BTreeMap::new() }
    }

    /// Folds `delta`, which `worker` made, into `page`; it is number `number` of the updates of the shard.
    pub(super) fn fold(
        &mut self,
        rule: &dyn UpdateRule,
        page: &mut Buffer,
        delta: &Page,
        (worker, number): (WorkerId, u64),
    ) {
        let first = self.recent.partition_point(|(number, _)| *number <= delta.seen);
        let since: Vec<_> = self.recent.range(first..).map(|(_, update)| Arc::clone(update)).collect();
        rule.fold(page, &delta.rows, Beside { kept: &mut self.kept, since: &since });
        if rule.looks_back() {
            self.recent.push_back((number, Arc::clone(&delta.rows)));
            self.seen.insert(worker, delta.seen);
            self.forget();
        }
    }

    /// Forgets the updates that everyone has read.
    fn forget(&mut self) {
        let read = self.seen.values().copied().min().unwrap_or(0);
        while self.recent.len() > Beside::FARTHEST
            || self.recent.len() > FEW && self.recent.front().is_some_and(|(number, _)| *number <= read)
        {
            self.recent.pop_front();
        }
    }

    /// The workers are others from here on, and count from the beginning.
    pub(super) fn begin_anew(&mut self) {
        self.recent.clear();
        self.seen.clear();
    }
}
