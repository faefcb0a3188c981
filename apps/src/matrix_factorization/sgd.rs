//! A run of stochastic gradient descent from request to model.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value};
use slackline::prelude::*;

use super::actor::{Factorizer, Setup};
use super::output;
use super::params::Params;
use super::rated::Rated;
use crate::catalog::{Request, Trained, Watch};
use crate::data::{read_ratings, read_ratings_with};
use crate::run::Origin;
use crate::{Error, run};

/// Trains `mf --method sgd`.
///
/// # Errors
/// Bad data, bad options, or a run that could not go on.
pub(super) fn train(request: &Request, watch: &Watch) -> Result<Trained, Error> {
    let origin = Origin::find(request, watch)?;
    let request = &origin.inherit(request, &["parts", "blocks"]);
    let params = Params::parse(&request.options, request.workers)?;
    let consistency = run::consistency(request, Consistency::Ssp(3))?;
    let schedule = run::schedule(request, &["rotation"])?;
    let origin = origin.settle(("mf", consistency), request, params.settings())?;
    let begun = Instant::now();
    let ratings = read_ratings(&request.data, &watch.tell)?;
    let held_out = request.test.as_ref();
    let held_out = held_out
        .map(|path| read_ratings_with(path, &ratings.user_ids, &ratings.item_ids, &watch.tell))
        .transpose()?;
    let setup = Arc::new(Setup::new(&ratings, held_out.as_ref(), params.clone(), request.seed)?);
    let counts = (ratings.values.len(), held_out.map_or(0, |held_out| held_out.values.len()));
    let load_seconds = begun.elapsed().as_secs_f64();

    let job = run::job("mf", request, consistency, origin);
    let job = filled(job, &setup, counts, request.seed);
    let workers_setup = Arc::clone(&setup);
    let trained = run::run(job, watch, move |_| Factorizer(Arc::clone(&workers_setup)))?;
    let model = setup.model(&trained.model);
    let mark = trained.history.last().map(|progress| progress.mark.clone()).unwrap_or_default();
    let rated = Rated::of(&ratings.users, &ratings.items, ratings.user_ids.len());
    Ok(Trained {
        objective: mark.objective,
        load_seconds,
        metrics: mark.metrics.into_iter().collect(),
        arrays: output::arrays(model, rated),
        texts: output::texts(&ratings),
        ..run::finished(&trained, config(&params, setup.solver.l2(), run::common(consistency, schedule)))
    })
}

/// The job with its tables and schedule; `counts` are the training and the held-out ratings.
fn filled(job: Job, setup: &Arc<Setup>, counts: (usize, usize), seed: u64) -> Job {
    let (n_parts, n_blocks) = setup.shape();
    let params = setup.solver.params();
    let rotation = Rotation::new(n_parts, n_blocks, params.epochs as u64, seed);
    let measure = move |objective: f64, sums: &[f64]| {
        let rmse = |squares: f64, n: usize| (squares / n as f64).sqrt();
        let mut metrics = vec![("train_rmse".to_owned(), rmse(sums[0], counts.0))];
        if counts.1 > 0 {
            metrics.push(("test_rmse".to_owned(), rmse(sums[1], counts.1)));
        }
        (objective, metrics)
    };
    let [users, items] = setup.tables();
    job.table(users).table(items).schedule(Evaluated::new(
        rotation,
        n_parts,
        params.evaluate_every as u64,
        Box::new(measure),
    ))
}

fn config(params: &Params, l2: f64, mut config: Map<String, Value>) -> Map<String, Value> {
    let entries: [(&str, Value); 11] = [
        ("method", "sgd".into()),
        ("nonnegative", params.nonnegative.into()),
        ("rank", params.rank.into()),
        ("epochs", params.epochs.into()),
        ("l2", l2.into()),
        ("l2-bias", params.l2_bias.into()),
        ("prior", params.prior.into()),
        ("step", params.step.name().into()),
        ("rate", params.rate.into()),
        ("parts", params.parts.into()),
        ("blocks", params.blocks.into()),
    ];
    config.extend(entries.map(|(name, value)| (name.to_owned(), value)));
    config
}
