//! The gate, replayed from what the scheduler did: clocks are counted here anew.

use std::collections::{BTreeMap, BTreeSet};

use super::{Broken, Entries, Place, Verdict};
use crate::audit::entry::Entry;
use crate::clock::Clock;
use crate::id::WorkerId;

/// The conditions under which a step began.
#[derive(Debug, Clone, Copy)]
pub(super) struct Assigned {
    pub(super) min: Clock,
    pub(super) staleness: Option<u64>,
    pub(super) fresh: bool,
}

/// The steps of a generation.
pub(super) type Steps = BTreeMap<(WorkerId, Clock), Assigned>;

#[derive(Default)]
struct Clocks {
    finished: BTreeMap<WorkerId, Clock>,
    at_work: BTreeSet<WorkerId>,
    min: Clock,
}

impl Clocks {
    /// The smallest clock of those at work; never falls.
    fn count(&mut self) {
        let at_work = self.finished.iter().filter(|(worker, _)| self.at_work.contains(*worker));
        let slowest = at_work.map(|(_, clock)| *clock).min();
        let all = self.finished.values().copied().max();
        self.min = self.min.max(slowest.or(all).unwrap_or_default());
    }
}

/// Checks that nobody was let through too early; returns what was let through.
pub(super) fn check(entries: &Entries<'_>, own_gate: bool, verdict: &mut Verdict) -> Steps {
    let (mut clocks, mut steps) = (Clocks::default(), Steps::new());
    for (place, entry) in entries {
        match **entry {
            Entry::Regroup { min, .. } => clocks.min = min,
            Entry::Join { worker } => drop(clocks.finished.insert(worker, clocks.min)),
            Entry::Park { worker } => {
                clocks.at_work.remove(&worker);
                clocks.count();
            }
            Entry::Finish { worker, clock } => {
                clocks.finished.insert(worker, clock.next());
                clocks.count();
            }
            Entry::Assign { worker, clock, min, staleness, fresh, flushes } => {
                let finished = clocks.finished.entry(worker).or_default();
                *finished = (*finished).max(clocks.min);
                clocks.at_work.insert(worker);
                verdict.steps += u64::from(!flushes);
                let broken = broken(place, worker, clock);
                if min != clocks.min {
                    let what = format!("min was said to be {min}, the finished steps make it {}", clocks.min);
                    verdict.find(broken(what));
                } else if let Some(s) =
                    staleness.filter(|s| !own_gate && !flushes && clock.ahead_of(min) > *s)
                {
                    let what = format!(
                        "it began {} clocks ahead of {min}, must be {s} or less",
                        clock.ahead_of(min)
                    );
                    verdict.find(broken(what));
                }
                steps.insert((worker, clock), Assigned { min, staleness, fresh });
            }
            _ => {}
        }
    }
    steps
}

fn broken(place: &Place, worker: WorkerId, clock: Clock) -> impl Fn(String) -> Broken {
    let place = place.clone();
    move |what| Broken { place: place.clone(), promise: "gate", worker, clock, shard: None, rows: None, what }
}
