//! Nets as an entry of the catalog.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use slackline::prelude::*;
use slackline::scheduler::policy::Measure;

use super::actor::Learner;
use super::loss::Score;
use super::model::{self, Model};
use super::params::{OPTIONS, Params};
use super::patience::Patience;
use super::problem::{Problem, Rows};
use super::tables;
use crate::catalog::{App, News, OptionSpec, Request, Trained, Watch};
use crate::data::IndexBase;
use crate::data::points::{Labels, Points, PointsOptions, Standard, Wanted, find_parts, read_points};
use crate::options::Options;
use crate::prediction::{Predictions, Question};
use crate::run::{Origin, refuse};
use crate::{Error, run};

/// The metric that held-out rows are watched by.
const WATCHED: &str = "held_out_loss";

/// `slackline train mlp`.
pub struct Mlp;

impl App for Mlp {
    fn name(&self) -> &'static str {
        "mlp"
    }

    fn about(&self) -> &'static str {
        "fully connected nets for classes or numbers, by back-propagation on batches and optimisers at the shards"
    }

    fn options(&self) -> &'static [OptionSpec] {
        OPTIONS
    }

    fn train(&self, request: &Request, watch: &Watch) -> Result<Trained, Error> {
        run::only_known(self.name(), request, OPTIONS)?;
        let origin = Origin::find(request, watch)?;
        let params = Params::parse(&request.options)?;
        let reading = Reading::parse(request, &params)?;
        let consistency = run::consistency(request, Consistency::Ssp(1))?;
        let schedule = run::schedule(request, &["shuffled"])?;
        let settings = params.settings().into_iter().chain(reading.settings());
        let origin = origin.settle((self.name(), consistency), request, settings)?;
        let begun = Instant::now();
        let (problem, of_model) = reading.read(&params, request.seed, watch)?;
        let problem = Arc::new(problem);
        let n_parts = 2 * request.workers.max(1);
        let load_seconds = begun.elapsed().as_secs_f64();

        let job = run::job(self.name(), request, consistency, origin);
        let job = tables::tables(&problem).into_iter().fold(job, Job::table);
        let job = job.schedule(steps(&problem, n_parts));
        let of_workers = Arc::clone(&problem);
        let trained = run::run(job, watch, move |_| Learner::new(Arc::clone(&of_workers), n_parts))?;
        let (mark, kept) = best(trained.history.iter().map(|progress| &progress.mark));
        let layers = tables::trained(&trained.model, &problem, kept);
        let model = Model { net: problem.net.clone(), layers, ..of_model };
        let mut metrics: BTreeMap<String, f64> = mark.metrics.into_iter().collect();
        let last = trained.history.last().map_or(0.0, |progress| progress.mark.epoch);
        metrics.insert("epochs".to_owned(), mark.epoch);
        let rate = last * problem.n_rows() as f64 / trained.seconds.max(1e-9);
        metrics.insert("rows_per_second".to_owned(), rate);
        let mut config = run::common(consistency, schedule);
        config.extend(params.config().into_iter().map(|(name, value)| (name.to_owned(), value)));
        Ok(Trained {
            objective: mark.objective,
            load_seconds,
            metrics,
            arrays: model.arrays(),
            texts: model.texts(),
            ..run::finished(&trained, config)
        })
    }

    fn evaluate(&self, directory: &Path, data: &Path) -> Result<BTreeMap<String, f64>, Error> {
        Model::read(directory)?.evaluate(data)
    }

    fn predict(
        &self,
        directory: &Path,
        data: &Path,
        question: &Question,
        tell: &(dyn Fn(News) + Sync),
    ) -> Result<Predictions, Error> {
        question.is_plain(self.name())?;
        Model::read(directory)?.predict(data, tell)
    }
}

/// The steps of all passes with their evaluations; where rows are held out, watched by how those do.
fn steps(problem: &Arc<Problem>, n_parts: usize) -> Box<dyn Schedule> {
    let Params { epochs, evaluate_every, patience, hold_out, .. } = problem.params;
    let inner = Fixed::new(problem.n_batches(), epochs as u64);
    let evaluated = Evaluated::new(inner, n_parts, evaluate_every as u64, measure(problem));
    match hold_out > 0.0 {
        true => Box::new(Patience::new(evaluated, WATCHED, PartId::at(problem.n_batches()), patience)),
        false => Box::new(evaluated),
    }
}

/// The objective and metrics, from the penalty and the sums of [`Problem::score`].
fn measure(problem: &Arc<Problem>) -> Measure {
    let (numbers, unknown) = (problem.params.numbers, problem.n_unknown());
    Box::new(move |penalty, sums| {
        let score = |of: &[f64]| Score { loss: of[0], hits: of[1], rows: of[2] };
        let scores = [("train", 0.0), ("held_out", 0.0), ("test", unknown)];
        let mut named = Vec::new();
        for ((name, unknown), of) in scores.into_iter().zip(sums.chunks_exact(3)) {
            let score = score(of);
            if score.rows + unknown > 0.0 {
                let metrics = model::metrics(score, unknown, numbers).into_iter();
                named.extend(metrics.map(|(metric, value)| (format!("{name}_{metric}"), value)));
            }
        }
        (sums[0] / sums[2] + penalty, named)
    })
}

/// The evaluation that the weights handed over are of: the last, or of those that watched held-out rows the best; and whether
/// its weights were kept aside.
fn best<'a>(history: impl Iterator<Item = &'a Mark>) -> (Mark, bool) {
    let watched =
        |mark: &Mark| mark.metrics.iter().find(|(name, _)| name == WATCHED).map(|(_, value)| *value);
    let mut best: Option<&Mark> = None;
    for mark in history {
        let better = match (best.and_then(watched), watched(mark)) {
            (Some(best), Some(value)) => value < best,
            _ => true,
        };
        best = if better { Some(mark) } else { best };
    }
    let kept = best.and_then(watched).is_some();
    (best.cloned().unwrap_or_default(), kept)
}

/// Which files to read, and how.
struct Reading {
    data: PathBuf,
    test: Option<PathBuf>,
    test_labels: Option<PathBuf>,
    options: PointsOptions,
}

impl Reading {
    fn parse(request: &Request, params: &Params) -> Result<Self, Error> {
        let options = Options(&request.options);
        let index_base = match options.text("index-base") {
            None | Some("auto") => IndexBase::Auto,
            Some("0") => IndexBase::Zero,
            Some("1") => IndexBase::One,
            Some(other) => return Err(refuse("index-base", other, "auto, 0 or 1")),
        };
        for name in ["labels", "test-labels"] {
            if let Some(text) = options.text(name).filter(|text| !Path::new(text).is_file()) {
                return Err(refuse(name, text, "a file that exists"));
            }
        }
        let labels = options.text("labels").map(Path::new);
        let parts = find_parts(&request.data, labels, request.test.as_deref())?;
        let test_labels = options.text("test-labels");
        if let (Some(text), None) = (test_labels, &parts.test) {
            return Err(refuse("test-labels", text, "absent without --test"));
        }
        let options = PointsOptions {
            labels: parts.labels,
            wanted: if params.numbers { Wanted::Numbers } else { Wanted::Classes },
            index_base,
            label_column: options.text("label-column").unwrap_or("first").parse().unwrap_or_default(),
            ..PointsOptions::default()
        };
        let test_labels = test_labels.map(PathBuf::from).or(parts.test_labels);
        Ok(Self { data: parts.data, test: parts.test, test_labels, options })
    }

    /// How rows are read, as far as a run that goes on must read them the same.
    fn settings(&self) -> Vec<(&'static str, String)> {
        let labels = self.options.labels.as_ref().map(|path| path.display().to_string());
        vec![
            ("index-base", format!("{:?}", self.options.index_base)),
            ("label-column", format!("{:?}", self.options.label_column)),
            ("labels", labels.unwrap_or_default()),
        ]
    }

    /// The rows of the run, and the model without its weights.
    fn read(self, params: &Params, seed: u64, watch: &Watch) -> Result<(Problem, Model), Error> {
        let train = read_points(&self.data, &self.options, &watch.tell)?;
        let (n_columns, unit) = (train.features.n_columns(), train.unit);
        let classes = match &train.labels {
            Some(Labels::Classes { names, .. }) => Some(names.clone()),
            _ => None,
        };
        let fit = || Standard::fit(&train.features);
        let as_it_is = || Standard { mean: vec![0.0; n_columns], scale: vec![1.0; n_columns] };
        let standard = if params.standardize { fit() } else { as_it_is() };
        let standard = model::rescaled(&standard, 1.0 / unit);
        let index_base = train.index_base;
        let options = PointsOptions {
            labels: self.test_labels,
            classes: classes.clone(),
            index_base,
            n_columns: Some(n_columns),
            ..self.options
        };
        let test = self.test.as_ref().map(|path| read_points(path, &options, &watch.tell)).transpose()?;
        let rows = |points: Points| {
            let mut features = points.features;
            if params.standardize {
                model::standardise(&mut features, &standard, points.unit);
            }
            Rows { features, labels: points.labels.expect("they were asked for") }
        };
        let problem = Problem::new(rows(train), test.map(rows), params.clone(), seed);
        let net = problem.net.clone();
        Ok((problem, Model { net, layers: Vec::new(), standard, classes, index_base }))
    }
}
