//! The Lasso as an entry of the catalog.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value};
use slackline::Consistency;

use super::params::{OPTIONS, Params, Penalty};
use super::solver::{Problem, Worker};
use crate::catalog::{App, News, OptionSpec, Request, Trained, Watch};
use crate::data::{IndexBase, Samples};
use crate::descent::columns::split;
use crate::descent::guide::{Plan, Reach};
use crate::descent::interference::interference;
use crate::descent::path;
use crate::descent::run::{Solved, Task, solve};
use crate::linear::LinearModel;
use crate::prediction::{Predictions, Question};
use crate::run::Origin;
use crate::{Error, run, samples};

/// `slackline train lasso`.
pub struct Lasso;

/// The schedules, the app's own first.
const SCHEDULES: [&str; 2] = ["priority", "dependency"];

impl App for Lasso {
    fn name(&self) -> &'static str {
        "lasso"
    }

    fn about(&self) -> &'static str {
        "L1-penalised least squares by parallel coordinate descent, stopped by its duality gap"
    }

    fn options(&self) -> &'static [OptionSpec] {
        OPTIONS
    }

    fn train(&self, request: &Request, watch: &Watch) -> Result<Trained, Error> {
        run::only_known(self.name(), request, OPTIONS)?;
        let origin = Origin::find(request, watch)?;
        let request = &origin.inherit(request, &["parts"]);
        let params = Params::parse(request)?;
        let consistency = run::consistency(request, Consistency::Bsp)?;
        let schedule = run::schedule(request, &SCHEDULES)?;
        let settings = params.settings(request, schedule);
        let origin = origin.settle((self.name(), consistency), request, settings)?;
        let begun = Instant::now();
        let Samples { features, labels, facts } = samples::read(request, watch)?;
        let n_columns = features.cols();
        let held_out = request.test.as_ref();
        let held_out = held_out
            .map(|path| samples::read_held_out(path, facts.index_base, n_columns, &watch.tell))
            .transpose()?;
        let problem =
            Problem::new(split(features, params.parts), labels, params.intercept, params.standardize);
        let load_seconds = begun.elapsed().as_secs_f64();

        let task = Task {
            name: self.name(),
            request,
            watch,
            plan: plan(&params, schedule, request.workers),
            consistency,
            interference: (schedule == "dependency")
                .then(|| interference(&problem, problem.n_parts(), Problem::columns, params.intercept)),
            origin,
        };
        let workers_problem = Arc::clone(&problem);
        let solved = solve(task, move || Worker::new(Arc::clone(&workers_problem)))?;
        Ok(report(
            &params,
            &problem,
            solved,
            held_out.as_ref(),
            Told {
                n_columns,
                index_base: facts.index_base,
                load_seconds,
                common: run::common(consistency, schedule),
            },
        ))
    }

    fn evaluate(&self, directory: &Path, data: &Path) -> Result<BTreeMap<String, f64>, Error> {
        let model = LinearModel::read(directory)?;
        let held_out = model.read_held_out(data, &|_| {})?;
        Ok(scores(&held_out, &model).into_iter().map(|(k, v)| (k.to_owned(), v)).collect())
    }

    fn predict(
        &self,
        directory: &Path,
        data: &Path,
        question: &Question,
        tell: &(dyn Fn(News) + Sync),
    ) -> Result<Predictions, Error> {
        question.is_plain(self.name())?;
        let model = LinearModel::read(directory)?;
        let scores = model.scores(&model.read_new(data, tell)?);
        Ok(Predictions::numbers(["prediction"], scores.into_iter().map(|score| [score])))
    }
}

fn plan(params: &Params, schedule: &str, workers: usize) -> Plan {
    let reach = if schedule == "dependency" { Reach::Parts(workers) } else { Reach::Pooled };
    Plan {
        penalties: params.penalties(),
        ridge: 0.0,
        tolerance: params.tolerance,
        max_sweeps: params.max_sweeps,
        reach,
    }
}

/// What is known beside the solution.
struct Told {
    n_columns: usize,
    index_base: IndexBase,
    load_seconds: f64,
    common: Map<String, Value>,
}

fn report(
    params: &Params,
    problem: &Problem,
    solved: Solved,
    held_out: Option<&Samples>,
    told: Told,
) -> Trained {
    let Solved { solutions, coefficients, converged, trained } = solved;
    let mark = trained.history.last().map(|progress| progress.mark.clone()).unwrap_or_default();
    let mut metrics: BTreeMap<String, f64> = mark.metrics.into_iter().collect();
    let lambda = metrics.get("lambda").copied().unwrap_or_default();
    let intercept = metrics.remove("intercept").unwrap_or_default();
    metrics.insert("relative_gap".to_owned(), metrics["gap"] / mark.objective.max(f64::MIN_POSITIVE));
    metrics.insert("sweeps".to_owned(), mark.epoch);
    metrics.insert("converged".to_owned(), f64::from(u8::from(converged)));
    let places = |part: usize| problem.columns(part).names();
    let coefficients = path::flatten(&coefficients, places, told.n_columns);
    let model = LinearModel { coefficients, intercept, index_base: told.index_base };
    if let Some(held_out) = held_out {
        let named = scores(held_out, &model).into_iter();
        metrics.extend(named.map(|(name, score)| (format!("test_{name}"), score)));
    }
    let mut report = Trained {
        objective: mark.objective,
        load_seconds: told.load_seconds,
        metrics,
        ..run::finished(&trained, config(params, lambda, told.common))
    };
    model.write(&mut report);
    if params.path.is_some() {
        report.arrays.extend(path::arrays(&solutions, places));
    }
    report
}

/// R² and root of the mean squared error; labels that are all the same have no R².
fn scores(held_out: &Samples, model: &LinearModel) -> Vec<(&'static str, f64)> {
    let predicted = model.scores(&held_out.features);
    let n = held_out.labels.len() as f64;
    let mean = held_out.labels.iter().sum::<f64>() / n;
    let squares: f64 = predicted.iter().zip(&held_out.labels).map(|(p, y)| (p - y) * (p - y)).sum();
    let spread: f64 = held_out.labels.iter().map(|y| (y - mean) * (y - mean)).sum();
    let differ = held_out.labels.iter().any(|label| *label != held_out.labels[0]);
    let r2 = differ.then(|| ("r2", 1.0 - squares / spread));
    r2.into_iter().chain([("rmse", (squares / n).sqrt())]).collect()
}

fn config(params: &Params, lambda: f64, mut config: Map<String, Value>) -> Map<String, Value> {
    let entries: [(&str, Value); 8] = [
        ("lambda", lambda.into()),
        ("lambda-ratio", if let Penalty::Share(share) = params.penalty { share.into() } else { Value::Null }),
        ("tol", params.tolerance.into()),
        ("intercept", params.intercept.into()),
        ("standardize", params.standardize.into()),
        ("path", params.path.into()),
        ("max-sweeps", params.max_sweeps.into()),
        ("parts", params.parts.into()),
    ];
    config.extend(entries.map(|(name, value)| (name.to_owned(), value)));
    config
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_that_are_all_the_same_have_no_r2() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let mut request = Request::on(write("train.svm", "1 1:2 2:1\n-1 1:3\n1 2:1\n"));
        request.test = Some(write("test.svm", "1 1:2 2:3\n1 1:1\n"));
        let trained = Lasso.train(&request, &Watch::nobody()).unwrap();
        assert!(trained.metrics.values().all(|value| value.is_finite()), "{:?}", trained.metrics);
        assert!(trained.metrics.contains_key("test_rmse") && !trained.metrics.contains_key("test_r2"));
    }
}
