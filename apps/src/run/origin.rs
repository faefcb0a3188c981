//! Where a run begins: at the beginning, or at a checkpoint of the same job.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use slackline::checkpoint::{Checkpoint, CheckpointError, Directory};
use slackline::{Consistency, Job};

use crate::Error;
use crate::catalog::{Checkpointing, News, Request, Watch};

/// Bytes at the beginning and at the end of a data file that tell it from others of its length.
const SAMPLE: u64 = 64 * 1024;

/// Where a run begins, and what must be the same for another to go on from its checkpoints.
#[derive(Debug, Default)]
pub struct Origin {
    checkpoint: Option<Checkpoint>,
    settings: BTreeMap<String, String>,
}

impl Origin {
    /// Finds the newest whole checkpoint where the request asks to go on; tells which were passed over, or that there
    /// is none yet.
    ///
    /// # Errors
    /// There are checkpoints, but none is whole.
    pub fn find(request: &Request, watch: &Watch) -> Result<Self, Error> {
        let Some(Checkpointing { directory, resume: true, .. }) = &request.checkpoint else {
            return Ok(Self::default());
        };
        let refuse = |error: CheckpointError| Error::Run(error.to_string());
        let newest = Directory::newest(directory).map_err(refuse)?;
        if newest.checkpoint.is_none() {
            let Some(first) = newest.refused.into_iter().next() else {
                let what =
                    format!("no checkpoint in {} yet: starting from the beginning", directory.display());
                (watch.tell)(News::Fact(what));
                return Ok(Self::default());
            };
            return Err(refuse(first));
        }
        newest.refused.iter().for_each(|why| (watch.tell)(News::Warning(format!("passed over: {why}"))));
        Ok(Self { checkpoint: newest.checkpoint, settings: BTreeMap::new() })
    }

    /// The request with those of `options` that it does not give as the checkpoint has them: options whose default
    /// depends on the number of workers, which may be another one now.
    pub fn inherit(&self, request: &Request, options: &[&str]) -> Request {
        let mut request = request.clone();
        let Some(checkpoint) = &self.checkpoint else { return request };
        for name in options {
            if let Some(value) = checkpoint.fingerprint.settings.get(*name) {
                request.options.entry((*name).to_owned()).or_insert_with(|| value.clone());
            }
        }
        request
    }

    /// Says what must be the same for a run to go on: the app's settings, and the data, told by its name, its length and
    /// a sample.
    ///
    /// # Errors
    /// The checkpoint was made with others; the data cannot be read.
    pub fn settle(
        mut self,
        (job, consistency): (&str, Consistency),
        request: &Request,
        settings: impl IntoIterator<Item = (&'static str, String)>,
    ) -> Result<Self, Error> {
        self.settings = settings.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        if request.checkpoint.is_some() || request.seat.is_some() {
            self.settings.insert("data".to_owned(), describe(&request.data)?);
        }
        let Some(checkpoint) = &self.checkpoint else { return Ok(self) };
        let mut now = checkpoint.fingerprint.clone(); // with its tables: those of the job are not known yet
        (now.job, now.settings) = (job.to_owned(), self.settings.clone());
        (now.seed, now.consistency) = (request.seed, consistency.to_string());
        match checkpoint.fingerprint.difference(&now) {
            Some(difference) => Err(Error::Run(format!("{}: {difference}", checkpoint.path.display()))),
            None => Ok(self),
        }
    }

    /// Gives a job what it goes on from, and where its own checkpoints go.
    pub(super) fn set(self, job: Job, request: &Request) -> Job {
        let job = job.settings(self.settings);
        let job = match self.checkpoint {
            Some(checkpoint) => job.resume(checkpoint),
            None => job,
        };
        match &request.checkpoint {
            Some(Checkpointing { directory, every, .. }) => job.checkpoint(directory, *every),
            None => job,
        }
    }
}

/// What tells a data file from others: `train.svm, 1234 bytes, 89abcdef`.
fn describe(path: &Path) -> Result<String, Error> {
    let attempt = || {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        let mut hasher = crc32fast::Hasher::new();
        let mut sample = Vec::new();
        for start in [0, length.saturating_sub(SAMPLE)] {
            file.seek(SeekFrom::Start(start))?;
            sample.clear();
            file.by_ref().take(SAMPLE).read_to_end(&mut sample)?;
            hasher.update(&sample);
        }
        Ok((length, hasher.finalize()))
    };
    let (length, sample) = attempt().map_err(|source| Error::File { path: path.to_path_buf(), source })?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Ok(format!("{name}, {length} bytes, {sample:08x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_file_is_told_by_its_name_its_length_and_what_is_in_it() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            describe(&path).unwrap()
        };
        let first = write("a", "1 1:2\n");
        assert!(first.starts_with("a, 6 bytes, "), "{first}");
        assert_ne!(first, write("a", "1 1:3\n"));
        assert_ne!(first, write("b", "1 1:2\n"));
        assert_eq!(first, write("a", "1 1:2\n"));
    }
}
