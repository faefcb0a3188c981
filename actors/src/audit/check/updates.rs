//! What was made, sent and folded in: each once, in order, and nothing left out.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Broken, Entries, Place, Verdict};
use crate::audit::entry::Entry;
use crate::clock::{Clock, Consistency};
use crate::id::{PageId, PageKey, ShardId, TableId, WorkerId};

/// Rows that are updated as one: a page, or the rows of a table at a shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Unit {
    Page(PageKey),
    Rows(TableId, ShardId),
}

impl Unit {
    pub(super) fn rows(self) -> (TableId, Option<PageId>) {
        match self {
            Self::Page((table, page)) => (table, Some(page)),
            Self::Rows(table, _) => (table, None),
        }
    }
}

/// A push as it was sent.
pub(super) struct Sent {
    pub(super) place: Place,
    pub(super) clock: Clock,
    /// What it updates, and the steps that made the updates.
    pub(super) units: BTreeMap<Unit, Vec<Clock>>,
}

/// The updates of one generation.
#[derive(Default)]
pub(super) struct Updates {
    /// The pushes of a worker to a shard, number 1 first.
    pub(super) sent: HashMap<(WorkerId, ShardId), Vec<Sent>>,
    /// The pushes in the order in which a shard folded them in.
    pub(super) folds: HashMap<ShardId, Vec<(WorkerId, u64)>>,
    /// The pushes that one who stands by for a shard folded in.
    stood_by: HashMap<(ShardId, WorkerId), Vec<u64>>,
    /// The last push that has an update of a worker's step at this clock or before, for each shard.
    pub(super) due: HashMap<(WorkerId, ShardId), BTreeMap<Clock, u64>>,
}

impl Updates {
    /// Collects them and checks that each was sent and folded in once, in order; of a run that came to its end, that
    /// nothing is left out.
    pub(super) fn of(
        entries: &Entries<'_>,
        consistency: Consistency,
        (last, undone): (bool, bool),
        verdict: &mut Verdict,
    ) -> Self {
        let mut updates = Self::default();
        let mut made: BTreeMap<(WorkerId, Clock), (Place, BTreeSet<Unit>)> = BTreeMap::new();
        for (place, entry) in entries {
            match entry {
                Entry::Made { worker, clock, pages, rows } => {
                    let pages = pages.iter().map(|page| Unit::Page(*page));
                    let rows = rows.iter().map(|(table, shard)| Unit::Rows(*table, *shard));
                    let step =
                        made.entry((*worker, *clock)).or_insert_with(|| (place.clone(), BTreeSet::new()));
                    step.1.extend(pages.chain(rows));
                }
                Entry::Push { .. } => updates.push(place, entry, verdict),
                _ => {}
            }
        }
        updates.check_folds(entries, verdict);
        let ended = entries.iter().any(|(_, entry)| matches!(entry, Entry::End));
        updates.check_made(&made, ended || consistency.keeps_back().is_none(), verdict);
        let finished = entries.iter().filter_map(|(_, entry)| match **entry {
            Entry::Finish { worker, clock } => Some((worker, clock)),
            _ => None,
        });
        match last {
            true if ended => updates.check_all_folded(None, verdict),
            // Under `bsp` a clock counts as a whole, which the next generation knows; and what it goes back behind is void.
            false if consistency != Consistency::Bsp && !undone => {
                updates.check_all_folded(Some(&finished.collect()), verdict);
            }
            _ => {}
        }
        updates.note_due();
        updates
    }

    fn push(&mut self, place: &Place, entry: &Entry, verdict: &mut Verdict) {
        let Entry::Push { worker, shard, sequence, clock, pages, rows } = entry else { return };
        let pages = pages.iter().map(|(page, clocks)| (Unit::Page(*page), clocks.clone()));
        let rows = rows.iter().map(|(table, clocks)| (Unit::Rows(*table, *shard), clocks.clone()));
        let sent = self.sent.entry((*worker, *shard)).or_default();
        verdict.pushes += 1;
        if *sequence != sent.len() as u64 + 1 {
            let what = format!("push {sequence} was sent, expected {}", sent.len() + 1);
            verdict.find(broken(place, *worker, *clock, *shard, what));
        }
        sent.push(Sent { place: place.clone(), clock: *clock, units: pages.chain(rows).collect() });
    }

    /// Every holder folds the pushes of each worker in order, each once, and none that was not sent.
    fn check_folds(&mut self, entries: &Entries<'_>, verdict: &mut Verdict) {
        let mut folded: HashMap<(ShardId, bool, WorkerId), u64> = HashMap::new();
        for (place, entry) in entries {
            let Entry::Fold { shard, backup, worker, sequence } = **entry else { continue };
            verdict.folds += 1;
            match backup {
                true => self.stood_by.entry((shard, worker)).or_default().push(sequence),
                false => self.folds.entry(shard).or_default().push((worker, sequence)),
            }
            let last = folded.entry((shard, backup, worker)).or_default();
            let sent = self.sent.get(&(worker, shard)).map_or(0, Vec::len) as u64;
            let clock = self.clock_of(worker, shard, sequence);
            if sequence != *last + 1 {
                let what = format!("push {sequence} was folded in after {last}, expected {}", *last + 1);
                verdict.find(broken(place, worker, clock, shard, what));
            } else if sequence > sent {
                let what = format!("push {sequence} was folded in, but only {sent} were sent");
                verdict.find(broken(place, worker, clock, shard, what));
            }
            *last = (*last).max(sequence);
        }
    }

    /// What every step made is sent once. What is left was kept back when members changed, or was void.
    fn check_made(
        &self,
        made: &BTreeMap<(WorkerId, Clock), (Place, BTreeSet<Unit>)>,
        all: bool,
        verdict: &mut Verdict,
    ) {
        let mut sent: HashMap<(WorkerId, Clock, Unit), u64> = HashMap::new();
        for ((worker, shard), pushes) in &self.sent {
            for push in pushes {
                for (unit, clock) in
                    push.units.iter().flat_map(|(u, clocks)| clocks.iter().map(move |c| (*u, *c)))
                {
                    let times = sent.entry((*worker, clock, unit)).or_default();
                    *times += 1;
                    let known = made.get(&(*worker, clock)).is_some_and(|(_, units)| units.contains(&unit));
                    if *times > 1 || !known {
                        let what = if known {
                            "an update was sent twice"
                        } else {
                            "an update was sent that nobody made"
                        };
                        let rows = Some(unit.rows());
                        let broken = broken(&push.place, *worker, clock, *shard, what.to_owned());
                        verdict.find(Broken { rows, ..broken });
                    }
                }
            }
        }
        for ((worker, clock), (place, units)) in made {
            for unit in units.iter().filter(|unit| !sent.contains_key(&(*worker, *clock, **unit))) {
                if !all {
                    verdict.lost += 1;
                } else {
                    let what = "an update was made and never sent".to_owned();
                    let broken = broken(place, *worker, *clock, ShardId(0), what);
                    verdict.find(Broken { shard: None, rows: Some(unit.rows()), ..broken });
                }
            }
        }
    }

    /// The pushes of these steps, or of all, have been folded in: by the shard at the end of a run, by any holder of its
    /// rows when members change.
    fn check_all_folded(&self, of: Option<&BTreeSet<(WorkerId, Clock)>>, verdict: &mut Verdict) {
        for ((worker, shard), pushes) in &self.sent {
            let mut folded: BTreeSet<u64> = self.folded(*shard, *worker).collect();
            if of.is_some() {
                folded.extend(self.stood_by.get(&(*shard, *worker)).into_iter().flatten());
            }
            for (number, push) in pushes.iter().enumerate() {
                let counts = of.is_none_or(|steps| steps.contains(&(*worker, push.clock)));
                if counts && !folded.contains(&(number as u64 + 1)) {
                    let what = format!("push {} was never folded in", number + 1);
                    verdict.find(broken(&push.place, *worker, push.clock, *shard, what));
                }
            }
        }
    }

    fn folded(&self, shard: ShardId, of: WorkerId) -> impl Iterator<Item = u64> + '_ {
        let folds = self.folds.get(&shard).into_iter().flatten();
        folds.filter(move |(worker, _)| *worker == of).map(|(_, sequence)| *sequence)
    }

    /// The clock of a push, 0 if it was never sent.
    pub(super) fn clock_of(&self, worker: WorkerId, shard: ShardId, sequence: u64) -> Clock {
        let sent = self.sent.get(&(worker, shard));
        let push = sent.and_then(|sent| sent.get(usize::try_from(sequence).unwrap_or(0).saturating_sub(1)));
        push.map_or(Clock(0), |push| push.clock)
    }

    /// For each worker and shard: by which push everything up to a clock has been sent.
    fn note_due(&mut self) {
        for (key, pushes) in &self.sent {
            let due = self.due.entry(*key).or_default();
            for (number, push) in pushes.iter().enumerate() {
                for clock in push.units.values().flatten() {
                    due.insert(*clock, number as u64 + 1);
                }
            }
            let mut last = 0;
            for needed in due.values_mut() {
                last = last.max(*needed);
                *needed = last;
            }
        }
    }
}

pub(super) fn broken(place: &Place, worker: WorkerId, clock: Clock, shard: ShardId, what: String) -> Broken {
    let (place, shard) = (place.clone(), Some(shard));
    Broken { place, promise: "exactly once", worker, clock, shard, rows: None, what }
}
