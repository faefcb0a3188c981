//! What the net thread holds for one other node: its session, and what becomes of frames that come and go.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::address::Address;
use super::batch::{Batch, Parcel};
use super::common::Common;
use super::frame::{Frame, GONE, Kind, Prefix};
use super::link::{AskError, Asked, Mailbag};
use super::roster::{Heard, Peer};
use super::session::{Arrival, LaneError, LaneState, Progress};
use super::wire::{Lane, Parts};
use super::wired::Broken;

/// Bytes under way in a lane that the peer's actors have not handled.
const WINDOW: u64 = 2 << 20;
/// Bytes of a batch, after which nothing more is added.
const BATCH: usize = 256 * 1024;

/// What the net thread holds for one other node.
pub(crate) struct Room {
    pub(crate) common: Arc<Common>,
    pub(crate) bag: Arc<Mailbag>,
    pub(crate) lines: [Line; 2],
    session: RefCell<Option<Session>>,
    /// The incarnation that a session is with.
    pub(crate) present: watch::Sender<Option<u64>>,
    /// Whether this node is about to leave.
    pub(crate) leaving: Cell<bool>,
}

/// The connection of one lane.
pub(crate) struct Line {
    /// Which attempt at a connection is the latest.
    pub(crate) attempt: Cell<u64>,
    /// The task at work and whether this side dialled.
    pub(crate) task: RefCell<Option<(AbortHandle, bool)>>,
    /// Whether there is a connection.
    pub(crate) live: watch::Sender<bool>,
    /// When the peer is to be told what was received.
    pub(crate) ack_due: Cell<Option<Instant>>,
    /// Whether part of a frame has come since the peer was last told something.
    stirred: Cell<bool>,
    /// When something last came on this connection, and when something was last sent.
    pub(crate) heard: Cell<Instant>,
    pub(crate) sent: Cell<Instant>,
}

struct Session {
    peer: Peer,
    heard: Heard,
    lanes: [LaneState<Sent>; 2],
    asks: BTreeMap<u64, Asked>,
    next_ask: u64,
}

/// A frame that is kept until the peer has it.
struct Sent {
    parcel: Parcel,
    name: &'static str,
}

impl Line {
    fn new() -> Self {
        Self {
            attempt: Cell::new(0),
            task: RefCell::new(None),
            live: watch::Sender::new(false),
            ack_due: Cell::new(None),
            stirred: Cell::new(false),
            heard: Cell::new(Instant::now()),
            sent: Cell::new(Instant::now()),
        }
    }
}

impl Line {
    /// When something must be sent at the latest, so that the peer does not take the connection for dead.
    pub(crate) fn keep_alive(&self, patience: Duration) -> Instant {
        self.sent.get() + patience / 2
    }
}

impl Room {
    pub(crate) fn new(common: Arc<Common>, node: &str) -> Rc<Self> {
        let bag = common.bag(node);
        let lines = [Line::new(), Line::new()];
        let (session, present) = (RefCell::new(None), watch::Sender::new(None));
        Rc::new(Self { common, bag, lines, session, present, leaving: Cell::new(false) })
    }

    pub(crate) fn line(&self, lane: Lane) -> &Line {
        &self.lines[lane.index()]
    }

    /// How long a connection may be silent.
    pub(crate) fn patience(&self) -> Duration {
        self.common.settings.timing.dead
    }

    /// With whom the session is.
    pub(crate) fn peer(&self) -> Option<Peer> {
        self.session.borrow().as_ref().map(|session| session.peer.clone())
    }

    /// A session begins. What was meant for an earlier incarnation is gone by now.
    pub(crate) fn begin(&self, peer: Peer, heard: Heard) {
        if self.session.borrow().is_some() {
            self.end();
        }
        let (lanes, asks) = ([LaneState::new(WINDOW), LaneState::new(WINDOW)], BTreeMap::new());
        self.present.send_replace(Some(peer.incarnation));
        *self.session.borrow_mut() = Some(Session { peer, heard, lanes, asks, next_ask: 0 });
        self.bag.closed.store(false, std::sync::atomic::Ordering::Release);
    }

    /// The session is over, or is expected no longer: connections are cut, what is queued is dropped, whoever asked
    /// learns it.
    pub(crate) fn end(&self) {
        self.bag.closed.store(true, std::sync::atomic::Ordering::Release);
        let mut askers = self.bag.empty();
        if let Some(mut session) = self.session.borrow_mut().take() {
            for sent in session.lanes.iter_mut().flat_map(LaneState::drain) {
                self.bag.drop_letter(sent.name, sent.parcel.prefix.size());
            }
            askers += session.asks.len() as u64;
        }
        self.common.answered(askers);
        Lane::ALL.into_iter().for_each(|lane| self.detach(lane));
        self.present.send_replace(None);
    }

    /// Cuts the connection of a lane.
    pub(crate) fn detach(&self, lane: Lane) {
        let line = self.line(lane);
        line.attempt.set(line.attempt.get() + 1);
        if let Some((task, _)) = line.task.borrow_mut().take() {
            task.abort();
        }
        line.live.send_replace(false);
    }

    /// What this side has received and handled in a lane.
    pub(crate) fn progress(&self, lane: Lane) -> Option<Progress> {
        self.session.borrow().as_ref().map(|session| session.lanes[lane.index()].progress())
    }

    /// A new connection begins where the peer says it is.
    pub(crate) fn resume(&self, lane: Lane, peer: Progress) -> Result<(), LaneError> {
        let mut session = self.session.borrow_mut();
        let Some(session) = session.as_mut() else { return Ok(()) };
        let gone = session.lanes[lane.index()].resume(peer)?;
        gone.iter().for_each(|sent| self.bag.unload(sent.parcel.prefix.size()));
        self.line(lane).ack_due.set(None);
        self.line(lane).heard.set(Instant::now());
        self.line(lane).sent.set(Instant::now());
        Ok(())
    }

    /// Notes a sign of life.
    pub(crate) fn heard(&self) {
        if let Some(session) = &*self.session.borrow() {
            session.heard.at(self.common.now());
        }
    }

    /// Notes that part of a frame has come.
    pub(crate) fn stirred(&self, lane: Lane) {
        let line = self.line(lane);
        self.heard();
        line.heard.set(Instant::now());
        if !line.stirred.replace(true) && line.ack_due.get().is_none() {
            line.ack_due.set(Some(Instant::now() + super::lane::STIR_WITHIN));
            self.bag.tray(lane).wake.notify_one();
        }
    }

    /// Takes over what lies ready for a lane.
    pub(crate) fn collect(&self, lane: Lane) {
        let mut session = self.session.borrow_mut();
        let Some(session) = session.as_mut() else { return };
        for mut letter in self.bag.take(lane) {
            if let Some(asked) = letter.ask {
                session.next_ask += 1;
                letter.parcel.prefix.correlation = session.next_ask;
                session.asks.insert(session.next_ask, asked);
            }
            let bytes = letter.parcel.prefix.size();
            session.lanes[lane.index()].push(Sent { parcel: letter.parcel, name: letter.name }, bytes);
        }
    }

    /// Fills a batch with what may be sent now.
    pub(crate) fn fill(&self, lane: Lane, batch: &mut Batch) {
        let mut session = self.session.borrow_mut();
        let Some(session) = session.as_mut() else { return };
        let (state, line) = (&mut session.lanes[lane.index()], self.line(lane));
        let now = Instant::now();
        let told = state.progress();
        while batch.bytes() < BATCH
            && let Some((sequence, again, sent)) = state.next()
        {
            let (acked, handled) = (told.received, told.handled);
            let prefix = Prefix { sequence, acked, handled, ..sent.parcel.prefix };
            batch.push(prefix, &sent.parcel.parts);
            self.bag.counters.of(sent.name, prefix.kind == Kind::Reply, |traffic| {
                if again { traffic.resent.add(prefix.size()) } else { traffic.out.add(prefix.size()) }
            });
        }
        let (some, at_once) = state.owes();
        let is_due =
            line.ack_due.get().is_some_and(|due| due <= now) || line.keep_alive(self.patience()) <= now;
        if batch.bytes() == 0 && (some && at_once || is_due) {
            let prefix = Prefix { acked: told.received, handled: told.handled, ..Prefix::new(Kind::Ack) };
            batch.push(prefix, &Parts::default());
        }
        if batch.bytes() > 0 {
            state.tell();
            line.ack_due.set(None);
            line.stirred.set(false);
            line.sent.set(now);
        } else if some {
            let soon = now + super::lane::ACK_WITHIN;
            line.ack_due.set(Some(line.ack_due.get().map_or(soon, |due| due.min(soon))));
        }
    }

    /// Whether everything has reached the peer.
    pub(crate) fn is_flushed(&self) -> bool {
        self.bag.queued() == 0
    }

    /// Deals with a frame.
    pub(crate) async fn frame(self: &Rc<Self>, lane: Lane, frame: Frame) -> Result<(), Broken> {
        let prefix = frame.prefix;
        let fresh = {
            let mut session = self.session.borrow_mut();
            let Some(session) = session.as_mut() else { return Err(Broken::Goodbye) };
            let state = &mut session.lanes[lane.index()];
            let said = Progress { received: prefix.acked, handled: prefix.handled };
            let mut eased = 0;
            state.acknowledged(said)?.for_each(|sent| eased += sent.parcel.prefix.size());
            if eased > 0 {
                self.bag.unload(eased);
            }
            self.line(lane).heard.set(Instant::now());
            match prefix.kind {
                Kind::Tell | Kind::Ask | Kind::Reply => state.arrived(prefix.sequence, prefix.size())?,
                Kind::Goodbye => return Err(Broken::Goodbye),
                _ => return Ok(()),
            }
        };
        if fresh == Arrival::New {
            match prefix.kind {
                Kind::Reply => self.answer(lane, frame),
                _ => self.deliver(lane, frame).await,
            }
        }
        Ok(())
    }

    /// An answer came for somebody.
    fn answer(&self, lane: Lane, frame: Frame) {
        let prefix = frame.prefix;
        let asked = self.with(|session| {
            session.lanes[lane.index()].handled(prefix.size());
            session.asks.remove(&prefix.correlation)
        });
        let Some(asked) = asked.flatten() else { return }; // nobody waits any longer
        self.common.answered(1);
        self.bag.counters.of(asked.name, true, |traffic| traffic.into.add(prefix.size()));
        let result = match prefix.flags & GONE {
            0 => frame
                .received()
                .map_err(|error| AskError::Refused(format!("the answer cannot be read: {error}"))),
            _ if frame.head.is_empty() => Err(AskError::Closed),
            _ => Err(AskError::Refused(super::handshake::reason(&frame.head))),
        };
        asked.asker.answer(result);
    }

    fn with<T>(&self, work: impl FnOnce(&mut Session) -> T) -> Option<T> {
        self.session.borrow_mut().as_mut().map(work)
    }

    /// Hands a message to its actor. A tell counts as handled when the actor has handled it, an ask when it lies in the
    /// actor's mailbox: its answer may have to wait for messages that come later.
    async fn deliver(self: &Rc<Self>, lane: Lane, frame: Frame) {
        let (prefix, incarnation) = (frame.prefix, *self.present.borrow());
        let is_ask = prefix.kind == Kind::Ask;
        let back =
            Back { lane, incarnation, bytes: prefix.size(), name: prefix.name, ask: prefix.correlation };
        let delivery = match self.common.directory.find(prefix.to, prefix.name) {
            None => Err(format!("nobody listens for it at {}", prefix.to)),
            Some(target) => {
                self.bag.counters.of(target.name(), false, |traffic| traffic.into.add(prefix.size()));
                let read = |frame: Frame| {
                    target
                        .deliver(frame.received().map_err(|e| e.to_string())?, is_ask)
                        .map_err(|e| e.to_string())
                };
                read(frame).map_err(|error| format!("a message {} cannot be read: {error}", target.name()))
            }
        };
        let mut delivery = match delivery {
            Ok(delivery) => delivery,
            Err(why) => return self.undeliverable(&back, is_ask, prefix.to, &why),
        };
        let first = std::future::poll_fn(|cx| Poll::Ready(delivery.as_mut().poll(cx))).await;
        if is_ask {
            self.handled(&back);
        }
        match first {
            Poll::Ready(answer) => self.done(&back, is_ask, answer),
            Poll::Pending => {
                let room = Rc::clone(self);
                tokio::task::spawn_local(async move {
                    let answer = delivery.await;
                    room.done(&back, is_ask, answer);
                });
            }
        }
    }

    fn undeliverable(&self, back: &Back, is_ask: bool, to: Address, why: &str) {
        let name = self.common.directory.name(back.name).unwrap_or("unknown");
        tracing::debug!(node = self.bag.node, name, %to, "dropped a message: {why}");
        self.bag.counters.of(name, false, |traffic| traffic.dropped.add(back.bytes));
        self.handled(back);
        if is_ask {
            self.reply(back, GONE, Parts { head: why.as_bytes().to_vec(), segments: Vec::new() });
        }
    }

    fn handled(&self, back: &Back) {
        if *self.present.borrow() != back.incarnation {
            return; // late, from a session that is over
        }
        let owes = self.with(|session| {
            let state = &mut session.lanes[back.lane.index()];
            state.handled(back.bytes);
            state.owes().1
        });
        if owes == Some(true) || self.line(back.lane).ack_due.get().is_none() {
            self.bag.tray(back.lane).wake.notify_one();
        }
    }

    /// The actor has handled a message, or is gone.
    fn done(&self, back: &Back, is_ask: bool, answer: Option<Parts>) {
        match answer {
            _ if !is_ask => self.handled(back),
            Some(parts) => self.reply(back, 0, parts),
            None => self.reply(back, GONE, Parts::default()),
        }
    }

    fn reply(&self, back: &Back, flags: u8, parts: Parts) {
        if *self.present.borrow() != back.incarnation {
            return;
        }
        let prefix = Prefix { flags, correlation: back.ask, name: back.name, ..Prefix::new(Kind::Reply) };
        let parcel = Parcel::new(prefix, parts).unwrap_or_else(|why| {
            let head = format!("the answer cannot be sent: {why}").into_bytes();
            let prefix = Prefix { flags: GONE, head: head.len(), ..prefix };
            Parcel { prefix, parts: Parts { head, segments: Vec::new() } }
        });
        let (bytes, name) =
            (parcel.prefix.size(), self.common.directory.name(back.name).unwrap_or("unknown"));
        self.bag.load(bytes);
        self.with(|session| session.lanes[back.lane.index()].push(Sent { parcel, name }, bytes));
        self.bag.tray(back.lane).wake.notify_one();
    }

    /// Gives up on answers that are late or that nobody waits for.
    pub(crate) fn sweep(&self, now: Instant) {
        Lane::ALL.into_iter().for_each(|lane| self.collect(lane));
        let late = self.with(|session| {
            let over = |_: &u64, asked: &mut Asked| asked.is_over(now);
            session.asks.extract_if(.., over).map(|(_, asked)| asked).collect::<Vec<_>>()
        });
        let late = late.unwrap_or_else(|| self.bag.late(now));
        self.common.answered(late.len() as u64);
        late.into_iter().for_each(|asked| asked.asker.answer(Err(AskError::Timeout)));
    }
}

/// Where a message came from, for when it is handled.
struct Back {
    lane: Lane,
    incarnation: Option<u64>,
    bytes: u64,
    name: u64,
    ask: u64,
}
