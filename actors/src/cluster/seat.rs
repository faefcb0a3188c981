//! A process's place in a cluster, from before its data is read until its run is over.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use actix::prelude::*;
use actix_rt::System;

use super::crew::{CREW, Crew, Listeners, OfPeer, OfRun, Wish};
use super::words::{AskStatus, AskStop, Down, Up};
use super::{MemberNews, Place, Role, SeatError, Settings, Status};
use crate::bridge::{Bridge, Directory, PeerEvent, ask_once};
use crate::monitor::{Event, Watcher};
use crate::node::{Post, Word};

/// What was said last is waited for so long.
const FLUSH: Duration = Duration::from_secs(1);

/// This process's place in a cluster: cheap to clone, all clones are one seat. The last one that is dropped says goodbye to
/// the others.
#[derive(Clone)]
pub struct Seat(Arc<Inner>);

struct Inner {
    node: String,
    leads: bool,
    workers: usize,
    /// Whether a job was built on it.
    enlisted: AtomicBool,
    post: Post,
    crew: Addr<Crew>,
    listeners: Listeners,
    system: System,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl std::fmt::Debug for Seat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "seat of {}", self.0.node)
    }
}

impl Seat {
    /// Takes the seat: the lead listens and returns; a follower finds the lead and is taken in, or refused, by it. From
    /// now on the node gives signs of life, so take the seat before the data is read. Blocks the calling thread.
    ///
    /// # Errors
    /// See [`SeatError`].
    pub fn take(place: Place) -> Result<Self, SeatError> {
        let (started, wait) = mpsc::channel();
        let (taken, word) = mpsc::channel();
        let listeners = Listeners::default();
        let (node, leads) = (place.settings.node.clone(), matches!(place.role, Role::Lead { .. }));
        let patience = place.settings.timing.patience + Duration::from_secs(1);
        let heard = Arc::clone(&listeners);
        let body = move || {
            let system = System::new();
            let crew = system.block_on(async move { start(place, heard, taken) });
            let ok = crew.is_ok();
            started.send(crew.map(|(crew, post)| (crew, post, System::current()))).ok(); // who takes the seat waits
            if ok && let Err(error) = system.run() {
                tracing::error!(%error, "the crew's system ended badly");
            }
        };
        let thread = std::thread::Builder::new().name("crew".to_owned()).spawn(body);
        let thread =
            thread.map_err(|error| SeatError::Refused(format!("no thread for the crew: {error}")))?;
        let died = |_| SeatError::Refused("the crew's thread died".to_owned());
        let (crew, post, system) = wait.recv().map_err(died)??;
        let thread = Mutex::new(Some(thread));
        let enlisted = AtomicBool::new(false);
        let mut inner = Inner { node, leads, workers: 0, enlisted, post, crew, listeners, system, thread };
        let word = word.recv_timeout(patience);
        let word = word.unwrap_or_else(|_| Err("the lead does not answer".to_owned()));
        inner.workers = word.map_err(SeatError::Refused)?;
        Ok(Self(Arc::new(inner)))
    }

    /// Where this node listens.
    pub fn address(&self) -> SocketAddr {
        self.0.post.bridge.address()
    }

    /// The workers of the whole cluster as the topology has it, over all nodes (for a follower as the lead said).
    pub fn workers(&self) -> usize {
        self.0.workers
    }

    /// Whether a job was built on this seat ([`Job::seat`](crate::Job::seat)); without one this process has no part in the
    /// run.
    pub fn is_enlisted(&self) -> bool {
        self.0.enlisted.load(Ordering::Acquire)
    }

    /// Tells all others that this node cannot go on, and why; the run ends everywhere with that sentence. To be called
    /// when reading the data failed or the launcher is gone.
    pub fn give_up(&self, why: &str) {
        self.0.crew.do_send(Wish::GiveUp(why.to_owned()));
    }

    /// Leaves the run in good order: a node of workers only is let go; otherwise the whole run stops at a clock.
    pub fn leave(&self) {
        self.0.crew.do_send(Wish::Leave);
    }

    /// Tells the lead how this node's loading goes, for the one progress bar: a share of 1.
    pub fn loading(&self, share: f64) {
        self.0.crew.do_send(Wish::Loading(share as f32));
    }

    /// Tells `tell` about members: called for every change, from one thread at a time. Lead only.
    pub fn watch(&self, tell: impl Fn(MemberNews) + Send + Sync + 'static) {
        self.0.listeners.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(tell));
    }

    pub(crate) fn leads(&self) -> bool {
        self.0.leads
    }

    pub(crate) fn node(&self) -> String {
        self.0.node.clone()
    }

    pub(crate) fn post(&self) -> Post {
        self.0.post.clone()
    }

    /// A job is built on this seat; whom its node tells about itself.
    pub(crate) fn enlist(&self) -> Recipient<Word> {
        self.0.enlisted.store(true, Ordering::Release);
        self.0.crew.clone().recipient()
    }

    /// Tells the crew how the run goes.
    pub(crate) fn watcher(&self) -> Watcher {
        let crew = self.0.crew.clone();
        Box::new(move |event: &Event| crew.do_send(OfRun(event.clone())))
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let (done, handled) = mpsc::channel();
        self.crew.do_send(Wish::Flush(done));
        handled.recv_timeout(FLUSH).ok(); // the end of `done` says it, or the crew hangs: then the rest is not said
        self.post.bridge.clone().stop(); // sends what is still to be sent
        self.system.stop();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the crew's thread panicked");
        }
    }
}

/// Starts bridge and crew; runs on the crew's thread.
fn start(
    place: Place,
    listeners: Listeners,
    taken: mpsc::Sender<Result<usize, String>>,
) -> Result<(Addr<Crew>, Post), SeatError> {
    let context = Context::<Crew>::new();
    let crew = context.address();
    let directory = Directory::default();
    directory.expose::<Up>(CREW, crew.clone().recipient());
    directory.expose::<Down>(CREW, crew.clone().recipient());
    directory.expose::<AskStatus>(CREW, crew.clone().recipient());
    directory.expose::<AskStop>(CREW, crew.clone().recipient());
    let hears = crew.clone();
    let events = move |event: PeerEvent| hears.do_send(OfPeer(event));
    let address = place.settings.listen;
    let bridge = Bridge::start(place.settings.clone(), directory.clone(), |_| Ok(()), events);
    let bridge = bridge.map_err(|error| SeatError::Listen { address, problem: error.to_string() })?;
    let post = Post { bridge: bridge.clone(), directory };
    context.run(Crew::new(place, bridge, listeners, taken));
    Ok((crew, post))
}

/// Asks the lead at `address` (`host:port`) how its cluster is doing. Blocks the calling thread.
///
/// # Errors
/// A sentence: nobody answers there within the time, or it refuses.
pub fn status(settings: &Settings, address: &str, within: Duration) -> Result<Status, String> {
    block_on(async {
        ask_once(settings, address, CREW, AskStatus, within).await.map_err(|error| error.to_string())
    })
}

/// Asks the lead at `address` to stop the run at a clock. Blocks the calling thread until it has said yes.
///
/// # Errors
/// A sentence: nobody answers there within the time, or it refuses.
pub fn stop(settings: &Settings, address: &str, within: Duration) -> Result<(), String> {
    block_on(async {
        ask_once(settings, address, CREW, AskStop, within).await.map_err(|error| error.to_string())
    })
}

fn block_on<T>(asking: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| error.to_string())?.block_on(asking)
}
