//! What the net thread holds for one other node: its session, its connections, and what goes out on them.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::batch::{Batch, Parcel};
use super::common::Common;
use super::frame::{Kind, Prefix};
use super::link::{AskError, Asked, Mailbag};
use super::roster::{Heard, Peer};
use super::session::{LaneError, LaneState, Progress};
use super::wire::{Lane, Parts};

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

pub(super) struct Session {
    peer: Peer,
    heard: Heard,
    pub(super) lanes: [LaneState<Sent>; 2],
    pub(super) asks: BTreeMap<u64, Asked>,
    next_ask: u64,
}

/// A frame that is kept until the peer has it.
pub(super) struct Sent {
    pub(super) parcel: Parcel,
    pub(super) name: &'static str,
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
    pub(crate) fn longest_silence(&self) -> Duration {
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
        let is_due = line.ack_due.get().is_some_and(|due| due <= now)
            || line.keep_alive(self.longest_silence()) <= now;
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

    /// Works on the session, if there is one.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut Session) -> T) -> Option<T> {
        self.session.borrow_mut().as_mut().map(work)
    }

    /// Gives up on answers that are late or that nobody waits for.
    pub(crate) fn sweep(&self, now: Instant) {
        Lane::ALL.into_iter().for_each(|lane| self.collect(lane));
        let late = self.with(|session| {
            let late: Vec<u64> =
                session.asks.iter().filter(|(_, asked)| asked.is_over(now)).map(|(n, _)| *n).collect();
            late.iter().filter_map(|number| session.asks.remove(number)).collect::<Vec<_>>()
        });
        let late = late.unwrap_or_else(|| self.bag.late(now));
        self.common.answered(late.len() as u64);
        late.into_iter().for_each(|asked| asked.asker.answer(Err(AskError::Timeout)));
    }
}
