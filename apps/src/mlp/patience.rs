//! Ends a run when held-out rows get worse, and has the best weights kept.

use serde::{Deserialize, Serialize};
use slackline::checkpoint::{Bytes, pack, unpack};
use slackline::cluster::Homes;
use slackline::prelude::*;

/// Another schedule with evaluations, watched by a metric that should be small.
///
/// After an evaluation with a better value than all before, one task on the part `keep` is given out before anything else,
/// while nothing is in flight: its step copies the weights aside. After `patience` evaluations without one the schedule inside
/// winds down.
pub struct Patience<S> {
    inner: S,
    /// The metric, in marks.
    metric: &'static str,
    /// The part of the task that keeps weights.
    keep: PartId,
    patience: u64,
    state: State,
}

/// What a checkpoint keeps of it besides.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct State {
    /// The best value so far.
    best: Option<f64>,
    /// Evaluations since.
    since: u64,
    /// Whether weights are to be kept, or are being kept.
    due: bool,
    under_way: bool,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    inner: Bytes,
    state: State,
}

impl<S: Schedule> Patience<S> {
    /// `inner`, watched by `metric`.
    pub fn new(inner: S, metric: &'static str, keep: PartId, patience: u64) -> Self {
        Self { inner, metric, keep, patience, state: State::default() }
    }

    fn watch(&mut self, mark: &Mark) {
        let value = mark.metrics.iter().find(|(name, _)| name == self.metric).map(|(_, value)| *value);
        let Some(value) = value else { return };
        if self.state.best.is_none_or(|best| value < best) {
            self.state = State { best: Some(value), since: 0, due: true, under_way: false };
            return;
        }
        self.state.since += 1;
        if self.state.since >= self.patience {
            self.inner.wind_down();
        }
    }
}

impl<S: Schedule> Schedule for Patience<S> {
    fn next(&mut self, worker: WorkerId) -> Next {
        if !self.state.due {
            return self.inner.next(worker);
        }
        if self.state.under_way {
            return Next::Wait;
        }
        self.state.under_way = true;
        Next::Task(Task { fresh: true, orders: vec![0.0], ..Task::train(self.keep) })
    }

    fn finished(&mut self, task: &Task, findings: &Findings) -> Option<Mark> {
        if task.phase == Phase::Train && task.part == self.keep {
            (self.state.due, self.state.under_way) = (false, false);
            return None;
        }
        let mark = self.inner.finished(task, findings);
        mark.iter().for_each(|mark| self.watch(mark));
        mark
    }

    fn put_back(&mut self, task: Task) {
        if task.phase == Phase::Train && task.part == self.keep {
            self.state.under_way = false;
        } else {
            self.inner.put_back(task);
        }
    }

    fn wind_down(&mut self) -> bool {
        self.inner.wind_down()
    }

    fn settle(&mut self, homes: &Homes) {
        self.inner.settle(homes);
    }

    fn save(&self) -> Result<Vec<u8>, String> {
        pack("patience", 1, &Saved { inner: Bytes(self.inner.save()?), state: self.state.clone() })
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), String> {
        let Saved { inner, state } = unpack("patience", 1, state)?;
        self.inner.restore(&inner.0)?;
        self.state = State { under_way: false, ..state };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const METRIC: &str = "held_out_loss";

    /// Passes of one part, each evaluated on one part.
    fn schedule(passes: u64, patience: u64) -> Patience<Evaluated<Fixed>> {
        let measure = |cost: f64, _: &[f64]| (cost, vec![(METRIC.to_owned(), cost)]);
        Patience::new(
            Evaluated::new(Fixed::new(1, passes), 1, 1, Box::new(measure)),
            METRIC,
            PartId(1),
            patience,
        )
    }

    /// Which tasks a run has whose evaluations find these values: t, e, k for training, evaluating, keeping.
    fn tasks(schedule: &mut Patience<Evaluated<Fixed>>, found: &[f64]) -> String {
        let (mut tasks, mut found) = (String::new(), found.iter());
        while let Next::Task(task) = schedule.next(WorkerId(0)) {
            let cost = if task.phase == Phase::Evaluate { *found.next().unwrap() } else { 0.0 };
            tasks.push(match (task.phase, task.part.0) {
                (Phase::Evaluate, _) => 'e',
                (_, 0) => 't',
                _ => 'k',
            });
            schedule.finished(&task, &Findings { cost, ..Findings::default() });
        }
        tasks
    }

    #[test]
    fn the_best_is_kept_and_a_run_that_gets_worse_ends() {
        assert_eq!(tasks(&mut schedule(9, 2), &[3.0, 2.0, 2.5, 2.5]), "tektektete");
        assert_eq!(tasks(&mut schedule(3, 2), &[1.0, 2.0, 0.5]), "tektetek");
    }

    #[test]
    fn nothing_else_begins_while_weights_are_kept_and_a_task_that_comes_back_is_given_out_again() {
        let mut schedule = schedule(2, 2);
        for _ in 0..2 {
            let Next::Task(task) = schedule.next(WorkerId(0)) else { panic!("train, evaluate") };
            schedule.finished(&task, &Findings::default());
        }
        let Next::Task(keep) = schedule.next(WorkerId(0)) else { panic!("keep") };
        assert!(keep.fresh);
        assert_eq!(schedule.next(WorkerId(1)), Next::Wait);
        schedule.put_back(keep.clone());
        assert_eq!(schedule.next(WorkerId(1)), Next::Task(keep));
    }

    #[test]
    fn a_checkpoint_knows_the_best_so_far() {
        let mut saved = schedule(9, 2);
        for cost in [0.0, 1.0, 0.0] {
            let Next::Task(task) = saved.next(WorkerId(0)) else { panic!("train, evaluate, keep") };
            saved.finished(&task, &Findings { cost, ..Findings::default() });
        }
        let mut resumed = schedule(9, 2);
        resumed.restore(&saved.save().unwrap()).unwrap();
        assert_eq!(tasks(&mut resumed, &[2.0, 2.0]), "tete");
    }
}
