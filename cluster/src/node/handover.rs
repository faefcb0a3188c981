//! What a launcher hands to a node through its standard input: one line, then files, then silence until the end.
//!
//! So neither the token nor the topology appears on a command line or in a shared file system, and a node notices that
//! its launcher is gone: its input ends. A line `stop` asks it to stop the run, and `end` says that
//! the launch is over.

use std::fs::File;
use std::io::{BufRead, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::Error;

/// The line that asks a node to stop the run at a clock.
pub(crate) const STOP: &str = "stop";

/// The line that says that the launch is over: the node ends in silence.
pub(crate) const END: &str = "end";

/// A longer first line is not one of ours.
const LONGEST: u64 = 16 << 20;

/// The bytes that are in memory at a time while a file is sent.
const CHUNK: usize = 64 << 10;

/// The first line. It holds the token: never to be shown.
#[derive(Serialize, Deserialize)]
pub(crate) struct Handover {
    /// The name of the topology, for messages.
    pub(crate) file: String,
    /// The topology.
    pub(crate) text: String,
    /// What the nodes share.
    pub(crate) token: Option<String>,
    /// The launcher's `SLACKLINE__…` variables: they count on every node.
    pub(crate) variables: Vec<(String, String)>,
    /// The files that follow.
    pub(crate) streams: Vec<Stream>,
}

/// A file that is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stream {
    /// The setting that names it: `data` or `test`.
    pub(crate) key: String,
    /// Its name without folders.
    pub(crate) name: String,
    /// How long it is; four bytes follow, the CRC-32 of all before them.
    pub(crate) bytes: u64,
}

impl Handover {
    /// Reads the first line.
    ///
    /// # Errors
    /// It is not one that a launcher sends.
    pub(crate) fn read(input: &mut impl BufRead) -> Result<Self, Error> {
        let mut line = Vec::new();
        let read = input.take(LONGEST).read_until(b'\n', &mut line);
        let problem = |why: String| {
            Error::Usage(format!(
                "standard input is not what `slackline launch` sends ({why}); give a topology file"
            ))
        };
        read.map_err(|error| problem(error.to_string()))?;
        // The reader's own words would repeat what was sent, and so perhaps the token.
        serde_json::from_slice(&line).map_err(|error| problem(format!("{:?} error", error.classify())))
    }
}

/// Receives the files into `folder`: where each lies.
///
/// # Errors
/// The input ends early, a sum does not fit, or the disk is full.
pub(crate) fn receive(
    input: &mut impl Read,
    streams: &[Stream],
    folder: &Path,
) -> Result<Vec<(String, PathBuf)>, String> {
    let one = |stream: &Stream| {
        let name = Path::new(&stream.name).file_name().unwrap_or(stream.key.as_ref());
        let place = folder.join(&stream.key);
        let path = place.join(name);
        let file = std::fs::create_dir_all(&place).and_then(|()| File::create(&path));
        let file = file.map_err(|error| format!("{}: {error}", path.display()))?;
        copy(input, file, stream.bytes).map_err(|why| format!("{}: {why}", stream.name))?;
        Ok((stream.key.clone(), path))
    };
    streams.iter().map(one).collect()
}

fn copy(input: &mut impl Read, mut file: File, bytes: u64) -> Result<(), String> {
    let (mut sum, mut left, mut chunk) = (crc32fast::Hasher::new(), bytes, vec![0; CHUNK]);
    let ended = |error: std::io::Error| format!("not all of it came: {error}");
    while left > 0 {
        let most = chunk.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        input.read_exact(&mut chunk[..most]).map_err(ended)?;
        sum.update(&chunk[..most]);
        file.write_all(&chunk[..most]).map_err(|error| format!("cannot be kept: {error}"))?;
        left -= most as u64;
    }
    let mut expected = [0; 4];
    input.read_exact(&mut expected).map_err(ended)?;
    if u32::from_le_bytes(expected) == sum.finalize() { Ok(()) } else { Err("was damaged on its way".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(bytes: &[u8]) -> (Stream, Vec<u8>) {
        let stream = Stream { key: "data".into(), name: "../a.svm".into(), bytes: bytes.len() as u64 };
        (stream, [bytes, &crc32fast::hash(bytes).to_le_bytes()].concat())
    }

    #[test]
    fn a_file_arrives_whole_or_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (stream, mut bytes) = sent(&vec![7; 200_000]);
        let files = receive(&mut &bytes[..], std::slice::from_ref(&stream), folder.path()).unwrap();
        assert_eq!(
            files,
            [("data".to_owned(), folder.path().join("data/a.svm"))],
            "its folders are not ours"
        );
        assert_eq!(std::fs::read(&files[0].1).unwrap(), vec![7; 200_000]);
        bytes[100] = 8;
        let damaged = receive(&mut &bytes[..], std::slice::from_ref(&stream), folder.path()).unwrap_err();
        assert_eq!(damaged, "../a.svm: was damaged on its way");
        let short = receive(&mut &bytes[..1000], &[stream], folder.path()).unwrap_err();
        assert!(short.starts_with("../a.svm: not all of it came"), "{short}");
    }

    #[test]
    fn what_is_not_a_handover_is_not_repeated() {
        let refused =
            Handover::read(&mut &b"{\"token\": \"secret\", x\n"[..]).err().expect("a refusal").to_string();
        assert!(!refused.contains("secret") && refused.contains("give a topology file"), "{refused}");
    }
}
