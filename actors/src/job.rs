//! A job: what to train and how; and a run: a job under way.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context as Poller, Poll};
use std::time::Duration;

use actix::prelude::*;
use tokio::sync::oneshot;

use crate::app::App;
use crate::audit::{Head, RecordError, Recorder};
use crate::checkpoint::{Checkpoint, Directory, Fingerprint, Shape};
use crate::clock::{Clock, Consistency, Gate};
use crate::cluster::Seat;
use crate::id::WorkerId;
use crate::message::Stop;
use crate::model::Model;
use crate::monitor::{Event, Progress, Watcher};
use crate::node::{self, Gather};
use crate::scheduler::WorkerRecord;
use crate::scheduler::policy::{Fixed, Schedule};
use crate::table::{Table, Usage};

/// What to train: tables, a schedule, a consistency, and how many workers.
#[must_use = "a job does nothing until it is run"]
pub struct Job {
    pub(crate) name: String,
    pub(crate) tables: Vec<Table>,
    pub(crate) schedule: Box<dyn Schedule>,
    pub(crate) consistency: Consistency,
    pub(crate) gate: Option<Box<dyn Gate>>,
    pub(crate) n_workers: usize,
    pub(crate) n_shards: Option<usize>,
    pub(crate) seed: u64,
    pub(crate) encoded: bool,
    pub(crate) watchers: Vec<Watcher>,
    pub(crate) seat: Option<Seat>,
    pub(crate) settings: BTreeMap<String, String>,
    /// Where checkpoints go, and how often.
    checkpoint: Option<(PathBuf, Duration)>,
    pub(crate) keeping: Option<Keeping>,
    pub(crate) resume: Option<Checkpoint>,
    pub(crate) bandwidth: Option<u64>,
    pub(crate) audit: Option<PathBuf>,
}

/// Why a run did not end as it should.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The schedule or the app gave up.
    #[error("{0}")]
    Failed(String),
    /// An actor of the runtime died.
    #[error("{0} died; the run cannot go on (its panic message is on standard error)")]
    Died(String),
    /// The job cannot be run as it stands.
    #[error("{0}")]
    Job(String),
    /// The run went well, and its model is with the node that leads.
    #[error("the model is with the node that leads")]
    Elsewhere,
}

/// A finished run.
#[derive(Debug)]
pub struct Trained {
    /// The tables at the end.
    pub model: Model,
    /// Whether it was stopped while the schedule had work left.
    pub stopped: bool,
    /// The clocks that everyone finished.
    pub clocks: Clock,
    /// Training time in seconds, evaluation not counted.
    pub seconds: f64,
    /// The passes and evaluations, in order: about 100 bytes each, kept until the run ends.
    pub history: Vec<Progress>,
    /// What each worker did.
    pub workers: Vec<WorkerRecord>,
}

impl Job {
    /// A job with no tables, one pass over one part, `bsp`, one worker, seed 0.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            tables: Vec::new(),
            schedule: Box::new(Fixed::new(1, 1)),
            consistency: Consistency::Bsp,
            gate: None,
            n_workers: 1,
            n_shards: None,
            seed: 0,
            encoded: false,
            watchers: Vec::new(),
            seat: None,
            settings: BTreeMap::new(),
            checkpoint: None,
            keeping: None,
            resume: None,
            bandwidth: None,
            audit: None,
        }
    }

    /// Adds a table.
    pub fn table(mut self, table: Table) -> Self {
        self.tables.push(table);
        self
    }

    /// Who does what.
    pub fn schedule(mut self, schedule: impl Schedule + 'static) -> Self {
        self.schedule = Box::new(schedule);
        self
    }

    /// How far workers may be apart.
    pub fn consistency(mut self, consistency: Consistency) -> Self {
        self.consistency = consistency;
        self
    }

    /// Lets workers through a gate of one's own instead of the consistency's; what reads contain stays the same.
    pub fn gate(mut self, gate: impl Gate + 'static) -> Self {
        self.gate = Some(Box::new(gate));
        self
    }

    /// Runs on so many workers in this process.
    pub fn local(mut self, n_workers: usize) -> Self {
        self.n_workers = n_workers;
        self
    }

    /// Runs as one node of a cluster: this process hosts the actors of its seat, the others are reached over the bridge.
    pub fn seat(mut self, seat: Seat) -> Self {
        self.seat = Some(seat);
        self
    }

    /// Says what, beside tables, seed and consistency, must be the same for a run to go on from a checkpoint: names and
    /// values as users know them, such as options of the app and what tells its data.
    pub fn settings(mut self, settings: BTreeMap<String, String>) -> Self {
        self.settings = settings;
        self
    }

    /// Writes a checkpoint to `directory` every so often, and a last one when the run is stopped; the newest two are
    /// kept. Steps in flight are waited for and every row is held once more in memory while it is written; writing goes
    /// on beside training. A checkpoint that cannot be written is told to watchers and does not end the run.
    pub fn checkpoint(mut self, directory: impl Into<PathBuf>, every: Duration) -> Self {
        self.checkpoint = Some((directory.into(), every));
        self
    }

    /// Goes on from a checkpoint ([`Directory::newest`] finds it) of the same job, with any number of workers and
    /// shards.
    pub fn resume(mut self, checkpoint: Checkpoint) -> Self {
        self.resume = Some(checkpoint);
        self
    }

    /// Sends what may wait (pages that shards push to readers, updates that `bounded_error` keeps back) at no more than so
    /// many bytes a second on the way between a shard and its readers, and from a worker; largest relative change first.
    /// What a step waits for is never held up, but counts.
    pub fn bandwidth(mut self, bytes_per_second: u64) -> Self {
        self.bandwidth = Some(bytes_per_second);
        self
    }

    /// Records to `directory` what is read, sent and folded in, so that the promises of the run can be proved afterwards
    /// ([`audit::read`](crate::audit::read) and [`audit::check`](crate::audit::check)).
    pub fn audit(mut self, directory: impl Into<PathBuf>) -> Self {
        self.audit = Some(directory.into());
        self
    }

    /// Cuts the model over so many shards; by default one for each core that neither the workers nor
    /// the scheduler need, at least 1 and at most 8.
    pub fn shards(mut self, n_shards: usize) -> Self {
        self.n_shards = Some(n_shards);
        self
    }

    /// Draws every random number from `seed`.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Passes every message between actors through its encoding, as a bridge would: slow, for tests.
    pub fn encoded(mut self) -> Self {
        self.encoded = true;
        self
    }

    /// Tells `watcher` how the run goes, on a thread that all watchers share. The run ends once the last event has
    /// been told; a watcher that panics is told nothing more.
    pub fn watch(mut self, watcher: impl FnMut(&Event) + Send + 'static) -> Self {
        self.watchers.push(Box::new(watcher));
        self
    }

    /// Starts the actors; `make` makes the app of each worker, on the worker's own thread.
    ///
    /// Works inside a running actix `System`, whose arbiters it then uses, and in any other program, where it brings
    /// a `System` of its own on a thread of its own.
    ///
    /// # Errors
    /// [`RunError::Job`] when the job cannot be run as it stands.
    pub fn start<A: App>(
        mut self,
        make: impl Fn(WorkerId) -> A + Send + Sync + 'static,
    ) -> Result<Run, RunError> {
        self.check()?;
        self.go_on().map_err(RunError::Job)?;
        self.keeping = self.keeping().map_err(RunError::Job)?;
        let recorder = self.recorder().map_err(|error| RunError::Job(error.to_string()))?;
        let (done, outcome) = oneshot::channel();
        let node = node::launch(self, make, done, recorder)?;
        let (stop, gather) = (node.clone().recipient(), node.recipient());
        Ok(Run { leash: Leash(stop), gather, outcome })
    }

    /// Starts the actors and waits for the end of the run.
    ///
    /// # Errors
    /// See [`RunError`].
    pub async fn run<A: App>(
        self,
        make: impl Fn(WorkerId) -> A + Send + Sync + 'static,
    ) -> Result<Trained, RunError> {
        self.start(make)?.await
    }

    pub(crate) fn fingerprint(&self) -> Fingerprint {
        Fingerprint {
            job: self.name.clone(),
            settings: self.settings.clone(),
            seed: self.seed,
            consistency: self.consistency.to_string(),
            tables: self.tables.iter().map(Shape::of).collect(),
        }
    }

    /// Puts the schedule where the checkpoint has it.
    fn go_on(&mut self) -> Result<(), String> {
        let Some(checkpoint) = &self.resume else { return Ok(()) };
        let restored = match checkpoint.fingerprint.difference(&self.fingerprint()) {
            Some(difference) => Err(difference),
            None => checkpoint
                .saved
                .check(&self.tables)
                .and_then(|()| self.schedule.restore(&checkpoint.saved.schedule)),
        };
        restored.map_err(|why| format!("{}: {why}", checkpoint.path.display()))
    }

    /// What checkpoints are kept with; refused before the run begins where none could be.
    fn keeping(&self) -> Result<Option<Keeping>, String> {
        let follows = self.seat.as_ref().is_some_and(|seat| !seat.leads()); // the lead writes them
        let Some((path, every)) = self.checkpoint.as_ref().filter(|_| !follows) else { return Ok(None) };
        if every.is_zero() {
            return Err("a checkpoint every 0 seconds is one too many".to_owned());
        }
        self.schedule.save()?;
        let directory = Directory::create(path).map_err(|error| error.to_string())?;
        Ok(Some(Keeping { directory, fingerprint: self.fingerprint(), every: *every }))
    }

    fn recorder(&self) -> Result<Option<Recorder>, RecordError> {
        let Some(directory) = &self.audit else { return Ok(None) };
        let node = self.seat.as_ref().map(Seat::node).unwrap_or_default();
        let (job, seed, consistency) = (self.name.clone(), self.seed, self.consistency);
        let head = Head { job, seed, consistency, own_gate: self.gate.is_some(), node, life: 1 };
        Recorder::start(directory, &head).map(Some)
    }

    fn check(&self) -> Result<(), RunError> {
        let refuse = |why: String| Err(RunError::Job(why));
        if self.n_workers == 0 {
            return refuse("workers is 0, must be 1 or more".to_owned());
        }
        if self.n_shards == Some(0) {
            return refuse("shards is 0, must be 1 or more".to_owned());
        }
        for (place, table) in self.tables.iter().enumerate() {
            if self.tables[..place].iter().any(|other| other.name() == table.name()) {
                return refuse(format!("two tables are called {}", table.name()));
            }
            let pages = *table.usage() == Usage::Shared && !table.is_sparse() && !table.is_read_by_row();
            if table.update_rule().remembers() && !pages {
                return refuse(format!(
                    "the update rule of table {} keeps numbers beside pages: the table must be shared and dense, and be \
                     read whole instead of by row",
                    table.name()
                ));
            }
        }
        Ok(())
    }
}

/// Where a run's checkpoints go.
pub(crate) struct Keeping {
    pub(crate) directory: Directory,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) every: Duration,
}

/// A run under way: await it for its end.
///
/// Dropping it stops the run at a clock, as [`Handle::stop`] does, and does not wait: the actors wind down by
/// themselves, and a [`Handle`] can read the tables until they are gone.
#[must_use = "dropping a run stops it: await it, or `wait` for it"]
pub struct Run {
    leash: Leash,
    gather: Recipient<Gather>,
    outcome: oneshot::Receiver<Result<Trained, RunError>>,
}

impl Run {
    /// A handle that outlives the borrow of the run, to stop it or to read its tables from elsewhere.
    pub fn handle(&self) -> Handle {
        Handle { stop: self.leash.0.clone(), gather: self.gather.clone() }
    }

    /// Blocks the calling thread until the run ends. Not for async code: await the run there.
    ///
    /// # Errors
    /// See [`RunError`].
    pub fn wait(self) -> Result<Trained, RunError> {
        self.outcome.blocking_recv().unwrap_or_else(|_| Err(RunError::Died("the node".to_owned())))
    }
}

impl Future for Run {
    type Output = Result<Trained, RunError>;

    fn poll(mut self: Pin<&mut Self>, poller: &mut Poller<'_>) -> Poll<Self::Output> {
        let outcome = Pin::new(&mut self.outcome).poll(poller);
        outcome.map(|outcome| outcome.unwrap_or_else(|_| Err(RunError::Died("the node".to_owned()))))
    }
}

/// Stops the run when it is dropped; a run that is over does not hear it.
struct Leash(Recipient<Stop>);

impl Drop for Leash {
    fn drop(&mut self) {
        self.0.do_send(Stop);
    }
}

/// A hand on a run: stops it, reads its tables while it goes on.
#[derive(Clone)]
pub struct Handle {
    stop: Recipient<Stop>,
    gather: Recipient<Gather>,
}

impl Handle {
    /// Stops the run at a clock; awaiting the [`Run`] then yields what it has.
    pub fn stop(&self) {
        self.stop.do_send(Stop);
    }

    /// The rows of all tables as they are now; leased blocks as soon as they are home.
    ///
    /// # Errors
    /// [`RunError::Died`] when the run is over.
    pub async fn model(&self) -> Result<Model, RunError> {
        let model = self.gather.send(Gather { need: Clock(0) }).await;
        model.ok().flatten().ok_or_else(|| RunError::Died("a shard".to_owned()))
    }
}
