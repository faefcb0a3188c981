//! Clocks: how far each worker is, who may go on, and how old a read may be.
//!
//! A worker finishes its clock `c` when its step is computed *and* every shard has acknowledged the updates. The
//! smallest clock over the workers, `min`, therefore counts only updates that every later pull will see: this is
//! the whole argument for freshness (Ho et al. 2013, *More effective distributed ML via a stale synchronous
//! parallel parameter server*, conditions 1 to 4).

mod adaptive;
mod consistency;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

pub use adaptive::Adaptive;
pub use consistency::Consistency;

use crate::id::WorkerId;

/// The number of steps that a worker has finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Clock(pub u64);

impl Clock {
    /// The clock after this one.
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// How many clocks `self` is ahead of `other`; 0 if it is not.
    pub fn ahead_of(self, other: Self) -> u64 {
        self.0.saturating_sub(other.0)
    }
}

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Who may go on: a consistency of one's own, on top of what a [`Consistency`] promises to reads.
///
/// Whatever a gate lets through, a read at clock `c` still contains every update from clocks before `c − s`, with the
/// `s` of the job's [`Consistency`]: where the gate is wider, the step waits for its rows instead. A gate must open
/// for the slowest worker at work, or the run ends as stuck.
pub trait Gate: Send {
    /// Whether `worker` may start `clock` while the slowest worker at work is at `min`.
    fn opens(&mut self, worker: WorkerId, clock: Clock, min: Clock) -> bool;
}

impl Gate for Consistency {
    fn opens(&mut self, _: WorkerId, clock: Clock, min: Clock) -> bool {
        Self::opens(*self, clock, min)
    }
}

/// The clocks of all workers, and the smallest of those at work.
///
/// A worker that the schedule has nothing for is *parked*: it has no update under way, so it holds nobody back,
/// and it comes back at `min`. So `min` never falls.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct VectorClock {
    workers: BTreeMap<WorkerId, Entry>,
    min: Clock,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Entry {
    finished: Clock,
    parked: bool,
}

impl VectorClock {
    /// A run that goes on from where everyone had finished the clocks before `min`.
    pub fn at(min: Clock) -> Self {
        Self { workers: BTreeMap::new(), min }
    }

    /// Takes in a worker; it starts at `min`, parked.
    pub fn join(&mut self, worker: WorkerId) {
        self.workers.insert(worker, Entry { finished: self.min, parked: true });
    }

    /// Forgets the workers; those that join from now on start at `min`.
    pub fn regroup(&mut self) {
        self.workers.clear();
    }

    /// The clocks that every worker at work has finished; never falls.
    pub fn min(&self) -> Clock {
        self.min
    }

    /// The clocks that a worker has finished.
    pub fn of(&self, worker: WorkerId) -> Option<Clock> {
        self.workers.get(&worker).map(|entry| entry.finished)
    }

    /// The clocks that each worker has finished.
    pub fn all(&self) -> impl Iterator<Item = (WorkerId, Clock)> + '_ {
        self.workers.iter().map(|(worker, entry)| (*worker, entry.finished))
    }

    /// Notes that a worker finished one more clock; returns whether `min` rose.
    pub fn tick(&mut self, worker: WorkerId) -> bool {
        if let Some(entry) = self.workers.get_mut(&worker) {
            entry.finished = entry.finished.next();
        }
        self.recount()
    }

    /// Notes that a worker has nothing under way; returns whether `min` rose.
    pub fn park(&mut self, worker: WorkerId) -> bool {
        if let Some(entry) = self.workers.get_mut(&worker) {
            entry.parked = true;
        }
        self.recount()
    }

    /// Puts a worker to work and returns the clock that it is about to do.
    ///
    /// # Panics
    /// When the worker never joined.
    pub fn unpark(&mut self, worker: WorkerId) -> Clock {
        let min = self.min;
        let entry = self.workers.get_mut(&worker).expect("a worker joins before it works");
        entry.parked = false;
        entry.finished = entry.finished.max(min);
        entry.finished
    }

    /// `min` over the workers at work; with nobody at work, all that anybody finished.
    fn recount(&mut self) -> bool {
        let at_work = self.workers.values().filter(|entry| !entry.parked).map(|entry| entry.finished).min();
        let all = self.workers.values().map(|entry| entry.finished).max();
        let before = self.min;
        self.min = self.min.max(at_work.or(all).unwrap_or_default());
        self.min > before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_parked_worker_holds_nobody_back_and_returns_at_min() {
        let mut clocks = VectorClock::default();
        let (a, b) = (WorkerId(0), WorkerId(1));
        clocks.join(a);
        clocks.join(b);
        assert_eq!((clocks.unpark(a), clocks.unpark(b)), (Clock(0), Clock(0)));
        assert!(!clocks.tick(a));
        assert!(clocks.park(b), "only a is at work, and it finished one clock");
        assert_eq!(clocks.min(), Clock(1));
        assert_eq!(clocks.unpark(b), Clock(1));
    }

    proptest! {
        /// Whatever workers do, `min` never falls, never passes a worker at work, and the gate keeps workers within s.
        #[test]
        fn the_gate_keeps_workers_within_their_bound(
            s in 0u64..4, moves in proptest::collection::vec((0u32..4, 0u8..4), 1..200)
        ) {
            let consistency = Consistency::Ssp(s);
            let mut clocks = VectorClock::default();
            (0..4).for_each(|worker| clocks.join(WorkerId(worker)));
            let mut at_work = BTreeMap::new();
            let mut min = Clock(0);
            for (worker, action) in moves {
                let worker = WorkerId(worker);
                if action == 0 {
                    clocks.park(worker);
                    at_work.remove(&worker);
                } else {
                    let clock = clocks.unpark(worker);
                    at_work.insert(worker, clock);
                    if consistency.opens(clock, clocks.min()) {
                        clocks.tick(worker);
                        at_work.insert(worker, clock.next());
                    }
                }
                prop_assert!(clocks.min() >= min);
                min = clocks.min();
                prop_assert!(at_work.values().all(|clock| *clock >= min && clock.ahead_of(min) <= s + 1));
            }
        }
    }
}
