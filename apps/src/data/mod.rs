//! Data files: what practitioners have, read as it is, fast, and refused with file, line and reason where it is wrong.
//!
//! | file | reader |
//! |---|---|
//! | libsvm (svmlight) text, MatrixMarket | [`read_samples`]: a sparse matrix of samples and their labels |
//! | `user item rating` text, MatrixMarket | [`read_ratings`], and [`read_ratings_with`] for held-out data |
//! | UCI bag of words, LDA-C, libsvm counts, MatrixMarket, plain text | [`corpus`]: documents as counts of words |
//! | `user item` text, with or without ratings | [`read_pairs`]: what to predict |
//! | IDX, CSV, libsvm, MatrixMarket, NumPy arrays | [`points`]: rows in single precision, dense or sparse |
//! | `row row same` text | [`read_row_pairs`]: pairs of rows that are similar or not |
//! | NumPy arrays | [`npy`] |
//! | lists of names, a line each | [`text`] |
//!
//! Text files may be plain, gzip or zstd; what they are is told by their content. Files are read in chunks, parsed on
//! all cores and put together in order, so that the result does not depend on the number of threads and memory is that of
//! the result and a few megabytes.
//!
//! ```
//! use slackline_apps::data::{ReadOptions, read_samples};
//! # let path = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/data/diabetes.svm"));
//!
//! let diabetes = read_samples(path, &ReadOptions::default(), &|_news| {})?;
//! assert_eq!((diabetes.features.rows(), diabetes.features.cols()), (442, 10));
//! println!("{}", diabetes.facts); // libsvm, 1-based, 442 rows x 10 columns, 4,420 non-zeros, …
//! # Ok::<(), slackline_apps::Error>(())
//! ```

use std::path::{Path, PathBuf};

use crate::Error;
use crate::catalog::News;

pub mod corpus;
mod facts;
mod ids;
mod libsvm;
mod matrix_market;
mod names;
pub mod npy;
mod pipeline;
pub mod points;
mod ratings;
mod row_pairs;
mod rows;
mod scan;
mod source;
pub mod text;

pub use corpus::Corpus;
pub use facts::{Compression, Facts, Format, LabelSet, grouped};
pub use ids::Ids;
pub use ratings::{
    HeldOutRatings, Pairs, RatingFacts, Ratings, Separator, read_pairs, read_ratings, read_ratings_with,
};
pub use row_pairs::read_row_pairs;

#[cfg(test)]
mod tests;

/// Sparse rows: samples x columns, columns ascending in each row, no stored zeros.
pub type Csr = sprs::CsMatI<f64, u32, usize>;

/// Samples for supervised learning.
#[derive(Debug, Clone)]
pub struct Samples {
    /// The samples: rows x columns.
    pub features: Csr,
    /// One label a row, finite.
    pub labels: Vec<f64>,
    /// What was found in the file.
    pub facts: Facts,
}

/// The number of the first column in a libsvm file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum IndexBase {
    /// 0 if a column 0 occurs anywhere in the file, else 1.
    #[default]
    Auto,
    /// Columns count from 0.
    Zero,
    /// Columns count from 1, a column 0 is an error.
    One,
}

/// How to read samples.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// The number of the first column; for a test file, [`Facts::index_base`] of its training file.
    pub index_base: IndexBase,
    /// The number of columns where it is known, such as that of the model; else as many as the file has.
    pub n_columns: Option<usize>,
    /// Whether values in columns beyond `n_columns` are dropped and counted instead of being an error.
    pub drop_beyond: bool,
    /// The labels of a MatrixMarket design: a MatrixMarket vector, or one number a line.
    pub labels: Option<PathBuf>,
    /// Whether a row may come without a label, as new data do: its label is then 0.
    pub unlabelled: bool,
    /// How many threads parse; 0 is one for each core.
    pub threads: usize,
}

/// Reads samples and labels from libsvm text, or from MatrixMarket with the labels beside it.
///
/// Tells [`News::Loading`] while it reads and one [`News::Fact`] at the end, from this thread.
///
/// # Errors
/// A file that cannot be read, a line that is not what the format asks for, or a file without samples.
pub fn read_samples(
    path: &Path,
    options: &ReadOptions,
    tell: &(dyn Fn(News) + Sync),
) -> Result<Samples, Error> {
    let samples = samples_of(source::Source::open(path)?, options, tell)?;
    tell(News::Fact(samples.facts.to_string()));
    Ok(samples)
}

/// The samples of an open file.
fn samples_of(
    source: source::Source,
    options: &ReadOptions,
    tell: &(dyn Fn(News) + Sync),
) -> Result<Samples, Error> {
    if source.starts_with(matrix_market::BANNER) {
        matrix_market::read_samples(source, options, tell)
    } else {
        libsvm::read(source, options, tell)
    }
}
