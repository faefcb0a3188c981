//! Passes over the parts until nothing moves, or too little.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use slackline::checkpoint::{Bytes, pack, unpack};
use slackline::cluster::Homes;
use slackline::prelude::*;

use super::params::Method;

/// When passes have gone far enough.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct End {
    /// What a pass is.
    pub method: Method,
    /// Of full passes: Σ |c - c before|² at the most. Of batches: the least share of the inertia that a pass takes off;
    /// with 0 they never have.
    pub least: f64,
}

/// Another schedule of passes, ended when a pass says that the centres stand.
pub struct Until<S> {
    inner: S,
    end: End,
    /// What the steps of passes that are not complete have found.
    open: BTreeMap<u64, Tally>,
    /// The cost of the last complete pass.
    last: Option<f64>,
}

/// What the steps of a pass found.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Tally {
    moved: f64,
    shift: f64,
    /// Steps that know no shift.
    unknown: f64,
}

/// What a checkpoint keeps of it.
#[derive(Serialize, Deserialize)]
struct Saved {
    inner: Bytes,
    open: BTreeMap<u64, Tally>,
    last: Option<f64>,
}

impl<S: Schedule> Until<S> {
    /// `inner`, until `end`.
    pub fn new(inner: S, end: End) -> Self {
        Self { inner, end, open: BTreeMap::new(), last: None }
    }

    /// Whether the centres stand after a pass.
    fn stands(&self, tally: &Tally, cost: f64) -> bool {
        match self.end.method {
            Method::Full => tally.moved == 0.0 || tally.unknown == 0.0 && tally.shift <= self.end.least,
            Method::Batch => {
                self.end.least > 0.0 && self.last.is_some_and(|last| last - cost < self.end.least * last)
            }
        }
    }
}

impl<S: Schedule> Schedule for Until<S> {
    fn next(&mut self, worker: WorkerId) -> Next {
        self.inner.next(worker)
    }

    fn finished(&mut self, task: &Task, findings: &Findings) -> Option<Mark> {
        let pass = self.inner.pass_of(task).unwrap_or_default();
        let tally = self.open.entry(pass).or_default();
        if let [moved, shift, unknown] = findings.sums[..] {
            tally.moved += moved;
            tally.shift = tally.shift.max(shift);
            tally.unknown += unknown;
        }
        let mut mark = self.inner.finished(task, findings)?;
        let tally = self.open.remove(&pass).unwrap_or_default();
        if self.end.method == Method::Full {
            mark.metrics.push(("moved".to_owned(), tally.moved));
        }
        if self.stands(&tally, mark.objective) {
            self.inner.wind_down();
            mark.done = Some(1.0);
        }
        self.last = Some(mark.objective);
        Some(mark)
    }

    fn put_back(&mut self, task: Task) {
        self.inner.put_back(task);
    }

    fn wind_down(&mut self) -> bool {
        self.inner.wind_down()
    }

    fn pass_of(&self, task: &Task) -> Option<u64> {
        self.inner.pass_of(task)
    }

    fn settle(&mut self, homes: &Homes) {
        self.inner.settle(homes);
    }

    fn save(&self) -> Result<Vec<u8>, String> {
        pack(
            "until",
            1,
            &Saved { inner: Bytes(self.inner.save()?), open: self.open.clone(), last: self.last },
        )
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), String> {
        let Saved { inner, open, last } = unpack("until", 1, state)?;
        self.inner.restore(&inner.0)?;
        (self.open, self.last) = (open, last);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pass(until: &mut Until<Fixed>, cost: f64, sums: [f64; 3]) -> bool {
        let mut mark = None;
        for worker in 0..2 {
            let Next::Task(task) = until.next(WorkerId(worker)) else { return false };
            mark = until.finished(&task, &Findings { cost, sums: sums.to_vec(), ..Findings::default() });
        }
        mark.expect("two parts are a pass").done == Some(1.0)
    }

    #[test]
    fn a_full_pass_ends_the_run_where_nothing_moves_or_the_centres_stand() {
        let of = |least| Until::new(Fixed::new(2, 100), End { method: Method::Full, least });
        let mut strict = of(0.0);
        assert!(!pass(&mut strict, 9.0, [5.0, 0.0, 1.0]), "the first pass knows of no shift");
        assert!(!pass(&mut strict, 8.0, [1.0, 0.1, 0.0]));
        assert!(pass(&mut strict, 8.0, [0.0, 0.1, 0.0]));
        assert_eq!(strict.next(WorkerId(0)), Next::Done);
        assert!(!strict.wind_down(), "an end of its own leaves nothing out");
        let mut loose = of(0.2);
        assert!(!pass(&mut loose, 9.0, [5.0, 0.3, 0.0]));
        assert!(pass(&mut loose, 8.0, [4.0, 0.2, 0.0]));
    }

    #[test]
    fn batches_end_where_a_pass_takes_too_little_off() {
        let mut until = Until::new(Fixed::new(2, 100), End { method: Method::Batch, least: 0.1 });
        assert!(!pass(&mut until, 9.0, [1.0, 0.0, 0.0]));
        assert!(!pass(&mut until, 8.0, [1.0, 0.0, 0.0]));
        let mut resumed = Until::new(Fixed::new(2, 100), until.end);
        resumed.restore(&until.save().unwrap()).unwrap();
        assert!(pass(&mut resumed, 7.3, [1.0, 0.0, 0.0]));
    }
}
