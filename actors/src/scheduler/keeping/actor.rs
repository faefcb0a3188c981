//! The scheduler's share of checkpoints: asks shards for rows, has a thread write them, tells who watches.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix::prelude::*;

use super::{Keeper, Taken};
use crate::checkpoint::{CheckpointError, Directory, Fingerprint, Saved};
use crate::id::TableId;
use crate::message::{Snap, Snapshot};
use crate::monitor::{Event, Written};
use crate::scheduler::{Finished, Scheduler};

/// Node → scheduler: keep checkpoints.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Keep {
    pub(crate) directory: Directory,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) every: Duration,
}

/// A writing thread → scheduler: done, or failed and why.
#[derive(Message)]
#[rtype(result = "()")]
struct Done(Result<Written, String>);

/// What a scheduler has that keeps checkpoints.
pub(crate) struct Kept {
    keep: Keep,
    keeper: Keeper<Finished>,
    /// The shards, shard 0 first.
    shards: Vec<Recipient<Snap>>,
    /// Whether the run was to stop after a checkpoint that a change of members prevented.
    stop_again: bool,
}

impl Scheduler {
    /// A checkpoint is due.
    fn due(&mut self, ctx: &mut Context<Self>) {
        if self.kept.as_mut().is_some_and(|kept| kept.keeper.due(Instant::now())) {
            let orders = self.dispatch.drain();
            self.carry_out(orders, ctx);
        }
    }

    /// These are the shards now.
    pub(in crate::scheduler) fn keep_from(&mut self, shards: Vec<Recipient<Snap>>, ctx: &mut Context<Self>) {
        self.snaps.clone_from(&shards);
        let Some(kept) = &mut self.kept else { return };
        kept.shards = shards;
        if std::mem::take(&mut kept.stop_again) {
            self.wind_up(ctx);
        }
    }

    /// The members change: gives up a checkpoint that is under way.
    pub(in crate::scheduler) fn abandon_checkpoint(&mut self) {
        if let Some(kept) = &mut self.kept {
            kept.stop_again |= kept.keeper.abandon();
        }
    }

    /// The run is to stop: where checkpoints are kept, after a last one.
    pub(in crate::scheduler) fn wind_up(&mut self, ctx: &mut Context<Self>) {
        let last = self.kept.as_mut().is_some_and(|kept| kept.keeper.stop(Instant::now()));
        let orders = if last { self.dispatch.drain() } else { self.dispatch.stop() };
        self.carry_out(orders, ctx);
    }

    /// Nothing is in flight: asks the shards for everything at once, and goes on when all have answered.
    pub(in crate::scheduler) fn checkpoint(&mut self, ctx: &mut Context<Self>) {
        let Some(Kept { keep, keeper, shards, .. }) = &mut self.kept else { return };
        keeper.drained(Instant::now());
        let need = self.dispatch.min();
        let tables = (0..keep.fingerprint.tables.len()).map(TableId::at);
        let of_all = |table| shards.iter().map(move |shard| (table, shard.send(Snap { table, need })));
        let asked: Vec<_> = tables.flat_map(of_all).collect();
        let answers = async move {
            let mut shares = Vec::new();
            for (table, answer) in asked {
                shares.push((table, answer.await.ok().flatten()?));
            }
            Some(shares)
        };
        ctx.spawn(answers.into_actor(self).map(|shares, scheduler, ctx| scheduler.gathered(shares, ctx)));
    }

    fn gathered(&mut self, shares: Option<Vec<(TableId, Snapshot)>>, ctx: &mut Context<Self>) {
        let saved = shares.map(|shares| self.saved(shares));
        let Some(Kept { keeper, .. }) = &mut self.kept else { return };
        if !keeper.is_gathering() {
            return; // the members changed meanwhile
        }
        let ((drained, paused), stops) = keeper.gathered(Instant::now());
        match saved {
            Some(Ok(saved)) => {
                let cost = Written { clock: saved.clock, drained, paused, ..Written::default() };
                if let Some(taken) = keeper.write(Taken { saved, cost }) {
                    self.write(taken, ctx);
                }
            }
            Some(Err(why)) => self.monitor.do_send(Event::CheckpointFailed(why)),
            None => {} // a shard is gone: so is the run, or its generation
        }
        let orders = if stops { self.dispatch.stop() } else { self.dispatch.resume() };
        self.carry_out(orders, ctx);
    }

    /// The state of the run, with the rows that all shards gave.
    fn saved(&self, shares: Vec<(TableId, Snapshot)>) -> Result<Saved, String> {
        let n_tables = shares.last().map_or(0, |(table, _)| table.index() + 1);
        let mut tables = vec![Snapshot::default(); n_tables];
        for (table, share) in shares {
            tables[table.index()].pages.extend(share.pages);
            tables[table.index()].kept.extend(share.kept);
            tables[table.index()].blocks.extend(share.blocks);
        }
        Ok(Saved {
            tables,
            schedule: self.dispatch.save()?,
            clock: self.dispatch.min(),
            seconds: self.stopwatch.read().as_secs_f64(),
            staleness: self.staleness,
            history: self.history.clone(),
            records: self.records.clone(),
        })
    }

    /// Has a thread write a checkpoint; a panic there is an error like any other, so that the end never waits in vain.
    fn write(&mut self, Taken { saved, cost }: Taken, ctx: &mut Context<Self>) {
        let Some(Kept { keep, .. }) = &self.kept else { return };
        let (directory, fingerprint) = (keep.directory.clone(), keep.fingerprint.clone());
        let scheduler = ctx.address();
        let saved = Arc::new(saved);
        let body = move || {
            let begun = Instant::now();
            let put = catch_unwind(AssertUnwindSafe(|| directory.put(&fingerprint, &saved)));
            drop(saved);
            let done = match put {
                Ok(Ok((number, path, bytes))) => {
                    Ok(Written { number, path, bytes, written: begun.elapsed().as_secs_f64(), ..cost })
                }
                Ok(Err(why)) => Err(CheckpointError::to_string(&why)),
                Err(_) => Err("writing a checkpoint panicked".to_owned()),
            };
            scheduler.do_send(Done(done));
        };
        let spawned = std::thread::Builder::new().name("checkpoint".to_owned()).spawn(body);
        if let Err(error) = spawned {
            ctx.address().do_send(Done(Err(format!("no thread to write a checkpoint on: {error}"))));
        }
    }

    /// Tells the node that the run is over, once nothing is being written.
    pub(in crate::scheduler) fn finish(&mut self, finished: Finished) {
        let finished = match &mut self.kept {
            Some(kept) => kept.keeper.end(finished),
            None => Some(finished),
        };
        finished.into_iter().for_each(|finished| self.finished.do_send(finished));
    }
}

impl Handler<Keep> for Scheduler {
    type Result = ();
    fn handle(&mut self, keep: Keep, ctx: &mut Self::Context) {
        ctx.run_interval(keep.every, Self::due);
        let (shards, stop_again) = (self.snaps.clone(), false);
        self.kept = Some(Kept { keep, keeper: Keeper::default(), shards, stop_again });
    }
}

impl Handler<Done> for Scheduler {
    type Result = ();
    fn handle(&mut self, Done(result): Done, ctx: &mut Self::Context) {
        self.monitor.do_send(match result {
            Ok(written) => Event::Checkpoint(written),
            Err(why) => Event::CheckpointFailed(why),
        });
        let Some(Kept { keeper, .. }) = &mut self.kept else { return };
        let (next, end) = keeper.written();
        if let Some(taken) = next {
            self.write(taken, ctx);
        }
        end.into_iter().for_each(|finished| self.finished.do_send(finished));
    }
}
