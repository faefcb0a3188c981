//! `model/`: arrays in NumPy's format, and text files for vocabularies and ids.

use std::fs;
use std::io::Write;
use std::path::Path;

use ndarray::ArrayD;
use ndarray_npy::{WritableElement, WriteNpyError, WriteNpyExt};
use slackline_apps::catalog::{Array, Trained};

use super::{sync_directory, write_synced};
use crate::Error;

/// Writes every array and text of the model into `directory`, which is made anew.
pub(super) fn write(directory: &Path, trained: &Trained) -> Result<(), Error> {
    remove(directory)?;
    fs::create_dir(directory).map_err(Error::file(directory))?;
    for (name, array) in &trained.arrays {
        let path = directory.join(format!("{name}.npy"));
        match array {
            Array::F32(array) => write_array(&path, array),
            Array::F64(array) => write_array(&path, array),
            Array::I32(array) => write_array(&path, array),
            Array::I64(array) => write_array(&path, array),
        }?;
    }
    for (name, lines) in &trained.texts {
        let name = if name.contains('.') { name.clone() } else { format!("{name}.txt") };
        write_synced(&directory.join(name), |file| {
            lines.iter().try_for_each(|line| writeln!(file, "{line}"))
        })?;
    }
    sync_directory(directory)
}

/// Puts the new model in the place of the old one.
pub(super) fn replace(old: &Path, new: &Path) -> Result<(), Error> {
    remove(old)?;
    fs::rename(new, old).map_err(Error::file(old))
}

fn remove(directory: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::file(directory)(error)),
        _ => Ok(()),
    }
}

/// Rows first (C order), whatever the order in memory.
fn write_array<T: WritableElement + Clone>(path: &Path, array: &ArrayD<T>) -> Result<(), Error> {
    write_synced(path, |file| {
        array.as_standard_layout().write_npy(file).map_err(|error| match error {
            WriteNpyError::Io(error) => error,
            other => std::io::Error::other(other),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, ShapeBuilder};

    #[test]
    fn arrays_are_written_in_c_order_and_can_be_read_back() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("model");
        let columns_first = Array2::from_shape_vec((2, 3).f(), vec![1.0, 4.0, 2.0, 5.0, 3.0, 6.0]).unwrap();
        let trained = Trained {
            arrays: vec![("w".into(), Array::F64(columns_first.clone().into_dyn()))],
            texts: vec![("vocab.txt".into(), vec!["a".into(), "b".into()])],
            ..Trained::default()
        };
        write(&path, &trained).unwrap();
        let bytes = fs::read(path.join("w.npy")).unwrap();
        assert_eq!(&bytes[..6], b"\x93NUMPY");
        let header = String::from_utf8_lossy(&bytes[..128]).into_owned();
        assert!(header.contains("'fortran_order': False") && header.contains("(2, 3)"), "{header}");
        let read: Array2<f64> = ndarray_npy::read_npy(path.join("w.npy")).unwrap();
        assert_eq!(read, columns_first);
        assert_eq!(fs::read_to_string(path.join("vocab.txt")).unwrap(), "a\nb\n");
    }
}
