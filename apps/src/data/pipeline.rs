//! Parses a file on all cores, in order, in bounded memory.
//!
//! One thread reads and unpacks, several parse, the caller's folds the parsed chunks in the order of the file. A fixed
//! number of slots (text and parsed form of one chunk) goes round between them: the reader waits for a free one, so
//! memory does not grow with the file, and buffers are used again instead of being allocated anew.
//!
//! A parser that panics takes the caller down with it, never into a wait without end.
//!
//! The result does not depend on the number of threads, nor does the error: the first one in the file wins.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};

use super::source::Source;
use crate::Error;
use crate::catalog::News;

/// What is wrong with a line of a chunk.
#[derive(Debug, PartialEq)]
pub(super) struct Problem {
    /// The line, from 0 at the start of the chunk.
    pub(super) line: u64,
    /// What was there, what was expected, and what to do.
    pub(super) what: String,
}

/// The parsed form of one chunk of lines.
pub(super) trait Chunk: Default + Send {
    /// What the parser needs to know.
    type Context: Sync;
    /// Makes room for the next chunk.
    fn clear(&mut self);
    /// Parses one line, without its `\n`; `number` counts from 0 at the start of the chunk.
    fn line(&mut self, line: &[u8], number: u64, context: &Self::Context) -> Result<(), String>;
}

/// One chunk on its way round.
#[derive(Default)]
struct Slot<C> {
    sequence: u64,
    text: Vec<u8>,
    /// Packed bytes read when this chunk was, and all of them.
    progress: (u64, u64),
    parsed: C,
    /// Lines in the chunk, or what stopped the reader or the parser.
    lines: Option<Result<u64, Stop>>,
}

enum Stop {
    Reader(Error),
    Parser(Problem),
    Panic(Box<dyn Any + Send>),
}

/// Parses what is left of `source` on `threads` threads and calls `fold` with each parsed chunk and the number of the
/// file's line before it, in order. Returns the number of lines in the file.
pub(super) fn parse<C: Chunk>(
    source: &mut Source,
    threads: usize,
    context: &C::Context,
    tell: &(dyn Fn(News) + Sync),
    mut fold: impl FnMut(&C, u64) -> Result<(), Error>,
) -> Result<u64, Error> {
    let threads = if threads == 0 { available_threads() } else { threads };
    let n_slots = threads + 2;
    let (path, mut lines) = (source.path().to_path_buf(), source.lines());
    let (free, free_slots) = sync_channel::<Box<Slot<C>>>(n_slots);
    let (work, work_slots) = sync_channel::<Box<Slot<C>>>(n_slots);
    let (done, done_slots) = sync_channel::<Box<Slot<C>>>(n_slots);
    let work_slots = Mutex::new(work_slots);
    for _ in 0..n_slots {
        free.send(Box::default()).expect("the receiver is alive and there is room for every slot");
    }
    std::thread::scope(|scope| {
        scope.spawn(move || read_chunks(source, &free_slots, &work));
        for _ in 0..threads {
            let (done, work_slots) = (done.clone(), &work_slots);
            scope.spawn(move || parse_chunks(work_slots, &done, context));
        }
        drop(done);
        // Dropping these on the way out ends the other threads, whatever they wait for.
        let (free, done_slots) = (free, done_slots);
        let (mut waiting, mut next) = (BTreeMap::new(), 0);
        while let Ok(slot) = done_slots.recv() {
            waiting.insert(slot.sequence, slot);
            while let Some(mut slot) = waiting.remove(&next) {
                next += 1;
                match slot.lines.take().expect("a parser says how it ended") {
                    Ok(n) => {
                        fold(&slot.parsed, lines)?;
                        lines += n;
                    }
                    Err(Stop::Reader(error)) => return Err(error),
                    Err(Stop::Panic(panic)) => resume_unwind(panic),
                    Err(Stop::Parser(Problem { line, what })) => {
                        return Err(Error::Line { path, line: lines + line + 1, problem: what });
                    }
                }
                tell(News::Loading { read: slot.progress.0, of: slot.progress.1 });
                let _ = free.send(slot); // the reader may be through
            }
        }
        Ok(lines)
    })
}

/// The cores this process may use.
pub(super) fn available_threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// The reader: fills free slots with text until the file ends or nobody listens.
fn read_chunks<C>(source: &mut Source, free: &Receiver<Box<Slot<C>>>, work: &SyncSender<Box<Slot<C>>>) {
    let mut sequence = 0;
    while let Ok(mut slot) = free.recv() {
        match source.next_chunk(&mut slot.text) {
            Ok(true) => slot.lines = None,
            Ok(false) => return,
            Err(error) => slot.lines = Some(Err(Stop::Reader(error))),
        }
        slot.sequence = sequence;
        slot.progress = source.progress();
        sequence += 1;
        let last = slot.lines.is_some();
        if work.send(slot).is_err() || last {
            return;
        }
    }
}

/// A parser: parses slots until there are no more or nobody listens.
fn parse_chunks<C: Chunk>(
    work: &Mutex<Receiver<Box<Slot<C>>>>,
    done: &SyncSender<Box<Slot<C>>>,
    context: &C::Context,
) {
    let next = || work.lock().unwrap_or_else(PoisonError::into_inner).recv();
    while let Ok(mut slot) = next() {
        if slot.lines.is_none() {
            slot.parsed.clear();
            let Slot { text, parsed, .. } = &mut *slot;
            let lines = || parse_lines(text, |line, number| parsed.line(line, number, context));
            // After a panic the slot is not looked at again.
            slot.lines = Some(match catch_unwind(AssertUnwindSafe(lines)) {
                Ok(lines) => lines.map_err(Stop::Parser),
                Err(panic) => Err(Stop::Panic(panic)),
            });
        }
        if done.send(slot).is_err() {
            return;
        }
    }
}

/// Calls `line` with every line of `text` and its number from 0; returns how many there were.
fn parse_lines(text: &[u8], mut line: impl FnMut(&[u8], u64) -> Result<(), String>) -> Result<u64, Problem> {
    let (mut number, mut start) = (0, 0);
    while start < text.len() {
        let end = memchr::memchr(b'\n', &text[start..]).map_or(text.len(), |n| start + n);
        line(&text[start..end], number).map_err(|what| Problem { line: number, what })?;
        number += 1;
        start = end + 1;
    }
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Fragile(Vec<u8>);

    impl Chunk for Fragile {
        type Context = ();

        fn clear(&mut self) {
            self.0.clear();
        }

        fn line(&mut self, line: &[u8], _: u64, (): &()) -> Result<(), String> {
            assert_ne!(line, b"boom");
            self.0.extend_from_slice(line);
            Ok(())
        }
    }

    fn run(text: &str) -> Result<(Vec<u8>, u64), Error> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("text");
        std::fs::write(&path, text).unwrap();
        let mut source = Source::open(&path)?.with_chunk_bytes(8);
        let mut all = Vec::new();
        let lines = parse(&mut source, 3, &(), &|_| {}, |chunk: &Fragile, _| {
            all.extend_from_slice(&chunk.0);
            Ok(())
        })?;
        Ok((all, lines))
    }

    #[test]
    fn chunks_are_folded_in_the_order_of_the_file() {
        let text: String = (0..999).map(|n| format!("{n}\n")).collect();
        let (all, lines) = run(&text).unwrap();
        assert_eq!((all, lines), (text.replace('\n', "").into_bytes(), 999));
    }

    #[test]
    #[should_panic(expected = "assertion `left != right` failed")]
    fn a_panic_in_a_parser_reaches_the_caller() {
        let _ = run(&format!("{}boom\n{}", "line\n".repeat(99), "line\n".repeat(99)));
    }
}
