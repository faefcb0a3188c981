//! Evaluation between passes: any schedule, interrupted by a measurement of the whole model.

use std::collections::{BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use super::{Mark, Next, Schedule, take_near};
use crate::checkpoint::{Bytes, pack, unpack};
use crate::cluster::Homes;
use crate::id::{PartId, WorkerId};
use crate::message::{Findings, Phase, Task};

/// Turns the cost and the sums of an evaluation over all parts into the objective and named metrics.
pub type Measure = Box<dyn Fn(f64, &[f64]) -> (f64, Vec<(String, f64)>) + Send>;

/// Another schedule, with an evaluation of every part after every few passes and at the end.
///
/// Training drains before an evaluation begins, and the pass after it waits, so it measures the model just as the
/// passes before it left it; its time does not count as training.
pub struct Evaluated<S> {
    inner: S,
    n_parts: usize,
    every: u64,
    measure: Measure,
    stage: Stage,
    in_flight: usize,
    /// The last mark of the inner schedule that no evaluation followed.
    due: Option<Mark>,
    /// Passes that are finished.
    passes: u64,
    /// The next evaluation comes when so many are.
    until: u64,
    /// Whether the model changed since the last evaluation.
    changed: bool,
    homes: Homes,
}

#[derive(Clone, Serialize, Deserialize)]
enum Stage {
    Training,
    Draining,
    Evaluating { left: VecDeque<PartId>, missing: BTreeSet<PartId>, cost: f64, sums: Vec<f64> },
}

/// What a checkpoint keeps of it. An evaluation that was under way goes on with the parts that are missing: what it
/// measures does not change meanwhile.
#[derive(Serialize, Deserialize)]
struct Saved {
    inner: Bytes,
    n_parts: usize,
    stage: Stage,
    /// What a schedule around this one has in its hands.
    in_flight: usize,
    due: Option<Mark>,
    passes: u64,
    until: u64,
    changed: bool,
}

impl<S: Schedule> Evaluated<S> {
    /// `inner`, evaluated on all `n_parts` parts after `every` passes.
    pub fn new(inner: S, n_parts: usize, every: u64, measure: Measure) -> Self {
        let every = every.max(1);
        Self {
            inner,
            n_parts,
            every,
            until: every,
            measure,
            stage: Stage::Training,
            in_flight: 0,
            due: None,
            passes: 0,
            changed: true,
            homes: Homes::default(),
        }
    }

    /// Evaluates after `passes` passes first, and every so many from there.
    #[must_use]
    pub fn first_after(mut self, passes: u64) -> Self {
        self.until = passes.max(1);
        self
    }

    fn evaluate(&mut self) {
        let parts = || (0..self.n_parts).map(PartId::at);
        self.stage = Stage::Evaluating {
            left: parts().collect(),
            missing: parts().collect(),
            cost: 0.0,
            sums: Vec::new(),
        };
    }

    fn train(&mut self, worker: WorkerId) -> Next {
        match self.inner.next(worker) {
            Next::Task(task) if self.inner.pass_of(&task).is_some_and(|pass| pass >= self.until) => {
                self.inner.put_back(task); // the evaluation that is due must not see any of it
                Next::Wait
            }
            Next::Task(task) => {
                self.in_flight += 1;
                self.changed = true;
                Next::Task(task)
            }
            Next::Done if self.in_flight > 0 => Next::Wait,
            Next::Done if self.changed => {
                self.evaluate();
                self.next(worker)
            }
            other => other,
        }
    }

    fn evaluated(&mut self, part: PartId, findings: &Findings) -> Option<Mark> {
        let Stage::Evaluating { missing, cost, sums, .. } = &mut self.stage else { return None };
        missing.remove(&part);
        *cost += findings.cost;
        sums.resize(sums.len().max(findings.sums.len()), 0.0);
        sums.iter_mut().zip(&findings.sums).for_each(|(sum, more)| *sum += more);
        if !missing.is_empty() {
            return None;
        }
        let (objective, metrics) = (self.measure)(*cost, sums);
        self.stage = Stage::Training;
        self.changed = false;
        Some(Mark { objective, metrics, ..self.due.clone().unwrap_or_default() })
    }
}

impl<S: Schedule> Schedule for Evaluated<S> {
    fn next(&mut self, worker: WorkerId) -> Next {
        if matches!(self.stage, Stage::Draining) {
            if self.in_flight > 0 {
                return Next::Wait;
            }
            self.evaluate();
        }
        match &mut self.stage {
            Stage::Evaluating { left, .. } => {
                let near = |part: &PartId| self.homes.is_home(worker, *part);
                take_near(left, |_| true, near).map_or(Next::Wait, |part| Next::Task(Task::evaluate(part)))
            }
            _ => self.train(worker),
        }
    }

    fn finished(&mut self, task: &Task, findings: &Findings) -> Option<Mark> {
        if task.phase == Phase::Evaluate {
            return self.evaluated(task.part, findings);
        }
        self.in_flight -= 1;
        if let Some(mark) = self.inner.finished(task, findings) {
            self.due = Some(mark);
            self.passes += 1;
            if self.passes >= self.until {
                self.until = self.until.saturating_add(self.every);
                self.stage = Stage::Draining;
            }
        }
        None
    }

    fn put_back(&mut self, task: Task) {
        match &mut self.stage {
            Stage::Evaluating { left, .. } if task.phase == Phase::Evaluate => left.push_front(task.part),
            _ => {
                self.in_flight -= 1;
                self.inner.put_back(task);
            }
        }
    }

    fn settle(&mut self, homes: &Homes) {
        self.homes = homes.clone();
        self.inner.settle(homes);
    }

    fn wind_down(&mut self) -> bool {
        self.inner.wind_down()
    }
    fn save(&self) -> Result<Vec<u8>, String> {
        let saved = Saved {
            inner: Bytes(self.inner.save()?),
            n_parts: self.n_parts,
            stage: self.stage.clone(),
            in_flight: self.in_flight,
            due: self.due.clone(),
            passes: self.passes,
            until: self.until,
            changed: self.changed,
        };
        pack("evaluated", 2, &saved)
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), String> {
        let saved: Saved = unpack("evaluated", 2, state)?;
        let Saved { inner, n_parts, stage, in_flight, due, passes, until, changed } = saved;
        if n_parts != self.n_parts {
            return Err(format!("the state of evaluated is of {n_parts} parts, not {}", self.n_parts));
        }
        self.inner.restore(&inner.0)?;
        (self.stage, self.due, self.passes) = (stage, due, passes);
        (self.until, self.changed, self.in_flight) = (until, changed, in_flight);
        Ok(())
    }
}
