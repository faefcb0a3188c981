//! A worker's own updates: numbered per shard on their way out, and kept until every row it may read contains them
//! (Bösen's oplog; the reason why a worker always reads its own writes).

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use crate::clock::Clock;
use crate::id::{PageId, PageKey, ShardId, TableId, WorkerId};
use crate::message::{Lease, Page, Push, RowBatch};
use crate::placement::Placement;
use crate::values::Buffer;

/// The updates that a worker has sent.
#[derive(Debug)]
pub struct Outbox {
    worker: WorkerId,
    placement: Placement,
    sequences: Vec<u64>,
    /// Updates of each page, the oldest first.
    pages: HashMap<PageKey, VecDeque<Sent<Arc<Buffer>>>>,
    /// Updates of single rows of a table at a shard, the oldest first.
    rows: HashMap<(TableId, ShardId), VecDeque<Sent<RowBatch>>>,
    /// The pages updated at each clock, the oldest first: what to look at when forgetting.
    updated: VecDeque<(Clock, Vec<PageKey>)>,
}

#[derive(Debug)]
struct Sent<T> {
    clock: Clock,
    sequence: u64,
    update: T,
}

/// The clocks of the steps that made each update, of pages and of rows.
pub(crate) type Makers = (BTreeMap<PageKey, Vec<Clock>>, BTreeMap<(TableId, ShardId), Vec<Clock>>);

/// What one step sends.
#[derive(Debug, Default)]
pub struct Updates {
    /// Updates of pages.
    pub pages: Vec<Page>,
    /// Updates of single rows, cut by shard.
    pub rows: Vec<(ShardId, RowBatch)>,
    /// Blocks given back.
    pub returns: Vec<Lease>,
    /// Where several steps made an update: the clocks of each.
    pub page_clocks: BTreeMap<PageKey, Vec<Clock>>,
    /// The same of the rows of a shard.
    pub row_clocks: BTreeMap<(TableId, ShardId), Vec<Clock>>,
}

impl Outbox {
    /// An empty outbox of `worker`.
    pub fn new(worker: WorkerId, placement: Placement) -> Self {
        let sequences = vec![0; placement.n_shards()];
        let (pages, rows, updated) = (HashMap::new(), HashMap::new(), VecDeque::new());
        Self { worker, placement, sequences, pages, rows, updated }
    }

    /// The number of the last push to a shard.
    pub fn last(&self, shard: ShardId) -> u64 {
        self.sequences[shard.index()]
    }

    /// Sorts the updates of a step and the blocks it returns by shard: one push for each shard concerned.
    pub fn pack(&mut self, clock: Clock, updates: Updates) -> BTreeMap<ShardId, Push> {
        let (worker, placement) = (self.worker, self.placement);
        let (deltas, batches, returns) = (Vec::new(), Vec::new(), Vec::new());
        let empty = Push { worker, sequence: 0, clock, deltas, batches, returns };
        let mut pushes: BTreeMap<ShardId, Push> = BTreeMap::new();
        for page in updates.pages {
            let shard = placement.of_page(page.table, page.page);
            pushes.entry(shard).or_insert_with(|| empty.clone()).deltas.push(page);
        }
        for (shard, batch) in updates.rows {
            pushes.entry(shard).or_insert_with(|| empty.clone()).batches.push(batch);
        }
        for lease in updates.returns {
            let shard = placement.of_block(lease.block);
            pushes.entry(shard).or_insert_with(|| empty.clone()).returns.push(lease);
        }
        for (shard, push) in &mut pushes {
            self.sequences[shard.index()] += 1;
            push.sequence = self.sequences[shard.index()];
            self.remember(*shard, push);
        }
        pushes
    }

    fn remember(&mut self, shard: ShardId, push: &Push) {
        let (clock, sequence) = (push.clock, push.sequence);
        for Page { table, page, rows, .. } in &push.deltas {
            let sent = Sent { clock, sequence, update: Arc::clone(rows) };
            self.pages.entry((*table, *page)).or_default().push_back(sent);
        }
        for batch in &push.batches {
            let sent = Sent { clock, sequence, update: batch.clone() };
            self.rows.entry((batch.table, shard)).or_default().push_back(sent);
        }
        self.updated.push_back((clock, push.deltas.iter().map(|page| (page.table, page.page)).collect()));
    }

    /// Forgets the updates of a page up to the one that is in every reading to come.
    pub fn contained(&mut self, page: PageKey, applied: u64) {
        if let Some(sent) = self.pages.get_mut(&page) {
            sent.retain(|sent| sent.sequence > applied);
        }
    }

    /// Forgets the updates of single rows at a shard up to the one that is in every reading to come.
    pub fn rows_contained(&mut self, rows: (TableId, ShardId), applied: u64) {
        if let Some(sent) = self.rows.get_mut(&rows) {
            sent.retain(|sent| sent.sequence > applied);
        }
    }

    /// The updates of a page that a reading does not contain, by number, the oldest first; `applied` is the last one it
    /// does.
    pub fn missing(&self, table: TableId, page: PageId, applied: u64) -> Vec<(u64, Arc<Buffer>)> {
        missing(self.pages.get(&(table, page)), applied)
    }

    /// The updates of single rows at a shard that a reading does not contain, the oldest first.
    pub fn missing_rows(&self, table: TableId, shard: ShardId, applied: u64) -> Vec<(u64, RowBatch)> {
        missing(self.rows.get(&(table, shard)), applied)
    }

    /// Updates kept.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.pages.values().map(VecDeque::len).sum::<usize>()
            + self.rows.values().map(VecDeque::len).sum::<usize>()
    }

    /// Forgets the updates of clocks before `oldest`: no row that may still be read lacks them.
    pub fn forget(&mut self, oldest: Clock) {
        while self.updated.front().is_some_and(|(clock, _)| *clock < oldest) {
            for page in self.updated.pop_front().into_iter().flat_map(|(_, pages)| pages) {
                if let Some(sent) = self.pages.get_mut(&page) {
                    forget(sent, oldest);
                }
            }
        }
        self.rows.values_mut().for_each(|sent| forget(sent, oldest));
    }
}

fn missing<T: Clone>(sent: Option<&VecDeque<Sent<T>>>, applied: u64) -> Vec<(u64, T)> {
    let newer = |sent: &&Sent<T>| sent.sequence > applied;
    sent.into_iter().flatten().filter(newer).map(|sent| (sent.sequence, sent.update.clone())).collect()
}

fn forget<T>(sent: &mut VecDeque<Sent<T>>, oldest: Clock) {
    while sent.front().is_some_and(|sent| sent.clock < oldest) {
        sent.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::Content;

    fn page(number: u32, value: f32) -> Page {
        let rows = Arc::new(Buffer::F32(Content::Dense(vec![value])));
        Page { table: TableId(0), page: PageId(number), seen: 0, rows }
    }

    fn pages(pages: Vec<Page>) -> Updates {
        Updates { pages, ..Updates::default() }
    }

    #[test]
    fn each_shard_gets_one_push_and_its_own_numbers() {
        let mut outbox = Outbox::new(WorkerId(7), Placement::over(2));
        let first = outbox.pack(Clock(0), pages(vec![page(0, 1.0), page(2, 2.0)]));
        assert_eq!(first.len(), 1, "pages 0 and 2 live on one shard");
        let second = outbox.pack(Clock(1), pages(vec![page(0, 1.0), page(1, 2.0)]));
        let numbers: Vec<u64> = second.values().map(|push| push.sequence).collect();
        assert_eq!(numbers, [2, 1]);
    }

    #[test]
    fn a_reading_is_completed_by_just_the_updates_it_lacks() {
        let mut outbox = Outbox::new(WorkerId(0), Placement::over(1));
        (0..3).for_each(|clock| drop(outbox.pack(Clock(clock), pages(vec![page(5, clock as f32)]))));
        assert_eq!(outbox.missing(TableId(0), PageId(5), 1).len(), 2);
        assert_eq!(outbox.missing(TableId(0), PageId(4), 0).len(), 0);
        outbox.forget(Clock(2));
        assert_eq!(outbox.missing(TableId(0), PageId(5), 0).len(), 1);
    }
}
