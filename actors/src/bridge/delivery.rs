//! What becomes of frames that come in: messages go to their actors, answers to those who asked.

use std::rc::Rc;
use std::task::Poll;

use tokio::time::Instant;

use super::address::Address;
use super::batch::Parcel;
use super::frame::{Frame, GONE, Kind, Prefix};
use super::link::AskError;
use super::room::{Room, Sent};
use super::session::{Arrival, Progress};
use super::wire::{Lane, Parts};
use super::wired::Broken;

impl Room {
    /// Deals with a frame.
    pub(crate) async fn frame(self: &Rc<Self>, lane: Lane, frame: Frame) -> Result<(), Broken> {
        let prefix = frame.prefix;
        let judged = self.with(|session| {
            let state = &mut session.lanes[lane.index()];
            let said = Progress { received: prefix.acked, handled: prefix.handled };
            let eased = state.acknowledged(said)?.map(|sent| sent.parcel.prefix.size()).sum();
            if eased > 0 {
                self.bag.unload(eased);
            }
            match prefix.kind {
                Kind::Tell | Kind::Ask | Kind::Reply => Ok(state.arrived(prefix.sequence, prefix.size())?),
                Kind::Goodbye => Err(Broken::Goodbye),
                _ => Ok(Arrival::Again), // it said what it had to say
            }
        });
        let fresh = judged.unwrap_or(Err(Broken::Goodbye))?;
        self.line(lane).heard.set(Instant::now());
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
}

/// Where a message came from, for when it is handled.
struct Back {
    lane: Lane,
    incarnation: Option<u64>,
    bytes: u64,
    name: u64,
    ask: u64,
}
