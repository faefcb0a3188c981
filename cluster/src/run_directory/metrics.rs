//! `metrics.jsonl`: one line per evaluation, written when it happens.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::PathBuf;

use serde_json::{Value, json};
use slackline_apps::catalog::Progress;

use crate::Error;

/// The growing file. Lines that a full disk refuses are kept and tried again with the next one, so that a run of
/// hours does not die of a minute without space.
pub(crate) struct MetricsLog {
    path: PathBuf,
    /// The summary of an older run in the same place, removed when this one starts to write.
    old_summary: PathBuf,
    file: Option<File>,
    /// How many bytes of the file are whole lines.
    good: u64,
    /// Lines that are not in the file yet.
    pending: Vec<u8>,
    warned: bool,
}

impl MetricsLog {
    pub(super) fn new(path: PathBuf, old_summary: PathBuf) -> Self {
        Self { path, old_summary, file: None, good: 0, pending: Vec::new(), warned: false }
    }

    /// Adds an evaluation.
    pub(crate) fn push(&mut self, progress: &Progress) {
        self.pending.extend_from_slice(format!("{}\n", progress_json(progress)).as_bytes());
        if let Err(error) = self.write_pending()
            && !self.warned
        {
            self.warned = true;
            tracing::warn!("{}: {error}; going on, and trying again", self.path.display());
        }
    }

    /// The run goes on from where it had only this history: what came after it did not count.
    pub(crate) fn go_back(&mut self, history: &[Progress]) {
        self.good = 0;
        self.pending.clear();
        if let Some(file) = &self.file {
            let _ = file.set_len(0); // what is left would be written over
        }
        history.iter().for_each(|progress| self.push(progress));
    }

    /// Writes what is pending and waits until the disk has it.
    ///
    /// # Errors
    /// The disk is still full.
    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        self.write_pending()
            .and_then(|()| self.file.as_ref().map_or(Ok(()), File::sync_all))
            .map_err(Error::file(&self.path))
    }

    fn write_pending(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => {
                remove_if_there(&self.old_summary)?;
                none.insert(File::create(&self.path)?)
            }
        };
        file.seek(SeekFrom::Start(self.good))?;
        if let Err(error) = file.write_all(&self.pending) {
            let _ = file.set_len(self.good); // no half lines; the first error is the one to tell
            return Err(error);
        }
        self.good += self.pending.len() as u64;
        self.pending.clear();
        Ok(())
    }
}

fn remove_if_there(path: &std::path::Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// An evaluation as `metrics.jsonl` has it.
pub(crate) fn progress_json(progress: &Progress) -> Value {
    let mut object = json!({
        "seconds": progress.seconds,
        "clock": progress.clock,
        "epoch": progress.epoch,
        "objective": progress.objective,
        "staleness": progress.staleness,
    });
    for (name, value) in &progress.metrics {
        object[name.as_str()] = (*value).into();
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_in_the_file_as_soon_as_they_are_pushed() {
        let directory = tempfile::tempdir().unwrap();
        let (path, old) = (directory.path().join("metrics.jsonl"), directory.path().join("summary.json"));
        fs::write(&old, "{}").unwrap();
        let mut log = MetricsLog::new(path.clone(), old.clone());
        assert!(old.exists());
        log.push(&Progress { clock: 1, metrics: vec![("gap".into(), 0.5)], ..Progress::default() });
        log.push(&Progress { clock: 2, ..Progress::default() });
        let text = fs::read_to_string(&path).unwrap();
        let first = r#"{"seconds":0.0,"clock":1,"epoch":0.0,"objective":0.0,"staleness":0,"gap":0.5}"#;
        assert_eq!(text.lines().next(), Some(first));
        assert_eq!(text.lines().count(), 2);
        assert!(!old.exists(), "the older run is given up");
    }

    #[test]
    fn what_a_run_went_back_behind_is_in_the_file_no_more() {
        let directory = tempfile::tempdir().unwrap();
        let (path, old) = (directory.path().join("metrics.jsonl"), directory.path().join("summary.json"));
        let mut log = MetricsLog::new(path.clone(), old);
        let at = |clock| Progress { clock, ..Progress::default() };
        (1..4).for_each(|clock| log.push(&at(clock)));
        log.go_back(&[at(1)]);
        log.push(&at(2));
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 2);
        log.go_back(&[]);
        assert_eq!(fs::read_to_string(&path).unwrap(), "");
    }

    #[test]
    fn lines_that_could_not_be_written_are_tried_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("later").join("metrics.jsonl");
        let mut log = MetricsLog::new(path.clone(), directory.path().join("summary.json"));
        log.push(&Progress::default());
        assert!(log.finish().is_err());
        fs::create_dir(directory.path().join("later")).unwrap();
        log.push(&Progress::default());
        log.finish().unwrap();
        assert_eq!(fs::read_to_string(path).unwrap().lines().count(), 2);
    }
}
