//! What a command writes at length: to a file that is there whole or not at all, or to stdout.

use std::fs;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::Error;
use crate::run_directory::{sync_directory, write_synced};

/// Where it goes.
pub(crate) enum Output {
    /// Stdout. A reader that goes away is not an error.
    Stdout,
    /// A file. An older one stays as it was until the new one is whole.
    File(PathBuf),
}

impl Output {
    /// The file of this name.
    pub(crate) fn file(path: &Path) -> Self {
        Self::File(path.to_path_buf())
    }

    /// Has it written.
    ///
    /// # Errors
    /// A full disk or the like; nothing half-written has the final name then.
    pub(crate) fn write(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Error> {
        match self {
            Self::Stdout => stream(Path::new("stdout"), io::stdout().lock(), write),
            Self::File(path) => match fs::metadata(path) {
                Ok(found) if !found.is_file() => {
                    let pipe = fs::OpenOptions::new().write(true).open(path).map_err(Error::file(path))?;
                    stream(path, pipe, write)
                }
                Ok(_) => replace(&fs::canonicalize(path).map_err(Error::file(path))?, write), // not the link to it
                Err(_) => replace(path, write),
            },
        }
    }
}

/// Writes what cannot be put in the place of another: a pipe, a terminal, a device.
fn stream(
    name: &Path,
    to: impl Write,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Error> {
    let mut to = BufWriter::new(to);
    match write(&mut to).and_then(|()| to.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(Error::file(name)),
    }
}

fn replace(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Error> {
    let Some(name) = path.file_name() else {
        return Err(Error::file(path)(io::Error::from(ErrorKind::IsADirectory)));
    };
    let partial = path.with_file_name(format!(".{}.partial", name.to_string_lossy()));
    write_synced(&partial, |file| write(file)).map_err(|error| match error {
        Error::File { source, .. } => Error::file(path)(source), // people know it by its own name
        other => other,
    })?;
    fs::rename(&partial, path).map_err(Error::file(path))?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    sync_directory(folder.unwrap_or(Path::new(".")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_file_stays_until_the_new_one_is_whole() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("topics.html");
        let written = |text: &'static str| Output::file(&path).write(|file| file.write_all(text.as_bytes()));
        written("old").unwrap();
        let full = Output::file(&path).write(|file| {
            file.write_all(b"half")?;
            Err(ErrorKind::StorageFull.into())
        });
        assert_eq!(full.unwrap_err().sentence(), format!("{}: no storage space", path.display()));
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        written("new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "no temporary file is left");
    }

    #[test]
    fn a_link_stays_a_link_and_a_device_a_device() {
        let directory = tempfile::tempdir().unwrap();
        let (path, link) = (directory.path().join("file"), directory.path().join("link"));
        fs::write(&path, "old").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        Output::file(&link).write(|file| file.write_all(b"new")).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        Output::file(Path::new("/dev/null")).write(|file| file.write_all(b"gone")).unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        let full = Output::file(Path::new("/dev/full")).write(|file| file.write_all(b"too much"));
        assert!(full.unwrap_err().sentence().starts_with("/dev/full: No space left on device"));
    }
}
