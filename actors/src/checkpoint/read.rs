//! A checkpoint read back: section by section, nothing believed before its checksum is right.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::CheckpointError;
use super::content;
use super::fingerprint::Fingerprint;
use super::saved::Saved;
use super::write::{BLOCK, END, HEAD, Head, KEPT, MAGIC, PAGE, PLAN, RUN, Run, VERSION, checksum};
use crate::id::{BlockId, PageId};
use crate::message::Snapshot;

/// A checkpoint that is whole.
#[derive(Debug, Clone)]
pub struct Checkpoint {
    /// Its file.
    pub path: PathBuf,
    /// Its number: later ones have higher numbers.
    pub number: u64,
    /// Which job it is of.
    pub fingerprint: Fingerprint,
    /// The run.
    pub saved: Saved,
}

const REMEDY: &str = "remove it and go on from another checkpoint";

impl Checkpoint {
    /// Reads a file.
    ///
    /// # Errors
    /// The file cannot be read, is torn, damaged, or newer than this program.
    pub fn read(path: &Path) -> Result<Self, CheckpointError> {
        let refuse = |problem: String| CheckpointError { path: path.to_path_buf(), problem };
        let opened = File::open(path).and_then(|file| Ok((file.metadata()?.len(), file)));
        let (length, file) = opened.map_err(|error| refuse(error.to_string()))?;
        let (head, saved) = read(BufReader::with_capacity(1 << 20, file), length).map_err(refuse)?;
        Ok(Self { path: path.to_path_buf(), number: head.number, fingerprint: head.fingerprint, saved })
    }
}

/// Reads a whole checkpoint of `length` bytes.
pub(super) fn read(from: impl Read, length: u64) -> Result<(Head, Saved), String> {
    let mut sections = Sections { from, left: length, at: 0, all: crc32fast::Hasher::new() };
    sections.opening()?;
    let head: Head = message(&sections.expect(HEAD)?)?;
    let Run { clock, seconds, staleness, history, records } = message(&sections.expect(RUN)?)?;
    let schedule = sections.expect(PLAN)?;
    let mut tables = vec![Snapshot::default(); head.fingerprint.tables.len()];
    loop {
        let so_far = sections.all.clone().finalize();
        let (tag, payload) = sections.next()?;
        if tag == END {
            if payload != so_far.to_le_bytes() || sections.left > 0 {
                return Err(sections.torn("sections are missing or added"));
            }
            return Ok((head, Saved { tables, schedule, clock, seconds, staleness, history, records }));
        }
        if take_rows(&mut tables, tag, &payload).is_none() {
            return Err(sections.torn("holds rows that belong nowhere"));
        }
    }
}

/// Puts the rows of a section where they belong; the checksum was right, so that only a program that writes other
/// checkpoints than this one can be at fault.
fn take_rows(tables: &mut [Snapshot], tag: [u8; 4], payload: &[u8]) -> Option<()> {
    let (place, rows) = payload.split_at_checked(6)?;
    let table = u16::from_le_bytes(place[..2].try_into().expect("cut to two"));
    let number = u32::from_le_bytes(place[2..].try_into().expect("cut to four"));
    let (table, rows) = (tables.get_mut(usize::from(table))?, content::get(rows)?);
    match tag {
        PAGE => table.pages.push((PageId(number), Arc::new(rows))),
        KEPT => table.kept.push((PageId(number), rows)),
        BLOCK => table.blocks.push((BlockId(number), rows)),
        _ => return None,
    }
    Some(())
}

fn message<T: DeserializeOwned>(payload: &[u8]) -> Result<T, String> {
    rmp_serde::from_slice(payload)
        .map_err(|error| format!("is not as this program writes it ({error}); {REMEDY}"))
}

struct Sections<R> {
    from: R,
    /// Bytes of the file that have not been read.
    left: u64,
    at: u64,
    /// Over the checksums of all sections so far.
    all: crc32fast::Hasher,
}

impl<R: Read> Sections<R> {
    fn torn(&self, what: &str) -> String {
        format!("{what} (at byte {}); {REMEDY}", self.at)
    }

    /// The next `N` bytes.
    fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let bytes = self.bytes(N as u64)?;
        Ok(bytes.try_into().expect("as many as asked for"))
    }

    /// The next bytes; no more memory is asked for than the file has bytes.
    fn bytes(&mut self, n: u64) -> Result<Vec<u8>, String> {
        if n > self.left {
            return Err(self.torn("ends before it should, or is damaged"));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(n).map_err(|error| error.to_string())?);
        let read = self.from.by_ref().take(n).read_to_end(&mut bytes);
        match read {
            Ok(read) if read as u64 == n => {}
            Ok(_) => return Err(self.torn("ends before it should")),
            Err(error) => return Err(self.torn(&format!("cannot be read: {error}"))),
        }
        (self.left, self.at) = (self.left - n, self.at + n);
        Ok(bytes)
    }

    fn opening(&mut self) -> Result<(), String> {
        if self.left < 12 || self.array()? != MAGIC {
            return Err(format!("is no checkpoint, or its beginning is damaged; {REMEDY}"));
        }
        match u32::from_le_bytes(self.array()?) {
            VERSION => Ok(()),
            version => Err(format!(
                "is a checkpoint of format {version}, this program reads format {VERSION}: use the program that wrote \
                 it, or {REMEDY}"
            )),
        }
    }

    fn next(&mut self) -> Result<([u8; 4], Vec<u8>), String> {
        let (tag, length) = (self.array()?, self.array()?);
        let payload = self.bytes(u64::from_le_bytes(length))?;
        let check: [u8; 4] = self.array()?;
        if check != checksum(tag, length, &payload).to_le_bytes() {
            return Err(self.torn("is damaged: a checksum is wrong"));
        }
        self.all.update(&check);
        Ok((tag, payload))
    }

    fn expect(&mut self, tag: [u8; 4]) -> Result<Vec<u8>, String> {
        match self.next()? {
            (found, payload) if found == tag => Ok(payload),
            _ => Err(self.torn("has its sections in another order")),
        }
    }
}
