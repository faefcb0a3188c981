//! Starting a run: actors first, then the routes between them, then work.
//!
//! The node, the scheduler and the workers share one thread (they only pass messages), and each app has a thread of
//! its own; so has the monitor if somebody watches. Shards have threads of their own as far as there are cores for
//! them; otherwise they sit with the first lot: passing a message to another thread costs about as much as folding
//! 100 KiB (`benches/ring.rs`).

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use actix::prelude::*;
use actix_rt::{Arbiter, System};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use super::actor::{Node, Outcome};
use super::life::Lifeline;
use crate::app::App;
use crate::bridge::encoded;
use crate::id::{ShardId, WorkerId};
use crate::job::{Job, Keeping, RunError};
use crate::message::{Restore, Snap, Stop};
use crate::monitor::{Monitor, Watcher};
use crate::placement::Placement;
use crate::scheduler::{Dispatch, Keep, Meet, Scheduler};
use crate::shard::{Introduce, Shard, Store, ToWorker};
use crate::worker::{Desk, Routes, RowCache, Setting, Worker};

/// Shards of a process unless told otherwise: one a spare core, but not more than this.
const MOST_SHARDS: usize = 8;

/// Where the actors of a run are that others may speak to.
pub(crate) struct Deployment {
    pub(crate) scheduler: Recipient<Stop>,
    pub(crate) shards: Vec<Recipient<Snap>>,
}

/// Starts a job's actors, on the current `System` or on a new one.
pub(crate) fn launch<A: App>(
    job: Job,
    make: impl Fn(WorkerId) -> A + Send + Sync + 'static,
    done: oneshot::Sender<Outcome>,
) -> Result<Deployment, RunError> {
    let (ready, wait) = std::sync::mpsc::channel();
    let own_system = System::try_current().is_none();
    let start = move || {
        let control = Arbiter::new();
        let handle = control.handle();
        let setup = move || drop(ready.send(setup(job, make, done, control, own_system)));
        handle.spawn_fn(setup);
    };
    if own_system {
        let body = move || {
            let system = System::new();
            system.block_on(async move { start() });
            if let Err(error) = system.run() {
                tracing::error!(%error, "the run's system ended badly");
            }
        };
        let thread = std::thread::Builder::new().name("slackline".to_owned()).spawn(body);
        thread.map_err(|error| RunError::Job(format!("no thread to run on: {error}")))?;
    } else {
        start();
    }
    wait.recv().map_err(|_| RunError::Died("the node".to_owned()))
}

/// What watches over the actors of a run while they are started.
struct Care {
    closing: Arc<AtomicBool>,
    deaths: UnboundedSender<String>,
    arbiters: Vec<Arbiter>,
}

impl Care {
    fn lifeline(&self, name: String) -> Lifeline {
        Lifeline::new(name, Arc::clone(&self.closing), self.deaths.clone())
    }
}

/// Starts everything; runs on the control thread.
fn setup<A: App>(
    job: Job,
    make: impl Fn(WorkerId) -> A + Send + Sync + 'static,
    done: oneshot::Sender<Outcome>,
    control: Arbiter,
    own_system: bool,
) -> Deployment {
    let (sender, deaths) = unbounded_channel();
    let mut care = Care { closing: Arc::default(), deaths: sender, arbiters: vec![control] };
    let tables = Arc::new(job.tables);
    let spare = spare_cores(job.n_workers);
    let placement = Placement::over(job.n_shards.unwrap_or(spare.clamp(1, MOST_SHARDS)));
    let setting =
        Setting { tables: Arc::clone(&tables), placement, consistency: job.consistency, seed: job.seed };

    let shards = start_shards(&mut care, &setting, spare);
    if let Some(checkpoint) = &job.resume {
        for (number, shard) in shards.iter().enumerate() {
            let tables = checkpoint.saved.share_of(ShardId::at(number), placement);
            shard.do_send(Restore { tables, min: checkpoint.saved.clock });
        }
    }
    let monitor = start_monitor(&mut care, job.watchers);
    let make = Arc::new(make);
    let node = Node {
        make: Box::new(move |worker, arbiter, made| {
            let make = Arc::clone(&make);
            let make = move |_: &mut Context<A>| {
                let app = make(worker);
                made.send(()).ok(); // nobody waits: the run is over
                app
            };
            A::start_in_arbiter(arbiter, make).recipient()
        }),
        shards: shards.iter().map(|shard| shard.clone().recipient()).collect(),
        monitor: monitor.clone().recipient(),
        tables,
        arbiters: std::mem::take(&mut care.arbiters),
        apps: HashMap::new(),
        closing: Arc::clone(&care.closing),
        deaths: Some(deaths),
        done: Some(done),
        own_system,
    }
    .start();

    let dispatch = Dispatch::new(job.consistency, job.schedule, job.n_workers);
    let dispatch = match job.gate {
        Some(gate) => dispatch.gated(gate),
        None => dispatch,
    };
    let lifeline = care.lifeline("the scheduler".to_owned());
    let dispatch = match &job.resume {
        Some(checkpoint) => dispatch.resumed(checkpoint.saved.clock),
        None => dispatch,
    };
    let scheduler = Scheduler::new(dispatch, monitor.recipient(), node.clone().recipient(), lifeline);
    let scheduler = match &job.resume {
        Some(checkpoint) => scheduler.resumed(checkpoint),
        None => scheduler,
    };
    let scheduler = scheduler.start();
    if let Some(Keeping { directory, fingerprint, every }) = job.keeping {
        let shards = shards.iter().map(|shard| shard.clone().recipient()).collect();
        scheduler.do_send(Keep { directory, fingerprint, every, shards });
    }
    let ring = Ring { scheduler: scheduler.clone(), shards: shards.clone(), node, encoded: job.encoded };
    join_ring(&ring, &care, &setting, job.n_workers);
    tracing::debug!(job = job.name, workers = job.n_workers, "started");
    Deployment { scheduler: scheduler.recipient(), shards: shards.into_iter().map(Addr::recipient).collect() }
}

/// With nobody to tell, the monitor needs no thread.
fn start_monitor(care: &mut Care, watchers: Vec<Watcher>) -> Addr<Monitor> {
    let lifeline = care.lifeline("the monitor".to_owned());
    if watchers.is_empty() {
        return Monitor::new(watchers, lifeline).start();
    }
    let arbiter = Arbiter::new();
    let monitor = Monitor::start_in_arbiter(&arbiter.handle(), |_| Monitor::new(watchers, lifeline));
    care.arbiters.push(arbiter);
    monitor
}

fn start_shards(care: &mut Care, setting: &Setting, spare_cores: usize) -> Vec<Addr<Shard>> {
    let n_shards = setting.placement.n_shards();
    let own = (0..n_shards.min(spare_cores)).map(|_| Arbiter::new());
    let first = care.arbiters.len();
    care.arbiters.extend(own);
    let threads = if care.arbiters.len() > first { &care.arbiters[first..] } else { &care.arbiters[..] };
    let start = |number: usize| {
        let id = ShardId::at(number);
        let lifeline = care.lifeline(format!("shard {id}"));
        let Setting { tables, placement, consistency, .. } = setting.clone();
        let make = move |_: &mut Context<Shard>| {
            Shard::new(Store::new(id, placement, tables, consistency), lifeline)
        };
        Shard::start_in_arbiter(&threads[number % threads.len()].handle(), make)
    };
    (0..n_shards).map(start).collect()
}

/// Cores that neither the apps nor the control thread need. With one worker there is nothing to fold meanwhile for
/// anybody else, and the way there and back is all that counts.
fn spare_cores(n_workers: usize) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    if n_workers == 1 { 0 } else { cores.saturating_sub(n_workers + 1) }
}

/// The actors that the workers join.
struct Ring {
    scheduler: Addr<Scheduler>,
    shards: Vec<Addr<Shard>>,
    node: Addr<Node>,
    encoded: bool,
}

/// A route to an actor, through an encoding where the job asks for it.
macro_rules! route {
    ($ring:expr, $to:expr) => {
        if $ring.encoded { encoded($to.clone().recipient()) } else { $to.clone().recipient() }
    };
}

/// Joins the routes of the ring, then starts the workers: nobody is spoken to before he knows where to answer.
fn join_ring(ring: &Ring, care: &Care, setting: &Setting, n_workers: usize) {
    let contexts: Vec<Context<Worker>> = (0..n_workers).map(|_| Context::new()).collect();
    let to_workers: Vec<ToWorker> = contexts
        .iter()
        .map(|context| ToWorker {
            rows: route!(ring, context.address()),
            applied: route!(ring, context.address()),
        })
        .collect();
    ring.shards.iter().for_each(|shard| shard.do_send(Introduce(to_workers.clone())));
    ring.scheduler.do_send(Meet {
        shards: ring.shards.iter().map(|shard| route!(ring, shard)).collect(),
        workers: contexts.iter().map(|context| route!(ring, context.address())).collect(),
    });
    let cache = Arc::new(RowCache::default());
    for (number, context) in contexts.into_iter().enumerate() {
        let id = WorkerId::at(number);
        let routes = Routes {
            join: route!(ring, ring.scheduler),
            report: route!(ring, ring.scheduler),
            shards: ring.shards.iter().map(|shard| (route!(ring, shard), route!(ring, shard))).collect(),
            renew: ring.node.clone().recipient(),
        };
        let desk = Desk::new(id, setting.clone(), Arc::clone(&cache));
        context.run(Worker::new(id, desk, routes, care.lifeline(format!("worker {id}"))));
    }
}
