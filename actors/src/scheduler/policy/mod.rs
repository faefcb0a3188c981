//! Schedules: pure structs that the scheduler asks for the next task and tells about finished ones.
//!
//! One promise binds them all: two tasks in flight never share a part, nor a block. A schedule of one's own is a
//! [`Schedule`] impl.

mod dependency;
mod fixed;
mod passes;
mod priority;
mod rotation;

pub use dependency::{Dependency, Interference};
pub use fixed::{Fixed, Shuffled};
pub use passes::{Evaluated, Measure};
pub use priority::{Guide, Priority, Verdict};
pub use rotation::Rotation;

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
#[derive(Debug, Clone, Default, PartialEq)]
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
/// It is asked by one scheduler, which keeps the clocks and the gate: a schedule need not think of staleness. It must
/// not hand out two tasks that share a part or a block while the first is in flight, and when it says
/// [`Next::Wait`] some task must be in flight, or the run stops as stuck.
pub trait Schedule: Send {
    /// What `worker` shall do next.
    fn next(&mut self, worker: WorkerId) -> Next;

    /// Takes in what a task found; returns a mark when that completes a pass or an evaluation.
    fn finished(&mut self, task: &Task, findings: &Findings) -> Option<Mark>;

    /// Takes back a task that nobody finished, to hand it out again.
    fn put_back(&mut self, task: Task);

    /// Ends the run at a clock: no new work but what measures the model as it stands.
    fn wind_down(&mut self);
}

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

    fn wind_down(&mut self) {
        (**self).wind_down();
    }
}

#[cfg(test)]
mod tests;
