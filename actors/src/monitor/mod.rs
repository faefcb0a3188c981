//! The monitor: everything worth telling about a run passes through one actor to whoever watches.
//!
//! It has a thread of its own wherever somebody watches, so that a slow watcher holds up nobody but the end of the run,
//! which waits until the last event has been told.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use actix::prelude::*;
use serde::{Deserialize, Serialize};
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
    /// The run goes on from a checkpoint.
    Resumed(Resumed),
    /// A checkpoint has been written.
    Checkpoint(Written),
    /// A checkpoint could not be written, and why; the last one is kept, and the next one is due as ever.
    CheckpointFailed(String),
    /// The members of a cluster changed while so many workers kept small updates back (`bounded_error`), which are lost:
    /// of each page at most the error that the job allows, for each of them.
    KeptBackLost {
        /// How many.
        workers: usize,
    },
}

/// Where a run goes on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Resumed {
    /// The checkpoint's file; empty where a run of a cluster begins again from its start.
    pub path: PathBuf,
    /// The clocks that everyone had finished.
    pub clock: Clock,
    /// Training time until then in seconds.
    pub seconds: f64,
    /// The passes and evaluations until then.
    pub history: Vec<Progress>,
}

/// A checkpoint that has been written, and what it cost.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Written {
    /// Its file.
    pub path: PathBuf,
    /// Its number.
    pub number: u64,
    /// The clocks that everyone had finished.
    pub clock: Clock,
    /// Bytes of the file.
    pub bytes: u64,
    /// Seconds from when no step began any more until none was in flight: workers ran dry one after the other.
    pub drained: f64,
    /// Seconds after that until steps began again: nobody worked.
    pub paused: f64,
    /// Seconds that writing took, beside training.
    pub written: f64,
}

/// Where a run is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
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
