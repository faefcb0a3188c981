//! Frames on their way out: small ones side by side in one run of bytes, large segments from where they lie.

use std::collections::VecDeque;
use std::io::IoSlice;

use super::frame::{ENTRY, HEAD_IN_BODY, LARGEST_BODY, MOST_SEGMENTS, Prefix, entry};
use super::wire::{Parts, Segment};

/// Segments of fewer bytes are copied: that costs less than one more piece of a vectored write. Beyond 2000 bytes some
/// processors copy twenty times slower between certain offsets.
const LARGE: usize = 2000;
/// Pieces of one write.
const PIECES: usize = 64;

/// A message with its address, as a lane keeps it until the peer has it.
#[derive(Debug)]
pub(crate) struct Parcel {
    pub(crate) prefix: Prefix,
    pub(crate) parts: Parts,
}

impl Parcel {
    /// # Errors
    /// A sentence, when the message is too large for a frame.
    pub(crate) fn new(mut prefix: Prefix, mut parts: Parts) -> Result<Self, String> {
        if parts.head.len() > usize::from(u16::MAX) {
            let head = std::mem::take(&mut parts.head);
            parts.segments.insert(0, Segment::Bytes(head.into()));
            prefix.flags |= HEAD_IN_BODY;
        }
        prefix.head = parts.head.len();
        prefix.segments = parts.segments.len();
        prefix.body = parts.bulk_bytes();
        if prefix.body > LARGEST_BODY {
            return Err(format!("it has {} bytes, at most {LARGEST_BODY} fit in a frame", prefix.body));
        }
        if prefix.segments > MOST_SEGMENTS {
            return Err(format!(
                "it has {} segments, at most {MOST_SEGMENTS} fit in a frame",
                prefix.segments
            ));
        }
        Ok(Self { prefix, parts })
    }
}

/// Frames that are being written.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    small: Vec<u8>,
    pieces: VecDeque<Piece>,
    bytes: usize,
}

#[derive(Debug)]
enum Piece {
    /// A range of `small`.
    Small(usize, usize),
    /// What is left of a segment, from this byte on.
    Large(Segment, usize),
}

impl Batch {
    /// Adds a frame; its prefix says what the table will.
    pub(crate) fn push(&mut self, prefix: Prefix, parts: &Parts) {
        self.bytes += prefix.size() as usize;
        let begin = self.small.len();
        self.small.extend_from_slice(&prefix.to_bytes());
        self.small.extend_from_slice(&parts.head);
        for segment in &parts.segments {
            let table: [u8; ENTRY] = entry(segment.grain(), segment.bytes().len());
            self.small.extend_from_slice(&table);
        }
        self.small_piece(begin);
        for segment in &parts.segments {
            let bytes = segment.bytes();
            if bytes.len() < LARGE {
                let begin = self.small.len();
                self.small.extend_from_slice(bytes);
                self.small_piece(begin);
            } else {
                self.pieces.push_back(Piece::Large(segment.clone(), 0));
            }
        }
    }

    /// What was added to `small` since `begin`; joined to the piece before it where that is small too.
    fn small_piece(&mut self, begin: usize) {
        let end = self.small.len();
        match self.pieces.back_mut() {
            Some(Piece::Small(_, last)) if *last == begin => *last = end,
            _ if begin < end => self.pieces.push_back(Piece::Small(begin, end)),
            _ => {}
        }
    }

    /// Bytes that are still to be written.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The next pieces to write.
    pub(crate) fn slices(&self) -> Vec<IoSlice<'_>> {
        let slice = |piece| match piece {
            &Piece::Small(from, to) => IoSlice::new(&self.small[from..to]),
            Piece::Large(segment, from) => IoSlice::new(&segment.bytes()[*from..]),
        };
        self.pieces.iter().take(PIECES).map(slice).collect()
    }

    /// Notes that so many bytes have been written.
    pub(crate) fn wrote(&mut self, mut bytes: usize) {
        self.bytes -= bytes.min(self.bytes);
        while let Some(piece) = self.pieces.front_mut() {
            let (from, length) = match piece {
                Piece::Small(from, to) => (from, *to),
                Piece::Large(segment, from) => (from, segment.bytes().len()),
            };
            let left = length - *from;
            if bytes < left {
                *from += bytes;
                return;
            }
            bytes -= left;
            self.pieces.pop_front();
        }
        self.small.clear();
    }
}
