//! The scheduler as an actor: messages in, orders of the [`Dispatch`], messages out.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix::prelude::*;
use serde::{Deserialize, Serialize};

use super::dispatch::{Dispatch, Ending, Halted, Order};
use super::keeping::Kept;
use super::policy::Mark;
use crate::checkpoint::{Checkpoint, Saved};
use crate::clock::Clock;
use crate::cluster::Homes;
use crate::id::{ShardId, WorkerId};
use crate::message::{Advance, Assign, Commit, Join, Phase, Report, Snap, Stop};
use crate::monitor::{Event, Progress, Resumed};
use crate::node::{Breather, Lifeline};
use crate::traffic::Traffic;

/// How often it looks for steps that take long, and how long is long.
const PATROL: Duration = Duration::from_secs(10);
const LONG: Duration = Duration::from_secs(60);

/// An actor that hands out steps.
pub struct Scheduler {
    pub(super) dispatch: Dispatch,
    /// The generation of members that it speaks with.
    generation: u32,
    /// Workers of a generation that it has not met yet: word from another node may come before that of its own.
    early: Vec<Join>,
    shards: Vec<ToShard>,
    workers: BTreeMap<WorkerId, Recipient<Assign>>,
    /// The shards, to ask for their rows.
    pub(super) snaps: Vec<Recipient<Snap>>,
    pub(super) monitor: Recipient<Event>,
    pub(super) finished: Recipient<Finished>,
    pub(super) stopwatch: Stopwatch,
    pub(super) records: BTreeMap<WorkerId, WorkerRecord>,
    /// When a worker was last given or reported something.
    heard: BTreeMap<WorkerId, Instant>,
    pub(super) history: Vec<Progress>,
    /// The oldest read since the last mark, in clocks.
    pub(super) staleness: u64,
    /// Its checkpoints, where they are kept.
    pub(super) kept: Option<Kept>,
    breather: Breather,
    _lifeline: Lifeline,
}

/// Tells the scheduler where the others are; work begins when all workers have joined.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Meet {
    /// The generation of these members.
    pub generation: u32,
    /// The shards, and those that stand by for them.
    pub shards: Vec<ToShard>,
    /// The workers, and the names of their nodes.
    pub workers: BTreeMap<WorkerId, (Recipient<Assign>, String)>,
    /// Which parts are at home where.
    pub homes: Homes,
    /// The shards, shard 0 first, to ask for their rows.
    pub snaps: Vec<Recipient<Snap>>,
}

/// Node → scheduler, between [`Halt`] and [`Meet`]: goes back to a saved state.
#[derive(Message)]
#[rtype(result = "Result<(), String>")]
pub(crate) struct RollBack {
    /// The checkpoint's file; empty for the start of the run.
    pub(crate) path: PathBuf,
    /// The state.
    pub(crate) saved: Arc<Saved>,
}

/// Where the scheduler tells a shard, or who stands by for it, what counts.
#[derive(Clone)]
pub struct ToShard {
    /// Which shard.
    pub shard: ShardId,
    /// The smallest clock.
    pub advance: Recipient<Advance>,
    /// One step.
    pub commit: Recipient<Commit>,
}

/// Node → scheduler: the members change, so no more reports of this generation count. Answered with the smallest clock
/// once that is so; [`Meet`] follows.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "Halted")]
pub struct Halt {
    /// The workers of the next generation.
    pub workers: usize,
}

/// Scheduler → node: the run is over.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct Finished {
    /// How it ended.
    pub ending: Ending,
    /// The clocks that everyone finished.
    pub clocks: Clock,
    /// Training time in seconds, evaluation not counted.
    pub seconds: f64,
    /// The evaluations, in order.
    pub history: Vec<Progress>,
    /// What each worker did.
    pub workers: Vec<WorkerRecord>,
}

/// What one worker did in a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkerRecord {
    /// The node that it is on; empty where there is but one.
    pub node: String,
    /// Steps finished.
    pub steps: u64,
    /// Seconds computing.
    pub computed: f64,
    /// Seconds with nothing to compute between steps.
    pub waited: f64,
    /// `staleness[k]`: steps whose oldest row was `k` clocks old.
    pub staleness: Vec<u64>,
    /// Bytes of its messages, by kind.
    pub traffic: Traffic,
}

/// Counts training time from when the members of the run are there; evaluation stops it.
#[derive(Default)]
pub(super) struct Stopwatch {
    spent: Duration,
    running_since: Option<Instant>,
    started: bool,
}

impl Stopwatch {
    /// The members are there: the first time that is so, time begins to count.
    fn start(&mut self) {
        if !std::mem::replace(&mut self.started, true) {
            self.enter(Phase::Train);
        }
    }

    fn enter(&mut self, phase: Phase) {
        self.spent = self.read();
        self.running_since = (phase == Phase::Train).then(Instant::now);
    }

    pub(super) fn read(&self) -> Duration {
        self.spent + self.running_since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

impl Scheduler {
    /// An actor around a dispatch; time counts from when it meets the others.
    pub fn new(
        dispatch: Dispatch,
        monitor: Recipient<Event>,
        finished: Recipient<Finished>,
        lifeline: Lifeline,
    ) -> Self {
        Self {
            dispatch,
            generation: 0,
            early: Vec::new(),
            shards: Vec::new(),
            workers: BTreeMap::new(),
            snaps: Vec::new(),
            monitor,
            finished,
            stopwatch: Stopwatch::default(),
            records: BTreeMap::new(),
            heard: BTreeMap::new(),
            history: Vec::new(),
            staleness: 0,
            kept: None,
            breather: Breather::default(),
            _lifeline: lifeline,
        }
    }

    /// Goes on where a checkpoint was taken; its dispatch does already.
    #[must_use]
    pub(crate) fn resumed(mut self, Checkpoint { path, saved, .. }: &Checkpoint) -> Self {
        self.records = saved.records.clone();
        self.take_up(path.clone(), saved);
        self
    }

    /// Time and history go on from what was saved.
    fn take_up(&mut self, path: PathBuf, saved: &Saved) {
        let (clock, seconds, history) = (saved.clock, saved.seconds, saved.history.clone());
        self.stopwatch.spent = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        if let Some(since) = &mut self.stopwatch.running_since {
            *since = Instant::now();
        }
        self.staleness = saved.staleness;
        self.history.clone_from(&history);
        self.monitor.do_send(Event::Resumed(Resumed { path, clock, seconds, history }));
    }

    pub(super) fn carry_out(&mut self, orders: Vec<Order>, ctx: &mut Context<Self>) {
        for order in orders {
            match order {
                Order::Assign(worker, assign) => {
                    self.heard.insert(worker, Instant::now());
                    self.workers[&worker].do_send(assign);
                }
                Order::Advance(min) => {
                    self.shards.iter().for_each(|shard| shard.advance.do_send(Advance { min }));
                }
                Order::Commit(worker, clock, pushed) => {
                    let told = self.shards.iter().filter(|holder| pushed.contains(&holder.shard));
                    told.for_each(|holder| holder.commit.do_send(Commit { worker, clock }));
                }
                Order::Mark(mark) => self.mark(mark),
                Order::Enter(phase) => self.stopwatch.enter(phase),
                Order::Checkpoint => self.checkpoint(ctx),
                Order::End(ending) => self.end(ending),
            }
        }
        self.breather.breathe(ctx);
    }

    fn join(&mut self, Join { worker, generation }: Join, ctx: &mut Context<Self>) {
        if generation == self.generation {
            let orders = self.dispatch.join(worker);
            self.carry_out(orders, ctx);
        }
    }

    fn mark(&mut self, mark: Mark) {
        let progress = Progress {
            seconds: self.stopwatch.read().as_secs_f64(),
            clock: self.dispatch.min(),
            staleness: std::mem::take(&mut self.staleness),
            mark,
        };
        self.history.push(progress.clone());
        self.monitor.do_send(Event::Progress(progress));
    }

    fn end(&mut self, ending: Ending) {
        let finished = Finished {
            ending,
            clocks: self.dispatch.min(),
            seconds: self.stopwatch.read().as_secs_f64(),
            history: std::mem::take(&mut self.history),
            workers: std::mem::take(&mut self.records).into_values().collect(),
        };
        self.finish(finished);
    }

    fn record(&mut self, report: &Report) {
        let record = self.records.entry(report.worker).or_default();
        record.traffic += report.traffic;
        self.heard.insert(report.worker, Instant::now());
        if self.dispatch.is_of_flush(report) {
            return;
        }
        record.steps += 1;
        record.computed += report.computed as f64 * 1e-6;
        record.waited += report.waited as f64 * 1e-6;
        let staleness = usize::try_from(report.staleness).unwrap_or(usize::MAX).min(1023);
        record.staleness.resize(record.staleness.len().max(staleness + 1), 0);
        record.staleness[staleness] += 1;
        self.staleness = self.staleness.max(report.staleness);
    }

    /// Says who keeps everyone waiting: a run must never hang in silence.
    fn patrol(&self) {
        for (worker, clock, task) in self.dispatch.in_flight() {
            let quiet = self.heard.get(&worker).map_or(Duration::ZERO, Instant::elapsed);
            if quiet >= LONG {
                let (seconds, part) = (quiet.as_secs(), task.part);
                tracing::warn!("waiting for worker {worker}: part {part} at clock {clock}, for {seconds} s");
            }
        }
    }
}

impl Actor for Scheduler {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(1024);
        ctx.run_interval(PATROL, |scheduler, _| scheduler.patrol());
    }
}

impl Handler<Meet> for Scheduler {
    type Result = ();
    fn handle(&mut self, meet: Meet, ctx: &mut Self::Context) {
        let Meet { generation, shards, workers, homes, snaps } = meet;
        self.stopwatch.start();
        for (worker, (_, node)) in &workers {
            self.records.entry(*worker).or_default().node.clone_from(node);
        }
        self.workers = workers.into_iter().map(|(worker, (assign, _))| (worker, assign)).collect();
        (self.generation, self.shards) = (generation, shards);
        self.dispatch.enter(generation);
        self.dispatch.settle(&homes);
        self.keep_from(snaps, ctx);
        let early = std::mem::take(&mut self.early);
        early.into_iter().for_each(|join| self.join(join, ctx));
    }
}

impl Handler<RollBack> for Scheduler {
    type Result = Result<(), String>;
    fn handle(&mut self, RollBack { path, saved }: RollBack, _: &mut Self::Context) -> Self::Result {
        self.dispatch.roll_back(&saved.schedule, saved.clock)?;
        self.take_up(path, &saved);
        Ok(())
    }
}

impl Handler<Halt> for Scheduler {
    type Result = MessageResult<Halt>;
    fn handle(&mut self, Halt { workers }: Halt, _: &mut Self::Context) -> Self::Result {
        let kept = self.dispatch.kept_back();
        if kept > 0 {
            self.monitor.do_send(Event::KeptBackLost { workers: kept });
        }
        let halted = self.dispatch.regroup(workers);
        self.abandon_checkpoint();
        self.generation = 0;
        self.shards.clear();
        self.workers.clear();
        MessageResult(halted)
    }
}

impl Handler<Join> for Scheduler {
    type Result = ();
    fn handle(&mut self, join: Join, ctx: &mut Self::Context) {
        match join.generation > self.generation {
            true => self.early.push(join),
            false => self.join(join, ctx),
        }
    }
}

impl Handler<Report> for Scheduler {
    type Result = ();
    fn handle(&mut self, report: Report, ctx: &mut Self::Context) {
        if report.generation != self.generation {
            return;
        }
        self.record(&report);
        let orders = self.dispatch.report(report);
        self.carry_out(orders, ctx);
    }
}

impl Handler<Stop> for Scheduler {
    type Result = ();
    fn handle(&mut self, _: Stop, ctx: &mut Self::Context) {
        self.wind_up(ctx);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_time_counts_before_the_members_are_there() {
        let mut stopwatch = Stopwatch::default();
        assert_eq!((stopwatch.read(), stopwatch.read()), (Duration::ZERO, Duration::ZERO));
        stopwatch.start();
        assert!(stopwatch.running_since.is_some());
        stopwatch.enter(Phase::Evaluate);
        let spent = stopwatch.read();
        stopwatch.start();
        assert_eq!(stopwatch.read(), spent, "members that change do not end an evaluation");
    }
}
