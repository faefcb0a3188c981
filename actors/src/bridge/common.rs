//! What the threads of a bridge and its handles share.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;

use super::directory::Directory;
use super::handshake::{Identity, Purpose};
use super::link::Mailbag;
use super::net::{Network, Packed};
use super::roster::{Peer, PeerEvent, Roster};
use super::settings::Settings;
use super::strangers::{Guest, Strangers};
use super::tls::Encryption;

/// What the net thread is to do.
pub(crate) enum Order {
    /// Keep a connection to this node up.
    Dial(String, String),
    /// Stop doing so.
    Forget(String),
    /// The session with this peer is over.
    End(Peer),
    /// The session with this node cannot go on.
    Break(String, String),
    /// Somebody has connected for one of the lanes, or with a question.
    Welcome(Purpose, Packed, Guest),
    /// Flush, say goodbye, end.
    Stop(Box<dyn FnOnce() + Send>),
}

/// What the pulse thread is to do.
pub(crate) enum PulseOrder {
    /// Keep a connection for signs of life up, at this address, while the session with the peer lasts.
    Dial(Peer, String),
    /// End.
    Stop,
}

/// Says whether to let a peer in.
pub(crate) type Admit = Box<dyn Fn(&Peer) -> Result<(), String> + Send>;

/// What the threads of a bridge and its handles share.
pub(crate) struct Common {
    pub(crate) settings: Settings,
    pub(crate) identity: Identity,
    pub(crate) network: Box<dyn Network>,
    pub(crate) encryption: Option<Encryption>,
    pub(crate) directory: Directory,
    pub(crate) strangers: Strangers,
    started: Instant,
    roster: Mutex<Roster>,
    admit: Mutex<Admit>,
    bags: Mutex<BTreeMap<String, Arc<Mailbag>>>,
    events: mpsc::UnboundedSender<PeerEvent>,
    orders: mpsc::UnboundedSender<Order>,
    pulses: mpsc::UnboundedSender<PulseOrder>,
    asks: AtomicU64,
    closed: AtomicBool,
    pub(crate) anything_asked: Notify,
}

/// Where what [`Common`] sends comes out.
pub(crate) struct Ends {
    pub(crate) orders: mpsc::UnboundedReceiver<Order>,
    pub(crate) pulses: mpsc::UnboundedReceiver<PulseOrder>,
    pub(crate) events: mpsc::UnboundedReceiver<PeerEvent>,
}

/// What a bridge is made of, besides its settings.
pub(crate) struct Outfit {
    pub(crate) incarnation: u64,
    pub(crate) network: Box<dyn Network>,
    pub(crate) encryption: Option<Encryption>,
    pub(crate) admit: Admit,
}

impl fmt::Debug for Common {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the bridge of {}", self.identity.node)
    }
}

/// A mutex whose holder panicked is used on: what it guards changes in one step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Common {
    pub(crate) fn new(settings: Settings, directory: Directory, outfit: Outfit) -> (Arc<Self>, Ends) {
        let (orders, orders_end) = mpsc::unbounded_channel();
        let (pulses, pulses_end) = mpsc::unbounded_channel();
        let (events, events_end) = mpsc::unbounded_channel();
        let common = Self {
            identity: identity(&settings, outfit.incarnation),
            network: outfit.network,
            encryption: outfit.encryption,
            directory,
            strangers: Strangers::default(),
            started: Instant::now(),
            roster: Mutex::new(Roster::new(settings.timing.dead)),
            admit: Mutex::new(outfit.admit),
            bags: Mutex::default(),
            events,
            orders,
            pulses,
            asks: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            anything_asked: Notify::new(),
            settings,
        };
        (Arc::new(common), Ends { orders: orders_end, pulses: pulses_end, events: events_end })
    }

    /// The bridge's clock.
    pub(crate) fn now(&self) -> Duration {
        self.started.elapsed()
    }

    pub(crate) fn order(&self, order: Order) {
        self.orders.send(order).ok(); // the bridge has stopped
    }

    pub(crate) fn pulse(&self, order: PulseOrder) {
        self.pulses.send(order).ok(); // the bridge has stopped
    }

    pub(crate) fn event(&self, event: PeerEvent) {
        self.events.send(event).ok(); // the bridge has stopped
    }

    /// Works on the roster; what it has to say is told in the order in which it happened.
    pub(crate) fn roster<T>(&self, work: impl FnOnce(&mut Roster, &mut Vec<PeerEvent>) -> T) -> T {
        let mut events = Vec::new();
        let mut roster = lock(&self.roster);
        let result = work(&mut roster, &mut events);
        for event in events {
            if let PeerEvent::Down(peer, _) | PeerEvent::Goodbye(peer) = &event {
                self.order(Order::End(peer.clone()));
            }
            self.event(event);
        }
        result
    }

    /// Asks whoever runs the bridge whether to let a peer in.
    pub(crate) fn admit(&self, peer: &Peer) -> Result<(), String> {
        lock(&self.admit)(peer)
    }

    /// What lies ready for a node.
    pub(crate) fn bag(&self, node: &str) -> Arc<Mailbag> {
        let mut bags = lock(&self.bags);
        let make = || Arc::new(Mailbag::new(node, self.closed.load(Ordering::Acquire)));
        Arc::clone(bags.entry(node.to_owned()).or_insert_with(make))
    }

    /// Nothing is sent any more.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        for bag in self.bags() {
            bag.closed.store(true, Ordering::Release);
            self.answered(bag.empty());
        }
    }

    pub(crate) fn bags(&self) -> Vec<Arc<Mailbag>> {
        lock(&self.bags).values().cloned().collect()
    }

    /// Somebody waits for an answer: deadlines must be watched.
    pub(crate) fn asked(&self) {
        if self.asks.fetch_add(1, Ordering::Relaxed) == 0 {
            self.anything_asked.notify_one();
        }
    }

    /// So many no longer do.
    pub(crate) fn answered(&self, n: u64) {
        self.asks.fetch_sub(n, Ordering::Relaxed);
    }

    pub(crate) fn awaits_answers(&self) -> bool {
        self.asks.load(Ordering::Relaxed) > 0
    }

    /// Notes that a connection was turned away.
    pub(crate) fn refused(&self, from: SocketAddr, why: &str) {
        self.strangers.refused(self.now(), from, why);
    }
}

/// Who a process is.
pub(crate) fn identity(settings: &Settings, incarnation: u64) -> Identity {
    Identity {
        cluster: settings.cluster.clone(),
        node: settings.node.clone(),
        incarnation,
        key: settings.token.as_ref().map_or(Vec::new(), |token| token.as_bytes().to_vec()),
    }
}
