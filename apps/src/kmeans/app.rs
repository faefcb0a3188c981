//! k-means as an entry of the catalog.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use ndarray::Array2;
use serde_json::{Map, Value};
use slackline::prelude::*;

use super::actor::{Clusterer, Setup};
use super::centres::{Centres, Rows};
use super::params::{Method, OPTIONS, Params};
use super::{seeding, solver};
use crate::catalog::{App, Array, News, OptionSpec, Request, Trained, Watch};
use crate::data::npy;
use crate::data::points::{Features, LabelColumn, Wanted, find_parts, read_points};
use crate::prediction::{Cell, Column, Predictions, Question};
use crate::run::Origin;
use crate::{Error, points, run};

/// `slackline train kmeans`.
pub struct KMeans;

/// A trained model: where the centres are.
struct Model {
    folder: std::path::PathBuf,
    centres: Array2<f32>,
}

/// A finished run from one seed.
struct Finished {
    centres: Centres,
    assigned: Vec<(u32, f64)>,
    inertia: f64,
    trained: slackline::Trained,
}

impl App for KMeans {
    fn name(&self) -> &'static str {
        "kmeans"
    }

    fn about(&self) -> &'static str {
        "k-means clusters, by all rows or by mini-batches, from k-means++ seeds"
    }

    fn options(&self) -> &'static [OptionSpec] {
        OPTIONS
    }

    fn train(&self, request: &Request, watch: &Watch) -> Result<Trained, Error> {
        run::only_known(self.name(), request, OPTIONS)?;
        let params = Params::parse(request)?;
        let parts = find_parts(&request.data, None, request.test.as_deref())?;
        let request = &Request { data: parts.data, test: parts.test, ..request.clone() };
        let own = if params.method == Method::Full { Consistency::Bsp } else { Consistency::Ssp(2) };
        let consistency = run::consistency(request, own)?;
        let schedule = run::schedule(request, &[params.method.schedule()])?;
        let reading = points::reading(request, Wanted::Nothing, LabelColumn::None)?;
        let begun = Instant::now();
        let read = read_points(&request.data, &reading, &watch.tell)?;
        let (texts, held_out) = (points::texts(&reading, &read), points::like(&reading, &read));
        let held_out =
            request.test.as_ref().map(|path| read_points(path, &held_out, &watch.tell)).transpose()?;
        let mut rows = Rows::new(read.features);
        let load_seconds = begun.elapsed().as_secs_f64();

        let (mut best, mut seconds, mut clocks, mut stopped) = (None::<Finished>, 0.0, 0, false);
        for restart in 0..params.restarts {
            let request = Request { seed: request.seed.wrapping_add(restart as u64), ..request.clone() };
            let origin = Origin::find(&request, watch)?;
            let settings = params.settings().into_iter().chain(points::settings(&request));
            let origin = origin.settle((self.name(), consistency), &request, settings)?;
            let begun = Instant::now();
            let seeds = seeding::seeds(&rows, params.clusters, request.seed, params.workers)?;
            seconds += begun.elapsed().as_secs_f64();
            let setup = Arc::new(Setup::new(rows, seeds, &params, request.seed));
            let job = run::job(self.name(), &request, consistency, origin);
            let job = setup.tables().into_iter().fold(job, Job::table);
            let job = job.schedule(setup.schedule(&params, request.seed));
            let of_workers = Arc::clone(&setup);
            let trained = run::run(job, watch, move |_| Clusterer::new(Arc::clone(&of_workers)))?;
            seconds += trained.seconds;
            clocks += trained.clocks.0;
            let centres = setup.centres(&trained.model);
            let assigned = solver::assigned(setup.rows(), &centres);
            let inertia = assigned.iter().map(|(_, distance)| distance).sum();
            stopped = trained.stopped || watch.stop.is_thrown() && restart + 1 < params.restarts;
            if best.as_ref().is_none_or(|best| inertia < best.inertia) {
                best = Some(Finished { centres, assigned, inertia, trained });
            }
            rows = Arc::try_unwrap(setup).map_or_else(|setup| setup.rows().clone(), Setup::into_rows);
            if stopped {
                break;
            }
        }
        let best = best.expect("there is at least one run");
        let test = held_out.map(|points| {
            let held_out = Rows::off(points.features, rows.mean.clone());
            solver::inertia(&held_out, &best.centres)
        });
        Ok(report(
            &params,
            best,
            (&rows, test),
            Told {
                seconds: (load_seconds, seconds),
                clocks,
                stopped,
                texts,
                common: run::common(consistency, schedule),
            },
        ))
    }

    fn evaluate(&self, directory: &Path, data: &Path) -> Result<BTreeMap<String, f64>, Error> {
        let model = Model::read(directory)?;
        let rows = model.rows(data, &|_| {})?;
        let centres = model.ready(&rows);
        let (inertia, n) = (solver::inertia(&rows, &centres), rows.len() as f64);
        Ok([("inertia", inertia), ("mean_square_distance", inertia / n), ("rows", n)]
            .map(|(name, value)| (name.to_owned(), value))
            .into())
    }

    fn predict(
        &self,
        directory: &Path,
        data: &Path,
        question: &Question,
        tell: &(dyn Fn(News) + Sync),
    ) -> Result<Predictions, Error> {
        question.is_plain(self.name())?;
        let model = Model::read(directory)?;
        let rows = model.rows(data, tell)?;
        let assigned = solver::assigned(&rows, &model.ready(&rows));
        let n_rows = assigned.len();
        let row = |(centre, distance): (u32, f64)| {
            vec![Cell::Number(f64::from(centre)), Cell::Number(distance.sqrt())]
        };
        let columns = vec![Column::double("cluster"), Column::double("distance")];
        Ok(Predictions { columns, n_rows, rows: Box::new(assigned.into_iter().map(row)) })
    }
}

impl Model {
    fn read(directory: &Path) -> Result<Self, Error> {
        let folder = directory.join("model");
        let path = folder.join("centers.npy");
        let centres = npy::read_f32(&path)?.into_dimensionality();
        let wrong = |_| Error::Data { path, problem: "is no matrix of centres".to_owned() };
        Ok(Self { centres: centres.map_err(wrong)?, folder })
    }

    /// The rows of a file, their origin moved to the mean of the centres where they are dense.
    fn rows(&self, data: &Path, tell: &(dyn Fn(News) + Sync)) -> Result<Rows, Error> {
        let data = find_parts(data, None, None)?.data;
        let reading = points::reading_of_model(&self.folder, Wanted::Nothing, self.centres.ncols())?;
        let features = read_points(&data, &reading, tell)?.features;
        let origin = match &features {
            Features::Dense(_) => self.centres.mean_axis(ndarray::Axis(0)).unwrap_or_default().to_vec(),
            Features::Sparse(_) => vec![0.0; self.centres.ncols()],
        };
        Ok(Rows::off(features, origin))
    }

    /// The centres, with the origin of the rows.
    fn ready(&self, rows: &Rows) -> Centres {
        let origin = ndarray::ArrayView1::from(&rows.mean);
        Centres::new(&self.centres - &origin, matches!(rows.features, Features::Sparse(_)))
    }
}

/// What is known beside the clusters.
struct Told {
    seconds: (f64, f64),
    clocks: u64,
    stopped: bool,
    texts: Vec<(String, Vec<String>)>,
    common: Map<String, Value>,
}

fn report(params: &Params, best: Finished, (rows, test): (&Rows, Option<f64>), told: Told) -> Trained {
    let Finished { centres, assigned, inertia, trained } = best;
    let mark = trained.history.last().map(|progress| progress.mark.clone()).unwrap_or_default();
    let mut sizes = vec![0i64; params.clusters];
    assigned.iter().for_each(|(centre, _)| sizes[*centre as usize] += 1);
    let empty = sizes.iter().filter(|size| **size == 0).count();
    let mut metrics = BTreeMap::from([
        ("inertia".to_owned(), inertia),
        ("iterations".to_owned(), mark.epoch),
        ("empty_clusters".to_owned(), empty as f64),
    ]);
    metrics.extend(test.map(|test| ("test_inertia".to_owned(), test)));
    let centres = centres.rows + ndarray::ArrayView1::from(&rows.mean);
    let mut config = told.common;
    let entries: [(&str, Value); 6] = [
        ("clusters", params.clusters.into()),
        ("method", params.method.name().into()),
        ("epochs", params.epochs.into()),
        ("batch", params.batch.into()),
        ("tol", params.tolerance.into()),
        ("restarts", params.restarts.into()),
    ];
    config.extend(entries.map(|(name, value)| (name.to_owned(), value)));
    Trained {
        objective: inertia,
        clocks: told.clocks,
        load_seconds: told.seconds.0,
        train_seconds: told.seconds.1,
        metrics,
        config,
        workers: run::records(&trained.workers),
        arrays: vec![
            ("centers".to_owned(), Array::F32(centres.into_dyn())),
            ("sizes".to_owned(), Array::I64(ndarray::Array1::from(sizes).into_dyn())),
        ],
        texts: told.texts,
        stopped: told.stopped,
    }
}
