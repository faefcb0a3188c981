//! `cluster.json`: where a launch that is under way can be found, and with which token.
//!
//! It lies in the run directory, and under the topology's name in a folder of this user, and is locked as long as the
//! launcher lives: a file without a lock was left behind by one that was killed.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::Error;

/// The file's name in a run directory.
pub(crate) const NAME: &str = "cluster.json";

/// A launch under way. It may hold the token: readable by its user alone, and never shown.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The cluster's name.
    pub(crate) cluster: String,
    /// The topology's file as it was given, and its text.
    pub(crate) file: String,
    pub(crate) text: String,
    /// Where the lead listens.
    pub(crate) lead: String,
    /// The launcher's process.
    pub(crate) launcher: u32,
    /// The nodes that it started.
    pub(crate) nodes: Vec<Entry>,
    /// The token that was made for this run; another comes from where the topology says.
    pub(crate) token: Option<String>,
}

/// A node of a launch.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) name: String,
    /// Its process on the launcher's machine: for a node over ssh, that of `ssh`.
    pub(crate) pid: u32,
}

/// What lies at a place.
pub(crate) enum Found {
    Nothing,
    /// Its launcher is gone.
    Stale(PathBuf, Box<Record>),
    Live(Box<Record>),
}

/// Looks at a file.
pub(crate) fn look(path: &Path) -> Found {
    let Ok(file) = File::open(path) else { return Found::Nothing };
    let Ok(record) =
        fs::read(path).map_err(drop).and_then(|text| serde_json::from_slice(&text).map_err(drop))
    else {
        return Found::Nothing;
    };
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Err(_) => Found::Live(Box::new(record)),
        Ok(()) => Found::Stale(path.to_path_buf(), Box::new(record)),
    }
}

/// The files of a launch; they are removed when this is dropped.
pub(super) struct Held {
    places: Vec<PathBuf>,
    /// Locked until they are closed.
    files: Vec<File>,
    /// A directory that was made for the record, and must not outlive it empty.
    made: Option<PathBuf>,
}

impl Held {
    /// The launch will be found in `out`, if it has one, and under the name of `topology`.
    ///
    /// # Errors
    /// Another launch is under way in `out`.
    pub(super) fn claim(topology: &Path, out: Option<&Path>) -> Result<Self, Error> {
        let mut places = Vec::new();
        if let Some(out) = out {
            let path = out.join(NAME);
            if let Found::Live(record) = look(&path) {
                let problem = format!(
                    "a launch is under way there (process {}); `slackline stop {}` stops it",
                    record.launcher,
                    out.display()
                );
                return Err(Error::Run { path: out.to_path_buf(), problem });
            }
            places.push(path);
        }
        let by_name = slot(topology).filter(|path| !matches!(look(path), Found::Live(_)));
        places.extend(by_name); // a second launch of the same file is found by its directory alone
        let made = out.filter(|out| !out.exists()).map(Path::to_path_buf);
        Ok(Self { places, files: Vec::new(), made })
    }

    /// Writes the record, or a newer one.
    pub(super) fn write(&mut self, record: &Record) {
        let mut files = Vec::new();
        for path in &self.places {
            match write_locked(path, record) {
                Ok(file) => files.push(file),
                Err(error) => {
                    tracing::warn!("{}: {error}; `slackline status` will not find it", path.display());
                }
            }
        }
        self.files = files;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if !self.files.is_empty() {
            self.places.iter().for_each(|path| drop(fs::remove_file(path)));
        }
        if let Some(made) = &self.made {
            let _ = fs::remove_dir(made); // refuses a directory that holds anything
        }
    }
}

/// A new file, locked before anyone can see it.
fn write_locked(path: &Path, record: &Record) -> std::io::Result<File> {
    let partial = path.with_extension("json.partial");
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let _ = fs::remove_file(&partial);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&partial)?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    serde_json::to_writer_pretty(&mut file, record)?;
    file.write_all(b"\n")?;
    fs::rename(&partial, path)?;
    Ok(file)
}

/// Where a launch of `topology` is found without knowing its run directory: in a folder that is this user's alone.
pub(crate) fn slot(topology: &Path) -> Option<PathBuf> {
    let whole = fs::canonicalize(topology).ok()?;
    let user = rustix::process::getuid().as_raw();
    let base = std::env::var_os("XDG_RUNTIME_DIR").filter(|base| !base.is_empty());
    let base = base.map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = base.join(format!("slackline-{user}"));
    match DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return None,
        _ => {}
    }
    let found = fs::symlink_metadata(&folder).ok()?;
    if !found.is_dir() || found.uid() != user || found.mode() & 0o077 != 0 {
        return None; // somebody else may have put it there
    }
    let mut hasher = DefaultHasher::new();
    whole.hash(&mut hasher);
    Some(folder.join(format!("{:016x}.json", hasher.finish())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        Record {
            cluster: "t".into(),
            file: "t.yaml".into(),
            text: String::new(),
            lead: "127.0.0.1:1".into(),
            launcher: std::process::id(),
            nodes: vec![Entry { name: "a".into(), pid: 1 }],
            token: Some("0123456789abcdef".into()),
        }
    }

    #[test]
    fn a_record_is_live_while_its_launcher_is_and_gone_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let (out, topology) = (folder.path().join("out"), folder.path().join("t.yaml"));
        let mut held = Held::claim(&topology, Some(&out)).unwrap();
        held.write(&record());
        let path = out.join(NAME);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert!(matches!(look(&path), Found::Live(record) if record.lead == "127.0.0.1:1"));
        let second = Held::claim(&topology, Some(&out)).err().expect("a refusal").to_string();
        assert!(
            second.contains("a launch is under way there") && second.contains("slackline stop"),
            "{second}"
        );
        held.write(&record());
        assert!(matches!(look(&path), Found::Live(_)), "a newer record is as live");
        held.files.clear(); // as the system does for a process that is killed
        assert!(matches!(look(&path), Found::Stale(..)));
        let mut next = Held::claim(&topology, Some(&out)).unwrap();
        next.write(&record());
        drop(next);
        assert!(!path.exists());
    }
}
