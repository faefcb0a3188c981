//! Tests that go through whole files.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::source::Source;
use super::*;

mod corpus;
mod documents;
mod files;
mod libsvm;
mod matrix_market;
mod planted;
mod ratings;
mod shared;

/// A directory that goes away with the test, and a file in it.
struct Kept {
    _directory: tempfile::TempDir,
    path: PathBuf,
}

fn file(bytes: impl AsRef<[u8]>) -> Kept {
    let directory = tempfile::tempdir().expect("a directory for temporary files");
    let path = directory.path().join("data.txt");
    std::fs::write(&path, bytes).expect("room for a small file");
    Kept { _directory: directory, path }
}

fn quiet(_: News) {}

/// Reads small chunks on several threads, so that short files take the long way.
fn chunked(path: &Path, chunk_bytes: usize, threads: usize) -> Result<Samples, Error> {
    let source = Source::open(path)?.with_chunk_bytes(chunk_bytes);
    let options = ReadOptions { threads, ..ReadOptions::default() };
    super::libsvm::read(source, &options, &quiet)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("memory takes everything");
    encoder.finish().expect("memory takes everything")
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).expect("memory takes everything")
}

/// What follows the path in the message of an error.
fn message<T>(result: Result<T, Error>, path: &Path) -> String {
    let error = result.err().expect("an error").to_string();
    error.strip_prefix(path.to_str().expect("a plain path")).expect("the path comes first").to_string()
}
