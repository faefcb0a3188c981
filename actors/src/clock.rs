//! Clocks: how far each worker is, who may go on, and how old a read may be.
//!
//! A worker finishes its clock `c` when its step is computed *and* every shard has acknowledged the updates. The
//! smallest clock over the workers, `min`, therefore counts only updates that every later pull will see: this is
//! the whole argument for freshness (Ho et al. 2013, *More effective distributed ML via a stale synchronous
//! parallel parameter server*, conditions 1 to 4).

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

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

/// How far workers may be apart and how rows reach them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Consistency {
    /// Bulk synchronous: one clock after the other; updates folded in worker order, so that runs repeat to the bit.
    Bsp,
    /// Stale synchronous parallel: the fastest worker is at most `s` clocks ahead; rows are pulled when too old.
    Ssp(u64),
    /// Eager SSP: as [`Consistency::Ssp`], and shards push changed rows to their readers as `min` advances
    /// (Dai et al. 2015, *High-performance distributed ML at scale through parameter server consistency models*).
    Essp(u64),
    /// No bound: nobody waits, every step reads what the shards have.
    Async,
}

impl Consistency {
    /// The largest number of clocks that the fastest worker may be ahead; `None` without a bound.
    pub fn staleness(self) -> Option<u64> {
        match self {
            Self::Bsp => Some(0),
            Self::Ssp(s) | Self::Essp(s) => Some(s),
            Self::Async => None,
        }
    }

    /// Whether a worker may start clock `c` while the slowest is at `min`: `c ≤ min + s`.
    pub fn opens(self, c: Clock, min: Clock) -> bool {
        self.staleness().is_none_or(|s| c.ahead_of(min) <= s)
    }

    /// The oldest `min` at which a row may have been read to serve clock `c`: `c − s`. Without a bound nothing is
    /// too old.
    pub fn oldest(self, c: Clock) -> Clock {
        self.staleness().map_or(Clock(0), |s| Clock(c.0.saturating_sub(s)))
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

impl fmt::Display for Consistency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bsp => f.write_str("bsp"),
            Self::Ssp(s) => write!(f, "ssp:{s}"),
            Self::Essp(s) => write!(f, "essp:{s}"),
            Self::Async => f.write_str("async"),
        }
    }
}

impl FromStr for Consistency {
    type Err = String;

    /// Reads `bsp`, `ssp:S`, `essp:S` or `async`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, bound) = match text.split_once(':') {
            Some((name, bound)) => (name.trim(), Some(bound.trim())),
            None => (text.trim(), None),
        };
        let staleness = || {
            let bound = bound.ok_or_else(|| format!("{name} needs a staleness, such as {name}:2"))?;
            bound.parse().map_err(|_| format!("staleness is {bound}, must be a whole number, 0 or more"))
        };
        match (name, bound) {
            ("bsp", None) => Ok(Self::Bsp),
            ("async", None) => Ok(Self::Async),
            ("ssp", _) => staleness().map(Self::Ssp),
            ("essp", _) => staleness().map(Self::Essp),
            _ => Err(format!("consistency is {text}, must be bsp, ssp:S, essp:S or async")),
        }
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
    fn consistency_is_written_as_it_is_read() {
        for text in ["bsp", "ssp:0", "ssp:12", "essp:3", "async"] {
            assert_eq!(text.parse::<Consistency>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_bad_consistency_is_refused_with_the_rule() {
        let why = |text: &str| text.parse::<Consistency>().unwrap_err();
        assert_eq!(why("ssp:-1"), "staleness is -1, must be a whole number, 0 or more");
        assert_eq!(why("ssp"), "ssp needs a staleness, such as ssp:2");
        assert_eq!(why("sps:1"), "consistency is sps:1, must be bsp, ssp:S, essp:S or async");
        assert_eq!(why("bsp:1"), "consistency is bsp:1, must be bsp, ssp:S, essp:S or async");
    }

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
