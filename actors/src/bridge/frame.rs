//! A frame: a prefix of 64 bytes, a head, a table of segments, the segments. All numbers are little-endian.
//!
//! ```text
//! prefix  0 head u16 | 2 kind u8 | 3 flags u8 | 4 segments u32 | 8 body u32 | 12 generation u32 | 16 sequence u64
//!        24 acked u64 | 32 handled u64 | 40 correlation u64 | 48 name u64 | 56 actor u8 | 57 zero | 60 number u32
//! table   for each segment: bytes u32 | grain u8 | zero, zero, zero
//! ```
//!
//! The [`Decoder`] does no input: it says where the next bytes go, so that a large segment is received straight into
//! its vector. Limits are checked before anything is allocated; a segment is allocated when its first byte is due.

use super::address::{Actor, Address};
use super::wire::{Filled, Grain, Received};

/// Bytes of a prefix.
pub(crate) const PREFIX: usize = 64;
/// Bytes of an entry of the table.
pub(crate) const ENTRY: usize = 8;

/// The largest body of a frame: a message with more is refused where it is sent.
pub const LARGEST_BODY: usize = 1 << 30;
/// The most segments of a frame.
pub(crate) const MOST_SEGMENTS: usize = 1 << 16;
/// The flag of a frame whose head is too large for its place: it is the first segment instead.
pub(crate) const HEAD_IN_BODY: u8 = 1;
/// The flag of an answer: the actor is gone, or there is none at the address.
pub(crate) const GONE: u8 = 2;

/// What a peer may send at most.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) head: usize,
    pub(crate) segments: usize,
    pub(crate) body: usize,
}

impl Limits {
    /// Before the proof: a head, and no body.
    pub(crate) const STRANGER: Self = Self { head: 4096, segments: 0, body: 0 };
    /// After it.
    pub(crate) const PEER: Self =
        Self { head: u16::MAX as usize, segments: MOST_SEGMENTS, body: LARGEST_BODY };
}

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Hello = 1,
    Proof = 2,
    Refusal = 3,
    Resume = 4,
    Tell = 5,
    Ask = 6,
    Reply = 7,
    Ack = 8,
    Goodbye = 9,
    Pulse = 10,
}

impl Kind {
    fn of(code: u8) -> Option<Self> {
        use Kind::{Ack, Ask, Goodbye, Hello, Proof, Pulse, Refusal, Reply, Resume, Tell};
        let all = [Hello, Proof, Refusal, Resume, Tell, Ask, Reply, Ack, Goodbye, Pulse];
        all.into_iter().find(|kind| *kind as u8 == code)
    }
}

/// Why bytes are no frame.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FrameError {
    #[error("{0} is not a kind of frame")]
    Kind(u8),
    #[error("{0} is not a kind of actor")]
    Actor(u8),
    #[error("a head of {is} bytes, at most {limit} are allowed")]
    Head { is: usize, limit: usize },
    #[error("{is} segments, at most {limit} are allowed")]
    Segments { is: usize, limit: usize },
    #[error("a body of {is} bytes, at most {limit} are allowed")]
    Body { is: usize, limit: usize },
    #[error("{0} is not a type of number")]
    Grain(u8),
    #[error("a segment of {bytes} bytes cannot hold numbers of {width} bytes")]
    Uneven { bytes: usize, width: usize },
    #[error("segments of {sum} bytes in a body of {body}")]
    Sum { sum: usize, body: usize },
    #[error("a head in the body, which has none")]
    NoHead,
}

/// The fixed part of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Prefix {
    pub(crate) kind: Kind,
    pub(crate) flags: u8,
    pub(crate) head: usize,
    pub(crate) segments: usize,
    pub(crate) body: usize,
    pub(crate) to: Address,
    /// The number of the frame in its lane, from 1; 0 for frames outside the sequence.
    pub(crate) sequence: u64,
    /// The last number that the sender has received.
    pub(crate) acked: u64,
    /// The bytes that the sender's actors have handled since the session began.
    pub(crate) handled: u64,
    /// The number of an ask and of its answer.
    pub(crate) correlation: u64,
    /// Which message.
    pub(crate) name: u64,
}

impl Prefix {
    pub(crate) fn new(kind: Kind) -> Self {
        let to = Address { generation: 0, actor: Actor::Crew };
        let (flags, head, segments, body) = (0, 0, 0, 0);
        let (sequence, acked, handled, correlation, name) = (0, 0, 0, 0, 0);
        Self { kind, flags, head, segments, body, to, sequence, acked, handled, correlation, name }
    }

    /// # Panics
    /// When a length does not fit: whoever makes a frame keeps to its limits.
    pub(crate) fn to_bytes(self) -> [u8; PREFIX] {
        let mut bytes = [0; PREFIX];
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        let (actor, number) = self.to.actor.code();
        put(0, &u16::try_from(self.head).expect("a head of less than 64 KiB").to_le_bytes());
        put(2, &[self.kind as u8, self.flags]);
        put(4, &u32::try_from(self.segments).expect("few segments").to_le_bytes());
        put(8, &u32::try_from(self.body).expect("a body of less than 4 GiB").to_le_bytes());
        put(12, &self.to.generation.to_le_bytes());
        put(16, &self.sequence.to_le_bytes());
        put(24, &self.acked.to_le_bytes());
        put(32, &self.handled.to_le_bytes());
        put(40, &self.correlation.to_le_bytes());
        put(48, &self.name.to_le_bytes());
        put(56, &[actor]);
        put(60, &number.to_le_bytes());
        bytes
    }

    pub(crate) fn read(bytes: &[u8; PREFIX], limits: &Limits) -> Result<Self, FrameError> {
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        let kind = Kind::of(bytes[2]).ok_or(FrameError::Kind(bytes[2]))?;
        let actor = Actor::of(bytes[56], word(60)).ok_or(FrameError::Actor(bytes[56]))?;
        let prefix = Self {
            kind,
            flags: bytes[3],
            head: usize::from(u16::from_le_bytes([bytes[0], bytes[1]])),
            segments: word(4) as usize,
            body: word(8) as usize,
            to: Address { generation: word(12), actor },
            sequence: long(16),
            acked: long(24),
            handled: long(32),
            correlation: long(40),
            name: long(48),
        };
        prefix.within(limits)
    }

    fn within(self, limits: &Limits) -> Result<Self, FrameError> {
        if self.head > limits.head {
            return Err(FrameError::Head { is: self.head, limit: limits.head });
        }
        if self.segments > limits.segments {
            return Err(FrameError::Segments { is: self.segments, limit: limits.segments });
        }
        if self.body > limits.body {
            return Err(FrameError::Body { is: self.body, limit: limits.body });
        }
        Ok(self)
    }

    /// Bytes of the whole frame.
    pub(crate) fn size(&self) -> u64 {
        (PREFIX + self.head + ENTRY * self.segments + self.body) as u64
    }
}

/// The entry of a segment in the table.
pub(crate) fn entry(grain: Grain, bytes: usize) -> [u8; ENTRY] {
    let [a, b, c, d] = u32::try_from(bytes).expect("a segment of less than 4 GiB").to_le_bytes();
    [a, b, c, d, grain as u8, 0, 0, 0]
}

/// Reads the table, which must add up to the body.
fn table(bytes: &[u8], body: usize) -> Result<Vec<(Grain, usize)>, FrameError> {
    let mut sum = 0usize;
    let mut entries = Vec::with_capacity(bytes.len() / ENTRY);
    for entry in bytes.chunks_exact(ENTRY) {
        let bytes = u32::from_le_bytes([entry[0], entry[1], entry[2], entry[3]]) as usize;
        let grain = Grain::of(entry[4]).ok_or(FrameError::Grain(entry[4]))?;
        if !bytes.is_multiple_of(grain.width()) {
            return Err(FrameError::Uneven { bytes, width: grain.width() });
        }
        sum = sum.saturating_add(bytes);
        entries.push((grain, bytes));
    }
    if sum == body { Ok(entries) } else { Err(FrameError::Sum { sum, body }) }
}

/// A frame as it came in.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) prefix: Prefix,
    pub(crate) head: Vec<u8>,
    pub(crate) segments: Vec<Filled>,
}

impl Frame {
    /// Its message.
    pub(crate) fn received(self) -> Result<Received, FrameError> {
        let (mut head, mut segments) = (self.head, self.segments);
        if self.prefix.flags & HEAD_IN_BODY != 0 {
            match segments.first_mut() {
                Some(Filled::Bytes(bytes)) => head = std::mem::take(bytes),
                _ => return Err(FrameError::NoHead),
            }
            segments.remove(0);
        }
        Ok(Received::new(head, segments))
    }
}

/// Makes frames of bytes.
#[derive(Debug)]
pub(crate) struct Decoder {
    limits: Limits,
    have: usize,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    Prefix([u8; PREFIX]),
    /// Head and table.
    Head(Prefix, Vec<u8>),
    Body(Body),
}

#[derive(Debug)]
struct Body {
    prefix: Prefix,
    head: Vec<u8>,
    table: Vec<(Grain, usize)>,
    filled: Vec<Filled>,
}

impl Decoder {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, have: 0, stage: Stage::Prefix([0; PREFIX]) }
    }

    /// From the next frame on.
    pub(crate) fn limit(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Where the next bytes go: never empty.
    pub(crate) fn wants(&mut self) -> &mut [u8] {
        let place = match &mut self.stage {
            Stage::Prefix(bytes) => bytes.as_mut_slice(),
            Stage::Head(_, bytes) => bytes.as_mut_slice(),
            Stage::Body(body) => body.filled.last_mut().map_or(&mut [][..], Filled::bytes_mut),
        };
        &mut place[self.have..]
    }

    /// Notes that so many bytes have been put there; returns the frame if they complete it.
    pub(crate) fn advance(&mut self, bytes: usize) -> Result<Option<Frame>, FrameError> {
        self.have += bytes;
        if !self.wants().is_empty() {
            return Ok(None);
        }
        self.have = 0;
        loop {
            match std::mem::replace(&mut self.stage, Stage::Prefix([0; PREFIX])) {
                Stage::Prefix(bytes) => {
                    let prefix = Prefix::read(&bytes, &self.limits)?;
                    self.stage = Stage::Head(prefix, vec![0; prefix.head + ENTRY * prefix.segments]);
                }
                Stage::Head(prefix, mut head) => {
                    let table = table(&head[prefix.head..], prefix.body)?;
                    head.truncate(prefix.head);
                    let filled = Vec::with_capacity(table.len());
                    self.stage = Stage::Body(Body { prefix, head, table, filled });
                }
                Stage::Body(body) if body.filled.len() == body.table.len() => {
                    let Body { prefix, head, filled: segments, .. } = body;
                    return Ok(Some(Frame { prefix, head, segments }));
                }
                Stage::Body(mut body) => {
                    let (grain, bytes) = body.table[body.filled.len()];
                    body.filled.push(Filled::room(grain, bytes));
                    self.stage = Stage::Body(body);
                }
            }
            if !self.wants().is_empty() {
                return Ok(None);
            }
        }
    }

    /// Takes bytes from the front of `input`, up to the end of a frame.
    pub(crate) fn feed(&mut self, input: &mut &[u8]) -> Result<Option<Frame>, FrameError> {
        while !input.is_empty() {
            let place = self.wants();
            let n = place.len().min(input.len());
            place[..n].copy_from_slice(&input[..n]);
            *input = &input[n..];
            if let Some(frame) = self.advance(n)? {
                return Ok(Some(frame));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests;
