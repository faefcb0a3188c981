//! The files of a record, and a run's recorder.
//!
//! ```text
//! magic "SLKAUDIT" │ version u32 │ frame…
//! frame: length u32 │ crc32 u32 │ MessagePack: the head in the first one, entries in the others, nothing in the last
//! ```
//!
//! Numbers are little-endian. A file without its last, empty frame is torn: its process died. Entries go through a channel
//! to a thread that writes: an actor that is recorded waits for no disk.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::entry::Entry;
use super::witness::Witness;
use crate::clock::Consistency;

const MAGIC: &[u8; 8] = b"SLKAUDIT";
const VERSION: u32 = 1;
/// How the name of a record ends.
const EXTENSION: &str = "audit";
/// Bytes of entries in a frame, about.
const FRAME: usize = 64 * 1024;
/// What was recorded is in the file after so long, whatever happens to the process then.
const DELAY: Duration = Duration::from_millis(100);
/// A frame that says that it is longer is not one of ours.
const MOST: u32 = 1 << 28;

/// Which run a record is of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// The job's name.
    pub job: String,
    /// Its seed.
    pub seed: u64,
    /// Its consistency.
    pub consistency: Consistency,
    /// Whether a gate of the job's own lets workers through, which promises nothing.
    pub own_gate: bool,
    /// The node of a cluster; empty where there is but one process.
    pub node: String,
    /// Which start of that node this is, from 1: one that died may be started again.
    pub life: u32,
}

/// What one process recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// The name of the file.
    pub name: String,
    /// Which run.
    pub head: Head,
    /// Whether it ends before its process did anything else: the process died.
    pub torn: bool,
    /// The generation of members and what was done, each actor's in its order.
    pub entries: Vec<(u32, Entry)>,
}

/// Why a record cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// It cannot be opened, read or written.
    #[error("{path}: {source}", path = path.display())]
    File {
        /// The file or the directory.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// It is not whole, or not one of ours.
    #[error("{path}: {problem}", path = path.display())]
    Bad {
        /// The file or the directory.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
}

fn bad(path: &Path, problem: impl Into<String>) -> RecordError {
    RecordError::Bad { path: path.to_path_buf(), problem: problem.into() }
}

fn file(path: &Path) -> impl FnOnce(io::Error) -> RecordError + '_ {
    |source| RecordError::File { path: path.to_path_buf(), source }
}

/// Writes a record while a run goes on. It is whole once this is dropped; what is told later is not in it.
#[derive(Debug)]
pub struct Recorder {
    witness: Witness,
    /// `None` ends the record.
    end: Sender<Option<(u32, Entry)>>,
    thread: Option<JoinHandle<()>>,
}

impl Recorder {
    /// Begins the record of one process in `directory`, in the place of the one that it may have; the records of a node
    /// of a cluster are kept beside each other.
    ///
    /// # Errors
    /// It cannot be written there.
    pub fn start(directory: &Path, head: &Head) -> Result<Self, RecordError> {
        fs::create_dir_all(directory).map_err(file(directory))?;
        let (path, created, life) = create(directory, &head.node)?;
        let mut out = Out { out: BufWriter::new(created) };
        out.begin(&Head { life, ..head.clone() }).map_err(file(&path))?;
        let (end, entries) = channel();
        let sender = end.clone();
        let thread = std::thread::Builder::new().name("slackline-audit".to_owned());
        let thread = thread.spawn(move || {
            if let Err(error) = out.write_all(&entries) {
                tracing::error!(path = %path.display(), %error, "the audit record is torn");
            }
        });
        let witness = Witness::telling(move |generation, entry| {
            sender.send(Some((generation, entry))).ok(); // the writer has failed and said so
        });
        Ok(Self { witness, end, thread: Some(thread.map_err(file(directory))?) })
    }

    /// Who is told what to record.
    pub fn witness(&self) -> Witness {
        self.witness.clone()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.end.send(None).ok(); // the writer has failed and said so
        if let Some(thread) = self.thread.take() {
            thread.join().ok(); // it has said what went wrong
        }
    }
}

/// The file of the next life of a node.
fn create(directory: &Path, node: &str) -> Result<(PathBuf, File, u32), RecordError> {
    if node.is_empty() {
        let path = directory.join("run").with_extension(EXTENSION);
        let created = File::create(&path).map_err(file(&path))?;
        return Ok((path, created, 1));
    }
    let mut life = 1;
    loop {
        let nth = if life == 1 { String::new() } else { format!("+{life}") }; // no node's name has a plus
        let path = directory.join(format!("{node}{nth}.{EXTENSION}"));
        match File::create_new(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => life += 1,
            created => return created.map(|created| (path.clone(), created, life)).map_err(file(&path)),
        }
    }
}

struct Out {
    out: BufWriter<File>,
}

impl Out {
    fn begin(&mut self, head: &Head) -> io::Result<()> {
        self.out.write_all(MAGIC)?;
        self.out.write_all(&VERSION.to_le_bytes())?;
        self.frame(&rmp_serde::to_vec(head).map_err(io::Error::other)?)?;
        self.out.flush()
    }

    fn write_all(&mut self, entries: &Receiver<Option<(u32, Entry)>>) -> io::Result<()> {
        let mut frame = Vec::with_capacity(2 * FRAME);
        let mut written = Instant::now();
        loop {
            let ended = match entries.recv_timeout(DELAY) {
                Ok(Some(entry)) => {
                    rmp_serde::encode::write(&mut frame, &entry).map_err(io::Error::other)?;
                    false
                }
                Err(RecvTimeoutError::Timeout) => false,
                Ok(None) | Err(RecvTimeoutError::Disconnected) => true,
            };
            let due = frame.len() >= FRAME || written.elapsed() >= DELAY;
            if !frame.is_empty() && (due || ended) {
                self.frame(&frame)?;
                self.out.flush()?;
                frame.clear();
                written = Instant::now();
            }
            if ended {
                break;
            }
        }
        self.frame(&[])?;
        self.out.flush()
    }

    fn frame(&mut self, payload: &[u8]) -> io::Result<()> {
        let length = u32::try_from(payload.len()).map_err(io::Error::other)?;
        self.out.write_all(&length.to_le_bytes())?;
        self.out.write_all(&crc32fast::hash(payload).to_le_bytes())?;
        self.out.write_all(payload)
    }
}

/// Writes a record as a whole, such as one that was made up.
///
/// # Errors
/// It cannot be written.
pub fn write(directory: &Path, record: &Record) -> Result<(), RecordError> {
    let recorder = Recorder::start(directory, &record.head)?;
    for (generation, entry) in &record.entries {
        recorder.witness.of(*generation).tell(|| entry.clone());
    }
    Ok(())
}

/// Removes the records that a new run takes the place of: all of a directory, or those of one node. Nothing else that is there
/// is touched.
///
/// # Errors
/// One cannot be removed.
pub fn clear(directory: &Path, node: Option<&str>) -> Result<(), RecordError> {
    let is_of = |path: &Path, node: &str| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        name.split('+').next() == Some(node)
    };
    let paths = if directory.is_dir() { list(directory)? } else { Vec::new() };
    let mut old = paths.iter().filter(|path| node.is_none_or(|node| is_of(path, node)));
    old.try_for_each(|path| fs::remove_file(path).map_err(file(path)))
}

/// The records in a directory, by name.
fn list(directory: &Path) -> Result<Vec<PathBuf>, RecordError> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(directory).map_err(file(directory))? {
        let path = entry.map_err(file(directory))?.path();
        if path.extension().is_some_and(|extension| extension == EXTENSION) {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// Reads the records of a run: every `.audit` file in `directory`. A torn one is that of a process that died, of a run that
/// came to its end without it.
///
/// # Errors
/// There is none, or one is damaged, foreign, of another run, written by a newer version, or torn with no other that tells
/// the end of the run: by name.
pub fn read(directory: &Path) -> Result<Vec<Record>, RecordError> {
    let paths = list(directory)?;
    let records: Vec<Record> = paths.iter().map(|path| read_file(path)).collect::<Result<_, _>>()?;
    let Some(first) = records.first() else {
        return Err(bad(directory, "holds no audit record; train with --audit to get one"));
    };
    for (record, path) in records.iter().zip(&paths) {
        let Head { node, life, .. } = record.head.clone();
        if record.head != (Head { node, life, ..first.head.clone() }) {
            return Err(bad(path, format!("is the record of another run than {}", first.name)));
        }
    }
    let is_last = |record: &Record| {
        let later =
            |other: &Record| other.head.node == record.head.node && other.head.life > record.head.life;
        !records.iter().any(later)
    };
    let ends = |record: &Record| record.entries.iter().any(|(_, entry)| *entry == Entry::End);
    let ended = records.iter().any(|record| !record.torn && is_last(record) && ends(record));
    match records.iter().position(|record| record.torn) {
        Some(torn) if !ended => {
            Err(bad(&paths[torn], "is torn: the run did not end in good order, or the disk was full"))
        }
        _ => Ok(records),
    }
}

fn read_file(path: &Path) -> Result<Record, RecordError> {
    let bytes = fs::read(path).map_err(file(path))?;
    let foreign = || bad(path, "is not an audit record");
    let rest = bytes.strip_prefix(MAGIC).ok_or_else(foreign)?;
    let (version, mut rest) = rest.split_first_chunk::<4>().ok_or_else(foreign)?;
    let version = u32::from_le_bytes(*version);
    if version != VERSION {
        return Err(bad(
            path,
            format!("is an audit record of version {version}, this program reads {VERSION}"),
        ));
    }
    let head = next_frame(path, &mut rest)?.ok_or_else(|| bad(path, "is torn: it has no head"))?;
    let head: Head =
        rmp_serde::from_slice(head).map_err(|_| bad(path, "is damaged: its head cannot be read"))?;
    let mut entries = Vec::new();
    let torn = loop {
        let Some(mut frame) = next_frame(path, &mut rest)? else { break true };
        if frame.is_empty() {
            break false;
        }
        while !frame.is_empty() {
            let entry = rmp_serde::from_read(&mut frame);
            let number = entries.len() + 1;
            entries.push(entry.map_err(|_| bad(path, format!("is damaged: entry {number} cannot be read")))?);
        }
    };
    if !torn && !rest.is_empty() {
        return Err(bad(path, "is damaged: something follows its end"));
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Record { name, head, torn, entries })
}

/// The next frame; `None` where the file ends before it does.
fn next_frame<'a>(path: &Path, rest: &mut &'a [u8]) -> Result<Option<&'a [u8]>, RecordError> {
    let head = rest.split_first_chunk::<4>();
    let head = head.and_then(|(length, after)| Some((length, after.split_first_chunk::<4>()?)));
    let Some((length, (checksum, after))) = head else { return Ok(None) };
    let length = u32::from_le_bytes(*length);
    if length > MOST {
        return Err(bad(path, "is damaged: a length is out of range"));
    }
    let Some((payload, after)) = after.split_at_checked(length as usize) else { return Ok(None) };
    if crc32fast::hash(payload) != u32::from_le_bytes(*checksum) {
        return Err(bad(path, "is damaged: a checksum is wrong"));
    }
    *rest = after;
    Ok(Some(payload))
}
