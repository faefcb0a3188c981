//! The rows that the workers of a process have read, shared by all of them (Bösen's process cache).

use std::sync::Arc;

use dashmap::DashMap;

use crate::clock::Clock;
use crate::id::{PageId, PageKey, ShardId, TableId, WorkerId};
use crate::message::{Page, Rows};
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
}

impl Cached {
    /// A page of a message that reached `worker`.
    pub fn of(page: &Page, rows: &Rows, worker: WorkerId) -> Self {
        Self {
            rows: Arc::clone(&page.rows),
            min: rows.min,
            applied: Arc::clone(&rows.applied),
            n_applied: rows.applied.iter().sum(),
            source: (rows.shard, worker),
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
}

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
        if rows.ticket == 0 {
            self.pushed.insert((rows.shard, worker), (rows.min, Arc::clone(&rows.applied)));
        }
    }

    /// A page that contains every update from clocks before `oldest`, if there is one here.
    pub fn get(&self, table: TableId, page: PageId, oldest: Clock) -> Option<Cached> {
        let held = self.pages.get(&(table, page))?; // no newer page comes in before we know its clock
        let mut cached = held.clone();
        if let Some(pushed) = self.pushed.get(&cached.source)
            && pushed.0 > cached.min
        {
            cached.min = pushed.0; // had it changed, the shard would have sent it
            cached.applied = Arc::clone(&pushed.1);
        }
        (cached.min >= oldest).then_some(cached)
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
            rows: Arc::new(Buffer::F32(Content::Dense(vec![value]))),
        };
        Rows {
            shard: ShardId(0),
            ticket,
            min: Clock(min),
            applied: Arc::new(vec![min]),
            pages: value.map(page).into_iter().collect(),
            batches: Vec::new(),
            leases: Vec::new(),
            copies: Vec::new(),
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
}
