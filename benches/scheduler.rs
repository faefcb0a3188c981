//! Assignments a second through the scheduler's mailbox: `Assign` out, `Report` in, with a schedule that has no
//! thoughts of its own and workers that answer at once. It is the ceiling on steps a second of a whole cluster.

use actix::prelude::*;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use slackline::cluster::Homes;
use slackline::message::{Assign, Join, Report};
use slackline::prelude::*;
use slackline::scheduler::{Dispatch, Finished, Meet, Scheduler};
use slackline::traffic::Traffic;
use slackline::{Event, Lifeline};
use slackline_benches::ProcessorTime;
use tokio::sync::{mpsc, oneshot};

const ASSIGNMENTS: u64 = 100_000;

/// Hands out so many tasks, each worker on a part of its own.
struct Trivial {
    left: u64,
}

impl Schedule for Trivial {
    fn next(&mut self, worker: WorkerId) -> Next {
        if self.left == 0 {
            return Next::Done;
        }
        self.left -= 1;
        Next::Task(Task::train(PartId(worker.0)))
    }
    fn finished(&mut self, _: &Task, _: &Findings) -> Option<Mark> {
        None
    }
    fn put_back(&mut self, _: Task) {}
    fn wind_down(&mut self) -> bool {
        std::mem::take(&mut self.left) > 0
    }
}

/// A worker that has done every step before it is asked to.
struct Instant {
    id: WorkerId,
    report: Recipient<Report>,
}

impl Actor for Instant {
    type Context = Context<Self>;
}

impl Handler<Assign> for Instant {
    type Result = ();
    fn handle(&mut self, Assign { clock, .. }: Assign, _: &mut Self::Context) {
        let result = Ok(Findings::default());
        let (worker, generation) = (self.id, 1);
        let report = Report {
            worker,
            generation,
            clock,
            result,
            computed: 0,
            waited: 0,
            staleness: 0,
            keeps: false,
            pushed: Vec::new(),
            traffic: Traffic::default(),
        };
        self.report.do_send(report);
    }
}

/// Stands for the monitor and the node.
struct Rest(Option<oneshot::Sender<()>>);

impl Actor for Rest {
    type Context = Context<Self>;
}

impl Handler<Event> for Rest {
    type Result = ();
    fn handle(&mut self, _: Event, _: &mut Self::Context) {}
}

impl Handler<Finished> for Rest {
    type Result = ();
    fn handle(&mut self, finished: Finished, _: &mut Self::Context) {
        assert_eq!(finished.workers.iter().map(|worker| worker.steps).sum::<u64>(), ASSIGNMENTS);
        self.0.take().expect("a run ends once").send(()).expect("the bench waits");
    }
}

/// One run; the workers sit on the scheduler's thread, as in a process, or on a thread of their own.
async fn run(n_workers: u32, consistency: Consistency, workers_at: &ArbiterHandle) {
    let (done, end) = oneshot::channel();
    let rest = Rest(Some(done)).start();
    let lifeline =
        Lifeline::new("scheduler".to_owned(), std::sync::Arc::default(), mpsc::unbounded_channel().0);
    let dispatch = Dispatch::new(consistency, Box::new(Trivial { left: ASSIGNMENTS }), n_workers as usize);
    let scheduler = Scheduler::new(dispatch, rest.clone().recipient(), rest.recipient(), lifeline).start();
    let worker = |id| {
        let report = scheduler.clone().recipient();
        Instant::start_in_arbiter(workers_at, move |_| Instant { id, report }).recipient()
    };
    let workers = (0..n_workers).map(WorkerId).map(|id| (id, (worker(id), String::new()))).collect();
    scheduler.do_send(Meet {
        generation: 1,
        shards: Vec::new(),
        workers,
        homes: Homes::default(),
        snaps: Vec::new(),
    });
    (0..n_workers).map(WorkerId).for_each(|worker| scheduler.do_send(Join { worker, generation: 1 }));
    end.await.expect("the run ends");
}

fn bench(c: &mut Criterion<ProcessorTime>) {
    let mut group = c.benchmark_group("scheduler");
    group.throughput(Throughput::Elements(ASSIGNMENTS)).sample_size(10);
    for consistency in [Consistency::Bsp, Consistency::Ssp(2), Consistency::Async] {
        for n_workers in [2, 16, 128] {
            group.bench_function(format!("{consistency}/workers {n_workers}"), |b| {
                b.iter(|| {
                    let system = System::new();
                    system.block_on(async { run(n_workers, consistency, &Arbiter::current()).await });
                });
            });
        }
    }
    group.finish();
}

/// By the clock on the wall: two threads share the work.
fn across_threads(c: &mut Criterion) {
    let mut group = c.benchmark_group("scheduler, workers on another thread");
    group.throughput(Throughput::Elements(ASSIGNMENTS)).sample_size(10);
    group.bench_function("ssp:2/workers 16", |b| {
        b.iter(|| {
            let system = System::new();
            system.block_on(async {
                let arbiter = Arbiter::new();
                run(16, Consistency::Ssp(2), &arbiter.handle()).await;
                arbiter.stop();
            });
        });
    });
    group.finish();
}

criterion_group!(across, across_threads);
criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(ProcessorTime);
    targets = bench
}
criterion_main!(benches, across);
