//! A worker's own updates: numbered per shard on their way out, and kept until every row it may read contains them
//! (Bösen's oplog; the reason why a worker always reads its own writes).

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::clock::Clock;
use crate::id::{PageId, ShardId, TableId, WorkerId};
use crate::message::{Lease, Page, Push};
use crate::placement::Placement;
use crate::values::Buffer;

/// The updates that a worker has sent.
#[derive(Debug)]
pub struct Outbox {
    worker: WorkerId,
    placement: Placement,
    sequences: Vec<u64>,
    sent: VecDeque<Sent>,
}

#[derive(Debug)]
struct Sent {
    clock: Clock,
    sequence: u64,
    page: Page,
}

impl Outbox {
    /// An empty outbox of `worker`.
    pub fn new(worker: WorkerId, placement: Placement) -> Self {
        Self { worker, placement, sequences: vec![0; placement.n_shards()], sent: VecDeque::new() }
    }

    /// The number of the last push to a shard.
    pub fn last(&self, shard: ShardId) -> u64 {
        self.sequences[shard.index()]
    }

    /// Sorts the updates of a step and the blocks it returns by shard: one push for each shard concerned.
    pub fn pack(&mut self, clock: Clock, deltas: Vec<Page>, returns: Vec<Lease>) -> BTreeMap<ShardId, Push> {
        let (worker, placement) = (self.worker, self.placement);
        let mut pushes = BTreeMap::new();
        let empty = || Push { worker, sequence: 0, clock, deltas: Vec::new(), returns: Vec::new() };
        for page in deltas {
            let shard = placement.of_page(page.table, page.page);
            pushes.entry(shard).or_insert_with(empty).deltas.push(page);
        }
        for lease in returns {
            let shard = placement.of_block(lease.table, lease.block);
            pushes.entry(shard).or_insert_with(empty).returns.push(lease);
        }
        for (shard, push) in &mut pushes {
            self.sequences[shard.index()] += 1;
            push.sequence = self.sequences[shard.index()];
            let sent = |page: &Page| Sent { clock, sequence: push.sequence, page: page.clone() };
            self.sent.extend(push.deltas.iter().map(sent));
        }
        pushes
    }

    /// The updates of a page that a reading does not contain, the oldest first; `applied` is the last one it does.
    pub fn missing(&self, table: TableId, page: PageId, applied: u64) -> Vec<Arc<Buffer>> {
        let missing =
            |sent: &&Sent| sent.page.table == table && sent.page.page == page && sent.sequence > applied;
        self.sent.iter().filter(missing).map(|sent| Arc::clone(&sent.page.rows)).collect()
    }

    /// Updates kept.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.sent.len()
    }

    /// Forgets the updates of clocks before `oldest`: no row that may still be read lacks them.
    pub fn forget(&mut self, oldest: Clock) {
        while self.sent.front().is_some_and(|sent| sent.clock < oldest) {
            self.sent.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::Content;

    fn page(number: u32, value: f32) -> Page {
        let rows = Arc::new(Buffer::F32(Content::Dense(vec![value])));
        Page { table: TableId(0), page: PageId(number), rows }
    }

    #[test]
    fn each_shard_gets_one_push_and_its_own_numbers() {
        let mut outbox = Outbox::new(WorkerId(7), Placement::over(2));
        let first = outbox.pack(Clock(0), vec![page(0, 1.0), page(2, 2.0)], Vec::new());
        assert_eq!(first.len(), 1, "pages 0 and 2 live on one shard");
        let second = outbox.pack(Clock(1), vec![page(0, 1.0), page(1, 2.0)], Vec::new());
        let numbers: Vec<u64> = second.values().map(|push| push.sequence).collect();
        assert_eq!(numbers, [2, 1]);
    }

    #[test]
    fn a_reading_is_completed_by_just_the_updates_it_lacks() {
        let mut outbox = Outbox::new(WorkerId(0), Placement::over(1));
        (0..3).for_each(|clock| drop(outbox.pack(Clock(clock), vec![page(5, clock as f32)], Vec::new())));
        assert_eq!(outbox.missing(TableId(0), PageId(5), 1).len(), 2);
        assert_eq!(outbox.missing(TableId(0), PageId(4), 0).len(), 0);
        outbox.forget(Clock(2));
        assert_eq!(outbox.missing(TableId(0), PageId(5), 0).len(), 1);
    }
}
