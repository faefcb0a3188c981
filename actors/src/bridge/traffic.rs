//! What has crossed, by message.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// What has crossed between this node and another, of one message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Traffic {
    /// The other node.
    pub node: String,
    /// The message's name; an answer counts as the message's name and ` answer`.
    pub message: String,
    /// Frames sent, and their bytes with heads and prefixes.
    pub out: Volume,
    /// Frames received.
    pub into: Volume,
    /// Frames sent again after a connection broke.
    pub resent: Volume,
    /// Frames that came for an address that nobody listens at, or were queued for a node that is gone.
    pub dropped: Volume,
}

/// Some frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Volume {
    /// How many.
    pub frames: u64,
    /// How large together.
    pub bytes: u64,
}

impl Volume {
    pub(crate) fn add(&mut self, bytes: u64) {
        self.frames += 1;
        self.bytes += bytes;
    }
}

/// The counters of one peer.
#[derive(Debug, Default)]
pub(crate) struct Counters(Mutex<BTreeMap<(&'static str, bool), Traffic>>);

impl Counters {
    /// Changes the counter of a message, or of its answer.
    pub(crate) fn of(&self, message: &'static str, answer: bool, change: impl FnOnce(&mut Traffic)) {
        let mut counters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        change(counters.entry((message, answer)).or_default());
    }

    /// A copy.
    pub(crate) fn read(&self, node: &str) -> Vec<Traffic> {
        let counters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let name =
            |message: &str, answer| if answer { format!("{message} answer") } else { message.to_owned() };
        let copy = |(key, traffic): (&(&'static str, bool), &Traffic)| Traffic {
            node: node.to_owned(),
            message: name(key.0, key.1),
            ..traffic.clone()
        };
        counters.iter().map(copy).collect()
    }
}
