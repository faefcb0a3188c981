//! The worker as an actor: messages in, decisions of the [`Desk`], messages out. The app computes on a thread of its
//! own, so this mailbox is never blocked by it.

use std::time::Instant;

use actix::prelude::*;

use super::desk::{Action, Desk, Prepared, Spent};
use crate::app::{Outcome, Step, Wake};
use crate::id::{ShardId, WorkerId};
use crate::message::{Applied, Assign, Got, Join, Pull, Push, Report, Rows};
use crate::node::{Breather, Lifeline, Retire};

/// An actor that has steps computed.
pub struct Worker {
    id: WorkerId,
    desk: Desk,
    routes: Routes,
    /// Absent until the node has made it.
    app: Option<Recipient<Step>>,
    idle_since: Instant,
    born: Instant,
    breather: Breather,
    lifeline: Lifeline,
}

/// Where a worker sends what it has.
pub struct Routes {
    /// The scheduler's ear for workers that are ready.
    pub join: Recipient<Join>,
    /// The scheduler's ear for finished steps.
    pub report: Recipient<Report>,
    /// The shards, shard 0 first.
    pub shards: Vec<ToHolders>,
    /// The node, which makes an app anew that died.
    pub renew: Recipient<Renew>,
}

/// Where a worker reaches those who have the rows of a shard.
pub struct ToHolders {
    /// The shard.
    pub pull: Recipient<Pull>,
    /// The shard.
    pub got: Recipient<Got>,
    /// The shard, and who stands by for it.
    pub push: Vec<Recipient<Push>>,
}

/// Worker → node: give me this worker's app: the one there is, or a new one since there is none or it died. Answered with
/// `None` when it cannot be made: the run is then over.
#[derive(Message)]
#[rtype(result = "Option<Recipient<Step>>")]
pub struct Renew(pub WorkerId);

impl Worker {
    /// An actor around a desk; `lifeline` tells its node when it dies.
    pub fn new(id: WorkerId, desk: Desk, routes: Routes, lifeline: Lifeline) -> Self {
        let (idle_since, breather) = (Instant::now(), Breather::default());
        Self { id, desk, routes, app: None, idle_since, born: idle_since, breather, lifeline }
    }

    /// It will never begin: nobody needs to know when it goes away.
    pub(crate) fn release(&mut self) {
        self.lifeline.release();
    }

    fn act(&mut self, actions: Vec<Action>, ctx: &mut Context<Self>) {
        for action in actions {
            match action {
                Action::Pull(shard, pull) => self.routes.shards[shard.index()].pull.do_send(pull),
                Action::Push(shard, push) => self.push(shard, push),
                Action::Report(report) => self.routes.report.do_send(report),
                Action::Compute(step) => self.compute(step, ctx),
                Action::Got(shard) => {
                    self.routes.shards[shard.index()].got.do_send(Got { worker: self.id });
                }
            }
        }
        self.breather.breathe(ctx);
    }

    fn push(&self, shard: ShardId, push: Push) {
        let Some((last, others)) = self.routes.shards[shard.index()].push.split_last() else { return };
        others.iter().for_each(|holder| holder.do_send(push.clone()));
        last.do_send(push);
    }

    fn compute(&mut self, Prepared(mut step): Prepared, ctx: &mut Context<Self>) {
        let begun = Instant::now();
        let waited = micros(begun - self.idle_since);
        let app = self.app.as_ref().expect("a worker joins once it has its app");
        if let Some(exit) = &mut step.exit {
            exit.wake = Some(ctx.address().recipient());
        }
        let outcome = app.send(step).into_actor(self);
        ctx.spawn(outcome.map(move |outcome, worker, ctx| {
            worker.idle_since = Instant::now();
            let spent = Spent { computed: micros(worker.idle_since - begun), waited };
            tracing::trace!(worker = %worker.id, spent.computed, spent.waited, "computed a step");
            match outcome {
                Ok(outcome) => worker.finish(Some(outcome), spent, ctx),
                Err(_) => worker.renew(spent, ctx),
            }
        }));
    }

    fn finish(&mut self, outcome: Option<Outcome>, spent: Spent, ctx: &mut Context<Self>) {
        if self.desk.has_budget() {
            self.desk.tell_time(self.born.elapsed());
        }
        let actions = self.desk.computed(outcome, spent);
        self.act(actions, ctx);
    }

    /// The app died: gets another one from the node, then reports the step as failed.
    fn renew(&mut self, spent: Spent, ctx: &mut Context<Self>) {
        tracing::error!(worker = %self.id, "the app panicked; it is made anew");
        self.with_new_app(ctx, move |worker, ctx| worker.finish(None, spent, ctx));
    }

    fn with_new_app(
        &mut self,
        ctx: &mut Context<Self>,
        then: impl FnOnce(&mut Self, &mut Context<Self>) + 'static,
    ) {
        let renewed = self.routes.renew.send(Renew(self.id)).into_actor(self);
        ctx.spawn(renewed.map(move |renewed, worker, ctx| {
            if let Ok(Some(app)) = renewed {
                worker.app = Some(app);
                then(worker, ctx);
            }
        }));
    }
}

fn micros(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

impl Actor for Worker {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(1024);
        self.with_new_app(ctx, |worker, _| {
            worker.routes.join.do_send(Join { worker: worker.id, generation: worker.desk.generation() });
        });
    }
}

impl Handler<Retire> for Worker {
    type Result = ();
    fn handle(&mut self, _: Retire, ctx: &mut Self::Context) {
        self.lifeline.release();
        ctx.stop();
    }
}

impl Handler<Wake> for Worker {
    type Result = ();
    fn handle(&mut self, _: Wake, ctx: &mut Self::Context) {
        let actions = self.desk.let_out();
        self.act(actions, ctx);
    }
}

impl Handler<Assign> for Worker {
    type Result = ();
    fn handle(&mut self, assign: Assign, ctx: &mut Self::Context) {
        let actions = self.desk.assign(assign);
        self.act(actions, ctx);
    }
}

impl Handler<Rows> for Worker {
    type Result = ();
    fn handle(&mut self, rows: Rows, ctx: &mut Self::Context) {
        let actions = self.desk.rows(rows);
        self.act(actions, ctx);
    }
}

impl Handler<Applied> for Worker {
    type Result = ();
    fn handle(&mut self, applied: Applied, ctx: &mut Self::Context) {
        let actions = self.desk.applied(applied);
        self.act(actions, ctx);
    }
}
