//! Schedules: pure structs that the scheduler asks for the next task and tells about finished ones.
//!
//! One promise binds them all: two tasks in flight never share a part, nor a block. A schedule of one's own is a
//! [`Schedule`] impl.

mod dependency;
mod fixed;
mod passes;
mod phases;
mod priority;
mod rotation;
mod rounds;

pub use dependency::{Dependency, Interference};
pub use fixed::{Fixed, Shuffled};
pub use passes::{Evaluated, Measure};
pub use phases::Phases;
pub use priority::{Guide, Priority, Verdict};
pub use rotation::Rotation;
pub use rounds::Rounds;

use std::collections::VecDeque;

use crate::cluster::Homes;
use serde::{Deserialize, Serialize};

use crate::id::WorkerId;
use crate::message::{Findings, Task};

/// What a schedule has for a worker.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// This task.
    Task(Task),
    /// Nothing until some task in flight is finished.
    Wait,
    /// Nothing any more.
    Done,
    /// The run cannot go on, and why.
    Failed(String),
}

/// A finished pass or evaluation: a line of the run's history.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// Passes over the data so far.
    pub epoch: f64,
    /// The objective.
    pub objective: f64,
    /// The share of the run that is done, where it is known.
    pub done: Option<f64>,
    /// What else was measured, by name.
    pub metrics: Vec<(String, f64)>,
}

/// Decides who does what.
///
/// It is asked by one scheduler, which keeps the clocks and the gate: a schedule need not think of staleness. It
/// promises in return:
///
/// * Two tasks that share a part (those in [`Task::with`] count) or a block are never in flight at the same time.
/// * When it says [`Next::Wait`] some task is in flight; otherwise the run ends as stuck.
/// * A task in flight comes back once, by [`Schedule::finished`] or by [`Schedule::put_back`], in any order.
/// * Having said [`Next::Done`] it goes on saying so; after [`Schedule::wind_down`] it soon does.
/// * It answers at once (it runs in the scheduler's mailbox), and draws on nothing but what it was told: under `bsp`
///   a run then repeats to the bit.
pub trait Schedule: Send {
    /// What `worker` shall do next.
    fn next(&mut self, worker: WorkerId) -> Next;

    /// Takes in what a task found; returns a mark when that completes a pass or an evaluation.
    fn finished(&mut self, task: &Task, findings: &Findings) -> Option<Mark>;

    /// Takes back a task that nobody finished, to hand it out again.
    fn put_back(&mut self, task: Task);

    /// Ends the run at a clock: no new work but what measures the model as it stands. Returns whether that leaves
    /// out work; tasks in flight are still finished.
    fn wind_down(&mut self) -> bool;

    /// The pass over the data, from 0, that a task belongs to, where the schedule goes in passes that may overlap:
    /// [`Evaluated`] begins no pass while an evaluation of those before it is due.
    fn pass_of(&self, _task: &Task) -> Option<u64> {
        None
    }

    /// Learns which parts are at home where, at the start and whenever that changes: a worker at a part's home reaches
    /// its rows without a network, so among equals it should get that part.
    fn settle(&mut self, _homes: &Homes) {}

    /// Its state, for a checkpoint ([`pack`](crate::checkpoint::pack) makes bytes of a plain struct); asked for only
    /// when nothing is in flight.
    ///
    /// # Errors
    /// A sentence where it cannot be saved, as none can that does not say how.
    fn save(&self) -> Result<Vec<u8>, String> {
        Err(CANNOT.to_owned())
    }

    /// Goes on from a state that [`Schedule::save`] gave; asked of a schedule made like the one that was saved, before
    /// anything else.
    ///
    /// # Errors
    /// A sentence where the state is not one of such a schedule.
    fn restore(&mut self, _state: &[u8]) -> Result<(), String> {
        Err(CANNOT.to_owned())
    }
}

/// What a schedule says that does not know how to save itself.
const CANNOT: &str = "this schedule cannot be checkpointed: it does not say how to save its state";

impl<S: Schedule + ?Sized> Schedule for Box<S> {
    fn next(&mut self, worker: WorkerId) -> Next {
        (**self).next(worker)
    }

    fn finished(&mut self, task: &Task, findings: &Findings) -> Option<Mark> {
        (**self).finished(task, findings)
    }

    fn put_back(&mut self, task: Task) {
        (**self).put_back(task);
    }

    fn wind_down(&mut self) -> bool {
        (**self).wind_down()
    }

    fn pass_of(&self, task: &Task) -> Option<u64> {
        (**self).pass_of(task)
    }

    fn settle(&mut self, homes: &Homes) {
        (**self).settle(homes);
    }

    fn save(&self) -> Result<Vec<u8>, String> {
        (**self).save()
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), String> {
        (**self).restore(state)
    }
}

/// Takes out the first of those that may go, one that is `near` before others.
fn take_near<T>(left: &mut VecDeque<T>, may: impl Fn(&T) -> bool, near: impl Fn(&T) -> bool) -> Option<T> {
    let nearest = left.iter().position(|task| may(task) && near(task));
    let place = nearest.or_else(|| left.iter().position(may))?;
    left.remove(place)
}

#[cfg(test)]
mod tests;
