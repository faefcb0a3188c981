//! The monitor: everything worth telling about a run passes through one actor to whoever watches.

use actix::prelude::*;

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

/// One who watches a run. It is called on the monitor's thread: keep it short.
pub type Watcher = Box<dyn FnMut(&Event) + Send>;

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
        self.watchers.iter_mut().for_each(|watcher| watcher(&event));
    }
}
