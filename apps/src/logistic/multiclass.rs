//! More than two classes: mini-batch SGD, data-parallel. A part is a mini-batch; a row of the one shared table is a
//! feature's weights for all classes, read at most `s` clocks old.

use std::sync::Arc;
use std::time::Instant;

use actix::prelude::*;
use slackline::prelude::*;

use super::app::{Fitted, Problem};
use super::softmax::{self, Batch, Cut, Scaling, Softmax};
use crate::{Error, run};

/// The schedules, the app's own first.
pub(super) const SCHEDULES: &[&str] = &["shuffled", "fixed"];

/// The table: a row per feature, the bias last; weights of all classes, then their summed squared gradients.
const WEIGHTS: &str = "weights";

/// Everything that workers share and nobody changes.
struct Setup {
    softmax: Softmax,
    batches: Vec<Batch>,
    n_samples: usize,
}

/// Trains; also returns the seconds that preparing the data took.
pub(super) fn train(problem: Problem<'_>) -> Result<(Fitted, f64), Error> {
    let begun = Instant::now();
    let Problem { request, watch, params, samples, classes, origin } = problem;
    let consistency = run::consistency(request, Consistency::Ssp(2))?;
    let schedule = run::schedule(request, SCHEDULES)?;
    let n_samples = samples.labels.len();
    let mut settings = params.settings(request, schedule);
    settings.extend([
        ("epochs", params.epochs.to_string()),
        ("batch", params.batch_size(n_samples).to_string()),
        ("rate", params.rate.map_or_else(|| "its default".to_owned(), |rate| rate.to_string())),
    ]);
    let origin = origin.settle(("logistic", consistency), request, settings)?;
    let labels: Vec<u32> =
        samples.labels.iter().map(|y| classes.class(*y).expect("its own labels")).collect();
    let scaling = Scaling::of(&samples.features, params.intercept);
    let (n_rows, nnz) = (samples.features.cols() + 1, samples.features.nnz());
    let density = nnz as f64 / (n_samples * samples.features.cols()).max(1) as f64;
    let of = softmax::Samples { features: &samples.features, labels: &labels };
    let cut = Cut { size: params.batch_size(n_samples), intercept: params.intercept, seed: request.seed };
    let batches = softmax::cut(&of, &scaling, cut)?;
    let in_flight = consistency.staleness().map_or(2, |s| s + 1) as usize * request.workers - 1;
    let rate = params.rate.unwrap_or_else(|| softmax::default_rate(density));
    let softmax = Softmax { classes: classes.n(), l1: params.l1, l2: params.l2, rate, in_flight };
    let setup = Arc::new(Setup { softmax, batches, n_samples });
    drop(samples);
    let prepared = begun.elapsed().as_secs_f64();

    let n_parts = setup.batches.len();
    let (_, inner) = run::passes(request, n_parts, params.epochs)?;
    let measure =
        move |cost: f64, sums: &[f64]| (cost, vec![("accuracy".to_owned(), sums[0] / n_samples as f64)]);
    let readers = Arc::clone(&setup);
    let table = Table::dense(WEIGHTS, n_rows, softmax.width());
    let job = run::job("logistic", request, consistency, origin)
        .table(table.reading(move |part| readers.batches[part.index()].features.clone()))
        .schedule(Evaluated::new(inner, n_parts, 1, Box::new(measure)));
    let apps = Arc::clone(&setup);
    let trained = run::run(job, watch, move |_| Descender(Arc::clone(&apps)))?;

    let mark = trained.history.last().map(|progress| progress.mark.clone()).unwrap_or_default();
    let table = trained.model.dense::<f32>(WEIGHTS);
    let (coefficients, intercepts) = softmax::model(&table, classes.n(), &scaling);
    let fitted = Fitted {
        coefficients,
        intercepts,
        metrics: mark.metrics.into_iter().collect(),
        objective: mark.objective,
        common: run::common(consistency, schedule),
        trained,
    };
    Ok((fitted, prepared))
}

/// The app of one worker.
struct Descender(Arc<Setup>);

impl Actor for Descender {
    type Context = Context<Self>;
}

impl Handler<Step> for Descender {
    type Result = Outcome;
    fn handle(&mut self, mut step: Step, _: &mut Self::Context) -> Outcome {
        let Setup { softmax, batches, n_samples } = &*self.0;
        let batch = &batches[step.part().index()];
        let view = step.read::<f32>(WEIGHTS);
        let rows = view.gathered(); // in the order of the batch's features
        if step.phase() == Phase::Evaluate {
            let score = softmax.score(batch, rows);
            let cost = score.loss / *n_samples as f64 + softmax.share_of_penalty(batch, rows, batches.len());
            return step.found(Findings { cost, sums: vec![score.correct as f64], ..Findings::default() });
        }
        let mut change = step.delta::<f32>(WEIGHTS);
        let loss = softmax.step(batch, rows, change.gathered());
        step.add(change);
        step.done(loss / *n_samples as f64)
    }
}
