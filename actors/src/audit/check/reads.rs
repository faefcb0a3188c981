//! What every step read: fresh enough, a state that the shard was in, and the reader's own updates in it.

use std::collections::HashMap;

use super::gate::{Assigned, Steps};
use super::updates::{Unit, Updates};
use super::{Broken, Entries, Place, Verdict};
use crate::audit::entry::{Entry, Reading};
use crate::clock::{Clock, Consistency};
use crate::id::{ShardId, WorkerId};

/// Where in a shard's folds something is: by worker, and by what is updated.
struct Folds {
    of: HashMap<(ShardId, WorkerId), Vec<u64>>,
    touching: HashMap<(ShardId, Unit), Vec<u64>>,
}

/// The updates of one worker to some rows: who made them, and with which push they were sent.
#[derive(Default)]
struct Own {
    made: Vec<Clock>,
    /// Number of a push, and how many of those made have been sent with it or before.
    sent: Vec<(u64, usize)>,
}

/// One read, with what is needed to judge it.
struct Read<'a> {
    place: &'a Place,
    worker: WorkerId,
    clock: Clock,
    reading: &'a Reading,
}

/// Checks every read.
pub(super) fn check(
    entries: &Entries<'_>,
    consistency: Consistency,
    steps: &Steps,
    updates: &Updates,
    verdict: &mut Verdict,
) {
    let folds = Folds::of(updates);
    let mut own: HashMap<(WorkerId, Unit), Own> = HashMap::new();
    for (place, entry) in entries {
        match entry {
            Entry::Made { worker, clock, pages, rows } => {
                let pages = pages.iter().map(|page| Unit::Page(*page));
                let units = pages.chain(rows.iter().map(|(table, shard)| Unit::Rows(*table, *shard)));
                units.for_each(|unit| own.entry((*worker, unit)).or_default().made.push(*clock));
            }
            Entry::Push { worker, shard, sequence, .. } => {
                note_sent(&mut own, updates, *worker, *shard, *sequence);
            }
            Entry::Read { worker, clock, readings } => {
                verdict.reads += 1;
                let assigned = steps.get(&(*worker, *clock));
                for reading in readings {
                    let read = Read { place, worker: *worker, clock: *clock, reading };
                    match assigned {
                        Some(assigned) => read.is_fresh(consistency, *assigned, updates, verdict),
                        None => verdict.find(read.broken("gate", None, "a step that was never let through")),
                    }
                    read.is_a_state_of_its_shard(&folds, verdict);
                    read.has_own_writes(&own, verdict);
                }
            }
            _ => {}
        }
    }
}

fn note_sent(
    own: &mut HashMap<(WorkerId, Unit), Own>,
    updates: &Updates,
    worker: WorkerId,
    shard: ShardId,
    sequence: u64,
) {
    let place = usize::try_from(sequence).unwrap_or(0).saturating_sub(1);
    let Some(sent) = updates.sent.get(&(worker, shard)).and_then(|sent| sent.get(place)) else { return };
    for (unit, clocks) in &sent.units {
        let own = own.entry((worker, *unit)).or_default();
        let before = own.sent.last().map_or(0, |(_, n)| *n);
        own.sent.push((sequence, before + clocks.len()));
    }
}

impl Folds {
    fn of(updates: &Updates) -> Self {
        let (mut of, mut touching): (HashMap<_, Vec<u64>>, HashMap<_, Vec<u64>>) = Default::default();
        for (shard, folds) in &updates.folds {
            for (number, (worker, sequence)) in folds.iter().enumerate() {
                let number = number as u64;
                of.entry((*shard, *worker)).or_default().push(number);
                let place = usize::try_from(*sequence).unwrap_or(0).saturating_sub(1);
                let sent = updates.sent.get(&(*worker, *shard)).and_then(|sent| sent.get(place));
                for unit in sent.into_iter().flat_map(|sent| sent.units.keys()) {
                    touching.entry((*shard, *unit)).or_default().push(number);
                }
            }
        }
        Self { of, touching }
    }

    /// How many of a shard's first `n` folds were of a worker.
    fn among(&self, n: u64, shard: ShardId, worker: WorkerId) -> u64 {
        self.of.get(&(shard, worker)).map_or(0, |folds| folds.partition_point(|fold| *fold < n)) as u64
    }

    /// Whether one of the folds from `from` up to `to` changed these rows.
    fn touched(&self, from: u64, to: u64, shard: ShardId, unit: Unit) -> bool {
        let folds = self.touching.get(&(shard, unit)).map_or(&[][..], Vec::as_slice);
        folds.get(folds.partition_point(|fold| *fold < from)).is_some_and(|fold| *fold < to)
    }
}

impl Read<'_> {
    fn broken(&self, promise: &'static str, unit: Option<Unit>, what: impl Into<String>) -> Broken {
        Broken {
            place: self.place.clone(),
            promise,
            worker: self.worker,
            clock: self.clock,
            shard: Some(self.reading.shard),
            rows: unit.map(Unit::rows),
            what: what.into(),
        }
    }

    /// Every update that is promised is in.
    fn is_fresh(
        &self,
        consistency: Consistency,
        Assigned { min, staleness, fresh }: Assigned,
        updates: &Updates,
        verdict: &mut Verdict,
    ) {
        let Reading { shard, min: known, applied, pages, rows } = self.reading;
        verdict.rows += (pages.len() + rows.len()) as u64;
        let before = |clocks: u64| Clock(self.clock.0.saturating_sub(clocks));
        let kept = consistency.keeps_back().map_or(0, |(_, s)| s);
        let mut oldest = consistency.oldest(self.clock).max(staleness.map_or(Clock(0), before));
        let mut promised = Clock(oldest.0.saturating_sub(kept));
        if fresh {
            (oldest, promised) = (oldest.max(min), promised.max(min));
        }
        if staleness.is_some() {
            verdict.staleness = verdict.staleness.max(self.clock.ahead_of(*known));
        }
        if *known < oldest {
            let what = format!("rows as of clock {known} were read, must be of {oldest} or later");
            verdict.find(self.broken("freshness", None, what));
        }
        for ((worker, of), due) in updates.due.iter().filter(|((_, of), _)| of == shard) {
            let Some((_, needed)) = due.range(..promised).next_back() else { continue };
            let has = applied.get(worker.index()).copied().unwrap_or(0);
            if has < *needed {
                let what = format!(
                    "push {needed} of worker {worker} to shard {of} is missing (it has those up to {has}), expected all \
                     updates of clocks before {promised}"
                );
                verdict.find(self.broken("freshness", None, what));
            }
        }
    }

    /// What it says it contains, its shard contained once; and pages that were not sent again had not changed.
    fn is_a_state_of_its_shard(&self, folds: &Folds, verdict: &mut Verdict) {
        let Reading { shard, applied, pages, .. } = self.reading;
        let n: u64 = applied.iter().sum();
        for (number, has) in applied.iter().enumerate() {
            let folded = folds.among(n, *shard, WorkerId::at(number));
            if folded != *has {
                let what = format!(
                    "it says that it has {has} pushes of worker {number}; after {n} pushes the shard had {folded}"
                );
                verdict.find(self.broken("freshness", None, what));
            }
        }
        for page in pages {
            let unit = Unit::Page(page.page);
            if page.folds > n || folds.touched(page.folds, n, *shard, unit) {
                let what =
                    format!("the page was sent after {} pushes and has changed by push {n}", page.folds);
                verdict.find(self.broken("freshness", Some(unit), what));
            }
        }
    }

    /// Every update of the reader's own is in, once.
    fn has_own_writes(&self, own: &HashMap<(WorkerId, Unit), Own>, verdict: &mut Verdict) {
        let Reading { shard, applied, pages, rows, .. } = self.reading;
        let applied = applied.get(self.worker.index()).copied().unwrap_or(0);
        let pages = pages.iter().map(|read| (Unit::Page(read.page), &read.sent, &read.kept));
        let rows = rows.iter().map(|read| (Unit::Rows(read.table, *shard), &read.sent, &read.kept));
        for (unit, sent, kept) in pages.chain(rows) {
            let Some(own) = own.get(&(self.worker, unit)) else { continue };
            let contained = own.up_to(applied);
            let newer = &own.sent[own.sent.partition_point(|(sequence, _)| *sequence <= applied)..];
            let expected: Vec<u64> = newer.iter().map(|(sequence, _)| *sequence).collect();
            let unsent = &own.made[own.sent.last().map_or(0, |(_, n)| *n).min(own.made.len())..];
            if *sent != expected || **kept != *unsent {
                let what = format!(
                    "of the reader's own updates it has {contained} by push {applied}, pushes {sent:?} and steps {}; \
                     expected pushes {expected:?} and steps {}",
                    list(kept),
                    list(unsent)
                );
                verdict.find(self.broken("own writes", Some(unit), what));
            }
        }
    }
}

impl Own {
    /// How many updates were sent with pushes up to this one.
    fn up_to(&self, sequence: u64) -> usize {
        let n = self.sent.partition_point(|(sent, _)| *sent <= sequence);
        if n == 0 { 0 } else { self.sent[n - 1].1 }
    }
}

fn list(clocks: &[Clock]) -> String {
    let clocks: Vec<String> = clocks.iter().map(Clock::to_string).collect();
    format!("[{}]", clocks.join(", "))
}
