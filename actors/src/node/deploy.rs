//! Starting a run: actors first, then the routes between them, then work.
//!
//! The node, the scheduler and the workers share one thread (they only pass messages), and each app has a thread of
//! its own; so has the monitor if somebody watches. Shards have threads of their own as far as there are cores for
//! them; otherwise they sit with the first lot: passing a message to another thread costs about as much as folding
//! 100 KiB (`benches/ring.rs`).

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use actix::prelude::*;
use actix_rt::{Arbiter, ArbiterHandle, System};
use tokio::sync::mpsc::unbounded_channel;
use tokio::sync::oneshot;

use super::actor::{Node, Outcome};
use super::cast::Stage;
use super::duty::Duty;
use super::fill::Past;
use super::life::Care;
use crate::app::App;
use crate::audit::Recorder;
use crate::checkpoint::{Fingerprint, Saved};
use crate::cluster::{Layout, Origin, Seat};
use crate::id::WorkerId;
use crate::job::{Job, Keeping, RunError};
use crate::monitor::{Monitor, Watcher};
use crate::scheduler::{Dispatch, Halted, Keep, Scheduler};

/// Shards of a process unless told otherwise: one a spare core, but not more than this.
const MOST_SHARDS: usize = 8;

/// Starts a job's actors, on the current `System` or on a new one.
pub(crate) fn launch<A: App>(
    job: Job,
    make: impl Fn(WorkerId) -> A + Send + Sync + 'static,
    done: oneshot::Sender<Outcome>,
    recorder: Option<Recorder>,
) -> Result<Addr<Node>, RunError> {
    let (ready, wait) = std::sync::mpsc::channel();
    let own_system = System::try_current().is_none();
    let start = move || {
        let control = Arbiter::new();
        let handle = control.handle();
        let setup = move || drop(ready.send(setup(job, make, (done, recorder), control, own_system)));
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

/// Starts everything; runs on the control thread.
fn setup<A: App>(
    job: Job,
    make: impl Fn(WorkerId) -> A + Send + Sync + 'static,
    (done, recorder): (oneshot::Sender<Outcome>, Option<Recorder>),
    control: Arbiter,
    own_system: bool,
) -> Addr<Node> {
    let (sender, deaths) = unbounded_channel();
    let care = Care { closing: Arc::default(), deaths: sender };
    let mut arbiters = vec![control];
    let fingerprint = describe(&job);
    let start = beginning(&job);
    let Job {
        name,
        tables,
        schedule,
        consistency,
        gate,
        n_workers,
        n_shards,
        seed,
        encoded,
        mut watchers,
        seat,
        keeping,
        resume,
        bandwidth,
        ..
    } = job;
    let (spare, n_shards) = match &seat {
        Some(_) => (0, 0), // the layout says how many, and a cluster's node keeps its cores for the apps
        None => {
            let spare = spare_cores(n_workers);
            (spare, n_shards.unwrap_or(spare.clamp(1, MOST_SHARDS)))
        }
    };
    let witness = recorder.as_ref().map(Recorder::witness).unwrap_or_default();
    let leads = seat.as_ref().is_none_or(Seat::leads);
    let threads = shard_threads(&mut arbiters, n_shards.min(spare));
    if let Some(seat) = &seat {
        watchers.push(seat.watcher());
    }
    let monitor = start_monitor(&mut arbiters, &care, watchers);
    let make = Arc::new(make);
    let context = Context::<Node>::new();
    let address = context.address();
    let past = seat.as_ref().filter(|_| leads).map(|_| Past {
        directory: keeping.as_ref().map(|keeping| keeping.directory.path().to_path_buf()),
        start,
        now: None,
        begun: false,
    });
    let scheduler = leads.then(|| {
        let dispatch = Dispatch::new(consistency, schedule, n_workers);
        let dispatch = if seat.is_some() { dispatch.transactional() } else { dispatch };
        let dispatch = dispatch.witnessed(witness.clone());
        let dispatch = match gate {
            Some(gate) => dispatch.gated(gate),
            None => dispatch,
        };
        let dispatch = match &resume {
            Some(checkpoint) => dispatch.resumed(checkpoint.saved.clock),
            None => dispatch,
        };
        let lifeline = care.lifeline("the scheduler".to_owned());
        let (monitor, node) = (monitor.clone().recipient(), address.clone().recipient());
        let scheduler = Scheduler::new(dispatch, monitor, node, lifeline);
        let scheduler = match &resume {
            Some(checkpoint) => scheduler.resumed(checkpoint),
            None => scheduler,
        };
        let scheduler = scheduler.start();
        if let Some(Keeping { directory, fingerprint, every }) = keeping {
            scheduler.do_send(Keep { directory, fingerprint, every });
        }
        scheduler
    });
    let mut node = Node {
        make: Box::new(move |worker, arbiter, made| {
            let make = Arc::clone(&make);
            let make = move |_: &mut Context<A>| {
                let app = make(worker);
                made.send(()).ok(); // nobody waits: the run is over
                app
            };
            A::start_in_arbiter(arbiter, make).recipient()
        }),
        stage: Stage {
            tables: Arc::new(tables),
            consistency,
            bandwidth,
            witness,
            seed,
            encoded,
            here: seat.as_ref().map(Seat::node).unwrap_or_default(),
            post: seat.as_ref().map(Seat::post),
            threads,
            care,
            scheduler,
        },
        cast: None,
        monitor: monitor.recipient(),
        arbiters,
        apps: HashMap::new(),
        deaths: Some(deaths),
        done: Some(done),
        recorder,
        own_system,
        duty: seat.as_ref().map(|seat| Duty { crew: seat.enlist(), job: name.clone(), fingerprint }),
        seat,
        past,
        finished: None,
    };
    if node.duty.is_none() {
        let layout = Layout::alone(n_shards, n_workers);
        let mut cast = node.stage.cast(layout, Origin::Kept, (BTreeMap::new(), &Halted::default()), &address);
        if let Some(checkpoint) = &resume {
            node.stage.restore(&cast, &checkpoint.saved);
        }
        node.stage.begin(&mut cast);
        node.cast = Some(cast);
    }
    context.run(node);
    tracing::debug!(job = name, workers = n_workers, "started");
    address
}

/// What a job looks like to those who must have the same; what each calls its data is its own business.
fn describe(job: &Job) -> String {
    let mut same = job.fingerprint();
    if let Some(data) = same.settings.get_mut("data") {
        let parts: Vec<&str> = data.rsplitn(3, ", ").collect(); // sum, length, name
        *data = parts.iter().take(2).rev().copied().collect::<Vec<_>>().join(", ");
    }
    let tables: Vec<String> = job.tables.iter().map(|table| format!("{table:?}")).collect();
    let settings: Vec<String> = same.settings.iter().map(|(name, value)| format!("{name} {value}")).collect();
    let sum = crc32fast::hash(format!("{:?}", same.tables).as_bytes());
    let Fingerprint { job, seed, consistency, .. } = same;
    let (settings, tables) = (settings.join(", "), tables.join(", "));
    format!("{job}, {consistency}, seed {seed}, {settings}, tables {tables}, {sum:08x}")
}

/// What a run begins from.
fn beginning(job: &Job) -> Result<(PathBuf, Arc<Saved>), String> {
    if let Some(checkpoint) = &job.resume {
        return Ok((checkpoint.path.clone(), Arc::new(checkpoint.saved.clone())));
    }
    let schedule = job.schedule.save()?;
    Ok((PathBuf::new(), Arc::new(Saved { schedule, ..Saved::default() })))
}

/// With nobody to tell, the monitor needs no thread.
fn start_monitor(arbiters: &mut Vec<Arbiter>, care: &Care, watchers: Vec<Watcher>) -> Addr<Monitor> {
    let lifeline = care.lifeline("the monitor".to_owned());
    if watchers.is_empty() {
        return Monitor::new(watchers, lifeline).start();
    }
    let arbiter = Arbiter::new();
    let monitor = Monitor::start_in_arbiter(&arbiter.handle(), |_| Monitor::new(watchers, lifeline));
    arbiters.push(arbiter);
    monitor
}

/// Where shards run: `own` threads of their own, or the control thread.
fn shard_threads(arbiters: &mut Vec<Arbiter>, own: usize) -> Vec<ArbiterHandle> {
    let control = arbiters[0].handle();
    let first = arbiters.len();
    arbiters.extend((0..own).map(|_| Arbiter::new()));
    let threads: Vec<_> = arbiters[first..].iter().map(Arbiter::handle).collect();
    if threads.is_empty() { vec![control] } else { threads }
}

/// Cores that neither the apps nor the control thread need. With one worker there is nothing to fold meanwhile for
/// anybody else, and the way there and back is all that counts.
fn spare_cores(n_workers: usize) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    if n_workers == 1 { 0 } else { cores.saturating_sub(n_workers + 1) }
}
