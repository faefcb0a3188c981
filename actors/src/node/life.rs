//! What keeps actors well: yielding, so that neighbours on a thread do not starve, and noticing death.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use actix::prelude::*;
use tokio::sync::mpsc;

/// Messages that an actor handles in a row before it lets its neighbours run.
const MESSAGES_IN_A_ROW: u32 = 32;

/// Makes an actor yield: actix drains a mailbox without a budget, so a busy actor starves every other on its thread.
#[derive(Debug, Default)]
pub(crate) struct Breather {
    handled: u32,
}

impl Breather {
    /// Counts a message; every few of them the actor waits for one turn of its thread.
    pub(crate) fn breathe<A: Actor<Context = Context<A>>>(&mut self, ctx: &mut Context<A>) {
        self.handled += 1;
        if self.handled >= MESSAGES_IN_A_ROW {
            self.handled = 0;
            ctx.wait(actix::fut::wrap_future(tokio::task::yield_now()));
        }
    }
}

/// What watches over the actors of a run.
#[derive(Clone)]
pub(super) struct Care {
    /// Whether the run is closing: no death counts any more.
    pub(super) closing: Arc<AtomicBool>,
    /// Where deaths are told.
    pub(super) deaths: mpsc::UnboundedSender<String>,
}

impl Care {
    /// A lifeline for the actor called `name`.
    pub(super) fn lifeline(&self, name: String) -> Lifeline {
        Lifeline::new(name, Arc::clone(&self.closing), self.deaths.clone())
    }
}

/// Held by an actor; tells its node when the actor goes away before the run is closing.
#[derive(Debug)]
pub struct Lifeline {
    name: String,
    closing: Arc<AtomicBool>,
    deaths: mpsc::UnboundedSender<String>,
}

impl Lifeline {
    /// A lifeline for the actor called `name`.
    pub fn new(name: String, closing: Arc<AtomicBool>, deaths: mpsc::UnboundedSender<String>) -> Self {
        Self { name, closing, deaths }
    }
}

impl Lifeline {
    /// The actor goes away because it is told to: nobody needs to know.
    pub(crate) fn release(&mut self) {
        self.closing = Arc::new(AtomicBool::new(true));
    }
}

/// Node → worker or shard: its generation is over.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "()")]
pub(crate) struct Retire;

impl Drop for Lifeline {
    fn drop(&mut self) {
        if !self.closing.load(Ordering::Acquire) {
            self.deaths.send(std::mem::take(&mut self.name)).ok(); // the node is gone: so is the run
        }
    }
}
