//! Whole runs with real actors: wherever a job is started, however it ends, whatever its tables hold.

mod audit;
mod ends;
mod hosts;
mod mistakes;
mod seats;
mod tables;

use actix::prelude::*;
use slackline::prelude::*;
use slackline::{Outcome, RunError, Trained};

/// An app made of a function.
pub(crate) struct Does<F>(pub(crate) F);

impl<F: FnMut(Step) -> Outcome + Unpin + 'static> Actor for Does<F> {
    type Context = Context<Self>;
}

impl<F: FnMut(Step) -> Outcome + Unpin + 'static> Handler<Step> for Does<F> {
    type Result = Outcome;
    fn handle(&mut self, step: Step, _: &mut Context<Self>) -> Outcome {
        (self.0)(step)
    }
}

/// A row of sums that depend on the order of additions and on what was read before.
pub(crate) fn sums() -> Table {
    Table::dense("sums", 1, 3)
}

/// Adds to the sums; the first counts steps.
pub(crate) fn summing(mut step: Step) -> Outcome {
    if step.phase() == Phase::Evaluate {
        let count = f64::from(step.read::<f32>("sums").row(0)[0]);
        return step.done(count);
    }
    let old = step.read::<f32>("sums").row(0).to_vec();
    let mut delta = step.delta::<f32>("sums");
    let scale = 1.0 / (step.part().0 as f32 + 3.0);
    delta.row(0).copy_from_slice(&[1.0, scale * 1e4 - 0.1 * old[1], scale + old[1] * 1e-3]);
    step.add(delta);
    step.done(1.0)
}

/// Runs a summing job to its end.
pub(crate) fn run_sums(job: Job) -> Result<Trained, RunError> {
    job.table(sums()).start(|_| Does(summing))?.wait()
}

/// The sums at the end, as bits.
pub(crate) fn bits(trained: &Trained) -> Vec<u32> {
    trained.model.dense::<f32>("sums").iter().map(|value| value.to_bits()).collect()
}
