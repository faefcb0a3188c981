//! The bytes of a data file, unpacked, in chunks that end where a line ends.
//!
//! What a file is shows in its first bytes, never in its name: gzip and zstd are unpacked on the way, a byte order mark is
//! skipped, and what cannot be read here (other packers, UTF-16, binary files) is refused by name.

use std::fs::File;
use std::io::{BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::facts::Compression;
use crate::Error;

/// Bytes of text a parser gets at once. Small enough that a few in flight stay in the caches and that memory hardly
/// notices, large enough that handing them over costs nothing.
const CHUNK_BYTES: usize = 1 << 20;
/// Bytes read ahead to tell what a file is and to read its head line by line.
const HEAD_BYTES: u64 = 1 << 16;

/// An open data file.
pub(super) struct Source {
    path: PathBuf,
    compression: Compression,
    reader: Box<dyn Read + Send>,
    /// Unpacked bytes that were read but not yet handed out.
    rest: Vec<u8>,
    /// Where in `rest` they start.
    at: usize,
    /// Lines handed out one by one so far.
    lines: u64,
    /// Packed bytes read so far, counted where they leave the file.
    read: Arc<AtomicU64>,
    /// Packed bytes of the file; 0 for a pipe.
    size: u64,
    chunk_bytes: usize,
}

/// Counts what passes through.
struct Counted<R> {
    inner: R,
    count: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.count.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

impl Source {
    /// Opens a file or a pipe of text and finds out how it is packed.
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        let mut source = Self::open_any(path)?;
        source.look_at_head()?;
        Ok(source)
    }

    /// Opens a file or a pipe of anything and finds out how it is packed.
    pub(super) fn open_any(path: &Path) -> Result<Self, Error> {
        let file_error = |source| Error::File { path: path.to_path_buf(), source };
        let file = File::open(path).map_err(file_error)?;
        let size = file.metadata().map_err(file_error)?.len();
        let read = Arc::new(AtomicU64::new(0));
        let mut counted = Counted { inner: file, count: Arc::clone(&read) };
        let mut magic = Vec::with_capacity(8);
        (&mut counted).take(8).read_to_end(&mut magic).map_err(file_error)?;
        let compression = compression(path, &magic)?;
        let whole = Cursor::new(magic).chain(counted);
        let reader: Box<dyn Read + Send> = match compression {
            Compression::None => Box::new(whole),
            Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(BufReader::new(whole))),
            Compression::Zstd => Box::new(zstd::Decoder::new(whole).map_err(file_error)?),
        };
        let (path, rest) = (path.to_path_buf(), Vec::new());
        let mut source =
            Self { path, compression, reader, rest, at: 0, lines: 0, read, size, chunk_bytes: CHUNK_BYTES };
        source.read_ahead()?;
        Ok(source)
    }

    /// All that is still to be handed out.
    pub(super) fn into_bytes(mut self) -> Result<Vec<u8>, Error> {
        let mut bytes = self.rest.split_off(self.at);
        self.read_more(&mut bytes, u64::MAX)?;
        Ok(bytes)
    }

    /// Hands out chunks of about this many bytes instead.
    #[cfg(test)]
    pub(super) fn with_chunk_bytes(mut self, chunk_bytes: usize) -> Self {
        self.chunk_bytes = chunk_bytes;
        self
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn compression(&self) -> Compression {
        self.compression
    }

    /// Lines handed out by [`Source::next_line`] so far.
    pub(super) fn lines(&self) -> u64 {
        self.lines
    }

    /// Packed bytes read so far, and all of them.
    pub(super) fn progress(&self) -> (u64, u64) {
        let read = self.read.load(Ordering::Relaxed);
        (read, self.size.max(read))
    }

    /// Whether what is still to be handed out starts like this, capitals or not.
    pub(super) fn starts_with(&self, start: &[u8]) -> bool {
        self.rest[self.at..].get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start))
    }

    /// What was read ahead and is still to be handed out.
    pub(super) fn head(&self) -> &[u8] {
        &self.rest[self.at..]
    }

    /// An error about this line of the file.
    pub(super) fn line_error(&self, line: u64, problem: impl Into<String>) -> Error {
        Error::Line { path: self.path.clone(), line, problem: problem.into() }
    }

    /// An error about the file as a whole.
    pub(super) fn data_error(&self, problem: impl Into<String>) -> Error {
        Error::Data { path: self.path.clone(), problem: problem.into() }
    }

    /// The next line without its end, or `None` after the last; it stays to be handed out.
    pub(super) fn peek_line(&mut self) -> Result<Option<&[u8]>, Error> {
        let mut searched = self.at;
        loop {
            if let Some(n) = memchr::memchr(b'\n', &self.rest[searched..]) {
                return Ok(Some(&self.rest[self.at..searched + n]));
            }
            searched = self.rest.len() - self.at;
            if self.read_ahead()? == 0 {
                return Ok(Some(&self.rest[..]).filter(|rest| !rest.is_empty()));
            }
        }
    }

    /// The next line without its end, or `None` after the last; for the head of a file and for short files.
    pub(super) fn next_line(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let line = self.peek_line()?.map(<[u8]>::to_vec);
        if let Some(line) = &line {
            self.at = (self.at + line.len() + 1).min(self.rest.len());
            self.lines += 1;
        }
        Ok(line)
    }

    /// Fills `chunk` with the next whole lines; false after the last.
    pub(super) fn next_chunk(&mut self, chunk: &mut Vec<u8>) -> Result<bool, Error> {
        chunk.clear();
        chunk.extend_from_slice(&self.rest[self.at..]);
        self.rest.clear();
        self.at = 0;
        let mut searched = self.chunk_bytes - 1; // no line end is looked for before this
        loop {
            let tail = chunk.get(searched..).unwrap_or_default();
            if let Some(end) = memchr::memchr(b'\n', tail) {
                let end = searched + end + 1;
                self.rest.extend_from_slice(&chunk[end..]);
                chunk.truncate(end);
                return Ok(true);
            }
            searched = searched.max(chunk.len());
            let want = (self.chunk_bytes.saturating_sub(chunk.len())).max(self.chunk_bytes / 8).max(1);
            if self.read_more(chunk, want as u64)? == 0 {
                return Ok(!chunk.is_empty());
            }
        }
    }

    /// Appends up to `want` unpacked bytes to `text`.
    fn read_more(&mut self, text: &mut Vec<u8>, want: u64) -> Result<usize, Error> {
        (&mut self.reader).take(want).read_to_end(text).map_err(|source| {
            let path = self.path.clone();
            let packer = match self.compression {
                Compression::None => return Error::File { path, source },
                Compression::Gzip => "gzip",
                Compression::Zstd => "zstd",
            };
            let problem =
                format!("the {packer} data is damaged or cut short ({source}); fetch or pack the file again");
            Error::Data { path, problem }
        })
    }

    /// Appends to the rest.
    fn read_ahead(&mut self) -> Result<usize, Error> {
        let mut rest = std::mem::take(&mut self.rest);
        rest.drain(..std::mem::take(&mut self.at));
        let n = self.read_more(&mut rest, HEAD_BYTES)?;
        self.rest = rest;
        Ok(n)
    }

    /// Skips a byte order mark, refuses what is not text.
    pub(super) fn look_at_head(&mut self) -> Result<(), Error> {
        if self.rest.starts_with(b"\xEF\xBB\xBF") {
            self.rest.drain(..3);
        }
        let utf16 = self.rest.starts_with(b"\xFF\xFE") || self.rest.starts_with(b"\xFE\xFF");
        if utf16 {
            return Err(
                self.data_error("UTF-16 text, expected UTF-8; convert it with iconv -f UTF-16 -t UTF-8")
            );
        }
        let old_mac =
            memchr::memchr(b'\r', &self.rest).is_some() && memchr::memchr(b'\n', &self.rest).is_none();
        if old_mac {
            return Err(
                self.data_error("lines end in a carriage return alone; convert it with tr '\\r' '\\n'")
            );
        }
        if memchr::memchr(0, &self.rest).is_some() {
            return Err(
                self.data_error("a binary file, expected text (libsvm, MatrixMarket, ratings or documents)")
            );
        }
        Ok(())
    }
}

/// How a file that starts with these bytes is packed.
fn compression(path: &Path, magic: &[u8]) -> Result<Compression, Error> {
    let refused: [(&[u8], &str, &str); 4] = [
        (b"\xFD7zXZ\0", "xz", "unpack it with xz -d"),
        (b"BZh", "bzip2", "unpack it with bzip2 -d"),
        (b"PK\x03\x04", "a zip archive", "unpack it with unzip"),
        (b"\x04\x22\x4D\x18", "lz4", "unpack it with lz4 -d"),
    ];
    for (start, name, remedy) in refused {
        if magic.starts_with(start) {
            let problem = format!("the file is {name}, expected plain text, gzip or zstd; {remedy}");
            return Err(Error::Data { path: path.to_path_buf(), problem });
        }
    }
    Ok(match magic {
        [0x1F, 0x8B, ..] => Compression::Gzip,
        [0x28, 0xB5, 0x2F, 0xFD, ..] => Compression::Zstd,
        [a, 0x2A, 0x4D, 0x18, ..] if a & 0xF0 == 0x50 => Compression::Zstd, // a skippable frame comes first
        _ => Compression::None,
    })
}
