//! The monitor: everything worth telling about a run passes through one actor to whoever watches.
//!
//! It has a thread of its own wherever somebody watches, so that a slow watcher holds up nobody but the end of the run,
//! which waits until the last event has been told.

use std::panic::{AssertUnwindSafe, catch_unwind};

use actix::prelude::*;
use tokio::sync::oneshot;

use crate::clock::Clock;
use crate::node::Lifeline;
use crate::scheduler::policy::Mark;

/// Something worth telling.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
#[non_exhaustive]
pub enum Event {
    /// A pass or an evaluation is complete.
    Progress(Progress),
}

/// Where a run is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Progress {
    /// Training time so far in seconds, evaluation not counted.
    pub seconds: f64,
    /// The clocks that everyone has finished.
    pub clock: Clock,
    /// The oldest read since the last progress, in clocks.
    pub staleness: u64,
    /// What was measured.
    pub mark: Mark,
}

/// One who watches a run; called on the monitor's thread. One that panics is told nothing more, and the run goes on.
pub type Watcher = Box<dyn FnMut(&Event) + Send>;

/// Node → monitor: drops what it carries once every event before it has been told.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Drain(pub(crate) oneshot::Sender<()>);

/// An actor that passes events on.
pub struct Monitor {
    watchers: Vec<Watcher>,
    _lifeline: Lifeline,
}

impl Monitor {
    /// Passes events to these, in order.
    pub fn new(watchers: Vec<Watcher>, lifeline: Lifeline) -> Self {
        Self { watchers, _lifeline: lifeline }
    }
}

impl Actor for Monitor {
    type Context = Context<Self>;
}

impl Handler<Event> for Monitor {
    type Result = ();
    fn handle(&mut self, event: Event, _: &mut Self::Context) {
        self.watchers.retain_mut(|watcher| {
            let told = catch_unwind(AssertUnwindSafe(|| watcher(&event)));
            if told.is_err() {
                tracing::error!("a watcher of the run panicked; it is told nothing more");
            }
            told.is_ok()
        });
    }
}

impl Handler<Drain> for Monitor {
    type Result = ();
    fn handle(&mut self, Drain(drained): Drain, _: &mut Self::Context) {
        drop(drained);
    }
}
