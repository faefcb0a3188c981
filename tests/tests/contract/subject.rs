//! What each app is tested on: small shipped data, the objective of its serial reference, and how near is near.

mod clusters;
mod metric;
mod nets;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use slackline_apps::catalog::Request;
use slackline_apps::data::{ReadOptions, Samples, read_samples};
use slackline_apps::descent::columns::split;
use slackline_apps::descent::guide::{Penalties, Plan, Reach};
use slackline_apps::descent::serial::{Descent, fit};

/// One case of the contract.
pub(crate) struct Subject {
    /// For the log.
    pub(crate) what: &'static str,
    /// Small data that ships, or is made here.
    data: PathBuf,
    /// Held-out data; may be the same.
    test: PathBuf,
    /// A file with the fewest rows that can be trained on.
    one_sample: &'static str,
    /// Options that make it quick and its objective well defined.
    options: &'static [(&'static str, &'static str)],
    /// Options that make a run too long to end before it is stopped.
    long: &'static [(&'static str, &'static str)],
    /// The objective by a plain loop, on a request with its `seed` and `options`, such as `parts` (read them from there).
    serial: fn(&Request) -> f64,
    /// How far an objective may be from the serial one, relative to it.
    pub(crate) tolerance: f64,
    /// The schedules of the app.
    pub(crate) schedules: &'static [&'static str],
    /// More parts than there are samples or columns.
    pub(crate) many: usize,
    /// A metric of `evaluate` and the same of training.
    pub(crate) test_metric: (&'static str, &'static str),
}

/// The cases of an app.
pub(crate) fn of(app: &str) -> Vec<Subject> {
    match app {
        "lasso" => vec![lasso_dense(), lasso_sparse()],
        "logistic" => vec![two_classes(), many_classes()],
        "mf" => vec![mf(), mf_by_least_squares(), mf_of_choices()],
        "lda" => vec![topics(), topics_by_inference()],
        "kmeans" => vec![clusters::by_all_rows(), clusters::by_batches()],
        "dml" => vec![metric::from_labels()],
        "mlp" => vec![nets::digits()],
        other => panic!("{other} is in the catalog and not in the contract: say here what it is tested on"),
    }
}

impl Subject {
    /// The case with one worker and the app's own consistency and schedule.
    pub(crate) fn request(&self) -> Request {
        self.options.iter().fold(Request::on(&self.data), |request, (name, value)| request.with(name, value))
    }

    /// A run that goes on until it is stopped.
    pub(crate) fn long(&self) -> Request {
        self.long.iter().fold(self.request(), |request, (name, value)| request.with(name, value))
    }

    /// The objective of the serial reference on a request.
    pub(crate) fn serial(&self, request: &Request) -> f64 {
        (self.serial)(request)
    }

    /// Held-out data.
    pub(crate) fn test(&self) -> PathBuf {
        self.test.clone()
    }

    /// A data file of one sample.
    pub(crate) fn one_sample(&self) -> PathBuf {
        made(&format!("one-sample-{}.txt", self.what.replace(' ', "-")), self.one_sample)
    }
}

fn shipped(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../apps/data").join(name)
}

fn lasso_dense() -> Subject {
    Subject {
        what: "dense columns",
        data: shipped("diabetes.svm"),
        test: shipped("diabetes.svm"),
        one_sample: "2.5 1:1 3:-0.5\n",
        options: &[("lambda", "2")],
        long: &[("path", "100000"), ("lambda", "1e-3")],
        serial: |request| fit_lasso(request, 2.0),
        tolerance: 2e-6,
        schedules: &["priority", "dependency"],
        many: 20,
        test_metric: ("r2", "test_r2"),
    }
}

fn lasso_sparse() -> Subject {
    Subject {
        what: "sparse columns",
        data: shipped("a9a.test.svm.zst"),
        test: shipped("a9a.test.svm.zst"),
        options: &[("lambda", "0.003")],
        serial: |request| fit_lasso(request, 0.003),
        ..lasso_dense()
    }
}

fn fit_lasso(request: &Request, lambda: f64) -> f64 {
    use slackline_apps::lasso::solver::{Problem, Worker};
    let Samples { features, labels, .. } = samples(request);
    let problem = Problem::new(split(features, 1), labels, true, false);
    serial_objective(&mut Worker::new(problem), lambda)
}

fn two_classes() -> Subject {
    Subject {
        what: "two classes",
        data: shipped("mushrooms.train.svm.zst"),
        test: shipped("mushrooms.test.svm.zst"),
        one_sample: "1 1:1 3:-0.5\n-1 1:1\n",
        options: &[("l1", "0.001")],
        long: &[("l1", "1e-7"), ("tol", "1e-12")],
        serial: |request| {
            use slackline_apps::logistic::solver::{Problem, Worker};
            let Samples { features, labels, .. } = samples(request);
            let problem = Problem::new(split(features, 1), labels, true).expect("labels are -1 and 1");
            serial_objective(&mut Worker::new(problem), 0.001)
        },
        tolerance: 2e-6,
        schedules: &["priority", "dependency"],
        many: 200,
        test_metric: ("log_loss", "test_log_loss"),
    }
}

fn many_classes() -> Subject {
    Subject {
        what: "many classes",
        data: three_classes(),
        test: three_classes(),
        one_sample: "1 1:1 3:-0.5\n2 1:1\n3 2:1\n",
        options: &[("l1", "0"), ("l2", "0.01"), ("parts", "12")],
        long: &[("epochs", "1000000")],
        serial: |request| {
            use slackline_apps::logistic::softmax::{
                Cut, Scaling, Softmax, cut, default_rate, serial::Serial,
            };
            let Samples { features, labels, .. } = samples(request);
            let labels: Vec<u32> = labels.iter().map(|label| *label as u32 - 1).collect();
            let scaling = Scaling::of(&features, true);
            let density = features.nnz() as f64 / (features.rows() * features.cols()) as f64;
            let softmax =
                Softmax { classes: 3, l1: 0.0, l2: 0.01, rate: default_rate(density), in_flight: 0 };
            let of = slackline_apps::logistic::softmax::Samples { features: &features, labels: &labels };
            let parts: usize = request.options["parts"].parse().expect("a number");
            let size = labels.len().div_ceil(parts);
            let batches =
                cut(&of, &scaling, Cut { size, intercept: true, seed: request.seed }).expect("samples");
            let mut serial = Serial::new(softmax, scaling);
            for _ in 0..20 {
                serial.pass(&batches);
            }
            serial.objective(&batches)
        },
        tolerance: 0.02,
        schedules: &["shuffled", "fixed"],
        many: 400,
        test_metric: ("accuracy", "test_accuracy"),
    }
}

/// The diabetes patients in three classes by how far the disease went.
fn three_classes() -> PathBuf {
    let text = std::fs::read_to_string(shipped("diabetes.svm")).expect("shipped data");
    let class = |target: f64| if target < 100.0 { 1 } else { 2 + u8::from(target > 200.0) };
    let line = |line: &str| {
        let (target, features) = line.split_once(' ').expect("a label, then columns");
        format!("{} {features}\n", class(target.parse().expect("a number")))
    };
    made("three-classes.svm", &text.lines().map(line).collect::<String>())
}

/// A file of this text. Written once: tests run at the same time, and none must see a part of it.
fn made(name: &str, text: &str) -> PathBuf {
    static MADE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if made.insert(path.clone()) {
        std::fs::write(&path, text).expect("the target folder can be written");
    }
    path
}

fn samples(request: &Request) -> Samples {
    read_samples(&request.data, &ReadOptions::default(), &|_| {}).expect("good data")
}

fn serial_objective(app: &mut impl Descent, lambda: f64) -> f64 {
    let plan = Plan {
        penalties: Penalties::Given(vec![lambda]),
        ridge: 0.0,
        tolerance: 1e-6,
        max_sweeps: 1000,
        reach: Reach::Pooled,
    };
    fit(app, plan).steps[0].objective
}

fn mf() -> Subject {
    Subject {
        what: "ratings",
        data: shipped("ratings.train.tsv"),
        test: shipped("ratings.test.tsv"),
        one_sample: "1\t1\t3.5\n",
        options: &[("rank", "4"), ("epochs", "30")],
        long: &[("epochs", "1000000")],
        serial: |request| {
            use slackline_apps::data::read_ratings;
            use slackline_apps::matrix_factorization::{cells::Triples, params::Params, serial::Serial};
            let ratings = read_ratings(&request.data, &|_| {}).expect("shipped data");
            let triples = Triples { users: &ratings.users, items: &ratings.items, values: &ratings.values };
            let params = Params::parse(&request.options, request.workers).expect("good options");
            let epochs = params.epochs;
            let shape = (ratings.user_ids.len(), ratings.item_ids.len());
            let mut serial = Serial::new(&triples, shape, params, request.seed).expect("good ratings");
            for _ in 0..epochs {
                serial.pass().expect("it converges");
            }
            serial.score().objective()
        },
        tolerance: 0.02,
        schedules: &["rotation"],
        many: 200,
        test_metric: ("rmse", "test_rmse"),
    }
}

fn mf_by_least_squares() -> Subject {
    Subject {
        what: "ratings, by alternating least squares",
        options: &[("method", "als"), ("rank", "4"), ("epochs", "30")],
        serial: serial_least_squares,
        schedules: &["phases"],
        ..mf()
    }
}

fn mf_of_choices() -> Subject {
    Subject {
        what: "choices, by alternating least squares",
        options: &[("method", "als"), ("implicit", "true"), ("rank", "4"), ("epochs", "30")],
        test_metric: ("ndcg_at_10", "test_ndcg_at_10"),
        ..mf_by_least_squares()
    }
}

fn serial_least_squares(request: &Request) -> f64 {
    use slackline_apps::data::read_ratings;
    use slackline_apps::matrix_factorization::als::{params::Params, serial::Serial};
    use slackline_apps::matrix_factorization::cells::Triples;
    let ratings = read_ratings(&request.data, &|_| {}).expect("shipped data");
    let triples = Triples { users: &ratings.users, items: &ratings.items, values: &ratings.values };
    let params = Params::parse(&request.options).expect("good options");
    let epochs = params.epochs;
    let shape = (ratings.user_ids.len(), ratings.item_ids.len());
    let mut serial = Serial::new(&triples, shape, params, request.seed).expect("good ratings");
    (0..epochs).for_each(|_| serial.pass());
    serial.score().objective()
}

fn topics() -> Subject {
    Subject {
        what: "documents",
        data: shipped("manuals.train.txt.zst"),
        test: shipped("manuals.test.txt.zst"),
        one_sample: "1\n3\n2\n1 1 2\n1 3 1\n",
        options: &[("topics", "12"), ("sweeps", "60")],
        long: &[("sweeps", "1000000")],
        serial: |request| {
            use slackline_apps::data::corpus::{CorpusOptions, read_corpus};
            use slackline_apps::kernel::gibbs::Priors;
            use slackline_apps::lda::{gibbs::grid::Grid, gibbs::serial::Serial, params::Params};
            let documents =
                read_corpus(&request.data, &CorpusOptions::default(), &|_| {}).expect("documents");
            let params = Params::parse(&request.options, request.workers, false).expect("good options");
            let corpus = &documents.train.corpus;
            let shape = (params.parts, params.blocks);
            let grid = Grid::new(corpus, shape, params.shared.topics, request.seed).expect("documents");
            let alpha = vec![params.shared.alpha; params.shared.topics];
            let priors = Priors { alpha, beta: params.shared.beta, n_words: corpus.n_words };
            let mut serial = Serial::new(&grid, &priors, request.seed);
            (0..=params.sweeps).for_each(|_| serial.pass());
            serial.log_likelihood()
        },
        tolerance: 0.06,
        schedules: &["rotation", "rounds"],
        many: 200,
        test_metric: ("perplexity", "test_perplexity"),
    }
}

fn topics_by_inference() -> Subject {
    Subject {
        what: "documents, by variational inference",
        options: &[("method", "svi"), ("topics", "12"), ("epochs", "6"), ("batch-size", "128")],
        long: &[("epochs", "100000")],
        serial: |request| {
            use slackline_apps::data::corpus::{CorpusOptions, read_corpus};
            use slackline_apps::lda::evaluation::{DenseTopics, likelihood};
            use slackline_apps::lda::params::Shared;
            use slackline_apps::lda::variational::{Params, Prior, Setup, serial::Serial};
            let documents =
                read_corpus(&request.data, &CorpusOptions::default(), &|_| {}).expect("documents");
            let corpus = &documents.train.corpus;
            let shared = Shared::parse(&request.options).expect("good options");
            let prior = Prior::symmetric(shared.topics, shared.alpha, shared.beta);
            let params = Params::parse(&request.options, prior, request.workers).expect("good options");
            let epochs = params.epochs;
            let setup = Setup::new(corpus, params, None, request.seed).expect("documents");
            let mut serial = Serial::new(&setup, request.seed);
            for _ in 0..epochs {
                serial.pass().expect("it converges");
            }
            let lambda = serial.model();
            let totals = lambda.sum_axis(ndarray::Axis(1)).mapv(f64::from);
            let word = |word: ndarray::ArrayView1<'_, f32>| -> Vec<f64> {
                word.iter().zip(&totals).map(|(lambda, total)| f64::from(*lambda) / total).collect()
            };
            let table: Vec<f64> = lambda.columns().into_iter().flat_map(word).collect();
            likelihood(corpus, 0..corpus.n_docs(), &DenseTopics::new(&table, totals.len())).per_token()
        },
        tolerance: 0.06,
        schedules: &["shuffled"],
        ..topics()
    }
}
