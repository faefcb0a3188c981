//! A run of alternating least squares from request to model.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value};
use slackline::prelude::*;

use super::super::output;
use super::super::ranking::{Held, measure_ranking};
use super::super::rated::Rated;
use super::actor::{Alternator, Shared};
use super::params::{Feedback, Method, Params};
use super::setup::Setup;
use crate::catalog::{Request, Trained, Watch};
use crate::data::{read_ratings, read_ratings_with};
use crate::run::Origin;
use crate::{Error, run};

/// Trains `mf --method als`.
///
/// # Errors
/// Bad data, bad options, or a run that could not go on.
pub(in super::super) fn train(request: &Request, watch: &Watch) -> Result<Trained, Error> {
    let origin = Origin::find(request, watch)?;
    let params = Params::parse(&request.options)?;
    let consistency = run::consistency(request, Consistency::Essp(0))?;
    let schedule = run::schedule(request, &["phases"])?;
    let origin = origin.settle(("mf", consistency), request, params.settings())?;
    let begun = Instant::now();
    let ratings = read_ratings(&request.data, &watch.tell)?;
    let held_out = request.test.as_ref();
    let held_out = held_out
        .map(|path| read_ratings_with(path, &ratings.user_ids, &ratings.item_ids, &watch.tell))
        .transpose()?;
    let shared = Arc::new(Shared::new(&ratings, held_out.as_ref(), params.clone(), request.seed)?);
    let n_held_out = held_out.as_ref().map_or(0, |held_out| held_out.values.len());
    let counts = (ratings.values.len(), n_held_out);
    let load_seconds = begun.elapsed().as_secs_f64();

    let job = run::job("mf", request, consistency, origin);
    let job = filled(job, &shared, counts);
    let of_workers = Arc::clone(&shared);
    let trained = run::run(job, watch, move |_| Alternator::new(Arc::clone(&of_workers)))?;
    let model = shared.model(&trained.model);
    let rated = Rated::of(&ratings.users, &ratings.items, ratings.user_ids.len());
    let mark = trained.history.last().map(|progress| progress.mark.clone()).unwrap_or_default();
    let mut metrics: std::collections::BTreeMap<_, _> = mark.metrics.into_iter().collect();
    if let (true, Some(held_out)) = (params.is_implicit(), &held_out) {
        let found = measure_ranking(&model, &rated, &Held::of(held_out, &rated));
        metrics.extend(found.metrics("test_"));
    }
    Ok(Trained {
        objective: mark.objective,
        load_seconds,
        metrics,
        arrays: output::arrays(model, rated),
        texts: output::texts(&ratings),
        ..run::finished(&trained, config(&shared.setup, run::common(consistency, schedule)))
    })
}

/// The job with its tables and schedule; `counts` are the training and the held-out ratings.
fn filled(job: Job, shared: &Arc<Shared>, counts: (usize, usize)) -> Job {
    let (shape, params) = (shared.shape(), &shared.setup.params);
    let is_implicit = params.is_implicit();
    let measure = move |objective: f64, sums: &[f64]| {
        let rmse = |squares: f64, n: usize| (squares / n as f64).sqrt();
        let mut metrics = Vec::new();
        if !is_implicit {
            metrics.push(("train_rmse".to_owned(), rmse(sums[0], counts.0)));
            if counts.1 > 0 {
                metrics.push(("test_rmse".to_owned(), rmse(sums[1], counts.1)));
            }
        }
        (objective, metrics)
    };
    let [users, items] = shared.tables();
    let phases = Phases::new(&shape, params.epochs as u64);
    let n_parts = shape.iter().sum();
    let every = params.evaluate_every as u64;
    job.table(users).table(items).schedule(Evaluated::new(phases, n_parts, every, Box::new(measure)))
}

fn config(setup: &Setup, mut config: Map<String, Value>) -> Map<String, Value> {
    let params = &setup.params;
    let (l2, l2_bias) = setup.penalties();
    let [parts, blocks] = setup.sides.each_ref().map(|side| side.deal.n_groups());
    let mut entries: Vec<(&str, Value)> = vec![
        ("method", "als".into()),
        ("rank", params.rank.into()),
        ("epochs", params.epochs.into()),
        ("l2", l2.into()),
        ("implicit", params.is_implicit().into()),
        ("nonnegative", (params.method == Method::Nonnegative).into()),
        ("parts", parts.into()),
        ("blocks", blocks.into()),
    ];
    match params.feedback {
        Feedback::Explicit { prior, .. } => {
            entries.extend([("l2-bias", l2_bias.into()), ("prior", prior.into())]);
        }
        Feedback::Implicit { alpha, .. } => entries.push(("alpha", alpha.into())),
    }
    match params.method {
        Method::Gradients(steps) => entries.extend([("solver", "cg".into()), ("cg-steps", steps.into())]),
        Method::Cholesky => entries.push(("solver", "cholesky".into())),
        Method::Nonnegative => {}
    }
    config.extend(entries.into_iter().map(|(name, value)| (name.to_owned(), value)));
    config
}
