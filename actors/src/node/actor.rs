//! The node as an actor: makes apps anew, notices deaths, and ends the run.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use actix::prelude::*;
use actix_rt::{Arbiter, ArbiterHandle, System};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;

use crate::app::Step;
use crate::id::WorkerId;
use crate::job::{RunError, Trained};
use crate::message::Snap;
use crate::model::gather;
use crate::monitor::Drain;
use crate::scheduler::Finished;
use crate::table::Table;
use crate::worker::Renew;

/// Makes the app of a worker on an arbiter, and says so once it is made: a panic on the way drops the sender.
pub(super) type MakeApp =
    Box<dyn Fn(WorkerId, &ArbiterHandle, oneshot::Sender<()>) -> Recipient<Step> + Send>;

/// The end of a run, for whoever awaits it.
pub(super) type Outcome = Result<Trained, RunError>;

/// The keeper of a run's actors.
pub(super) struct Node {
    pub(super) make: MakeApp,
    pub(super) shards: Vec<Recipient<Snap>>,
    pub(super) monitor: Recipient<Drain>,
    pub(super) tables: Arc<Vec<Table>>,
    /// The arbiters of everything but the apps, the node's own first.
    pub(super) arbiters: Vec<Arbiter>,
    /// The arbiter of each worker's app.
    pub(super) apps: HashMap<WorkerId, Arbiter>,
    pub(super) closing: Arc<AtomicBool>,
    pub(super) deaths: Option<UnboundedReceiver<String>>,
    pub(super) done: Option<oneshot::Sender<Outcome>>,
    /// Whether the `System` was started for this run and ends with it.
    pub(super) own_system: bool,
}

impl Node {
    /// Waits until those who watch know everything, stops all threads, waits for them on a thread that is none of
    /// them, and hands the outcome over.
    fn close(&mut self, outcome: Outcome) {
        let Some(done) = self.done.take() else { return };
        self.closing.store(true, Ordering::Release);
        let mut arbiters: Vec<Arbiter> = std::mem::take(&mut self.apps).into_values().collect();
        arbiters.extend(self.arbiters.drain(..).rev());
        let system = self.own_system.then(System::current);
        let (told, all_told) = oneshot::channel();
        self.monitor.do_send(Drain(told));
        let reap = move || {
            all_told.blocking_recv().ok(); // an error either way: the monitor drops the sender, or has died
            for arbiter in arbiters {
                arbiter.stop();
                if arbiter.join().is_err() {
                    tracing::error!("a thread of the run panicked");
                }
            }
            if let Some(system) = system {
                system.stop();
            }
            done.send(outcome).ok(); // nobody waits: the run is over all the same
        };
        std::thread::spawn(reap);
    }
}

impl Actor for Node {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let mut deaths = self.deaths.take().expect("a node starts once");
        let first = async move { deaths.recv().await }.into_actor(self);
        ctx.spawn(first.map(|name, node, _| {
            if let Some(name) = name {
                node.close(Err(RunError::Died(name)));
            }
        }));
    }
}

impl Handler<Renew> for Node {
    type Result = ResponseActFuture<Self, Option<Recipient<Step>>>;
    fn handle(&mut self, Renew(worker): Renew, _: &mut Self::Context) -> Self::Result {
        let arbiter = self.apps.entry(worker).or_insert_with(Arbiter::new);
        let (maker, made) = oneshot::channel();
        let app = (self.make)(worker, &arbiter.handle(), maker);
        Box::pin(made.into_actor(self).map(move |made, node, _| {
            if made.is_err() {
                let why = format!("the app of worker {worker} could not be made: making it panicked");
                node.close(Err(RunError::Failed(why)));
            }
            made.ok().map(|()| app)
        }))
    }
}

impl Handler<Finished> for Node {
    type Result = ();
    fn handle(&mut self, finished: Finished, ctx: &mut Self::Context) {
        if let Some(why) = finished.ending.failed {
            return self.close(Err(RunError::Failed(why)));
        }
        let (shards, tables) = (self.shards.clone(), Arc::clone(&self.tables));
        let end = finished.clocks;
        let model = async move { gather(&shards, &tables, end).await }.into_actor(self);
        ctx.spawn(model.map(move |model, node, _| {
            let trained = model.map(|model| Trained {
                model,
                stopped: finished.ending.stopped,
                clocks: finished.clocks,
                seconds: finished.seconds,
                history: finished.history,
                workers: finished.workers,
            });
            node.close(trained);
        }));
    }
}
