//! What is measured: each app on its medium data, with its serial reference.

use std::path::PathBuf;
use std::time::Instant;

use slackline_apps::catalog::{self, Request, Trained, Watch};
use slackline_apps::data::corpus::{CorpusOptions, read_corpus};
use slackline_apps::data::{ReadOptions, Samples, read_ratings, read_samples};
use slackline_apps::descent::columns::split;
use slackline_apps::descent::guide::{Penalties, Plan, Reach};
use slackline_apps::descent::serial::{Descent, fit};
use slackline_apps::kernel::gibbs::Priors;
use slackline_apps::lda::gibbs::{grid::Grid, serial::Serial};
use slackline_apps::lda::params::Params;
use slackline_apps::logistic::softmax;
use slackline_apps::matrix_factorization as mf;
use slackline_apps::{lasso, logistic};

use crate::made;

/// One app on one data set.
pub(crate) struct Case {
    /// For the table.
    pub(crate) name: &'static str,
    app: &'static str,
    data: PathBuf,
    options: Vec<(&'static str, String)>,
    /// Objective and seconds of the serial reference, reading not counted.
    pub(crate) serial: fn(&Request) -> (f64, f64),
}

impl Case {
    /// What is asked for with so many workers.
    pub(crate) fn request(&self, workers: usize) -> Request {
        let request = Request { workers, ..Request::on(&self.data) };
        self.options.iter().fold(request, |request, (name, value)| request.with(name, value))
    }

    /// A run through the actors.
    pub(crate) fn train(&self, workers: usize) -> Trained {
        let app = catalog::find(self.app).expect("an app of the catalog");
        app.train(&self.request(workers), &Watch::nobody()).unwrap_or_else(|error| panic!("{error}"))
    }
}

/// All cases. A folder with the set `debsize`, if the environment names one in `SLACKLINE_DATA`, adds one.
pub(crate) fn all() -> Vec<Case> {
    let mut cases = vec![
        case("lasso", "lasso", made::rows("lasso.svm", 0), &[("lambda", "0.05")], serial_lasso),
        case("lasso-far", "lasso", made::rows("lasso.svm", 0), &[("lambda", "0.01")], serial_lasso),
        case(
            "mf",
            "mf",
            made::ratings("ratings.txt"),
            &[("rank", "20"), ("epochs", "10"), ("evaluate-every", "10")],
            serial_mf,
        ),
        case("logistic", "logistic", made::rows("classes2.svm", 2), &[("l1", "0.001")], serial_logistic),
        case(
            "softmax",
            "logistic",
            made::rows("classes10.svm", 10),
            &[("l2", "1e-4"), ("l1", "0"), ("epochs", "3")],
            serial_softmax,
        ),
        case("lda-100", "lda", made::documents("documents.svm"), &topics("100"), serial_lda),
        case("lda-1000", "lda", made::documents("documents.svm"), &topics("1000"), serial_lda),
    ];
    if let Some(folder) = std::env::var_os("SLACKLINE_DATA") {
        let debsize = PathBuf::from(folder).join("svm/debsize.train.svm.zst");
        cases.push(case("debsize-0.01", "lasso", debsize.clone(), &[("lambda", "0.01")], serial_lasso));
        cases.push(case("debsize-0.001", "lasso", debsize, &[("lambda", "0.001")], serial_lasso));
    }
    cases
}

fn case(
    name: &'static str,
    app: &'static str,
    data: PathBuf,
    options: &[(&'static str, &str)],
    serial: fn(&Request) -> (f64, f64),
) -> Case {
    let options = options.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    Case { name, app, data, options, serial }
}

fn topics(k: &'static str) -> [(&'static str, &'static str); 4] {
    [("topics", k), ("sweeps", "20"), ("evaluate-every", "20"), ("held-out", "none")]
}

fn samples(request: &Request) -> Samples {
    read_samples(&request.data, &ReadOptions::default(), &|_| {}).unwrap_or_else(|error| panic!("{error}"))
}

fn number(request: &Request, name: &str) -> f64 {
    request.options[name].parse().expect("a number")
}

fn descend(app: &mut impl Descent, penalty: f64) -> (f64, f64) {
    let plan = Plan {
        penalties: Penalties::Given(vec![penalty]),
        ridge: 0.0,
        tolerance: 1e-6,
        max_sweeps: 1000,
        reach: Reach::Pooled,
    };
    let begun = Instant::now();
    let objective = fit(app, plan).steps[0].objective;
    (objective, begun.elapsed().as_secs_f64())
}

fn serial_lasso(request: &Request) -> (f64, f64) {
    let Samples { features, labels, .. } = samples(request);
    let problem = lasso::solver::Problem::new(split(features, 1), labels, true, false);
    descend(&mut lasso::solver::Worker::new(problem), number(request, "lambda"))
}

fn serial_logistic(request: &Request) -> (f64, f64) {
    let Samples { features, labels, .. } = samples(request);
    let problem =
        logistic::solver::Problem::new(split(features, 1), labels, true).expect("labels are -1 and 1");
    descend(&mut logistic::solver::Worker::new(problem), number(request, "l1"))
}

fn serial_mf(request: &Request) -> (f64, f64) {
    let ratings = read_ratings(&request.data, &|_| {}).unwrap_or_else(|error| panic!("{error}"));
    let triples =
        mf::cells::Triples { users: &ratings.users, items: &ratings.items, values: &ratings.values };
    let params = mf::params::Params::parse(&request.options, 1).expect("good options");
    let (epochs, shape) = (params.epochs, (ratings.user_ids.len(), ratings.item_ids.len()));
    let mut serial = mf::serial::Serial::new(&triples, shape, params, request.seed).expect("good ratings");
    let begun = Instant::now();
    for _ in 0..epochs {
        serial.pass().expect("it converges");
    }
    let seconds = begun.elapsed().as_secs_f64();
    (serial.score().objective(), seconds)
}

fn serial_softmax(request: &Request) -> (f64, f64) {
    let Samples { features, labels, .. } = samples(request);
    let labels: Vec<u32> = labels.iter().map(|label| *label as u32 - 1).collect();
    let scaling = softmax::Scaling::of(&features, true);
    let density = features.nnz() as f64 / (features.rows() * features.cols()) as f64;
    let (l2, rate) = (number(request, "l2"), softmax::default_rate(density));
    let of = softmax::Samples { features: &features, labels: &labels };
    let cut = softmax::Cut { size: 64, intercept: true, seed: request.seed };
    let batches = softmax::cut(&of, &scaling, cut).expect("samples");
    let constants = softmax::Softmax { classes: 10, l1: 0.0, l2, rate, in_flight: 0 };
    let mut serial = softmax::serial::Serial::new(constants, scaling);
    let begun = Instant::now();
    for _ in 0..number(request, "epochs") as usize {
        serial.pass(&batches);
    }
    let seconds = begun.elapsed().as_secs_f64();
    (serial.objective(&batches), seconds)
}

fn serial_lda(request: &Request) -> (f64, f64) {
    let reading = CorpusOptions::parse(&request.options).expect("good options");
    let corpus = read_corpus(&request.data, &reading, &|_| {}).expect("good documents").train.corpus;
    let params = Params::parse(&request.options, 1, false).expect("good options");
    let (shape, k) = ((params.parts, params.blocks), params.shared.topics);
    let grid = Grid::new(&corpus, shape, k, request.seed).expect("there are tokens");
    let priors =
        Priors { alpha: vec![params.shared.alpha; k], beta: params.shared.beta, n_words: corpus.n_words };
    let begun = Instant::now();
    let mut serial = Serial::new(&grid, &priors, request.seed);
    for _ in 0..=params.sweeps {
        serial.pass();
    }
    let seconds = begun.elapsed().as_secs_f64();
    (serial.log_likelihood(), seconds)
}
