//! A run of the sampler: from documents to a model.

use std::sync::Arc;
use std::time::Instant;

use ndarray::Array2;
use serde_json::{Map, Value};
use slackline::prelude::*;

use super::actor::{Gibbs, Setup};
use super::grid::Grid;
use super::plan::{Course, Plan};
use super::priors::Fit;
use super::solver::Assignment;
use super::tables::{All, Counted, FREQUENT, FREQUENT_SUMS, PRIORS, RARE, RARE_SUMS, STAMP, TOPICS, TOTALS};
use crate::Error;
use crate::catalog::{Array, Request, Trained, Watch};
use crate::data::corpus::{Collection, CorpusOptions, read_corpus};
use crate::kernel::gibbs::Priors;
use crate::lda::PERPLEXITY;
use crate::lda::output::Output;
use crate::lda::params::Params;
use crate::run::{self, Origin};

/// Trains by collapsed Gibbs sampling.
pub(crate) fn train(request: &Request, watch: &Watch) -> Result<Trained, Error> {
    let origin = Origin::find(request, watch)?;
    let request = &origin.inherit(request, &["parts", "blocks"]);
    let consistency = run::consistency(request, Consistency::Ssp(2))?;
    let own: &[&str] =
        if consistency == Consistency::Bsp { &["rounds", "rotation"] } else { &["rotation", "rounds"] };
    let schedule = run::schedule(request, own)?;
    let in_rounds = schedule == "rounds";
    let params = Params::parse(&request.options, request.workers, in_rounds)?;
    let reading = CorpusOptions { test: request.test.clone(), ..CorpusOptions::parse(&request.options)? };
    let settings = params.settings().into_iter().chain([("schedule", schedule.to_owned())]);
    let origin = origin.settle(("lda", consistency), request, settings)?;
    let begun = Instant::now();
    let documents = read_corpus(&request.data, &reading, &watch.tell)?;
    let setup = Arc::new(set_up(&documents, &params, in_rounds, request.seed)?);
    let load_seconds = begun.elapsed().as_secs_f64();

    let job = run::job("lda", request, consistency, origin);
    let job = fill(job, &setup, &params, request.seed);
    let of_workers = Arc::clone(&setup);
    let trained = run::run(job, watch, move |_| Gibbs::new(&of_workers))?;
    let mark = trained.history.last().map(|progress| progress.mark.clone()).unwrap_or_default();
    let drawn = setup.grid.n_tokens as f64 * mark.epoch;
    let mut output = finish(&trained.model, &setup, &documents, &params);
    output.metrics.extend(mark.metrics);
    output.metrics.insert("sweeps".to_owned(), mark.epoch);
    output.metrics.insert("tokens_per_second".to_owned(), drawn / trained.seconds.max(1e-9));
    Ok(Trained {
        objective: mark.objective,
        load_seconds,
        metrics: output.metrics,
        arrays: output.arrays,
        texts: output.texts,
        ..run::finished(&trained, config(&params, run::common(consistency, schedule)))
    })
}

fn set_up(documents: &Collection, params: &Params, in_rounds: bool, seed: u64) -> Result<Setup, Error> {
    let corpus = &documents.train.corpus;
    let shape = if in_rounds {
        let n = params.parts.min(corpus.n_docs()).min(corpus.n_words);
        (n, n)
    } else {
        (params.parts, params.blocks)
    };
    let grid = Grid::new(corpus, shape, params.shared.topics, seed)?;
    let alpha = vec![params.shared.alpha; params.shared.topics];
    let priors = Priors { alpha, beta: params.shared.beta, n_words: corpus.n_words };
    Ok(Setup::new((grid, &documents.held_out.corpus), priors, (params.fit, in_rounds), seed))
}

/// The job with its tables and schedule.
fn fill(job: Job, setup: &Arc<Setup>, params: &Params, seed: u64) -> Job {
    let (n_parts, n_blocks) = setup.grid.shape();
    let passes = params.sweeps as u64 + 1;
    let cells: Box<dyn Schedule> = if setup.in_rounds {
        Box::new(Rounds::new(n_parts, passes))
    } else {
        Box::new(Rotation::new(n_parts, n_blocks, passes, seed))
    };
    let n_tokens = setup.grid.n_tokens as f64;
    let measure = move |log: f64, sums: &[f64]| {
        let metrics = if sums[1] > 0.0 {
            vec![(PERPLEXITY.to_owned(), (-sums[0] / sums[1]).exp())]
        } else {
            Vec::new()
        };
        (log / n_tokens, metrics)
    };
    let every = params.shared.evaluate_every.unwrap_or(10) as u64;
    let evaluated = Evaluated::new(cells, n_parts, every, Box::new(measure)).first_after(every + 1);
    let course = Course {
        sweeps: params.sweeps as u64,
        fit: params.fit,
        burn_in: params.burn_in as u64,
        samples: params.samples as u64,
        tolerance: params.tolerance,
    };
    let plan = Plan::new(evaluated, (n_parts, n_blocks), &setup.priors, course);
    let tables = setup.tables(params.samples > 1);
    tables.into_iter().fold(job, Job::table).schedule(plan)
}

/// The model that the tables hold.
fn finish(model: &Model, setup: &Setup, documents: &Collection, params: &Params) -> Output {
    let totals: Vec<i64> = model.dense::<i32>(TOTALS).columns().into_iter().map(|rows| sum(&rows)).collect();
    let (alpha, beta) = priors(model, setup);
    let mut counts = All::of(model, FREQUENT, RARE);
    let (mut of_topics, mut times) = (totals.clone(), 1.0);
    if params.samples > 1 {
        let sums = All::of(model, FREQUENT_SUMS, RARE_SUMS);
        let of_sums = sums.totals(alpha.len());
        let kept: i64 = of_sums.iter().sum();
        if kept > 0 {
            // Sums of n samples with n times the prior are their mean.
            times = kept as f64 / setup.grid.n_tokens as f64;
            (counts, of_topics) = (sums, of_sums);
        }
    }
    let counted = Counted::new(&setup.layout, counts, &of_topics, beta * times);
    let mut output = Output::new(&counted, documents, (&alpha, &totals), params.shared.top_words);
    output.metrics.insert("beta".to_owned(), beta);
    if params.doc_topic {
        output.arrays.push(("doc_topic".to_owned(), Array::F32(mixtures(model, setup, &alpha).into_dyn())));
    }
    output
}

/// The priors that the last visits sampled with.
fn priors(model: &Model, setup: &Setup) -> (Vec<f64>, f64) {
    if setup.fit == Fit::Nothing {
        return (setup.priors.alpha.clone(), setup.priors.beta);
    }
    let row = model.dense::<f64>(PRIORS);
    let mut row: Vec<f64> = row.iter().copied().collect();
    let beta = row.pop().expect("one number a topic and one more");
    (row, beta)
}

fn sum(numbers: &ndarray::ArrayView1<'_, i32>) -> i64 {
    numbers.iter().map(|n| i64::from(*n)).sum()
}

/// The topics of each training document: documents x topics, each row adds up to 1.
fn mixtures(model: &Model, setup: &Setup, alpha: &[f64]) -> Array2<f32> {
    let mut mixtures = Array2::zeros((setup.grid.docs.group.len(), alpha.len()));
    let mut rows: Vec<i32> = model.dense::<i32>(TOPICS).into_iter().collect();
    let mut rows = rows.as_mut_slice();
    for (part, docs) in setup.grid.parts.iter().zip(&setup.grid.docs.members) {
        let (of_part, others) = rows.split_at_mut(Assignment::n_rows(part.n_tokens(), alpha.len()) + STAMP);
        let topics = Assignment::of(of_part, alpha.len());
        for (token, doc) in part.docs.iter().enumerate() {
            if let Some(topic) = topics.get(token) {
                mixtures[[docs[*doc as usize] as usize, topic as usize]] += 1.0;
            }
        }
        rows = others;
    }
    for mut row in mixtures.rows_mut() {
        row.iter_mut().zip(alpha).for_each(|(share, alpha)| *share += *alpha as f32);
        let sum = row.sum();
        row /= sum;
    }
    mixtures
}

fn config(params: &Params, mut config: Map<String, Value>) -> Map<String, Value> {
    let entries: [(&str, Value); 12] = [
        ("method", "gibbs".into()),
        ("topics", params.shared.topics.into()),
        ("alpha", params.shared.alpha.into()),
        ("beta", params.shared.beta.into()),
        ("sweeps", params.sweeps.into()),
        ("optimize", params.fit.name().into()),
        ("burn-in", params.burn_in.into()),
        ("samples", params.samples.into()),
        ("tol", params.tolerance.into()),
        ("evaluate-every", params.shared.evaluate_every.unwrap_or(10).into()),
        ("parts", params.parts.into()),
        ("blocks", params.blocks.into()),
    ];
    config.extend(entries.map(|(name, value)| (name.to_owned(), value)));
    config
}
