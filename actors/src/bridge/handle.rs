//! The bridge as its users hold it: two threads, one for sessions and one for signs of life.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::task::{LocalSet, spawn_local};

use super::common::{Admit, Common, Ends, Order, Outfit, PulseOrder};
use super::directory::Directory;
use super::handshake::random;
use super::link::Link;
use super::net::{Listener, Network, Tcp};
use super::roster::{Peer, PeerEvent};
use super::settings::Settings;
use super::tls::Encryption;
use super::traffic::Traffic;
use super::{hub, pulse};

/// The longest that a bridge which stops waits for its threads.
const STOPPED_WITHIN: Duration = Duration::from_secs(4);

/// Why there is no bridge, or no answer to a question asked once.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BridgeError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {problem}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the operating system said.
        problem: String,
    },
    /// The settings do not allow for one.
    #[error("{0}")]
    Settings(String),
    /// There was no answer.
    #[error("{address}: {why}")]
    Ask {
        /// Who was asked.
        address: String,
        /// Why there is none.
        why: String,
    },
}

/// This process's end of all bridges: cheap to clone, all clones are one. Dropping the last one stops it without
/// waiting for anything.
#[derive(Clone, Debug)]
pub struct Bridge(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    common: Arc<Common>,
    address: SocketAddr,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Bridge {
    /// Binds, then serves, on threads of its own. `admit` is asked about each proved peer before its session begins; a
    /// refusal is told to the peer. `events` is called from one thread, in order; neither may wait for anything.
    ///
    /// # Errors
    /// See [`BridgeError`].
    pub fn start(
        settings: Settings,
        directory: Directory,
        admit: impl Fn(&Peer) -> Result<(), String> + Send + 'static,
        events: impl Fn(PeerEvent) + Send + 'static,
    ) -> Result<Self, BridgeError> {
        let incarnation = u64::from_le_bytes(random().map_err(BridgeError::Settings)?);
        let listen = settings.listen;
        let outfit = outfit(&settings, incarnation, Box::new(Tcp), Box::new(admit))?;
        let (common, Ends { orders, pulses, events: told }) = Common::new(settings, directory, outfit);
        let (bound, wait) = mpsc::channel();
        let of_pulse = Arc::clone(&common);
        let pulse = thread("bridge pulse", move || async move {
            match bind(&of_pulse, listen).await {
                Ok((listener, address)) => {
                    bound.send(Ok(address)).ok(); // whoever started it waits
                    let telling = spawn_local(pulse::tell(told, events));
                    pulse::run(of_pulse, listener, pulses).await;
                    telling.abort();
                }
                Err(error) => drop(bound.send(Err(error))),
            }
        })?;
        let address =
            wait.recv().map_err(|_| BridgeError::Settings("the bridge's thread died".to_owned()))??;
        let of_net = Arc::clone(&common);
        let net = thread("bridge net", move || hub::run(of_net, orders))?;
        let threads = Mutex::new(vec![net, pulse]);
        Ok(Self(Arc::new(Inner { common, address, threads })))
    }

    /// A bridge on the current thread's `LocalSet`, over a network of its own: for simulations.
    ///
    /// # Errors
    /// See [`BridgeError`].
    pub async fn simulated(
        settings: Settings,
        directory: Directory,
        (network, incarnation): (impl Network, u64),
        events: impl Fn(PeerEvent) + Send + 'static,
    ) -> Result<Self, BridgeError> {
        let listen = settings.listen;
        let outfit = outfit(&settings, incarnation, Box::new(network), Box::new(|_| Ok(())))?;
        let (common, Ends { orders, pulses, events: told }) = Common::new(settings, directory, outfit);
        let (listener, address) = bind(&common, listen).await?;
        spawn_local(pulse::tell(told, events));
        spawn_local(pulse::run(Arc::clone(&common), listener, pulses));
        spawn_local(hub::run(Arc::clone(&common), orders));
        Ok(Self(Arc::new(Inner { common, address, threads: Mutex::default() })))
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.0.address
    }

    /// The number of this start of the process.
    pub fn incarnation(&self) -> u64 {
        self.0.common.identity.incarnation
    }

    /// Keeps a connection to `address` (`host:port`) up until [`Bridge::forget`], or the node is down. It must prove to
    /// be the node of that name.
    pub fn dial(&self, node: &str, address: &str) {
        self.0.common.order(Order::Dial(node.to_owned(), address.to_owned()));
    }

    /// Dials a node no longer. A connection that is up stays.
    pub fn forget(&self, node: &str) {
        self.0.common.order(Order::Forget(node.to_owned()));
    }

    /// The way to a node, whatever state its session has.
    pub fn link(&self, node: &str) -> Link {
        Link { bag: self.0.common.bag(node), common: Arc::clone(&self.0.common) }
    }

    /// Ends the session with a peer, if there is one, and lets this incarnation of it in no more; it is told why.
    pub fn fence(&self, peer: &Peer, why: &str) {
        self.0.common.roster(|roster, events| events.extend(roster.end(peer, why)));
    }

    /// What has crossed so far, by peer and message.
    pub fn traffic(&self) -> Vec<Traffic> {
        self.0.common.bags().iter().flat_map(|bag| bag.counters.read(&bag.node)).collect()
    }

    /// Sees to it that what is queued arrives, for two seconds at most; says goodbye; joins its threads. Blocks the calling
    /// thread, which must not be one of the bridge's own.
    pub fn stop(self) {
        let (done, wait) = mpsc::channel();
        self.0.common.order(Order::Stop(Box::new(move || {
            done.send(()).ok(); // whoever stops it waits no longer
        })));
        wait.recv_timeout(STOPPED_WITHIN).ok(); // it has stopped before
        self.0.common.pulse(PulseOrder::Stop);
        let threads = std::mem::take(&mut *self.0.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            if thread.join().is_err() {
                tracing::error!("a thread of the bridge panicked");
            }
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.common.order(Order::Stop(Box::new(|| {})));
        self.common.pulse(PulseOrder::Stop);
    }
}

fn outfit(
    settings: &Settings,
    incarnation: u64,
    network: Box<dyn Network>,
    admit: Admit,
) -> Result<Outfit, BridgeError> {
    if settings.token.is_none() && !settings.listen.ip().is_loopback() {
        let why = format!("others can reach {}, so the cluster needs a token", settings.listen);
        return Err(BridgeError::Settings(why));
    }
    let encryption =
        settings.tls.as_ref().map(Encryption::load).transpose().map_err(BridgeError::Settings)?;
    Ok(Outfit { incarnation, network, encryption, admit })
}

async fn bind(common: &Common, address: SocketAddr) -> Result<(Box<dyn Listener>, SocketAddr), BridgeError> {
    let failed = |error: std::io::Error| BridgeError::Listen { address, problem: error.to_string() };
    let listener = common.network.bind(address).await.map_err(failed)?;
    let bound = listener.address().map_err(failed)?;
    Ok((listener, bound))
}

/// A thread with a runtime of its own that does one thing.
fn thread<F: Future<Output = ()>>(
    name: &str,
    body: impl FnOnce() -> F + Send + 'static,
) -> Result<JoinHandle<()>, BridgeError> {
    let failed = |error: std::io::Error| BridgeError::Settings(format!("the bridge has no thread: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let run = move || LocalSet::new().block_on(&runtime, async { body().await });
    std::thread::Builder::new().name(name.to_owned()).spawn(run).map_err(failed)
}
