//! Who reads which pages, and what each reader lacks: eager pages with back-pressure.
//!
//! At most one eager message is under way to a reader. Pages that change meanwhile are noted and go with the next one,
//! as they are then. A message renews every page that its reader reads, but for those that it says are withheld: changes
//! that are too small to be worth a page, or that the bandwidth budget holds up. A reader that comes to need one of them
//! pulls it.

use std::collections::{BTreeMap, HashMap};

use crate::clock::Clock;
use crate::id::{PageKey, WorkerId};

/// The readers of a shard's pages.
#[derive(Clone, Default)]
pub(super) struct Readers {
    readers: BTreeMap<WorkerId, Reader>,
    /// A reader stays one until the members change, since any part may come back to any worker: with many parts of few
    /// rows each, `ssp` sends less.
    of_page: HashMap<PageKey, Vec<WorkerId>>,
}

#[derive(Clone, Default)]
struct Reader {
    /// Pages that changed since they were last sent to it.
    lacks: BTreeMap<PageKey, Lack>,
    /// Whether a message is on its way and not acknowledged.
    under_way: bool,
    /// Whether `min` rose since the last message, or pages wait for the budget.
    due: bool,
    /// The `min` of the last message.
    renewed: Clock,
}

/// A page that a reader has in an old version.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Lack {
    /// The sizes of the changes since it was last sent, added up.
    pub(super) moved: f64,
    /// What the reader has is known to be good for this `min`.
    pub(super) since: Clock,
}

impl Readers {
    /// Notes that a worker reads a page, and has just been sent it.
    pub(super) fn subscribe(&mut self, worker: WorkerId, page: PageKey) {
        let of_page = self.of_page.entry(page).or_default();
        if !of_page.contains(&worker) {
            of_page.push(worker);
        }
        self.readers.entry(worker).or_default().lacks.remove(&page);
    }

    /// Whether anybody reads it.
    pub(super) fn has(&self, page: PageKey) -> bool {
        self.of_page.contains_key(&page)
    }

    /// Notes that a page has changed by so much.
    pub(super) fn changed(&mut self, page: PageKey, size: f64) {
        for worker in self.of_page.get(&page).into_iter().flatten() {
            let reader = self.readers.entry(*worker).or_default();
            let lack = reader.lacks.entry(page).or_insert(Lack { moved: 0.0, since: reader.renewed });
            lack.moved += size;
        }
    }

    /// `min` rose: everyone is to hear of it.
    pub(super) fn advance(&mut self) {
        self.readers.values_mut().for_each(|reader| reader.due = true);
    }

    /// A reader has taken in what was sent to it.
    pub(super) fn got(&mut self, worker: WorkerId) {
        if let Some(reader) = self.readers.get_mut(&worker) {
            reader.under_way = false;
        }
    }

    /// The readers that may be sent something.
    pub(super) fn ready(&self) -> Vec<WorkerId> {
        let ready = self.readers.iter().filter(|(_, reader)| reader.due && !reader.under_way);
        ready.map(|(worker, _)| *worker).collect()
    }

    /// What a reader lacks.
    pub(super) fn lacks(&self, worker: WorkerId) -> impl Iterator<Item = (PageKey, Lack)> + '_ {
        let lacks = self.readers.get(&worker).into_iter().flat_map(|reader| &reader.lacks);
        lacks.map(|(page, lack)| (*page, *lack))
    }

    /// A message with these pages, as they are at `min`, is on its way to a reader; whether pages are left that only wait
    /// for the budget. Returns the pages that it lacks still.
    pub(super) fn sent(
        &mut self,
        worker: WorkerId,
        pages: &[PageKey],
        min: Clock,
        owed: bool,
    ) -> Vec<PageKey> {
        let Some(reader) = self.readers.get_mut(&worker) else { return Vec::new() };
        for page in pages {
            reader.lacks.remove(page);
        }
        (reader.under_way, reader.due, reader.renewed) = (true, owed, min);
        reader.lacks.keys().copied().collect()
    }

    /// Forgets everyone.
    pub(super) fn clear(&mut self) {
        self.readers.clear();
        self.of_page.clear();
    }
}
