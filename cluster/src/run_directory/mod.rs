//! What a run leaves behind: `summary.json`, `metrics.jsonl` and `model/`.
//!
//! The format is fixed, tools outside the project read it. `metrics.jsonl` grows while the run goes on;
//! everything else is written under temporary names, synced and renamed, `summary.json` last: a directory that has
//! a summary holds a whole run.

mod metrics;
mod model;
mod summary;

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;
use slackline_apps::catalog::Trained;

pub(crate) use metrics::{MetricsLog, progress_json};
pub(crate) use summary::{Seconds, app_of, summary, was_stopped};

use crate::Error;

const SUMMARY: &str = "summary.json";
const METRICS: &str = "metrics.jsonl";
const MODEL: &str = "model";

/// The directory of one run, ours to write from before the training to its end.
pub(crate) struct RunDirectory {
    path: PathBuf,
    /// Whether there was no such directory before; then a run that fails leaves none.
    created: bool,
}

impl RunDirectory {
    /// Makes sure, before any training, that a run can be written to `path` and overwrites no other.
    ///
    /// # Errors
    /// It holds a run and `force` is not given, or it cannot be created or written.
    pub(crate) fn claim(path: &Path, force: bool) -> Result<Self, Error> {
        if let Some(found) = [SUMMARY, MODEL].iter().find(|name| path.join(name).exists())
            && !force
        {
            let problem =
                format!("holds a run already ({found}); give another --out, or --force to replace it");
            return Err(Error::Run { path: path.to_path_buf(), problem });
        }
        let created = !path.exists();
        fs::create_dir_all(path).map_err(Error::file(path))?;
        let directory = Self { path: path.to_path_buf(), created };
        let probe = directory.partial("probe");
        File::create(&probe).and_then(|_| fs::remove_file(&probe)).map_err(Error::file(path))?;
        Ok(directory)
    }

    /// Whether `path` holds a whole run.
    pub(crate) fn is_finished(path: &Path) -> bool {
        path.join(SUMMARY).exists()
    }

    /// Whether `path` holds a run that has begun and has not ended.
    pub(crate) fn is_unfinished(path: &Path) -> bool {
        path.join(METRICS).exists() && !Self::is_finished(path)
    }

    /// The log of evaluations; the run that the directory held until now is given up when the first one is written.
    pub(crate) fn metrics_log(&self) -> MetricsLog {
        MetricsLog::new(self.path.join(METRICS), self.path.join(SUMMARY))
    }

    /// Writes the model and then the summary.
    ///
    /// # Errors
    /// A full disk or the like; nothing half-written has a final name then.
    pub(crate) fn finish(&self, trained: &Trained, summary: &Value) -> Result<(), Error> {
        let partial = self.partial(MODEL);
        let written =
            model::write(&partial, trained).and_then(|()| model::replace(&self.path.join(MODEL), &partial));
        if written.is_err() {
            let _ = fs::remove_dir_all(&partial); // the first error is the one to tell
        }
        written?;
        let partial = self.partial(SUMMARY);
        write_synced(&partial, |file| writeln!(file, "{summary:#}"))?;
        let path = self.path.join(SUMMARY);
        fs::rename(&partial, &path).map_err(Error::file(&path))?;
        sync_directory(&self.path)
    }

    /// The temporary name of something in the directory.
    fn partial(&self, name: &str) -> PathBuf {
        self.path.join(format!(".{name}.partial"))
    }
}

impl Drop for RunDirectory {
    /// A run that failed leaves no empty directory where there was none.
    fn drop(&mut self) {
        if self.created {
            let _ = fs::remove_dir(&self.path); // refuses a directory that holds anything
        }
    }
}

/// Writes a file and waits until the disk has it; removes it when that fails.
pub(crate) fn write_synced(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
) -> Result<(), Error> {
    let attempt = || {
        let mut file = BufWriter::new(File::create(path)?);
        write(&mut file)?;
        file.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()
    };
    attempt().map_err(|source| {
        let _ = fs::remove_file(path); // the first error is the one to tell
        Error::file(path)(source)
    })
}

/// Makes renames in a directory outlive a power cut.
pub(crate) fn sync_directory(path: &Path) -> Result<(), Error> {
    File::open(path).and_then(|directory| directory.sync_all()).map_err(Error::file(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finished_run_is_not_overwritten() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join(SUMMARY), "{}").unwrap();
        let error = RunDirectory::claim(directory.path(), false).err().expect("a refusal");
        assert!(error.to_string().ends_with("--force to replace it"), "{error}");
        assert!(RunDirectory::claim(directory.path(), true).is_ok());
    }

    #[test]
    fn a_failed_run_leaves_no_directory_behind() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("run");
        drop(RunDirectory::claim(&path, false).unwrap());
        assert!(!path.exists());
    }

    #[test]
    fn an_interrupted_write_has_no_final_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let full = |_: &mut BufWriter<File>| Err(std::io::Error::from(std::io::ErrorKind::StorageFull));
        assert!(write_synced(&path, full).is_err());
        assert!(!path.exists());
    }
}
