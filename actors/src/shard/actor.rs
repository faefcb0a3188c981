//! The shard as an actor: messages in, decisions of the [`Store`], messages out.

use std::collections::HashMap;

use actix::prelude::*;
use tokio::sync::oneshot;

use super::store::{Outgoing, Store};
use crate::message::{Advance, Applied, Pull, Push, Restore, Rows, Snap, Snapshot};
use crate::node::{Breather, Lifeline};

/// An actor that owns rows.
pub struct Shard {
    store: Store,
    workers: Vec<ToWorker>,
    snapshots: HashMap<u64, oneshot::Sender<Snapshot>>,
    asked: u64,
    breather: Breather,
    _lifeline: Lifeline,
}

/// Where a shard sends what it has for one worker.
#[derive(Clone)]
pub struct ToWorker {
    /// Rows.
    pub rows: Recipient<Rows>,
    /// Acknowledgements.
    pub applied: Recipient<Applied>,
}

/// Tells a shard where the workers are, worker 0 first.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Introduce(pub Vec<ToWorker>);

impl Shard {
    /// An actor around a store; `lifeline` tells its node when it dies.
    pub fn new(store: Store, lifeline: Lifeline) -> Self {
        Self {
            store,
            workers: Vec::new(),
            snapshots: HashMap::new(),
            asked: 0,
            breather: Breather::default(),
            _lifeline: lifeline,
        }
    }

    fn send(&mut self, out: impl IntoIterator<Item = Outgoing>) {
        for message in out {
            match message {
                Outgoing::Rows(worker, rows) => self.workers[worker.index()].rows.do_send(rows),
                Outgoing::Applied(worker, applied) => self.workers[worker.index()].applied.do_send(applied),
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
        let out = self.store.pull(pull);
        self.send(out);
        self.breather.breathe(ctx);
    }
}

impl Handler<Push> for Shard {
    type Result = ();
    fn handle(&mut self, push: Push, ctx: &mut Self::Context) {
        let out = self.store.push(push);
        self.send(out);
        self.breather.breathe(ctx);
    }
}

impl Handler<Advance> for Shard {
    type Result = ();
    fn handle(&mut self, advance: Advance, ctx: &mut Self::Context) {
        let out = self.store.advance(advance);
        self.send(out);
        self.breather.breathe(ctx);
    }
}

impl Handler<Snap> for Shard {
    type Result = ResponseFuture<Option<Snapshot>>;
    fn handle(&mut self, snap: Snap, _: &mut Self::Context) -> Self::Result {
        let (asker, answer) = oneshot::channel();
        self.asked += 1;
        self.snapshots.insert(self.asked, asker);
        let out = self.store.snapshot(self.asked, snap);
        self.send(out);
        Box::pin(async { answer.await.ok() })
    }
}

impl Handler<Restore> for Shard {
    type Result = bool;
    fn handle(&mut self, Restore { tables, min }: Restore, _: &mut Self::Context) -> bool {
        self.store.restore(tables, min)
    }
}
