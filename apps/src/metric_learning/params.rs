//! The options of metric learning: as written, then checked.

use std::path::PathBuf;

use crate::Error;
use crate::catalog::{OptionSpec, Request};
use crate::options::Options;
use crate::run::refuse;
use crate::{points, samples};

/// What `slackline train dml` can be told.
pub const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        name: "rank",
        value: "K",
        default: "64, or all columns where they are fewer",
        help: "rows of the map, 1 to the number of columns",
    },
    OptionSpec {
        name: "pairs",
        value: "FILE",
        default: "drawn from the labels",
        help: "training pairs, `i j same` a line: two rows from 0, and 1 if they are similar, else 0",
    },
    OptionSpec {
        name: "test-pairs",
        value: "FILE",
        default: "drawn from the labels",
        help: "pairs to score on; rows of the test part, or of the training part where there is none",
    },
    OptionSpec {
        name: "n-pairs",
        value: "N",
        default: "200000",
        help: "training pairs drawn where no file has them, half of them similar, 2 or more",
    },
    OptionSpec {
        name: "lambda",
        value: "X",
        default: "60",
        help: "weight of dissimilar pairs, more than 0; more makes better neighbours, less better pairs",
    },
    OptionSpec {
        name: "margin",
        value: "X",
        default: "1",
        help: "squared distance that dissimilar pairs should have, more than 0",
    },
    OptionSpec { name: "epochs", value: "N", default: "5", help: "passes over the pairs, 1 or more" },
    OptionSpec { name: "batch", value: "N", default: "1000", help: "pairs of a mini-batch, 2 or more" },
    OptionSpec {
        name: "rate",
        value: "X",
        default: "1.5",
        help: "first step, in root mean squares of the numbers that the map begins with, more than 0",
    },
    OptionSpec {
        name: "standardise",
        value: "true|false",
        default: "true",
        help: "bring columns to mean 0 and deviation 1; sparse ones are only scaled, which makes the same distances",
    },
    OptionSpec {
        name: "baseline",
        value: "true|false",
        default: "true",
        help: "score the plain Euclidean distance too",
    },
    OptionSpec {
        name: "labels",
        value: "FILE",
        default: "",
        help: "labels of IDX, .npy or MatrixMarket rows: IDX, .npy, or one a line",
    },
    OptionSpec { name: "test-labels", value: "FILE", default: "", help: "those of the test part" },
    samples::INDEX_BASE,
    points::LABEL_COLUMN,
    OptionSpec {
        name: "parts",
        value: "N",
        default: "one a mini-batch",
        help: "parts of the pairs, in place of --batch, 1 or more",
    },
];

/// Checked options.
#[derive(Debug, Clone, PartialEq)]
pub struct Params {
    /// Rows of the map where they are given.
    pub rank: Option<usize>,
    /// The file of training pairs.
    pub pairs: Option<PathBuf>,
    /// The file of test pairs.
    pub test_pairs: Option<PathBuf>,
    /// Training pairs to draw.
    pub n_pairs: usize,
    /// Weight of dissimilar pairs.
    pub lambda: f64,
    /// Squared distance that dissimilar pairs should have.
    pub margin: f64,
    /// Passes.
    pub epochs: usize,
    /// Pairs of a mini-batch.
    pub batch: usize,
    /// First step.
    pub rate: f64,
    /// Whether columns are brought to one size.
    pub standardise: bool,
    /// Whether the plain distance is scored too.
    pub baseline: bool,
    /// The file of test labels.
    pub test_labels: Option<PathBuf>,
    /// Parts where they are given.
    pub parts: Option<usize>,
}

impl Params {
    /// Checks the options of a request.
    ///
    /// # Errors
    /// [`Error::Option`] names the first bad value and its rule.
    pub fn parse(request: &Request) -> Result<Self, Error> {
        let options = Options(&request.options);
        let file = |name: &str| options.text(name).map(PathBuf::from);
        let at_least_two = |name: &str, default: usize| match options.count(name)? {
            Some(n) if n < 2 => {
                Err(refuse(name, &n.to_string(), "2 or more: a similar pair and a dissimilar one"))
            }
            given => Ok(given.unwrap_or(default)),
        };
        Ok(Self {
            rank: options.count("rank")?,
            pairs: file("pairs"),
            test_pairs: file("test-pairs"),
            n_pairs: at_least_two("n-pairs", 200_000)?,
            lambda: options.positive("lambda")?.unwrap_or(60.0),
            margin: options.positive("margin")?.unwrap_or(1.0),
            epochs: options.count("epochs")?.unwrap_or(5),
            batch: at_least_two("batch", 1000)?,
            rate: options.positive("rate")?.unwrap_or(1.5),
            standardise: options.switch("standardise")?.unwrap_or(true),
            baseline: options.switch("baseline")?.unwrap_or(true),
            test_labels: file("test-labels"),
            parts: options.count("parts")?,
        })
    }

    /// Into how many parts so many pairs are cut.
    pub fn n_parts(&self, n_pairs: usize) -> usize {
        self.parts.unwrap_or(n_pairs.div_ceil(self.batch)).clamp(1, n_pairs.max(1))
    }

    /// The rank for so many columns.
    ///
    /// # Errors
    /// One above them.
    pub fn rank_of(&self, n_columns: usize) -> Result<usize, Error> {
        match self.rank {
            Some(rank) if rank > n_columns => {
                let rule = format!("{n_columns} or less, the columns of the data");
                Err(refuse("rank", &rank.to_string(), &rule))
            }
            given => Ok(given.unwrap_or(64.min(n_columns))),
        }
    }

    /// What must be the same for a run to go on from a checkpoint.
    pub(super) fn settings(&self) -> Vec<(&'static str, String)> {
        let name =
            |path: &Option<PathBuf>| path.as_ref().map_or(String::new(), |path| path.display().to_string());
        let number = |n: Option<usize>| n.map_or_else(|| "its default".to_owned(), |n| n.to_string());
        vec![
            ("rank", number(self.rank)),
            ("pairs", name(&self.pairs)),
            ("n-pairs", self.n_pairs.to_string()),
            ("lambda", self.lambda.to_string()),
            ("margin", self.margin.to_string()),
            ("epochs", self.epochs.to_string()),
            ("batch", self.batch.to_string()),
            ("rate", self.rate.to_string()),
            ("standardise", self.standardise.to_string()),
            ("parts", number(self.parts)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_given_has_its_default() {
        let params = Params::parse(&Request::on("x")).unwrap();
        assert_eq!((params.lambda, params.margin, params.epochs, params.batch), (60.0, 1.0, 5, 1000));
        assert_eq!((params.rank_of(784).unwrap(), params.rank_of(10).unwrap()), (64, 10));
        assert_eq!((params.n_parts(2_001), params.n_parts(0)), (3, 1));
    }

    #[test]
    fn a_rank_above_the_columns_and_a_pair_alone_are_refused() {
        let params = Params::parse(&Request::on("x").with("rank", 11)).unwrap();
        let said = params.rank_of(10).unwrap_err().to_string();
        assert_eq!(said, "--rank is 11, must be 10 or less, the columns of the data");
        let said = Params::parse(&Request::on("x").with("batch", 1)).unwrap_err().to_string();
        assert_eq!(said, "--batch is 1, must be 2 or more: a similar pair and a dissimilar one");
    }
}
