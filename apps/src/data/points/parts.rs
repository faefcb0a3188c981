//! A training and a test part, in one directory with the names of MNIST's files.

use std::path::{Path, PathBuf};

use crate::Error;

/// The files of a training part and, where there is one, of a test part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    /// The training rows.
    pub data: PathBuf,
    /// Their labels, where they are in a file of their own.
    pub labels: Option<PathBuf>,
    /// The test rows.
    pub test: Option<PathBuf>,
    /// Their labels, where they are in a file of their own.
    pub test_labels: Option<PathBuf>,
}

/// The parts of `data`: the four files where it is a directory, else the file alone. What is given beside it goes before
/// what is found.
///
/// # Errors
/// A directory that cannot be read or holds no `train-images…`.
pub fn find_parts(data: &Path, labels: Option<&Path>, test: Option<&Path>) -> Result<Parts, Error> {
    let given = |path: Option<&Path>| path.map(Path::to_path_buf);
    if !data.is_dir() {
        let (data, labels, test) = (data.to_path_buf(), given(labels), given(test));
        return Ok(Parts { data, labels, test, test_labels: None });
    }
    let file_error = |source| Error::File { path: data.to_path_buf(), source };
    let entries = std::fs::read_dir(data).map_err(file_error)?;
    let mut names: Vec<PathBuf> =
        entries.map(|entry| Ok(entry?.path())).collect::<Result<_, _>>().map_err(file_error)?;
    names.sort_unstable();
    let find = |starts: &[&str]| {
        let starts_so = |path: &&PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            starts.iter().any(|start| name.starts_with(start))
        };
        names.iter().find(starts_so).cloned()
    };
    let train = find(&["train-images"]).ok_or_else(|| Error::Data {
        path: data.to_path_buf(),
        problem:
            "a directory without train-images…, expected a file, or the files train-images…, train-labels…, \
                  t10k-images… and t10k-labels…"
                .to_owned(),
    })?;
    let (found, found_labels) =
        (find(&["t10k-images", "test-images"]), find(&["t10k-labels", "test-labels"]));
    Ok(Parts {
        data: train,
        labels: given(labels).or_else(|| find(&["train-labels"])),
        test_labels: found_labels.filter(|_| test.is_none()),
        test: given(test).or(found),
    })
}

/// The file of labels beside a file of images, by MNIST's names, where there is one.
pub(super) fn labels_beside(images: &Path) -> Option<PathBuf> {
    let name = images.file_name()?.to_str()?;
    let labels = name.replace("images-idx3", "labels-idx1");
    let path = images.with_file_name(&labels);
    (labels != name && path.is_file()).then_some(path)
}
