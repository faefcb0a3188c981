//! How a core says what it does, and what an entry is made of.

use std::fmt;
use std::sync::Arc;

use super::entry::{Entry, PageRead, Reading, RowsRead};
use crate::clock::Clock;
use crate::id::{PageKey, ShardId, TableId, WorkerId};
use crate::message::Push;
use crate::worker::{Cached, Kept, Makers, Updates};

type Listener = Arc<dyn Fn(u32, Entry) + Send + Sync>;

/// One who is told what actors do; nobody unless a run is audited.
#[derive(Clone, Default)]
pub struct Witness {
    listener: Option<Listener>,
    generation: u32,
}

impl Witness {
    /// Tells `listener` the generation of members and what was done.
    pub fn telling(listener: impl Fn(u32, Entry) + Send + Sync + 'static) -> Self {
        Self { listener: Some(Arc::new(listener)), generation: 1 }
    }

    /// The same for another generation of members.
    #[must_use]
    pub fn of(&self, generation: u32) -> Self {
        Self { listener: self.listener.clone(), generation }
    }

    /// Whether anybody listens.
    pub fn listens(&self) -> bool {
        self.listener.is_some()
    }

    /// Says what was done.
    pub fn tell(&self, entry: impl FnOnce() -> Entry) {
        if let Some(listener) = &self.listener {
            listener(self.generation, entry());
        }
    }
}

impl fmt::Debug for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "witness of generation {} ({})", self.generation, self.listens())
    }
}

/// What a step made.
pub(crate) fn made(worker: WorkerId, clock: Clock, updates: &Updates) -> Entry {
    let pages = updates.pages.iter().map(|page| (page.table, page.page)).collect();
    let rows = updates.rows.iter().map(|(shard, batch)| (batch.table, *shard)).collect();
    Entry::Made { worker, clock, pages, rows }
}

/// What is sent, and which steps made it where it was not this one alone.
pub(crate) fn pushed((shard, push): (&ShardId, &Push), (pages, rows): &Makers) -> Entry {
    let this = || vec![push.clock];
    let keys = push.deltas.iter().map(|page| (page.table, page.page));
    let tables = push.batches.iter().map(|batch| batch.table);
    Entry::Push {
        worker: push.worker,
        shard: *shard,
        sequence: push.sequence,
        clock: push.clock,
        pages: keys.map(|key| (key, pages.get(&key).cloned().unwrap_or_else(this))).collect(),
        rows: tables.map(|table| (table, rows.get(&(table, *shard)).cloned().unwrap_or_else(this))).collect(),
    }
}

/// What a step reads, put together while it is prepared.
pub(crate) struct Witnessed {
    wanted: bool,
    pub(crate) readings: Vec<Reading>,
}

impl Witnessed {
    pub(crate) fn by(witness: &Witness) -> Self {
        Self { wanted: witness.listens(), readings: Vec::new() }
    }

    /// A page, the own updates on top of it by their numbers, and those kept back.
    pub(crate) fn page<T>(
        &mut self,
        page: PageKey,
        cached: &Cached,
        mine: &[(u64, T)],
        kept: Option<&Kept<T>>,
    ) {
        if self.wanted {
            let (sent, kept) = own(mine, kept);
            let read = PageRead { page, folds: cached.folds(), sent, kept };
            self.reading(cached.shard(), cached.min, &cached.applied).pages.push(read);
        }
    }

    /// Rows of a table at a shard.
    pub(crate) fn rows<T>(
        &mut self,
        (table, shard): (TableId, ShardId),
        (min, applied): (Clock, &[u64]),
        mine: &[(u64, T)],
        kept: Option<&Kept<T>>,
    ) {
        if self.wanted {
            let (sent, kept) = own(mine, kept);
            self.reading(shard, min, applied).rows.push(RowsRead { table, sent, kept });
        }
    }

    /// The reading with these clocks, begun if there is none.
    fn reading(&mut self, shard: ShardId, min: Clock, applied: &[u64]) -> &mut Reading {
        let same = |r: &Reading| r.shard == shard && r.min == min && r.applied == applied;
        let place = self.readings.iter().position(same).unwrap_or_else(|| {
            let applied = applied.to_vec();
            self.readings.push(Reading { shard, min, applied, pages: Vec::new(), rows: Vec::new() });
            self.readings.len() - 1
        });
        &mut self.readings[place]
    }
}

fn own<T>(mine: &[(u64, T)], kept: Option<&Kept<T>>) -> (Vec<u64>, Vec<Clock>) {
    let sent = mine.iter().map(|(sequence, _)| *sequence).collect();
    (sent, kept.map(|kept| kept.clocks.clone()).unwrap_or_default())
}
