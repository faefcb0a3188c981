//! The node as an actor: makes the actors of each generation, makes apps anew, notices deaths, and ends the run.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use actix::prelude::*;
use actix_rt::{Arbiter, ArbiterHandle, System};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;

use super::cast::{Cast, Stage};
use super::duty::Duty;
use super::fill::Past;
use crate::app::Step;
use crate::audit::Recorder;
use crate::clock::Clock;
use crate::cluster::Seat;
use crate::id::WorkerId;
use crate::job::{RunError, Trained};
use crate::message::{Snap, Stop};
use crate::model::{Model, gather};
use crate::monitor::Drain;
use crate::scheduler::Finished;
use crate::worker::Renew;

/// Makes the app of a worker on an arbiter, and says so once it is made: a panic on the way drops the sender.
pub(super) type MakeApp =
    Box<dyn Fn(WorkerId, &ArbiterHandle, oneshot::Sender<()>) -> Recipient<Step> + Send>;

/// The end of a run, for whoever awaits it.
pub(super) type Outcome = Result<Trained, RunError>;

/// The keeper of a run's actors on this node.
pub(crate) struct Node {
    pub(super) stage: Stage,
    /// The actors of the generation under way.
    pub(super) cast: Option<Cast>,
    pub(super) make: MakeApp,
    pub(super) monitor: Recipient<Drain>,
    /// The arbiters of everything but the apps, the node's own first.
    pub(super) arbiters: Vec<Arbiter>,
    /// The thread and the app of each worker.
    pub(super) apps: HashMap<WorkerId, (Arbiter, Option<Recipient<Step>>)>,
    pub(super) deaths: Option<UnboundedReceiver<String>>,
    pub(super) done: Option<oneshot::Sender<Outcome>>,
    /// Whether the `System` was started for this run and ends with it.
    pub(super) own_system: bool,
    /// In a cluster: whom it obeys.
    pub(super) duty: Option<Duty>,
    /// In a cluster: its place, kept while the run lasts, even if nobody else does.
    pub(super) seat: Option<Seat>,
    /// On the lead of a cluster: what it can go back to.
    pub(super) past: Option<Past>,
    /// On the lead: the schedule's end, from when it is known until the model is gathered.
    pub(super) finished: Option<Finished>,
    /// Where the run is audited.
    pub(super) recorder: Option<Recorder>,
}

/// Anyone → node: all tables, as they are once everyone has finished the clocks before `need`. Answered with `None` when
/// the run is over.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "Option<Model>")]
pub(crate) struct Gather {
    pub(crate) need: Clock,
}

impl Node {
    /// Waits until those who watch know everything, stops all threads, waits for them on a thread that is none of
    /// them, and hands the outcome over.
    pub(super) fn close(&mut self, outcome: Outcome) {
        let Some(done) = self.done.take() else { return };
        self.stage.care.closing.store(true, Ordering::Release);
        let mut arbiters: Vec<Arbiter> =
            std::mem::take(&mut self.apps).into_values().map(|(arbiter, _)| arbiter).collect();
        arbiters.extend(self.arbiters.drain(..).rev());
        let system = self.own_system.then(System::current);
        let (recorder, seat) = (self.recorder.take(), self.seat.take());
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
            drop(recorder); // nobody is left who does anything: the record is whole
            drop(seat); // what this node has said is sent
            if let Some(system) = system {
                system.stop();
            }
            done.send(outcome).ok(); // nobody waits: the run is over all the same
        };
        std::thread::spawn(reap);
    }

    /// Ends the run: here, and in a cluster everywhere.
    pub(super) fn end(&mut self, outcome: Outcome) {
        if let Some(duty) = &self.duty {
            duty.over(&outcome);
        }
        self.close(outcome);
    }

    /// Stops the run at a clock; a follower asks to be let go.
    pub(super) fn stop(&self) {
        match (&self.stage.scheduler, &self.duty) {
            (Some(scheduler), _) => scheduler.do_send(Stop),
            (None, Some(duty)) => duty.leave(),
            (None, None) => {}
        }
    }

    /// Gathers the model of a run whose schedule is done.
    pub(super) fn finish(&mut self, ctx: &mut Context<Self>) {
        let (Some(finished), Some(cast)) = (self.finished.clone(), &self.cast) else { return };
        let generation = cast.layout.generation;
        let (shards, tables) = (cast.all_shards.clone(), Arc::clone(&self.stage.tables));
        let end = finished.clocks;
        let model = async move { gather(&shards, &tables, end).await }.into_actor(self);
        ctx.spawn(model.map(move |model, node, _| match model {
            // In a cluster a node that dies now is noticed, and the generation after it gathers again.
            Err(_) if node.duty.is_some() => tracing::warn!(generation, "the model could not be gathered"),
            model if node.is_in(generation) => node.end(model.map(|model| Trained {
                model,
                stopped: finished.ending.stopped,
                clocks: finished.clocks,
                seconds: finished.seconds,
                history: finished.history,
                workers: finished.workers,
            })),
            _ => {}
        }));
    }

    pub(super) fn is_in(&self, generation: u32) -> bool {
        self.cast.as_ref().is_some_and(|cast| cast.layout.generation == generation)
    }
}

impl Actor for Node {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let mut deaths = self.deaths.take().expect("a node starts once");
        let first = async move { deaths.recv().await }.into_actor(self);
        ctx.spawn(first.map(|name, node, _| {
            if let Some(name) = name {
                node.end(Err(RunError::Died(name)));
            }
        }));
        self.enlist(ctx);
    }
}

impl Handler<Renew> for Node {
    type Result = ResponseActFuture<Self, Option<Recipient<Step>>>;
    fn handle(&mut self, Renew(worker): Renew, _: &mut Self::Context) -> Self::Result {
        let (arbiter, app) = self.apps.entry(worker).or_insert_with(|| (Arbiter::new(), None));
        if let Some(app) = app.as_ref().filter(|app| app.connected()) {
            return Box::pin(actix::fut::ready(Some(app.clone())));
        }
        let (maker, made) = oneshot::channel();
        let new = (self.make)(worker, &arbiter.handle(), maker);
        *app = Some(new.clone());
        Box::pin(made.into_actor(self).map(move |made, node, _| {
            if made.is_err() {
                let why = format!("the app of worker {worker} could not be made: making it panicked");
                node.end(Err(RunError::Failed(why)));
            }
            made.ok().map(|()| new)
        }))
    }
}

impl Handler<Finished> for Node {
    type Result = ();
    fn handle(&mut self, finished: Finished, ctx: &mut Self::Context) {
        if let Some(why) = finished.ending.failed {
            return self.end(Err(RunError::Failed(why)));
        }
        self.finished = Some(finished);
        self.finish(ctx);
    }
}

impl Handler<Stop> for Node {
    type Result = ();
    fn handle(&mut self, _: Stop, _: &mut Self::Context) {
        self.stop();
    }
}

impl Handler<Gather> for Node {
    type Result = ResponseFuture<Option<Model>>;
    fn handle(&mut self, Gather { need }: Gather, _: &mut Self::Context) -> Self::Result {
        let shards: Option<Vec<Recipient<Snap>>> = self.cast.as_ref().map(|cast| cast.all_shards.clone());
        let tables = Arc::clone(&self.stage.tables);
        Box::pin(async move { gather(&shards?, &tables, need).await.ok() })
    }
}
