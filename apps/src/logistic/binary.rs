//! Two classes: coordinate descent on the schedules of the Lasso, certified by a duality gap.

use std::sync::Arc;
use std::time::Instant;

use slackline::Consistency;

use super::app::{Fitted, Problem};
use super::solver::{self, Worker};
use crate::Error;
use crate::data::Samples;
use crate::descent::columns::split;
use crate::descent::guide::{Penalties, Plan, Reach};
use crate::descent::interference::interference;
use crate::descent::path;
use crate::descent::run::{Task, solve};
use crate::run::{self, refuse};

/// The schedules, the app's own first.
pub(super) const SCHEDULES: &[&str] = &["priority", "dependency"];

/// Trains; also returns the seconds that preparing the data took.
pub(super) fn train(problem: Problem<'_>) -> Result<(Fitted, f64), Error> {
    let begun = Instant::now();
    let Problem { request, watch, params, samples, classes, origin } = problem;
    if params.l1 == 0.0 && params.l2 == 0.0 {
        return Err(refuse(
            "l1",
            "0",
            "more than 0 where --l2 is 0: without a penalty there may be no best model",
        ));
    }
    let consistency = run::consistency(request, Consistency::Bsp)?;
    let schedule = run::schedule(request, SCHEDULES)?;
    let parts = params.parts.unwrap_or(request.workers);
    let mut settings = params.settings(request, schedule);
    settings.extend([
        ("tol", params.tolerance.to_string()),
        ("max-sweeps", params.max_sweeps.to_string()),
        ("parts", parts.to_string()),
    ]);
    let origin = origin.settle(("logistic", consistency), request, settings)?;
    let Samples { features, labels, .. } = samples;
    let n_columns = features.cols();
    let columns = split(features, parts);
    let problem = solver::Problem::new(columns, classes.signs(&labels), params.intercept)?;
    let plan = Plan {
        penalties: Penalties::Given(vec![params.l1]),
        ridge: params.l2,
        tolerance: params.tolerance,
        max_sweeps: params.max_sweeps,
        reach: if schedule == "dependency" { Reach::Parts(request.workers) } else { Reach::Pooled },
    };
    let interference = (schedule == "dependency")
        .then(|| interference(&problem, problem.n_parts(), solver::Problem::columns, params.intercept));
    let prepared = begun.elapsed().as_secs_f64();
    let task = Task { name: "logistic", request, watch, plan, consistency, interference, origin };
    let workers_problem = Arc::clone(&problem);
    let solved = solve(task, move || Worker::new(Arc::clone(&workers_problem)))?;

    let mark = solved.trained.history.last().map(|progress| progress.mark.clone()).unwrap_or_default();
    let mut metrics: std::collections::BTreeMap<String, f64> = mark.metrics.into_iter().collect();
    let intercept = metrics.remove("intercept").unwrap_or_default();
    metrics.remove("lambda");
    metrics.insert("relative_gap".to_owned(), metrics["gap"] / mark.objective.max(f64::MIN_POSITIVE));
    metrics.insert("sweeps".to_owned(), mark.epoch);
    metrics.insert("converged".to_owned(), f64::from(u8::from(solved.converged)));
    let names = |part: usize| problem.columns(part).names();
    let flat = path::flatten(&solved.coefficients, names, n_columns);
    let coefficients = ndarray::Array2::from_shape_vec((1, n_columns), flat).expect("one row");
    let fitted = Fitted {
        trained: solved.trained,
        coefficients,
        intercepts: vec![intercept],
        metrics,
        objective: mark.objective,
        common: run::common(consistency, schedule),
    };
    Ok((fitted, prepared))
}
