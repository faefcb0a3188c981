//! Points: rows of single precision, dense or sparse, with or without labels; what nets, metrics and clusters learn from.
//!
//! | file | what is taken from it |
//! |---|---|
//! | IDX (MNIST's format) of rank 2 or more | one row per first index, all others flattened; unsigned bytes as value / 255, other numbers as they are |
//! | CSV, or numbers between tabs, semicolons or spaces | all columns but that of the label; a header is told by its words |
//! | NumPy `.npy` of rank 2 or more | as IDX, but every number as it is |
//! | libsvm text, MatrixMarket | sparse rows |
//!
//! What a file is shows in its content, plain, gzip or zstd. Sparse rows of which a quarter or more is there become dense.
//! Labels are those of the rows (CSV, libsvm) or come from a file of their own: IDX or `.npy` of rank 1, a MatrixMarket vector,
//! or one a line. A directory with the four files of MNIST's names is a training and a test part ([`find_parts`]).
//!
//! ```
//! use slackline_apps::data::points::{Labels, PointsOptions, Wanted, read_points};
//! # let path = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/data/mushrooms.test.svm.zst"));
//!
//! let options = PointsOptions { wanted: Wanted::Classes, ..PointsOptions::default() };
//! let mushrooms = read_points(path, &options, &|_news| {})?;
//! assert_eq!((mushrooms.features.n_rows(), mushrooms.features.n_columns()), (1_611, 126));
//! let Some(Labels::Classes { names, of }) = mushrooms.labels else { panic!("these have classes") };
//! assert_eq!((names, of.len()), (vec!["-1".to_owned(), "1".to_owned()], 1_611));
//! # Ok::<(), slackline_apps::Error>(())
//! ```

mod array;
mod features;
mod fields;
mod idx;
mod labels;
mod parts;
mod sparse;
mod standard;
mod table;

use std::path::{Path, PathBuf};
use std::str::FromStr;

pub use features::{Features, Sparse};
pub use labels::Labels;
pub use parts::{Parts, find_parts};
pub use standard::Standard;

use super::IndexBase;
use super::facts::grouped;
use super::matrix_market::BANNER;
use super::source::Source;
use crate::catalog::News;
use crate::{Error, run};
use labels::Raw;

#[cfg(test)]
mod tests;

/// Rows and what is known of each.
#[derive(Debug, Clone, PartialEq)]
pub struct Points {
    /// The rows: finite numbers.
    pub features: Features,
    /// One a row; absent where none were wanted, or the data came without.
    pub labels: Option<Labels>,
    /// How the columns of libsvm text were counted, `Zero` or `One`: a held-out file is read the same way.
    pub index_base: IndexBase,
    /// What the numbers of the file were multiplied by: 1/255 for the bytes of IDX, else 1.
    pub unit: f32,
}

/// How to read points.
#[derive(Debug, Clone, Default)]
pub struct PointsOptions {
    /// A file of the labels, one a row.
    pub labels: Option<PathBuf>,
    /// Which labels the reader needs.
    pub wanted: Wanted,
    /// The names of the classes where they are known: those of the model, for held-out data.
    pub classes: Option<Vec<String>>,
    /// The number of the first column in libsvm text.
    pub index_base: IndexBase,
    /// Where in the lines of a table the label is.
    pub label_column: LabelColumn,
    /// Columns where they are known, such as those of the model: sparse values beyond are dropped and counted, dense rows of
    /// another length are refused.
    pub n_columns: Option<usize>,
    /// Whether rows may come without labels, as new data do.
    pub unlabelled: bool,
    /// How many threads parse; 0 is one for each core.
    pub threads: usize,
}

/// Which labels are needed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Wanted {
    /// None: those of the file are not looked at.
    #[default]
    Nothing,
    /// Classes by name.
    Classes,
    /// Finite numbers.
    Numbers,
}

/// Where in the lines of a table the label is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum LabelColumn {
    /// In the first column.
    #[default]
    First,
    /// In the last column.
    Last,
    /// In the column of this name in the header.
    Named(String),
    /// The lines have no label.
    None,
}

impl FromStr for LabelColumn {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "first" => Self::First,
            "last" => Self::Last,
            "none" => Self::None,
            name => Self::Named(name.to_owned()),
        })
    }
}

/// What a reader of one format hands over.
struct Read {
    format: &'static str,
    features: Features,
    labels: Option<Raw>,
    index_base: IndexBase,
    unit: f32,
    /// More to say about the file, such as values dropped.
    more: String,
}

/// Reads points and, where wanted, their labels.
///
/// Tells [`News::Loading`] while it reads text and one [`News::Fact`] at the end, from this thread.
///
/// # Errors
/// A file that cannot be read or holds no rows; a number that is missing or not finite, named by its row or line and column;
/// rows of different lengths; labels that are missing or not as many as rows.
pub fn read_points(
    path: &Path,
    options: &PointsOptions,
    tell: &(dyn Fn(News) + Sync),
) -> Result<Points, Error> {
    let mut source = Source::open_any(path)?;
    let packed = source.compression();
    let mut read = if idx::is_idx(source.head()) {
        idx::read(source)?
    } else if array::is_npy(source.head()) {
        array::read(source)?
    } else {
        source.look_at_head()?;
        if source.starts_with(BANNER) || fields::looks_like_libsvm(source.head()) {
            sparse::read(source, options, tell)?
        } else {
            table::read(source, options, tell)?
        }
    };
    if let (LabelColumn::Named(name), true) = (&options.label_column, read.format != table::FORMAT) {
        let rule = format!("first, last or none: columns of {} data have no names", read.format);
        return Err(run::refuse("label-column", name, &rule));
    }
    let (n_rows, n_columns) = (read.features.n_rows(), read.features.n_columns());
    let refuse = |problem| Error::Data { path: path.to_path_buf(), problem };
    if n_rows == 0 || n_columns == 0 {
        return Err(refuse(format!("{n_rows} rows of {n_columns} columns, expected some of both")));
    }
    if let Some(expected) = options.n_columns.filter(|expected| *expected != n_columns) {
        let problem = format!(
            "{n_columns} columns of features, expected {expected}; is this the data of another model, or is the label in \
             another column?"
        );
        return Err(refuse(problem));
    }
    let labels = label(path, options, &mut read)?;
    let packed = match packed {
        super::Compression::None => String::new(),
        packed => format!(", {packed}"),
    };
    let (rows, columns) = (grouped(n_rows as u64), grouped(n_columns as u64));
    let layout = if matches!(read.features, Features::Dense(_)) { "dense" } else { "sparse" };
    let labelled = labels.as_ref().map_or(String::new(), |labels| format!(", {labels}"));
    let Read { format, more, .. } = &read;
    tell(News::Fact(format!("{format}{packed}, {rows} rows x {columns} columns, {layout}{labelled}{more}")));
    Ok(Points { features: read.features, labels, index_base: read.index_base, unit: read.unit })
}

/// The labels of what was read: those of a file of their own before those of the rows.
fn label(path: &Path, options: &PointsOptions, read: &mut Read) -> Result<Option<Labels>, Error> {
    let beside =
        options.labels.clone().or_else(|| parts::labels_beside(path).filter(|_| read.labels.is_none()));
    if options.wanted == Wanted::Nothing {
        return Ok(None);
    }
    let (from, raw) = match beside {
        Some(file) => {
            if read.labels.is_some() {
                let problem =
                    format!("holds labels of its own; leave out the file of labels {}", file.display());
                return Err(Error::Data { path: path.to_path_buf(), problem });
            }
            let raw = labels::read(&file, read.features.n_rows(), options)?;
            (file, Some(raw))
        }
        None => (path.to_path_buf(), read.labels.take()),
    };
    match raw {
        Some(raw) => Ok(Some(raw.finish(options, &from)?)),
        None if options.unlabelled => Ok(None),
        None => {
            let problem =
                "holds no labels; --labels names the file that does, for held-out data --test-labels, and \
                           --label-column the column of a table"
                    .to_owned();
            Err(Error::Data { path: path.to_path_buf(), problem })
        }
    }
}
