//! The network between nodes: sessions that lose, double, delay and reorder frames, and that can be cut; below them, what
//! arrives does so once and in order, or not at all.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::words::{Envelope, Place};

/// A node, and which life of it.
pub(crate) type Life = (usize, u32);

/// From, to, and the kind of message where kinds have lanes of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lane {
    /// Between two actors of a process: nothing is lost there.
    Local(Life, Place, Place, u8),
    /// Between two processes.
    Remote(Life, Life, u8),
}

impl Lane {
    fn ends(self) -> (Life, Life) {
        match self {
            Self::Local(life, ..) => (life, life),
            Self::Remote(from, to, _) => (from, to),
        }
    }

    /// Where its messages come from.
    pub(crate) fn from(self) -> Life {
        self.ends().0
    }

    /// Where its messages go.
    pub(crate) fn to(self) -> Life {
        self.ends().1
    }

    /// A number of its own.
    pub(crate) fn number(self) -> u64 {
        let place = |place| match place {
            Place::Scheduler => 0,
            Place::Crew => 1,
            Place::Node => 2,
            Place::Worker(n) => 100 + n as u64,
            Place::Shard(n) => 200 + n as u64,
            Place::App(n) => 300 + n as u64,
            Place::Backup(n) => 400 + n as u64,
        };
        match self {
            Self::Local(_, from, to, kind) => place(from) * 10_000 + place(to) * 10 + u64::from(kind),
            Self::Remote(from, to, kind) => {
                (from.0 * 100 + to.0 * 10) as u64 + u64::from(kind) + 1_000_000_000
            }
        }
    }
}

/// One direction of a session: frames not yet known to have arrived, and what has.
#[derive(Default)]
struct Session {
    /// Frames that may be sent, the oldest first; the body is gone once it was handed over.
    sent: VecDeque<(u64, Option<Envelope>)>,
    next: u64,
    wanted: u64,
    /// Frames that arrived before those they follow.
    early: BTreeSet<u64>,
}

/// What the network did to frames.
#[derive(Debug, Clone, Copy, Default)]
pub struct Frames {
    /// Frames that were put on a lane between nodes.
    pub sent: u64,
    /// Frames that did not arrive, and were sent again.
    pub lost: u64,
    /// Frames that arrived again.
    pub doubled: u64,
    /// Frames that arrived before one that they follow.
    pub early: u64,
}

/// All lanes.
#[derive(Default)]
pub(crate) struct Network {
    lanes: BTreeMap<Lane, Session>,
    /// Pairs of nodes between which nothing arrives until then.
    held: BTreeMap<(usize, usize), u32>,
    /// Sessions that are over.
    broken: BTreeSet<(Life, Life)>,
    /// How many of a hundred frames, and of their acknowledgements, are lost.
    loss: u32,
    pub(crate) frames: Frames,
}

impl Network {
    pub(crate) fn losing(loss: u32) -> Self {
        Self { loss, ..Self::default() }
    }

    pub(crate) fn send(&mut self, lane: Lane, envelope: Envelope) {
        if self.broken.contains(&lane.ends()) {
            return;
        }
        let session = self.lanes.entry(lane).or_default();
        session.sent.push_back((session.next, Some(envelope)));
        session.next += 1;
    }

    /// The lanes on which something may happen now.
    pub(crate) fn open(&mut self, now: u32) -> Vec<Lane> {
        self.held.retain(|_, until| *until > now);
        self.lanes.retain(|lane, session| !session.sent.is_empty() || matches!(lane, Lane::Remote(..)));
        let open = |(lane, session): (&Lane, &Session)| {
            let (from, to) = lane.ends();
            (!session.sent.is_empty() && !self.is_held(from.0, to.0)).then_some(*lane)
        };
        self.lanes.iter().filter_map(open).collect()
    }

    /// Whether nothing arrives between two nodes for now.
    pub(crate) fn is_held(&self, a: usize, b: usize) -> bool {
        self.held.contains_key(&(a.min(b), a.max(b)))
    }

    /// Whether time alone will open lanes.
    pub(crate) fn heals(&self) -> bool {
        !self.held.is_empty()
    }

    /// Cuts two nodes off from each other until then.
    pub(crate) fn hold(&mut self, a: usize, b: usize, until: u32) {
        self.held.insert((a.min(b), a.max(b)), until);
    }

    /// Has one frame of a lane sent; returns what arrives by it, in order and each once.
    pub(crate) fn transmit(&mut self, lane: Lane, rng: &mut Xoshiro256PlusPlus) -> Vec<Envelope> {
        let Some(session) = self.lanes.get_mut(&lane) else { return Vec::new() };
        if matches!(lane, Lane::Local(..)) || self.loss == 0 {
            self.frames.sent += u64::from(matches!(lane, Lane::Remote(..)));
            return session.sent.pop_front().and_then(|(_, envelope)| envelope).into_iter().collect();
        }
        self.frames.sent += 1;
        let place = rng.random_range(0..session.sent.len().min(4));
        if rng.random_range(0..100) < self.loss {
            self.frames.lost += 1;
            return Vec::new();
        }
        let number = session.sent[place].0;
        if number < session.wanted || !session.early.insert(number) {
            self.frames.doubled += 1;
        } else if number > session.wanted {
            self.frames.early += 1;
        }
        let mut arrived = Vec::new();
        while session.early.remove(&session.wanted) {
            let wanted = session.wanted;
            let frame = session.sent.iter_mut().find(|(number, _)| *number == wanted);
            arrived.extend(frame.and_then(|(_, envelope)| envelope.take()));
            session.wanted += 1;
        }
        if rng.random_range(0..100) >= self.loss {
            while session.sent.front().is_some_and(|(number, _)| *number < session.wanted) {
                session.sent.pop_front();
            }
        }
        arrived
    }

    /// A process is gone, and what was under way to or from it.
    pub(crate) fn forget(&mut self, life: Life) {
        self.lanes.retain(|lane, _| lane.ends().0 != life && lane.ends().1 != life);
    }

    /// Ends the session of two processes.
    pub(crate) fn sever(&mut self, a: Life, b: Life) {
        self.lanes.retain(|lane, _| lane.ends() != (a, b) && lane.ends() != (b, a));
        self.broken.extend([(a, b), (b, a)]);
    }

    pub(crate) fn is_broken(&self, a: Life, b: Life) -> bool {
        self.broken.contains(&(a, b))
    }
}
