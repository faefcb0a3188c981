//! The directory of a run's checkpoints: the newest two, under names that sort by age.

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use super::fingerprint::Fingerprint;
use super::read::Checkpoint;
use super::saved::Saved;
use super::{CheckpointError, write};

/// Checkpoints kept.
const KEPT: usize = 2;
const PREFIX: &str = "checkpoint-";
const SUFFIX: &str = ".slk";
/// What a file is called until it is whole.
const PARTIAL: &str = ".checkpoint.partial";

/// A directory that checkpoints are written to.
#[derive(Debug, Clone)]
pub struct Directory {
    path: PathBuf,
}

/// The newest whole checkpoint of a directory, if there is one, and what was passed over on the way to it.
#[derive(Debug, Default)]
pub struct Newest {
    /// The checkpoint to go on from.
    pub checkpoint: Option<Checkpoint>,
    /// Newer files that cannot be used, and why.
    pub refused: Vec<CheckpointError>,
}

impl Directory {
    /// Makes the directory where there is none, and makes sure that it can be written to.
    ///
    /// # Errors
    /// It cannot.
    pub fn create(path: &Path) -> Result<Self, CheckpointError> {
        let probe = path.join(PARTIAL);
        let attempt = || {
            fs::create_dir_all(path)?;
            File::create(&probe)?;
            fs::remove_file(&probe)
        };
        attempt().map_err(refuse(path, "give another directory for checkpoints"))?;
        Ok(Self { path: path.to_path_buf() })
    }

    /// Reads the newest checkpoint of a directory that is whole; none where there is no directory.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn newest(path: &Path) -> Result<Newest, CheckpointError> {
        let mut newest = Newest::default();
        for (_, file) in
            list(path).map_err(refuse(path, "give the directory of the checkpoints"))?.into_iter().rev()
        {
            match Checkpoint::read(&file) {
                Ok(checkpoint) => {
                    newest.checkpoint = Some(checkpoint);
                    break;
                }
                Err(why) => newest.refused.push(why),
            }
        }
        Ok(newest)
    }

    /// Whether a directory holds a checkpoint, whole or not.
    pub fn holds_some(path: &Path) -> bool {
        list(path).is_ok_and(|files| !files.is_empty())
    }

    /// Removes all checkpoints.
    ///
    /// # Errors
    /// One cannot be removed.
    pub fn clear(path: &Path) -> Result<(), CheckpointError> {
        let removed =
            list(path).and_then(|files| files.iter().try_for_each(|(_, file)| fs::remove_file(file)));
        removed.map_err(refuse(path, "remove its checkpoints"))
    }

    /// Writes a checkpoint and removes all but the newest two; returns its number, its file and how many bytes it has.
    /// When it fails, what was there before is still there.
    ///
    /// # Errors
    /// The disk is full, the directory is gone, or the like; a table holds a NaN.
    pub fn put(
        &self,
        fingerprint: &Fingerprint,
        saved: &Saved,
    ) -> Result<(u64, PathBuf, u64), CheckpointError> {
        if let Some(table) = saved.damaged() {
            let name = &fingerprint.tables[table].name;
            let problem = format!("table {name} holds a NaN, which is not worth going on from; not written");
            return Err(CheckpointError { path: self.path.clone(), problem });
        }
        let files = list(&self.path).map_err(refuse(&self.path, "make sure that it can be read"))?;
        let number = files.last().map_or(1, |(number, _)| number + 1);
        let path = self.path.join(format!("{PREFIX}{number:08}{SUFFIX}"));
        let partial = self.path.join(PARTIAL);
        let written = write_file(&partial, (number, fingerprint), saved).and_then(|bytes| {
            fs::rename(&partial, &path)?;
            File::open(&self.path)?.sync_all()?;
            Ok(bytes)
        });
        let bytes = written.map_err(|error| {
            let _ = fs::remove_file(&partial); // the first error is the one to tell
            refuse(&path, "the last one is kept")(error)
        })?;
        for (_, old) in files.iter().rev().skip(KEPT - 1) {
            let _ = fs::remove_file(old); // costs nothing but its space, until the next time
        }
        Ok((number, path, bytes))
    }
}

fn write_file(path: &Path, head: (u64, &Fingerprint), saved: &Saved) -> io::Result<u64> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    write::write(&mut file, head, saved)?;
    let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.sync_all()?;
    Ok(file.metadata()?.len())
}

/// The checkpoints of a directory by number, ascending; none where there is no directory.
fn list(path: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let entries = match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX));
        if let Some(number) = number.and_then(|number| number.parse().ok()) {
            files.push((number, path.join(&name)));
        }
    }
    files.sort_unstable();
    Ok(files)
}

fn refuse<'a>(path: &'a Path, remedy: &'a str) -> impl Fn(io::Error) -> CheckpointError + use<'a> {
    move |error| CheckpointError { path: path.to_path_buf(), problem: format!("{error}; {remedy}") }
}
