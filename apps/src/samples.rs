//! What the apps that learn from labelled rows share: the options that say how to read them, and held-out rows.

use std::path::{Path, PathBuf};

use crate::Error;
use crate::catalog::{News, OptionSpec, Request, Watch};
use crate::data::{self, Csr, IndexBase, ReadOptions, Samples, text};
use crate::options::Options;
use crate::run::refuse;

/// How to read labelled rows.
pub const INDEX_BASE: OptionSpec = OptionSpec {
    name: "index-base",
    value: "auto|0|1",
    default: "auto",
    help: "the first column index of libsvm text; auto: 0 if the file has an index 0, else 1",
};

/// Where the labels of a MatrixMarket design are.
pub const LABELS: OptionSpec = OptionSpec {
    name: "labels",
    value: "FILE",
    default: "",
    help: "the labels of a MatrixMarket design: a MatrixMarket vector, or a number a line",
};

/// Largest number whose squares can be summed up over any file.
const LARGEST: f64 = 1e100;

/// The file in `model/` that says how columns were counted.
const BASE_FILE: &str = "index_base.txt";

/// Reads the training rows as the request says.
///
/// # Errors
/// Bad options, or a file that cannot be used.
pub fn read(request: &Request, watch: &Watch) -> Result<Samples, Error> {
    let options = Options(&request.options);
    let index_base = match options.text("index-base") {
        None | Some("auto") => IndexBase::Auto,
        Some("0") => IndexBase::Zero,
        Some("1") => IndexBase::One,
        Some(other) => return Err(refuse("index-base", other, "auto, 0 or 1")),
    };
    let labels = options.text("labels").map(PathBuf::from);
    if let Some(path) = labels.as_ref().filter(|path| !path.is_file()) {
        return Err(refuse("labels", &path.display().to_string(), "a file that exists"));
    }
    let options = ReadOptions { index_base, labels, ..ReadOptions::default() };
    let samples = data::read_samples(&request.data, &options, &watch.tell)?;
    let numbers = samples.features.data().iter().chain(&samples.labels);
    match numbers.copied().find(|number| number.abs() > LARGEST) {
        None => Ok(samples),
        Some(number) => Err(Error::Data {
            path: request.data.clone(),
            problem: format!(
                "has the number {number:e}, expected none beyond {LARGEST:e}, whose squares overflow: scale the columns"
            ),
        }),
    }
}

/// How the rows are read, as far as a run that goes on must read them the same.
pub fn settings(request: &Request) -> Vec<(&'static str, String)> {
    let given = |name: &'static str| Options(&request.options).text(name).map(|text| (name, text.to_owned()));
    let base = given(INDEX_BASE.name).unwrap_or((INDEX_BASE.name, INDEX_BASE.default.to_owned()));
    [Some(base), given(LABELS.name)].into_iter().flatten().collect()
}

/// Held-out rows for a model of `n_columns` columns; values in other columns are dropped and counted in what is told.
///
/// # Errors
/// A file that cannot be used.
pub fn read_held_out(
    path: &Path,
    index_base: IndexBase,
    n_columns: usize,
    tell: &(dyn Fn(News) + Sync),
) -> Result<Samples, Error> {
    let options =
        ReadOptions { index_base, n_columns: Some(n_columns), drop_beyond: true, ..ReadOptions::default() };
    data::read_samples(path, &options, tell)
}

/// New rows to predict, with labels or without, for a model of `n_columns` columns; values in other columns are dropped and
/// counted in what is told.
///
/// # Errors
/// A file that cannot be used.
pub fn read_new(
    path: &Path,
    index_base: IndexBase,
    n_columns: usize,
    tell: &(dyn Fn(News) + Sync),
) -> Result<Csr, Error> {
    let options = ReadOptions {
        index_base,
        n_columns: Some(n_columns),
        drop_beyond: true,
        unlabelled: true,
        ..ReadOptions::default()
    };
    Ok(data::read_samples(path, &options, tell)?.features)
}

/// How columns were counted, for `model/`.
pub fn base_text(base: IndexBase) -> (String, Vec<String>) {
    let first = if base == IndexBase::Zero { "0" } else { "1" };
    (BASE_FILE.to_owned(), vec![first.to_owned()])
}

/// How the columns of a model were counted.
///
/// # Errors
/// A folder that holds no model.
pub fn read_base(folder: &Path) -> Result<IndexBase, Error> {
    let lines = text::read_lines(&folder.join(BASE_FILE))?;
    Ok(if lines.first().is_some_and(|first| first == "0") { IndexBase::Zero } else { IndexBase::One })
}

/// X·w + b of every row.
pub fn scores(features: &Csr, weights: &[f64], intercept: f64) -> Vec<f64> {
    features.outer_iterator().map(|row| score(row, weights, intercept)).collect()
}

/// x·w + b of one row.
pub fn score(row: sprs::CsVecViewI<'_, f64, u32>, weights: &[f64], intercept: f64) -> f64 {
    let product = |(column, value): (usize, &f64)| weights.get(column).map_or(0.0, |weight| weight * value);
    intercept + row.iter().map(product).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_whose_square_overflows_is_refused_by_name() {
        let path = tempfile::NamedTempFile::new().expect("a temporary file").into_temp_path();
        std::fs::write(&path, "1 1:2 2:1e300\n2 1:1\n").expect("room for two lines");
        let error = read(&Request::on(&*path), &Watch::nobody()).expect_err("1e600 is no number").to_string();
        assert!(error.contains("has the number 1e300, expected none beyond 1e100"), "{error}");
    }
}
