//! Metric learning as an entry of the catalog.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use ndarray::Array2;
use serde_json::{Map, Value};
use slackline::prelude::*;

use super::actor::{Learner, Setup};
use super::pairs::Pairs;
use super::params::{OPTIONS, Params};
use super::scores::{Classed, average_precision, knn_accuracy, transform};
use crate::catalog::{App, Array, News, OptionSpec, Request, Trained, Watch};
use crate::data::points::{
    Features, LabelColumn, Labels, Points, PointsOptions, Standard, Wanted, find_parts, read_points,
};
use crate::data::{npy, text};
use crate::prediction::{Cell, Column, Predictions, Question};
use crate::run::{Origin, refuse};
use crate::{Error, points, run};

/// `slackline train dml`.
pub struct MetricLearning;

/// Pairs drawn to score on, and what they are drawn from: the same whenever the same rows are scored.
const SCORED_PAIRS: usize = 20_000;
const SCORED_SEED: u64 = 12_345;

/// The file in `model/` with the names of the classes.
const CLASSES: &str = "classes.txt";

/// Rows to learn from and to score on.
struct Data {
    train: Points,
    test: Option<Points>,
    pairs: Pairs,
    /// Of the test rows, or of the training rows where there are none.
    scored: Option<Pairs>,
    texts: Vec<(String, Vec<String>)>,
    standard: Option<Standard>,
}

impl App for MetricLearning {
    fn name(&self) -> &'static str {
        "dml"
    }

    fn about(&self) -> &'static str {
        "a linear map under which similar rows are near and others are far, from pairs"
    }

    fn options(&self) -> &'static [OptionSpec] {
        OPTIONS
    }

    fn train(&self, request: &Request, watch: &Watch) -> Result<Trained, Error> {
        run::only_known(self.name(), request, OPTIONS)?;
        let params = Params::parse(request)?;
        let consistency = run::consistency(request, Consistency::Ssp(2))?;
        let schedule = run::schedule(request, &["shuffled"])?;
        let origin = Origin::find(request, watch)?;
        let labels = request.options.get("labels").map(Path::new);
        let parts = find_parts(&request.data, labels, request.test.as_deref())?;
        let request = &Request { data: parts.data.clone(), test: parts.test.clone(), ..request.clone() };
        let settings = params.settings().into_iter().chain(points::settings(request));
        let origin = origin.settle((self.name(), consistency), request, settings)?;
        let begun = Instant::now();
        let data = Data::read(request, watch, &params, (parts.labels, parts.test_labels))?;
        let Data { train, test, pairs, scored, mut texts, standard } = data;
        let Points { features, labels, .. } = train;
        let load_seconds = begun.elapsed().as_secs_f64();

        let begun = Instant::now();
        let setup = Arc::new(Setup::new(features, pairs, &params, request.seed)?);
        let prepared = begun.elapsed().as_secs_f64();
        let job = run::job(self.name(), request, consistency, origin);
        let job = job.table(setup.table()).schedule(setup.schedule(request.seed));
        let of_workers = Arc::clone(&setup);
        let trained = run::run(job, watch, move |_| Learner::new(Arc::clone(&of_workers)))?;
        let map = Setup::map(&trained.model);
        let train = (setup.features(), classes(&labels));
        let held_out = test.as_ref().map(|test| (&test.features, classes(&test.labels)));
        let mut metrics = scores(train, held_out, scored.as_ref(), &map);
        if params.baseline {
            let plain = scores(train, held_out, scored.as_ref(), &Array2::eye(map.ncols()));
            metrics.extend(plain.into_iter().map(|(name, score)| (format!("euclidean_{name}"), score)));
        }
        if let Some(Labels::Classes { names, .. }) = labels {
            texts.push((CLASSES.to_owned(), names));
        }
        let mark = trained.history.last().map(|progress| progress.mark.clone()).unwrap_or_default();
        let mut arrays = vec![("transform".to_owned(), Array::F32(map.into_dyn()))];
        arrays.extend(standard.iter().flat_map(Standard::arrays));
        Ok(Trained {
            objective: mark.objective,
            clocks: trained.clocks.0,
            load_seconds,
            train_seconds: prepared + trained.seconds,
            metrics,
            config: config(&params, setup.start().nrows(), run::common(consistency, schedule)),
            workers: run::records(&trained.workers),
            arrays,
            texts,
            stopped: trained.stopped,
        })
    }

    fn evaluate(&self, directory: &Path, data: &Path) -> Result<BTreeMap<String, f64>, Error> {
        let (map, Points { features, labels, .. }) = read(directory, data, Wanted::Classes, &|_| {})?;
        let classes = classes(&labels).ok_or_else(|| Error::Data {
            path: data.to_path_buf(),
            problem: "holds no labels to score by, expected a label for each row".to_owned(),
        })?;
        let pairs = Pairs::draw(classes, SCORED_PAIRS, SCORED_SEED);
        let rows = transform(&features, &map);
        let of = Classed { rows: &rows, classes };
        let mut scores = BTreeMap::from([
            ("knn_accuracy_within".to_owned(), knn_accuracy(of, of, true)),
            ("rows".to_owned(), rows.nrows() as f64),
        ]);
        scores.extend(pairs.map(|pairs| ("pair_ap".to_owned(), average_precision(&rows, &pairs))));
        Ok(scores)
    }

    fn predict(
        &self,
        directory: &Path,
        data: &Path,
        question: &Question,
        tell: &(dyn Fn(News) + Sync),
    ) -> Result<Predictions, Error> {
        question.is_plain(self.name())?;
        let (map, Points { features, .. }) = read(directory, data, Wanted::Nothing, tell)?;
        let rows = transform(&features, &map);
        let columns = (0..rows.ncols()).map(|column| Column::single(format!("z{column}"))).collect();
        let n_rows = rows.nrows();
        let row = move |row: usize| rows.row(row).iter().map(|z| Cell::Number(f64::from(*z))).collect();
        Ok(Predictions { columns, n_rows, rows: Box::new((0..n_rows).map(row)) })
    }
}

impl Data {
    fn read(
        request: &Request,
        watch: &Watch,
        params: &Params,
        (labels, test_labels): (Option<PathBuf>, Option<PathBuf>),
    ) -> Result<Self, Error> {
        let reading = points::reading(request, Wanted::Classes, LabelColumn::First)?;
        let reading = PointsOptions { labels, unlabelled: params.pairs.is_some(), ..reading };
        let mut train = read_points(&request.data, &reading, &watch.tell)?;
        let names = match &train.labels {
            Some(Labels::Classes { names, .. }) => Some(names.clone()),
            _ => None,
        };
        let texts = points::texts(&reading, &train);
        let of_test = PointsOptions {
            labels: params.test_labels.clone().or(test_labels),
            classes: names,
            ..points::like(&reading, &train)
        };
        let mut test = match (&request.test, &params.test_labels) {
            (Some(path), _) => Some(read_points(path, &of_test, &watch.tell)?),
            (None, Some(path)) => {
                let rule = "given with --test, the rows that they belong to";
                return Err(refuse("test-labels", &path.display().to_string(), rule));
            }
            (None, None) => None,
        };
        let pairs = match &params.pairs {
            Some(path) => Pairs::read(path, train.features.n_rows(), &watch.tell)?,
            None => drawn(&train.labels, params.n_pairs, request.seed, &request.data)?,
        };
        let tested = test.as_ref().unwrap_or(&train);
        let scored = match &params.test_pairs {
            Some(path) => Some(Pairs::read(path, tested.features.n_rows(), &watch.tell)?),
            None => classes(&tested.labels).and_then(|of| Pairs::draw(of, SCORED_PAIRS, SCORED_SEED)),
        };
        let standard = params.standardise.then(|| Standard::fit(&train.features));
        for points in [Some(&mut train), test.as_mut()].into_iter().flatten() {
            standard.iter().for_each(|standard| standard.apply(&mut points.features));
        }
        Ok(Self { train, test, pairs, scored, texts, standard })
    }
}

/// Training pairs from labels.
fn drawn(labels: &Option<Labels>, n: usize, seed: u64, path: &Path) -> Result<Pairs, Error> {
    let pairs = classes(labels).and_then(|classes| Pairs::draw(classes, n, seed));
    pairs.ok_or_else(|| Error::Data {
        path: path.to_path_buf(),
        problem: "has no two classes of which one has two rows, so that no pairs can be drawn; --pairs names a file of them"
            .to_owned(),
    })
}

fn classes(labels: &Option<Labels>) -> Option<&[u32]> {
    match labels {
        Some(Labels::Classes { of, .. }) => Some(of),
        _ => None,
    }
}

/// Rows and, where they have some, their classes.
type Labelled<'a> = (&'a Features, Option<&'a [u32]>);

/// What can be said of a map: precision over pairs, and accuracy of held-out rows by their neighbours among training rows.
fn scores(
    train: Labelled<'_>,
    test: Option<Labelled<'_>>,
    pairs: Option<&Pairs>,
    map: &Array2<f32>,
) -> BTreeMap<String, f64> {
    let mut scores = BTreeMap::new();
    let rows = transform(test.map_or(train.0, |test| test.0), map);
    if let Some(pairs) = pairs {
        scores.insert("pair_ap".to_owned(), average_precision(&rows, pairs));
    }
    if let (Some(of_train), Some(of_test)) = (train.1, test.and_then(|test| test.1)) {
        let among = transform(train.0, map);
        let (among, of) =
            (Classed { rows: &among, classes: of_train }, Classed { rows: &rows, classes: of_test });
        scores.insert("knn_accuracy".to_owned(), knn_accuracy(among, of, false));
    }
    scores
}

/// A written map and rows that are ready for it.
fn read(
    directory: &Path,
    data: &Path,
    wanted: Wanted,
    tell: &(dyn Fn(News) + Sync),
) -> Result<(Array2<f32>, Points), Error> {
    let folder = directory.join("model");
    let path = folder.join("transform.npy");
    let map: Array2<f32> = npy::read_f32(&path)?
        .into_dimensionality()
        .map_err(|_| Error::Data { path, problem: "is no matrix".to_owned() })?;
    let parts = find_parts(data, None, None)?;
    let (data, labels) = match parts.test {
        Some(test) => (test, parts.test_labels),
        None => (parts.data, parts.labels),
    };
    let known = folder.join(CLASSES);
    let classes = if known.is_file() { Some(text::read_lines(&known)?) } else { None };
    let reading = points::reading_of_model(&folder, wanted, map.ncols())?;
    let mut points = read_points(&data, &PointsOptions { labels, classes, ..reading }, tell)?;
    if let Some(standard) = Standard::read(&folder)? {
        standard.apply(&mut points.features);
    }
    Ok((map, points))
}

fn config(params: &Params, rank: usize, mut config: Map<String, Value>) -> Map<String, Value> {
    let entries: [(&str, Value); 7] = [
        ("rank", rank.into()),
        ("lambda", params.lambda.into()),
        ("margin", params.margin.into()),
        ("epochs", params.epochs.into()),
        ("batch", params.batch.into()),
        ("rate", params.rate.into()),
        ("standardise", params.standardise.into()),
    ];
    config.extend(entries.map(|(name, value)| (name.to_owned(), value)));
    config
}
