//! Which batch is the next step: every batch once a pass, in a fresh random order, each task with the number of its step.
//!
//! Parts of the data are first those that evaluations score, then the batches. An order of a task is (pass, step), steps
//! from 1. In batch inference a pass is one step: all its tasks have the same number, read what the pass before left, and
//! none begins while that is under way.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use slackline::checkpoint::{Bytes, pack, unpack};
use slackline::prelude::*;

/// The steps of a run.
pub struct Steps {
    inner: Shuffled,
    /// Parts before the batches.
    first: usize,
    /// Whether a step is a whole pass.
    whole: bool,
    /// Step numbers given out.
    given: u64,
    /// Numbers of tasks that came back undone, by (pass, batch).
    returned: BTreeMap<(u64, u32), u64>,
    /// The pass of the last task given out, and tasks in flight.
    pass: u64,
    in_flight: usize,
}

/// What a checkpoint keeps of it: taken while nothing is in flight.
#[derive(Serialize, Deserialize)]
struct Saved {
    inner: Bytes,
    given: u64,
    returned: Vec<(u64, u32, u64)>,
    pass: u64,
}

impl Steps {
    /// `epochs` passes over `n_batches` batches, the parts from `first` on; with `whole` a pass is one step.
    pub fn new(n_batches: usize, epochs: u64, first: usize, whole: bool, seed: u64) -> Self {
        let (inner, returned) = (Shuffled::new(n_batches, epochs, seed), BTreeMap::new());
        Self { inner, first, whole, given: 0, returned, pass: 0, in_flight: 0 }
    }

    /// The number of a task's step: the one it had, or the next.
    fn number(&mut self, pass: u64, batch: u32) -> u64 {
        if self.whole {
            return pass + 1;
        }
        self.returned.remove(&(pass, batch)).unwrap_or_else(|| {
            self.given += 1;
            self.given
        })
    }

    /// The task as the schedule inside knows it.
    fn inside(&self, task: &Task) -> Task {
        Task {
            part: PartId::at(task.part.index() - self.first),
            orders: vec![task.orders[0]],
            ..task.clone()
        }
    }
}

impl Schedule for Steps {
    fn next(&mut self, worker: WorkerId) -> Next {
        let task = match self.inner.next(worker) {
            Next::Task(task) => task,
            other => return other,
        };
        let pass = task.orders[0] as u64;
        if self.whole && pass != self.pass && self.in_flight > 0 {
            self.inner.put_back(task);
            return Next::Wait;
        }
        (self.pass, self.in_flight) = (pass, self.in_flight + 1);
        let number = self.number(pass, task.part.0);
        let part = PartId::at(task.part.index() + self.first);
        let orders = vec![task.orders[0], number as f64];
        Next::Task(Task { part, orders, fresh: self.whole, ..task })
    }

    fn finished(&mut self, task: &Task, findings: &Findings) -> Option<Mark> {
        self.in_flight -= 1;
        self.inner.finished(&self.inside(task), findings)
    }

    fn put_back(&mut self, task: Task) {
        self.in_flight -= 1;
        let inside = self.inside(&task);
        if !self.whole {
            self.returned.insert((task.orders[0] as u64, inside.part.0), task.orders[1] as u64);
        }
        self.inner.put_back(inside);
    }

    fn wind_down(&mut self) -> bool {
        self.inner.wind_down()
    }

    fn pass_of(&self, task: &Task) -> Option<u64> {
        Some(task.orders[0] as u64)
    }

    fn save(&self) -> Result<Vec<u8>, String> {
        let returned = self.returned.iter().map(|((pass, batch), step)| (*pass, *batch, *step)).collect();
        let inner = Bytes(self.inner.save()?);
        pack("steps", 1, &Saved { inner, given: self.given, returned, pass: self.pass })
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), String> {
        let Saved { inner, given, returned, pass } = unpack("steps", 1, state)?;
        self.inner.restore(&inner.0)?;
        self.returned = returned.into_iter().map(|(pass, batch, step)| ((pass, batch), step)).collect();
        (self.given, self.pass, self.in_flight) = (given, pass, 0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(steps: &mut Steps) -> Task {
        match steps.next(WorkerId(0)) {
            Next::Task(task) => task,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_batch_is_a_step_of_its_own_number_once_a_pass() {
        let mut steps = Steps::new(5, 3, 2, false, 7);
        let mut seen = Vec::new();
        while let Next::Task(task) = steps.next(WorkerId(0)) {
            assert!(!task.fresh && (2..7).contains(&task.part.index()));
            seen.push((task.orders[0] as u32, task.part.0));
            assert_eq!(task.orders[1] as usize, seen.len());
            steps.finished(&task, &Findings::default());
        }
        assert_eq!(seen.len(), 15);
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 15);
        assert_eq!(steps.next(WorkerId(0)), Next::Done);
    }

    #[test]
    fn a_task_that_comes_back_keeps_its_number_also_across_a_checkpoint() {
        let mut steps = Steps::new(3, 2, 1, false, 7);
        let (first, second) = (next(&mut steps), next(&mut steps));
        steps.put_back(first.clone());
        steps.finished(&second, &Findings::default());
        let mut resumed = Steps::new(3, 2, 1, false, 7);
        resumed.restore(&steps.save().unwrap()).unwrap();
        for steps in [&mut steps, &mut resumed] {
            assert_eq!(next(steps), first);
            assert_eq!(next(steps).orders, [0.0, 3.0]);
        }
    }

    #[test]
    fn in_batch_inference_a_pass_waits_for_the_one_before_and_is_one_step() {
        let mut steps = Steps::new(2, 2, 0, true, 7);
        let (a, b) = (next(&mut steps), next(&mut steps));
        assert!(a.fresh && a.orders == [0.0, 1.0] && b.orders == [0.0, 1.0]);
        steps.finished(&a, &Findings::default());
        assert_eq!(steps.next(WorkerId(1)), Next::Wait);
        steps.put_back(b.clone());
        assert_eq!(next(&mut steps), b);
        assert!(steps.finished(&b, &Findings::default()).is_some());
        assert_eq!(next(&mut steps).orders, [1.0, 2.0]);
    }
}
