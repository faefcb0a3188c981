//! A run of variational inference: from documents to a model.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value};
use slackline::prelude::*;

use super::actor::{Inference, Setup};
use super::params::{Params, Prior};
use super::scoring::{Scoring, Topics};
use crate::Error;
use crate::catalog::{Request, Trained, Watch};
use crate::data::Corpus;
use crate::data::corpus::{Collection, CorpusOptions, read_corpus};
use crate::lda::PERPLEXITY;
use crate::lda::evaluation::{self, Completion, DenseTopics, LogLikelihood, WordRow, likelihood};
use crate::lda::output::Output;
use crate::lda::params::Shared;
use crate::run::{self, Origin};

/// Trains by variational inference.
pub(crate) fn train(request: &Request, watch: &Watch) -> Result<Trained, Error> {
    let origin = Origin::find(request, watch)?;
    let request = &origin.inherit(request, &["parts"]);
    let shared = Shared::parse(&request.options)?;
    let prior = Prior::symmetric(shared.topics, shared.alpha, shared.beta);
    let params = Params::parse(&request.options, prior, request.workers)?;
    let consistency = run::consistency(request, Consistency::Ssp(2))?;
    let schedule = run::schedule(request, &["shuffled"])?;
    let reading = CorpusOptions { test: request.test.clone(), ..CorpusOptions::parse(&request.options)? };
    let settings = params.settings().into_iter().chain(shared.settings());
    let origin = origin.settle(("lda", consistency), request, settings)?;
    let begun = Instant::now();
    let documents = read_corpus(&request.data, &reading, &watch.tell)?;
    let corpus = &documents.train.corpus;
    let scored = Arc::new(Scored::new(&documents, 2 * request.workers.max(1)));
    let setup = Setup::new(corpus, params.clone(), Some(scored), request.seed)?;
    let setup = Arc::new(setup);
    let load_seconds = begun.elapsed().as_secs_f64();

    let job = run::job("lda", request, consistency, origin);
    let every = shared.evaluate_every.unwrap_or(1) as u64;
    let job =
        setup.tables().into_iter().fold(job, Job::table).schedule(setup.schedule(every, Box::new(measured)));
    let of_workers = Arc::clone(&setup);
    let trained = run::run(job, watch, move |_| Inference::new(Arc::clone(&of_workers)))?;
    let mark = trained.history.last().map(|progress| progress.mark.clone()).unwrap_or_default();
    let mut output = finish(&trained.model, &setup, &documents, shared.top_words);
    let seen = corpus.n_tokens() as f64 * mark.epoch;
    output.metrics.extend(mark.metrics);
    output.metrics.insert("tokens_per_second".to_owned(), seen / trained.seconds.max(1e-9));
    Ok(Trained {
        objective: mark.objective,
        load_seconds,
        metrics: output.metrics,
        arrays: output.arrays,
        texts: output.texts,
        ..run::finished(&trained, config(&params, &shared, run::common(consistency, schedule)))
    })
}

/// Documents that evaluations score: held-out ones, and of those trained on as many.
struct Scored {
    held_out: Completion,
    train: Corpus,
    n_parts: usize,
}

impl Scored {
    fn new(documents: &Collection, n_parts: usize) -> Self {
        let corpus = &documents.train.corpus;
        let n_docs = corpus.n_docs().min(evaluation::MOST_DOCUMENTS);
        let end = corpus.starts[n_docs];
        let train = Corpus {
            starts: corpus.starts[..=n_docs].to_vec(),
            words: corpus.words[..end].to_vec(),
            counts: corpus.counts[..end].to_vec(),
            n_words: corpus.n_words,
        };
        Self { held_out: Completion::new(&documents.held_out.corpus), train, n_parts }
    }

    /// The share of a part in so many documents.
    fn share(&self, part: usize, n_docs: usize) -> std::ops::Range<usize> {
        n_docs * part / self.n_parts..n_docs * (part + 1) / self.n_parts
    }
}

impl Scoring for Scored {
    fn n_parts(&self) -> usize {
        self.n_parts
    }

    fn words(&self, part: usize) -> Vec<u32> {
        let of_train = self.share(part, self.train.n_docs());
        let entries = self.train.starts[of_train.start]..self.train.starts[of_train.end];
        let mut words = self.held_out.words(self.share(part, self.held_out.n_docs()));
        words.extend_from_slice(&self.train.words[entries]);
        words.sort_unstable();
        words.dedup();
        words
    }

    fn score(&self, part: usize, topics: &Topics<'_>) -> Vec<f64> {
        let topics = Expected { topics, n_words: self.train.n_words };
        let held_out = self.held_out.measure(self.share(part, self.held_out.n_docs()), &topics);
        let train = likelihood(&self.train, self.share(part, self.train.n_docs()), &topics);
        let sums = |of: LogLikelihood| [of.log, of.tokens as f64];
        [sums(held_out), sums(train)].concat()
    }
}

/// The objective and the perplexity of held-out documents, from the sums of [`Scored::score`].
fn measured(_: f64, sums: &[f64]) -> (f64, Vec<(String, f64)>) {
    let perplexity = (sums[1] > 0.0).then(|| (PERPLEXITY.to_owned(), (-sums[0] / sums[1]).exp()));
    (sums[2] / sums[3].max(1.0), perplexity.into_iter().collect())
}

/// Expected topics, of the words that were read.
struct Expected<'a> {
    topics: &'a Topics<'a>,
    n_words: usize,
}

impl evaluation::Topics for Expected<'_> {
    fn n_topics(&self) -> usize {
        self.topics.n_topics
    }

    fn n_words(&self) -> usize {
        self.n_words
    }

    fn base(&self) -> &[f64] {
        &[]
    }

    fn word(&self, word: u32, row: &mut WordRow) {
        let weights = self.topics.word(word).expect("the words of the part were read");
        row.dense().iter_mut().zip(weights).for_each(|(to, weight)| *to = f64::from(*weight));
    }
}

/// The model that the tables hold: topics in expectation.
fn finish(model: &Model, setup: &Setup, documents: &Collection, n_top: usize) -> Output {
    let lambda = setup.model(model);
    let totals: Vec<f64> =
        lambda.rows().into_iter().map(|row| row.iter().map(|x| f64::from(*x)).sum()).collect();
    let mut table = Vec::with_capacity(lambda.len());
    for word in lambda.columns() {
        table.extend(word.iter().zip(&totals).map(|(lambda, total)| f64::from(*lambda) / total));
    }
    let prior = &setup.solver().params().prior;
    let of_prior = lambda.ncols() as f64 * prior.beta;
    let tokens: Vec<i64> = totals.iter().map(|total| (total - of_prior).round() as i64).collect();
    Output::new(&DenseTopics::new(&table, totals.len()), documents, (&prior.alpha, &tokens), n_top)
}

fn config(params: &Params, shared: &Shared, mut config: Map<String, Value>) -> Map<String, Value> {
    let entries: [(&str, Value); 10] = [
        ("method", "svi".into()),
        ("topics", shared.topics.into()),
        ("alpha", shared.alpha.into()),
        ("beta", shared.beta.into()),
        ("epochs", params.epochs.into()),
        ("batch-size", params.batch_size.into()),
        ("tau0", params.tau0.into()),
        ("kappa", params.kappa.into()),
        ("local-tol", params.tolerance.into()),
        ("local-rounds", params.rounds.into()),
    ];
    config.extend(entries.map(|(name, value)| (name.to_owned(), value)));
    config
}
