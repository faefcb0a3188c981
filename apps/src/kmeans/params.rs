//! The options of k-means: as written, then checked.

use crate::Error;
use crate::catalog::{OptionSpec, Request};
use crate::options::Options;
use crate::run::refuse;
use crate::{points, samples};

/// What `slackline train kmeans` can be told.
pub const OPTIONS: &[OptionSpec] = &[
    OptionSpec { name: "clusters", value: "K", default: "8", help: "clusters, 1 or more" },
    OptionSpec {
        name: "method",
        value: "full|batch",
        default: "full",
        help: "every row in every iteration (Lloyd), or mini-batches (Sculley)",
    },
    OptionSpec {
        name: "epochs",
        value: "N",
        default: "300, or 10 with --method batch",
        help: "passes over the rows at the most, 1 or more",
    },
    OptionSpec { name: "batch", value: "N", default: "1024", help: "rows of a mini-batch, 1 or more" },
    OptionSpec {
        name: "tol",
        value: "T",
        default: "1e-4, or 1e-3 with --method batch",
        help: "ends when the centres moved by less than T x mean variance of the columns, all squares summed; with --method \
               batch when a pass lowers the inertia by less than T of it, never with 0; 0 or more",
    },
    OptionSpec {
        name: "restarts",
        value: "N",
        default: "1",
        help: "runs from different seeds, of which the best is kept, 1 or more",
    },
    samples::INDEX_BASE,
    OptionSpec { default: "none", ..points::LABEL_COLUMN },
    OptionSpec {
        name: "parts",
        value: "N",
        default: "one a worker; with --method batch one a mini-batch",
        help: "parts of the rows, 1 or more",
    },
];

/// How rows are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// All rows in every iteration.
    Full,
    /// Mini-batches.
    Batch,
}

impl Method {
    /// As the option has it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Batch => "batch",
        }
    }

    /// The schedule of the method.
    pub(super) fn schedule(self) -> &'static str {
        match self {
            Self::Full => "fixed",
            Self::Batch => "shuffled",
        }
    }
}

/// Checked options.
#[derive(Debug, Clone, PartialEq)]
pub struct Params {
    /// Clusters.
    pub clusters: usize,
    /// How rows are taken.
    pub method: Method,
    /// Passes at the most.
    pub epochs: usize,
    /// Rows of a mini-batch.
    pub batch: usize,
    /// When to end.
    pub tolerance: f64,
    /// Runs from different seeds.
    pub restarts: usize,
    /// Parts where they are given.
    pub parts: Option<usize>,
    /// Workers.
    pub workers: usize,
}

impl Params {
    /// Checks the options of a request.
    ///
    /// # Errors
    /// [`Error::Option`] names the first bad value and its rule.
    pub fn parse(request: &Request) -> Result<Self, Error> {
        let options = Options(&request.options);
        let method = match options.text("method").unwrap_or("full") {
            "full" => Method::Full,
            "batch" => Method::Batch,
            other => return Err(refuse("method", other, "full or batch")),
        };
        let (epochs, tolerance) = if method == Method::Full { (300, 1e-4) } else { (10, 1e-3) };
        let restarts = options.count("restarts")?.unwrap_or(1);
        if restarts > 1 && (request.checkpoint.is_some() || request.seat.is_some()) {
            let rule = "1 in a cluster and with checkpoints, which belong to one run";
            return Err(refuse("restarts", &restarts.to_string(), rule));
        }
        Ok(Self {
            clusters: options.count("clusters")?.unwrap_or(8),
            method,
            epochs: options.count("epochs")?.unwrap_or(epochs),
            batch: options.count("batch")?.unwrap_or(1024),
            tolerance: options.penalty("tol")?.unwrap_or(tolerance),
            restarts,
            parts: options.count("parts")?,
            workers: request.workers.max(1),
        })
    }

    /// Into how many parts so many rows are cut: none of them is empty.
    pub fn n_parts(&self, n_rows: usize) -> usize {
        let own = if self.method == Method::Full { self.workers } else { n_rows.div_ceil(self.batch) };
        self.parts.unwrap_or(own).clamp(1, n_rows.max(1))
    }

    /// What must be the same for a run to go on from a checkpoint.
    pub(super) fn settings(&self) -> Vec<(&'static str, String)> {
        let parts = self.parts.map_or_else(|| "their default".to_owned(), |parts| parts.to_string());
        vec![
            ("clusters", self.clusters.to_string()),
            ("method", self.method.name().to_owned()),
            ("epochs", self.epochs.to_string()),
            ("batch", self.batch.to_string()),
            ("tol", self.tolerance.to_string()),
            ("parts", parts),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_given_has_its_default() {
        let params = Params::parse(&Request { workers: 3, ..Request::on("x") }).unwrap();
        assert_eq!((params.clusters, params.epochs, params.tolerance, params.restarts), (8, 300, 1e-4, 1));
        assert_eq!((params.n_parts(100), params.n_parts(2)), (3, 2));
        let batch = Params::parse(&Request::on("x").with("method", "batch").with("batch", 30)).unwrap();
        assert_eq!((batch.epochs, batch.tolerance, batch.n_parts(100)), (10, 1e-3, 4));
    }

    #[test]
    fn restarts_are_for_one_process() {
        use std::time::Duration;
        let checkpoint = crate::catalog::Checkpointing {
            directory: "x".into(),
            every: Duration::from_secs(1),
            resume: false,
        };
        let request = Request { checkpoint: Some(checkpoint), ..Request::on("x").with("restarts", 2) };
        let said = Params::parse(&request).unwrap_err().to_string();
        assert_eq!(
            said,
            "--restarts is 2, must be 1 in a cluster and with checkpoints, which belong to one run"
        );
    }
}
