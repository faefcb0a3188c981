//! The scheduler as an actor: messages in, orders of the [`Dispatch`], messages out.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use actix::prelude::*;

use super::dispatch::{Dispatch, Ending, Order};
use super::policy::Mark;
use crate::clock::Clock;
use crate::id::WorkerId;
use crate::message::{Advance, Assign, Join, Phase, Report, Stop};
use crate::monitor::{Event, Progress};
use crate::node::{Breather, Lifeline};

/// How often it looks for steps that take long, and how long is long.
const PATROL: Duration = Duration::from_secs(10);
const LONG: Duration = Duration::from_secs(60);

/// An actor that hands out steps.
pub struct Scheduler {
    dispatch: Dispatch,
    shards: Vec<Recipient<Advance>>,
    workers: Vec<Recipient<Assign>>,
    monitor: Recipient<Event>,
    finished: Recipient<Finished>,
    stopwatch: Stopwatch,
    records: BTreeMap<WorkerId, WorkerRecord>,
    /// When a worker was last given or reported something.
    heard: BTreeMap<WorkerId, Instant>,
    history: Vec<Progress>,
    /// The oldest read since the last mark, in clocks.
    staleness: u64,
    breather: Breather,
    _lifeline: Lifeline,
}

/// Tells the scheduler where the others are; the run begins when all workers have joined.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Meet {
    /// The shards, shard 0 first.
    pub shards: Vec<Recipient<Advance>>,
    /// The workers, worker 0 first.
    pub workers: Vec<Recipient<Assign>>,
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
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WorkerRecord {
    /// Steps finished.
    pub steps: u64,
    /// Seconds computing.
    pub computed: f64,
    /// Seconds with nothing to compute between steps.
    pub waited: f64,
    /// `staleness[k]`: steps whose oldest row was `k` clocks old.
    pub staleness: Vec<u64>,
}

/// Counts training time; evaluation stops it.
struct Stopwatch {
    spent: Duration,
    running_since: Option<Instant>,
}

impl Stopwatch {
    fn enter(&mut self, phase: Phase) {
        self.spent = self.read();
        self.running_since = (phase == Phase::Train).then(Instant::now);
    }

    fn read(&self) -> Duration {
        self.spent + self.running_since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

impl Scheduler {
    /// An actor around a dispatch; time counts from now on.
    pub fn new(
        dispatch: Dispatch,
        monitor: Recipient<Event>,
        finished: Recipient<Finished>,
        lifeline: Lifeline,
    ) -> Self {
        Self {
            dispatch,
            shards: Vec::new(),
            workers: Vec::new(),
            monitor,
            finished,
            stopwatch: Stopwatch { spent: Duration::ZERO, running_since: Some(Instant::now()) },
            records: BTreeMap::new(),
            heard: BTreeMap::new(),
            history: Vec::new(),
            staleness: 0,
            breather: Breather::default(),
            _lifeline: lifeline,
        }
    }

    fn carry_out(&mut self, orders: Vec<Order>, ctx: &mut Context<Self>) {
        for order in orders {
            match order {
                Order::Assign(worker, assign) => {
                    self.heard.insert(worker, Instant::now());
                    self.workers[worker.index()].do_send(assign);
                }
                Order::Advance(min) => self.shards.iter().for_each(|shard| shard.do_send(Advance { min })),
                Order::Mark(mark) => self.mark(mark),
                Order::Enter(phase) => self.stopwatch.enter(phase),
                Order::End(ending) => self.end(ending),
            }
        }
        self.breather.breathe(ctx);
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
        self.finished.do_send(Finished {
            ending,
            clocks: self.dispatch.min(),
            seconds: self.stopwatch.read().as_secs_f64(),
            history: std::mem::take(&mut self.history),
            workers: std::mem::take(&mut self.records).into_values().collect(),
        });
    }

    fn record(&mut self, report: &Report) {
        let record = self.records.entry(report.worker).or_default();
        record.steps += 1;
        record.computed += report.computed as f64 * 1e-6;
        record.waited += report.waited as f64 * 1e-6;
        let staleness = usize::try_from(report.staleness).unwrap_or(usize::MAX).min(1023);
        record.staleness.resize(record.staleness.len().max(staleness + 1), 0);
        record.staleness[staleness] += 1;
        self.staleness = self.staleness.max(report.staleness);
        self.heard.insert(report.worker, Instant::now());
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
    fn handle(&mut self, Meet { shards, workers }: Meet, _: &mut Self::Context) {
        self.records = (0..workers.len()).map(|w| (WorkerId::at(w), WorkerRecord::default())).collect();
        (self.shards, self.workers) = (shards, workers);
    }
}

impl Handler<Join> for Scheduler {
    type Result = ();
    fn handle(&mut self, Join { worker }: Join, ctx: &mut Self::Context) {
        let orders = self.dispatch.join(worker);
        self.carry_out(orders, ctx);
    }
}

impl Handler<Report> for Scheduler {
    type Result = ();
    fn handle(&mut self, report: Report, ctx: &mut Self::Context) {
        self.record(&report);
        let orders = self.dispatch.report(report);
        self.carry_out(orders, ctx);
    }
}

impl Handler<Stop> for Scheduler {
    type Result = ();
    fn handle(&mut self, _: Stop, ctx: &mut Self::Context) {
        let orders = self.dispatch.stop();
        self.carry_out(orders, ctx);
    }
}
