//! The way to a node: what actors hold to speak to those over there.

use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use super::address::Address;
use super::batch::Parcel;
use super::common::{Common, Order};
use super::frame::{Kind, Prefix};
use super::traffic::Counters;
use super::wire::{Lane, Parts, Received, Wire, name_id};

/// Bytes that may be queued for a node before proxies stop taking messages in.
pub(crate) const ENOUGH: u64 = 4 << 20;
/// Bytes that may be queued for a node at all: when more are, its session ends.
pub const TOO_MUCH: u64 = 1 << 30;

/// Why an ask has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// The actor or its node is gone. Whether the message was handled is unknown.
    #[error("whoever was asked is gone")]
    Closed,
    /// No answer came in time. Whether the message was handled is unknown.
    #[error("no answer came in time")]
    Timeout,
    /// The message cannot be delivered or its answer not be read, and why.
    #[error("{0}")]
    Refused(String),
}

/// What lies ready for a node.
pub(crate) struct Mailbag {
    pub(crate) node: String,
    trays: [Tray; 2],
    queued: AtomicU64,
    /// Told when frames have been acknowledged.
    pub(crate) eased: Notify,
    /// Whether the node is gone and not expected.
    pub(crate) closed: AtomicBool,
    pub(crate) counters: Counters,
}

/// What lies ready for one lane.
#[derive(Default)]
pub(crate) struct Tray {
    letters: Mutex<Vec<Letter>>,
    /// Wakes the lane's writer.
    pub(crate) wake: Notify,
}

/// A message on its way.
pub(crate) struct Letter {
    pub(crate) parcel: Parcel,
    pub(crate) name: &'static str,
    pub(crate) ask: Option<Asked>,
}

/// Who waits for an answer, and until when.
pub(crate) struct Asked {
    pub(crate) deadline: Instant,
    pub(crate) name: &'static str,
    pub(crate) asker: Box<dyn Asker>,
}

impl Asked {
    /// Whether there is no use in waiting any longer.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        self.deadline <= now || self.asker.has_left()
    }
}

/// Whoever waits for an answer; when dropped, it learns that there is none.
pub(crate) trait Asker: Send {
    fn answer(self: Box<Self>, result: Result<Received, AskError>);
    fn has_left(&self) -> bool;
}

impl Asker for oneshot::Sender<Result<Received, AskError>> {
    fn answer(self: Box<Self>, result: Result<Received, AskError>) {
        self.send(result).ok(); // whoever asked has left
    }

    fn has_left(&self) -> bool {
        self.is_closed()
    }
}

impl Mailbag {
    pub(crate) fn new(node: &str, closed: bool) -> Self {
        Self {
            node: node.to_owned(),
            trays: Default::default(),
            queued: AtomicU64::new(0),
            eased: Notify::new(),
            closed: AtomicBool::new(closed),
            counters: Counters::default(),
        }
    }

    pub(crate) fn tray(&self, lane: Lane) -> &Tray {
        &self.trays[lane.index()]
    }

    /// Bytes that wait or are not acknowledged.
    pub(crate) fn queued(&self) -> u64 {
        self.queued.load(Ordering::Relaxed)
    }

    /// Counts bytes that are queued from now on; returns how many were before.
    pub(crate) fn load(&self, bytes: u64) -> u64 {
        self.queued.fetch_add(bytes, Ordering::Relaxed)
    }

    /// Counts bytes that are no longer queued.
    pub(crate) fn unload(&self, bytes: u64) {
        let before = self.queued.fetch_sub(bytes, Ordering::Relaxed);
        debug_assert!(before >= bytes, "no more leaves than came");
        self.eased.notify_waiters();
    }

    pub(crate) fn take(&self, lane: Lane) -> Vec<Letter> {
        std::mem::take(&mut *self.tray(lane).letters.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Drops what lies ready; whoever asked learns that nobody is there. Returns how many did.
    pub(crate) fn empty(&self) -> u64 {
        let mut askers = 0;
        for letter in Lane::ALL.into_iter().flat_map(|lane| self.take(lane)) {
            askers += u64::from(letter.ask.is_some());
            self.drop_letter(letter.name, letter.parcel.prefix.size());
        }
        askers
    }

    /// Takes out those who ask and can wait no longer, while there is no session.
    pub(crate) fn late(&self, now: Instant) -> Vec<Asked> {
        let mut late = Vec::new();
        for lane in Lane::ALL {
            let mut letters = self.tray(lane).letters.lock().unwrap_or_else(PoisonError::into_inner);
            let is_over = |letter: &mut Letter| letter.ask.as_ref().is_some_and(|asked| asked.is_over(now));
            for letter in letters.extract_if(.., is_over) {
                self.drop_letter(letter.name, letter.parcel.prefix.size());
                late.extend(letter.ask);
            }
        }
        late
    }

    pub(crate) fn drop_letter(&self, name: &'static str, bytes: u64) {
        self.counters.of(name, false, |traffic| traffic.dropped.add(bytes));
        self.unload(bytes);
    }
}

/// The way to a node, whatever state its session has: messages wait until it is up, and are dropped once it is down.
///
/// Order holds within a lane. Tells are delivered exactly once while the session lasts; when it ends, whoever asked
/// gets [`AskError::Closed`], and what was not delivered is dropped and counted in [`Traffic`](super::Traffic).
#[derive(Clone)]
pub struct Link {
    pub(crate) bag: Arc<Mailbag>,
    pub(crate) common: Arc<Common>,
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the link to {}", self.bag.node)
    }
}

impl Link {
    /// The node's name.
    pub fn node(&self) -> &str {
        &self.bag.node
    }

    /// Sends a message without waiting. Where more than 1 GiB is queued for the node, or the message is larger than a
    /// frame may be, the session ends: nothing is lost in silence.
    pub fn tell<M: Wire<Result = ()>>(&self, to: Address, message: M) {
        if let Err(why) = self.post(Kind::Tell, to, message, None) {
            self.give_up(why);
        }
    }

    pub(super) fn give_up(&self, why: String) {
        self.common.order(Order::Break(self.bag.node.clone(), why));
    }

    /// Sends a message and waits for its answer; it is sent at once, even if the future is never polled.
    ///
    /// # Errors
    /// See [`AskError`].
    pub fn ask<M: Wire>(
        &self,
        to: Address,
        message: M,
        within: Duration,
    ) -> impl Future<Output = Result<M::Result, AskError>> + Send + 'static + use<M> {
        let (answer, wait) = oneshot::channel();
        let asked = Asked { deadline: Instant::now() + within, name: M::NAME, asker: Box::new(answer) };
        let posted = self.post(Kind::Ask, to, message, Some(asked));
        async move {
            posted.map_err(AskError::Refused)?;
            let received = wait.await.map_err(|_| AskError::Closed)??;
            received.read().map_err(|error| AskError::Refused(format!("the answer cannot be read: {error}")))
        }
    }

    /// Whether more is queued for the node than it takes in: what can wait should.
    pub fn is_full(&self) -> bool {
        self.bag.queued() > ENOUGH
    }

    /// Waits until there is room; at once where there is.
    pub async fn room(&self) {
        loop {
            let eased = self.bag.eased.notified();
            if !self.is_full() {
                return;
            }
            eased.await;
        }
    }

    pub(super) fn post<M: Wire>(
        &self,
        kind: Kind,
        to: Address,
        message: M,
        ask: Option<Asked>,
    ) -> Result<(), String> {
        let prefix = Prefix { to, name: name_id(M::NAME), ..Prefix::new(kind) };
        let parcel = Parcel::new(prefix, Parts::of(message))
            .map_err(|why| format!("a message {} cannot be sent: {why}", M::NAME))?;
        let bytes = parcel.prefix.size();
        if self.bag.closed.load(Ordering::Acquire) {
            self.bag.counters.of(M::NAME, false, |traffic| traffic.dropped.add(bytes));
            return Ok(()); // whoever asked learns that nobody is there
        }
        if self.bag.load(bytes) > TOO_MUCH {
            self.bag.unload(bytes);
            return Err(format!("more than {TOO_MUCH} bytes are queued for it"));
        }
        if ask.is_some() {
            self.common.asked();
        }
        let tray = self.bag.tray(M::LANE);
        let letter = Letter { parcel, name: M::NAME, ask };
        tray.letters.lock().unwrap_or_else(PoisonError::into_inner).push(letter);
        tray.wake.notify_one();
        Ok(())
    }
}
