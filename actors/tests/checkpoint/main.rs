//! Checkpoints from outside: files that are refused, schedules that go on where they were, runs that end as if nothing
//! had happened.

#![allow(clippy::unwrap_used)] // the lint lets tests unwrap, but not the functions beside them

mod files;
mod resume;
mod schedules;

use actix::prelude::*;
use slackline::prelude::*;

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
