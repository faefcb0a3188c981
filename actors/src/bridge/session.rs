//! What a lane remembers of its session, so that nothing is lost and nothing comes twice when its connection breaks.
//!
//! Frames are numbered from 1. The sender keeps a frame until the peer has it (`acked`, cumulative), and sends no more
//! than a window of bytes that the peer's actors have not *handled*: what counts is not that bytes arrived but that
//! they were dealt with. On a new connection both sides say what they have received, and go on from there. This holds
//! within one pair of incarnations; with another a new session begins.

use std::collections::VecDeque;

/// Both directions of one lane.
#[derive(Debug)]
pub(crate) struct LaneState<F> {
    window: u64,
    // Out.
    /// Frames that the peer has not acknowledged, in order.
    kept: VecDeque<Kept<F>>,
    /// How many of them have been sent on the present connection.
    cursor: usize,
    /// The number of the frame before the first one kept.
    acked: u64,
    /// Bytes of all frames so far, and of those that the peer handled.
    offered: u64,
    handled_by_peer: u64,
    /// The highest number that was ever sent, to tell when one is sent again.
    highest: u64,
    // In.
    received: u64,
    received_bytes: u64,
    handled: u64,
    /// What the peer was last told.
    told: (u64, u64),
}

#[derive(Debug)]
struct Kept<F> {
    frame: F,
    /// Bytes of all frames before it, and with it.
    from: u64,
    to: u64,
}

/// What to do with a frame that came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// Deliver it.
    New,
    /// It came before: drop it.
    Again,
}

/// Why a lane cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LaneError {
    #[error("frame {is} came where {due} was due")]
    Gap { is: u64, due: u64 },
    #[error("it acknowledged frame {is}, of {from} to {to}")]
    Acked { is: u64, from: u64, to: u64 },
    #[error("it handled {is} bytes of {of}")]
    Handled { is: u64, of: u64 },
    #[error("it sent {is} bytes more than were handled, at most {window} are allowed")]
    Window { is: u64, window: u64 },
}

/// What a side tells the other when a connection begins, and with every frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Progress {
    /// The last frame received.
    pub(crate) received: u64,
    /// Bytes handled.
    pub(crate) handled: u64,
}

impl<F> LaneState<F> {
    pub(crate) fn new(window: u64) -> Self {
        Self {
            window,
            kept: VecDeque::new(),
            cursor: 0,
            acked: 0,
            offered: 0,
            handled_by_peer: 0,
            highest: 0,
            received: 0,
            received_bytes: 0,
            handled: 0,
            told: (0, 0),
        }
    }

    /// Takes a frame of so many bytes over, to be sent when there is room.
    pub(crate) fn push(&mut self, frame: F, bytes: u64) {
        let from = self.offered;
        self.offered += bytes;
        self.kept.push_back(Kept { frame, from, to: self.offered });
    }

    /// The next frame to send, its number, and whether it is sent again. A frame larger than the window goes when
    /// nothing else is under way.
    pub(crate) fn next(&mut self) -> Option<(u64, bool, &F)> {
        let kept = self.kept.get(self.cursor)?;
        let alone = kept.from <= self.handled_by_peer;
        if !alone && kept.to - self.handled_by_peer > self.window {
            return None;
        }
        self.cursor += 1;
        let number = self.acked + self.cursor as u64;
        let again = number <= self.highest;
        self.highest = self.highest.max(number);
        Some((number, again, &kept.frame))
    }

    /// Takes in what the peer says it has; hands back the frames that need not be kept any longer.
    pub(crate) fn acknowledged(&mut self, peer: Progress) -> Result<impl Iterator<Item = F> + '_, LaneError> {
        if peer.received > self.highest || peer.handled > self.offered {
            return Err(if peer.handled > self.offered {
                LaneError::Handled { is: peer.handled, of: self.offered }
            } else {
                LaneError::Acked { is: peer.received, from: self.acked, to: self.highest }
            });
        }
        self.handled_by_peer = self.handled_by_peer.max(peer.handled);
        let n = usize::try_from(peer.received.saturating_sub(self.acked))
            .unwrap_or(usize::MAX)
            .min(self.kept.len());
        self.acked += n as u64;
        self.cursor = self.cursor.saturating_sub(n);
        Ok(self.kept.drain(..n).map(|kept| kept.frame))
    }

    /// A new connection: everything that the peer has not received is sent again.
    pub(crate) fn resume(&mut self, peer: Progress) -> Result<Vec<F>, LaneError> {
        if peer.received < self.acked {
            return Err(LaneError::Acked { is: peer.received, from: self.acked, to: self.highest });
        }
        let gone = self.acknowledged(peer)?.collect();
        self.cursor = 0;
        Ok(gone)
    }

    /// Ends the lane; hands back all that was not acknowledged.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = F> + '_ {
        self.cursor = 0;
        self.kept.drain(..).map(|kept| kept.frame)
    }

    /// Judges a frame that came in.
    pub(crate) fn arrived(&mut self, number: u64, bytes: u64) -> Result<Arrival, LaneError> {
        if number <= self.received {
            return Ok(Arrival::Again);
        }
        if number != self.received + 1 {
            return Err(LaneError::Gap { is: number, due: self.received + 1 });
        }
        let open = self.received_bytes - self.handled;
        if open > 0 && open + bytes > self.window {
            return Err(LaneError::Window { is: open + bytes, window: self.window });
        }
        self.received = number;
        self.received_bytes += bytes;
        Ok(Arrival::New)
    }

    /// Notes that an actor has dealt with so many bytes that came in.
    pub(crate) fn handled(&mut self, bytes: u64) {
        self.handled = (self.handled + bytes).min(self.received_bytes);
    }

    /// What to tell the peer, which is then taken as told.
    pub(crate) fn tell(&mut self) -> Progress {
        self.told = (self.received, self.handled);
        self.progress()
    }

    /// What this side has.
    pub(crate) fn progress(&self) -> Progress {
        Progress { received: self.received, handled: self.handled }
    }

    /// Whether the peer should be told at some time, and whether it waits for it.
    pub(crate) fn owes(&self) -> (bool, bool) {
        let some = self.told != (self.received, self.handled);
        (some, self.handled - self.told.1 >= self.window / 4)
    }
}

#[cfg(test)]
mod tests;
