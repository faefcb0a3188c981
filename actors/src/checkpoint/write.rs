//! A checkpoint as a stream of bytes.
//!
//! ```text
//! magic (8 bytes), version (u32)
//! section*:   tag (4 bytes), length (u64), payload, CRC-32 of tag, length and payload (u32)
//!     head    MessagePack of the number and the fingerprint
//!     run     MessagePack of clock, seconds, history, records
//!     plan    the schedule's state
//!     page    table (u16), page (u32), rows      one for each page
//!     kept    table (u16), page (u32), numbers   of a page beside which an update rule keeps some
//!     blck    table (u16), block (u32), rows     one for each block
//!     end     the CRC-32s of all sections before it, folded into one
//! ```
//!
//! All numbers are little-endian. CRC-32 finds every flipped byte of a section, and `crc32fast` computes it with the
//! processor's own instructions at many times the speed of a disk.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use super::content;
use super::fingerprint::Fingerprint;
use super::saved::Saved;
use crate::clock::Clock;
use crate::id::WorkerId;
use crate::monitor::Progress;
use crate::scheduler::WorkerRecord;
use crate::values::Buffer;

pub(super) const MAGIC: [u8; 8] = *b"slk\x89ckpt";
pub(super) const VERSION: u32 = 1;
pub(super) const HEAD: [u8; 4] = *b"head";
pub(super) const RUN: [u8; 4] = *b"run ";
pub(super) const PLAN: [u8; 4] = *b"plan";
pub(super) const PAGE: [u8; 4] = *b"page";
pub(super) const KEPT: [u8; 4] = *b"kept";
pub(super) const BLOCK: [u8; 4] = *b"blck";
pub(super) const END: [u8; 4] = *b"end ";

/// The section `head`.
#[derive(Serialize, Deserialize)]
pub(super) struct Head {
    pub(super) number: u64,
    pub(super) fingerprint: Fingerprint,
}

/// The section `run`.
#[derive(Serialize, Deserialize)]
pub(super) struct Run {
    pub(super) clock: Clock,
    pub(super) seconds: f64,
    pub(super) staleness: u64,
    pub(super) history: Vec<Progress>,
    pub(super) records: BTreeMap<WorkerId, WorkerRecord>,
}

/// Writes a whole checkpoint.
pub(super) fn write(
    to: impl Write,
    (number, fingerprint): (u64, &Fingerprint),
    saved: &Saved,
) -> io::Result<()> {
    let mut sections = Sections { to, all: crc32fast::Hasher::new(), payload: Vec::new() };
    sections.to.write_all(&MAGIC)?;
    sections.to.write_all(&VERSION.to_le_bytes())?;
    let head = Head { number, fingerprint: fingerprint.clone() };
    sections.message(HEAD, &head)?;
    let Saved { clock, seconds, staleness, .. } = *saved;
    let run =
        Run { clock, seconds, staleness, history: saved.history.clone(), records: saved.records.clone() };
    sections.message(RUN, &run)?;
    sections.bytes(PLAN, &saved.schedule)?;
    for (table, rows) in saved.tables.iter().enumerate() {
        let table = u16::try_from(table).expect("tables are numbered by u16");
        for (page, rows) in &rows.pages {
            sections.rows(PAGE, (table, page.0), rows)?;
        }
        for (page, numbers) in &rows.kept {
            sections.rows(KEPT, (table, page.0), numbers)?;
        }
        for (block, rows) in &rows.blocks {
            sections.rows(BLOCK, (table, block.0), rows)?;
        }
    }
    sections.end()
}

struct Sections<W> {
    to: W,
    /// Over the checksums of all sections so far.
    all: crc32fast::Hasher,
    /// Memory that serves one section after the other.
    payload: Vec<u8>,
}

impl<W: Write> Sections<W> {
    fn message(&mut self, tag: [u8; 4], message: &impl Serialize) -> io::Result<()> {
        let bytes = rmp_serde::to_vec_named(message).map_err(io::Error::other)?;
        self.bytes(tag, &bytes)
    }

    fn bytes(&mut self, tag: [u8; 4], bytes: &[u8]) -> io::Result<()> {
        self.payload.clear();
        self.payload.extend_from_slice(bytes);
        self.flush(tag)
    }

    fn rows(&mut self, tag: [u8; 4], (table, place): (u16, u32), rows: &Buffer) -> io::Result<()> {
        self.payload.clear();
        self.payload.extend_from_slice(&table.to_le_bytes());
        self.payload.extend_from_slice(&place.to_le_bytes());
        content::put(rows, &mut self.payload);
        self.flush(tag)
    }

    fn end(mut self) -> io::Result<()> {
        let all = self.all.clone().finalize();
        self.bytes(END, &all.to_le_bytes())?;
        self.to.flush()
    }

    fn flush(&mut self, tag: [u8; 4]) -> io::Result<()> {
        let length = (self.payload.len() as u64).to_le_bytes();
        let check = checksum(tag, length, &self.payload).to_le_bytes();
        self.all.update(&check);
        for bytes in [&tag[..], &length[..], &self.payload[..], &check[..]] {
            self.to.write_all(bytes)?;
        }
        Ok(())
    }
}

/// The checksum of a section.
pub(super) fn checksum(tag: [u8; 4], length: [u8; 8], payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    [&tag[..], &length[..], payload].into_iter().for_each(|bytes| hasher.update(bytes));
    hasher.finalize()
}
