//! The rows that the workers of a process have read, shared by all of them (Bösen's process cache).

use std::sync::Arc;

use dashmap::DashMap;

use crate::clock::Clock;
use crate::id::{BlockId, BlockKey, PageId, PageKey, ShardId, TableId, WorkerId};
use crate::message::{Lease, Page, Rows, Version};
use crate::values::Buffer;

/// A page as it was read, and what it is known to contain.
#[derive(Debug, Clone)]
pub struct Cached {
    /// The rows.
    pub rows: Arc<Buffer>,
    /// Every update from clocks before this one is in.
    pub min: Clock,
    /// The last update of each worker that is in.
    pub applied: Arc<Vec<u64>>,
    /// Updates that are in, over all workers: readings of one shard are ordered by it.
    n_applied: u64,
    /// Through whom it came: under `essp` its shard keeps that worker's pages fresh.
    source: (ShardId, WorkerId),
    /// Whether it has changed at its shard and the change is still to come.
    withheld: bool,
}

impl Cached {
    /// How many updates its shard had folded in when it sent the page.
    pub fn folds(&self) -> u64 {
        self.n_applied
    }

    /// The shard that it is from.
    pub fn shard(&self) -> ShardId {
        self.source.0
    }

    /// What an eager message says of a page that is not in it: that it did not change.
    fn renew(&mut self, known: &Known) {
        if known.0 > self.min && !self.withheld {
            (self.min, self.applied) = (known.0, Arc::clone(&known.1));
        }
    }

    /// A page of a message that reached `worker`.
    pub fn of(page: &Page, rows: &Rows, worker: WorkerId) -> Self {
        Self {
            rows: Arc::clone(&page.rows),
            min: rows.min,
            applied: Arc::clone(&rows.applied),
            n_applied: rows.applied.iter().sum(),
            source: (rows.shard, worker),
            withheld: false,
        }
    }
}

/// Up to which clock, and up to which update of each worker, pages are known.
type Known = (Clock, Arc<Vec<u64>>);

/// The pages that a process holds.
#[derive(Debug, Default)]
pub struct RowCache {
    pages: DashMap<PageKey, Cached>,
    /// Under `essp`: up to which clock a shard has sent a worker every change of the pages that it reads.
    pushed: DashMap<(ShardId, WorkerId), Known>,
    /// Blocks of shards on other nodes, as they were last seen here: the rows of one that did not change since need not
    /// travel again.
    blocks: DashMap<BlockKey, SeenBlock>,
}

/// A block and which state of it this is.
pub(super) type SeenBlock = (Version, Arc<Buffer>);

impl RowCache {
    /// Takes in rows that reached `worker`; of two readings the fresher stays.
    pub fn take_in(&self, worker: WorkerId, rows: &Rows) {
        for page in &rows.pages {
            let cached = Cached::of(page, rows, worker);
            let mut held = self.pages.entry((page.table, page.page)).or_insert_with(|| cached.clone());
            if (held.min, held.n_applied) <= (cached.min, cached.n_applied) {
                *held = cached;
            }
        }
        if rows.is_eager() {
            self.withhold((rows.shard, worker), rows);
            self.pushed.insert((rows.shard, worker), (rows.min, Arc::clone(&rows.applied)));
        }
    }

    /// Notes which pages an eager message does not renew, before it renews the others.
    fn withhold(&self, source: (ShardId, WorkerId), rows: &Rows) {
        let before = self.pushed.get(&source).map(|known| known.clone());
        for page in &rows.withheld {
            if let Some(mut held) = self.pages.get_mut(page)
                && held.source == source
            {
                before.iter().for_each(|known| held.renew(known));
                held.withheld = true;
            }
        }
    }

    /// A page however old.
    pub fn peek(&self, page: PageKey) -> Option<Arc<Buffer>> {
        self.pages.get(&page).map(|held| Arc::clone(&held.rows))
    }

    /// A page that contains every update from clocks before `oldest`, if there is one here.
    pub fn get(&self, table: TableId, page: PageId, oldest: Clock) -> Option<Cached> {
        let held = self.pages.get(&(table, page))?; // no newer page comes in before we know its clock
        let mut cached = held.clone();
        if let Some(pushed) = self.pushed.get(&cached.source) {
            cached.renew(&pushed);
        }
        (cached.min >= oldest).then_some(cached)
    }

    /// Remembers how a block is: as it was looked at, or as it left this node.
    pub(super) fn saw(&self, block: BlockKey, version: Version, rows: &Arc<Buffer>) {
        self.blocks.insert(block, (version, Arc::clone(rows)));
    }

    /// Remembers blocks that were looked at and are of those that are `away`.
    pub(super) fn saw_all(&self, copies: &[Lease], away: impl Fn(BlockId) -> bool) {
        let seen = copies.iter().filter(|copy| away(copy.block));
        seen.for_each(|copy| self.saw(copy.key(), copy.version, &copy.rows));
    }

    /// How a block was last seen.
    pub(super) fn seen(&self, block: BlockKey) -> Option<SeenBlock> {
        self.blocks.get(&block).map(|seen| seen.clone())
    }

    /// The same for a worker that is about to change it.
    pub(super) fn take_seen(&self, block: BlockKey) -> Option<SeenBlock> {
        self.blocks.remove(&block).map(|(_, seen)| seen)
    }

    /// Pages held.
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// Whether nothing was read yet.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::Content;

    const PAGE: PageKey = (TableId(0), PageId(3));

    fn rows(ticket: u64, min: u64, value: Option<f32>) -> Rows {
        let page = |value| Page {
            table: PAGE.0,
            page: PAGE.1,
            seen: 0,
            rows: Arc::new(Buffer::F32(Content::Dense(vec![value]))),
        };
        Rows {
            shard: ShardId(0),
            ticket,
            min: Clock(min),
            applied: Arc::new(vec![min]),
            pages: value.map(page).into_iter().collect(),
            withheld: Vec::new(),
            batches: Vec::new(),
            leases: Vec::new(),
            copies: Vec::new(),
            known_leases: Vec::new(),
            known_copies: Vec::new(),
        }
    }

    #[test]
    fn a_row_that_is_too_old_is_not_served() {
        let cache = RowCache::default();
        cache.take_in(WorkerId(0), &rows(1, 4, Some(1.0)));
        assert!(cache.get(PAGE.0, PAGE.1, Clock(4)).is_some());
        assert!(cache.get(PAGE.0, PAGE.1, Clock(5)).is_none());
    }

    #[test]
    fn an_older_reading_does_not_replace_a_fresher_one() {
        let cache = RowCache::default();
        cache.take_in(WorkerId(0), &rows(1, 4, Some(1.0)));
        cache.take_in(WorkerId(1), &rows(1, 2, Some(2.0)));
        assert_eq!(cache.get(PAGE.0, PAGE.1, Clock(0)).unwrap().min, Clock(4));
    }

    #[test]
    fn a_reader_on_another_thread_never_gets_an_old_page_for_a_new_one() {
        let cache = RowCache::default();
        cache.take_in(WorkerId(0), &rows(1, 0, Some(0.0)));
        std::thread::scope(|threads| {
            let writing = threads.spawn(|| {
                for min in 1..100_000u32 {
                    cache.take_in(WorkerId(0), &rows(0, u64::from(min), Some(min as f32)));
                }
            });
            while !writing.is_finished() {
                let cached = cache.get(PAGE.0, PAGE.1, Clock(0)).unwrap();
                let Buffer::F32(Content::Dense(values)) = &*cached.rows else { panic!("dense f32") };
                assert!(values[0] >= cached.min.0 as f32, "{} at clock {}", values[0], cached.min);
            }
        });
    }

    #[test]
    fn an_eager_message_renews_the_pages_that_did_not_change_for_its_reader_only() {
        let cache = RowCache::default();
        cache.take_in(WorkerId(0), &rows(1, 4, Some(1.0)));
        cache.take_in(WorkerId(1), &rows(0, 9, None));
        assert!(cache.get(PAGE.0, PAGE.1, Clock(5)).is_none(), "worker 1 does not read this page");
        cache.take_in(WorkerId(0), &rows(0, 9, None));
        assert_eq!(cache.get(PAGE.0, PAGE.1, Clock(5)).unwrap().min, Clock(9));
    }

    #[test]
    fn a_page_that_is_withheld_stays_as_old_as_it_was_until_it_comes() {
        let cache = RowCache::default();
        cache.take_in(WorkerId(0), &rows(1, 4, Some(1.0)));
        cache.take_in(WorkerId(0), &rows(0, 6, None));
        cache.take_in(WorkerId(0), &Rows { withheld: vec![PAGE], ..rows(0, 8, None) });
        cache.take_in(WorkerId(0), &Rows { withheld: vec![PAGE], ..rows(0, 9, None) });
        assert_eq!(cache.get(PAGE.0, PAGE.1, Clock(0)).unwrap().min, Clock(6));
        cache.take_in(WorkerId(0), &rows(0, 10, Some(2.0)));
        cache.take_in(WorkerId(0), &rows(0, 11, None));
        assert_eq!(cache.get(PAGE.0, PAGE.1, Clock(0)).unwrap().min, Clock(11));
    }
}
