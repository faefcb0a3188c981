//! The shard as an actor: messages in, decisions of the [`Store`], messages out.

use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

use actix::prelude::*;
use tokio::sync::oneshot;

use super::store::{Outgoing, Store};
use crate::id::WorkerId;
use crate::message::{Advance, Applied, Commit, Got, Pull, Push, Restore, Rows, Snap, Snapshot};
use crate::node::{Breather, Lifeline};

/// An actor that owns rows.
pub struct Shard {
    /// Absent once it was handed over to the next generation.
    store: Option<Store>,
    workers: BTreeMap<WorkerId, ToWorker>,
    snapshots: HashMap<u64, oneshot::Sender<Snapshot>>,
    asked: u64,
    born: Instant,
    /// Whether it is going to look after what waits for the bandwidth budget.
    will_wake: bool,
    breather: Breather,
    lifeline: Lifeline,
}

/// Where a shard sends what it has for one worker.
#[derive(Clone)]
pub struct ToWorker {
    /// Rows.
    pub rows: Recipient<Rows>,
    /// Acknowledgements.
    pub applied: Recipient<Applied>,
}

/// Tells a shard where the workers are.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Introduce(pub BTreeMap<WorkerId, ToWorker>);

/// Node → shard: its generation is over; the next one needs what it has. Answered once with it, and the actor stops.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "Option<Store>")]
pub struct HandOver;

impl Shard {
    /// An actor around a store; `lifeline` tells its node when it dies.
    pub fn new(store: Store, lifeline: Lifeline) -> Self {
        Self {
            store: Some(store),
            workers: BTreeMap::new(),
            snapshots: HashMap::new(),
            asked: 0,
            born: Instant::now(),
            will_wake: false,
            breather: Breather::default(),
            lifeline,
        }
    }

    /// Has the store take something in, and sends what follows from it.
    fn with<I: IntoIterator<Item = Outgoing>>(
        &mut self,
        ctx: &mut Context<Self>,
        decide: impl FnOnce(&mut Store) -> I,
    ) {
        let Some(store) = &mut self.store else { return };
        store.tell_time(self.born.elapsed());
        let out = decide(store);
        if let (Some(at), false) = (store.wake_at(), self.will_wake) {
            self.will_wake = true;
            ctx.run_later(at.saturating_sub(self.born.elapsed()), |shard, ctx| {
                shard.will_wake = false;
                shard.with(ctx, Store::tick);
            });
        }
        for message in out {
            match message {
                Outgoing::Rows(worker, rows) => {
                    if let Some(worker) = self.workers.get(&worker) {
                        worker.rows.do_send(rows);
                    }
                }
                Outgoing::Applied(worker, applied) => {
                    if let Some(worker) = self.workers.get(&worker) {
                        worker.applied.do_send(applied);
                    }
                }
                Outgoing::Snapshot(number, snapshot) => {
                    if let Some(asker) = self.snapshots.remove(&number) {
                        asker.send(snapshot).ok(); // an asker that left no longer wants it
                    }
                }
            }
        }
    }
}

impl Actor for Shard {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(1024);
    }
}

impl Handler<Introduce> for Shard {
    type Result = ();
    fn handle(&mut self, Introduce(workers): Introduce, _: &mut Self::Context) {
        self.workers = workers;
    }
}

impl Handler<Pull> for Shard {
    type Result = ();
    fn handle(&mut self, pull: Pull, ctx: &mut Self::Context) {
        self.with(ctx, |store| store.pull(pull));
        self.breather.breathe(ctx);
    }
}

impl Handler<Push> for Shard {
    type Result = ();
    fn handle(&mut self, push: Push, ctx: &mut Self::Context) {
        self.with(ctx, |store| store.push(push));
        self.breather.breathe(ctx);
    }
}

impl Handler<Advance> for Shard {
    type Result = ();
    fn handle(&mut self, advance: Advance, ctx: &mut Self::Context) {
        self.with(ctx, |store| store.advance(advance));
        self.breather.breathe(ctx);
    }
}

impl Handler<Got> for Shard {
    type Result = ();
    fn handle(&mut self, got: Got, ctx: &mut Self::Context) {
        self.with(ctx, |store| store.got(got));
        self.breather.breathe(ctx);
    }
}

impl Handler<Commit> for Shard {
    type Result = ();
    fn handle(&mut self, commit: Commit, ctx: &mut Self::Context) {
        self.with(ctx, |store| store.commit(commit));
        self.breather.breathe(ctx);
    }
}

impl Handler<HandOver> for Shard {
    type Result = MessageResult<HandOver>;
    fn handle(&mut self, _: HandOver, ctx: &mut Self::Context) -> Self::Result {
        self.lifeline.release();
        ctx.stop();
        MessageResult(self.store.take())
    }
}

impl Handler<Snap> for Shard {
    type Result = ResponseFuture<Option<Snapshot>>;
    fn handle(&mut self, snap: Snap, ctx: &mut Self::Context) -> Self::Result {
        let (asker, answer) = oneshot::channel();
        self.asked += 1;
        self.snapshots.insert(self.asked, asker);
        let number = self.asked;
        self.with(ctx, |store| store.snapshot(number, snap));
        Box::pin(async { answer.await.ok() })
    }
}

impl Handler<Restore> for Shard {
    type Result = bool;
    fn handle(&mut self, Restore { tables, min }: Restore, _: &mut Self::Context) -> bool {
        self.store.as_mut().is_some_and(|store| store.restore(tables, min))
    }
}
