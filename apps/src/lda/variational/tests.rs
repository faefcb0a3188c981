//! What the whole of it promises: known topics found, the bound that never falls, the serial reference, the same bits.

use std::collections::BTreeMap;
use std::sync::Arc;

use ndarray::Array2;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use slackline::prelude::*;

use super::bound::bound;
use super::params::{Params, Prior};
use super::serial::Serial;
use super::{Inference, Scoring, Setup, Topics};
use crate::data::Corpus;

/// A corpus from counts of words of each document.
fn corpus(docs: &[BTreeMap<u32, u32>], n_words: usize) -> Corpus {
    let mut corpus = Corpus { starts: vec![0], n_words, ..Corpus::default() };
    for doc in docs {
        corpus.words.extend(doc.keys());
        corpus.counts.extend(doc.values());
        corpus.starts.push(corpus.words.len());
    }
    corpus
}

/// Words per topic of [`planted`].
const BAND: u32 = 10;

/// Documents of `tokens` words about one or two of `n_topics` topics; topic k has words `10 k ..` with falling weights, and
/// shares the last three with the next topic. Returns the topics too, topics × words.
fn planted((n_topics, n_docs, tokens): (u32, u32, u32), seed: u64) -> (Corpus, Array2<f64>) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let n_words = n_topics * BAND;
    let mut topics = Array2::zeros((n_topics as usize, n_words as usize));
    for k in 0..n_topics {
        for place in 0..BAND + 3 {
            topics[[k as usize, ((k * BAND + place) % n_words) as usize]] += 1.0 / f64::from(place + 2);
        }
        let total: f64 = topics.row(k as usize).sum();
        topics.row_mut(k as usize).mapv_inplace(|weight| weight / total);
    }
    let mut draw = |topic: u32| {
        let mut left: f64 = random.random();
        let row = topics.row(topic as usize);
        row.iter()
            .position(|weight| {
                left -= weight;
                left < 0.0
            })
            .unwrap_or(0) as u32
    };
    let docs: Vec<BTreeMap<u32, u32>> = (0..n_docs)
        .map(|doc| {
            let mut counts = BTreeMap::new();
            for token in 0..tokens {
                let topic = if token % 3 == 0 { doc / n_topics + doc } else { doc } % n_topics;
                *counts.entry(draw(topic)).or_default() += 1;
            }
            counts
        })
        .collect();
    (corpus(&docs, n_words as usize), topics)
}

fn params(options: &[(&str, &str)], prior: Prior) -> Params {
    let options: BTreeMap<_, _> = options.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect();
    Params::parse(&options, prior, 1).unwrap()
}

fn setup(corpus: &Corpus, options: &[(&str, &str)], n_topics: usize) -> Arc<Setup> {
    let prior = Prior::symmetric(n_topics, 0.1, 0.05);
    Arc::new(Setup::new(corpus, params(options, prior), None, 3).unwrap())
}

fn serial(setup: &Setup) -> Array2<f32> {
    let mut run = Serial::new(setup, 3);
    while run.pass().unwrap() {}
    run.model()
}

fn parallel(setup: &Arc<Setup>, workers: usize, consistency: Consistency) -> Array2<f32> {
    let schedule = setup.schedule(1, Box::new(|cost, _| (cost, Vec::new())));
    let job = Job::new("svi").local(workers).consistency(consistency).schedule(schedule);
    let job = setup.tables().into_iter().fold(job, Job::table);
    let apps = Arc::clone(setup);
    let trained = job.start(move |_| Inference::new(Arc::clone(&apps))).unwrap().wait().unwrap();
    setup.model(&trained.model)
}

fn topic_word(lambda: &Array2<f32>) -> Array2<f64> {
    let mut topics = lambda.mapv(f64::from);
    topics.rows_mut().into_iter().for_each(|mut row| {
        let total = row.sum();
        row.mapv_inplace(|weight| weight / total);
    });
    topics
}

/// The largest total variation between a true topic and the found one nearest to it, each taken once.
fn worst_match(truth: &Array2<f64>, found: &Array2<f64>) -> f64 {
    let mut free: Vec<usize> = (0..found.nrows()).collect();
    let mut worst = 0.0f64;
    for topic in truth.outer_iter() {
        let apart = |k: usize| 0.5 * (&found.row(k) - &topic).mapv(f64::abs).sum();
        let place = (0..free.len()).min_by(|&a, &b| apart(free[a]).total_cmp(&apart(free[b]))).unwrap();
        worst = worst.max(apart(free.swap_remove(place)));
    }
    worst
}

#[test]
fn planted_topics_are_found() {
    let (corpus, truth) = planted((6, 600, 60), 1);
    let setup = setup(&corpus, &[("batch-size", "50"), ("epochs", "8")], 6);
    let worst = worst_match(&truth, &topic_word(&serial(&setup)));
    assert!(worst < 0.1, "{worst}");
}

#[test]
fn the_bound_of_batch_inference_never_falls() {
    let (corpus, _) = planted((5, 80, 30), 2);
    for (seed, prior) in [(1, Prior::symmetric(7, 0.1, 0.05)), (2, Prior::symmetric(3, 1.5, 0.5))] {
        let options = [("batch-size", "0"), ("epochs", "25"), ("parts", "3")];
        let setup = Setup::new(&corpus, params(&options, prior.clone()), None, seed).unwrap();
        let mut run = Serial::new(&setup, seed);
        let mut last = f64::NEG_INFINITY;
        while run.pass().unwrap() {
            let now = bound(&prior, &run.model().view(), setup.batches(), run.gammas());
            assert!(now >= last - 1e-6 * last.abs(), "{last} {now}");
            last = now;
        }
        assert!(last.is_finite());
    }
}

#[test]
fn one_worker_under_bsp_is_the_serial_reference_to_the_bit() {
    let (corpus, _) = planted((4, 90, 25), 3);
    for options in [
        &[("batch-size", "16"), ("epochs", "3")][..],
        &[("batch-size", "0"), ("epochs", "4"), ("parts", "5")],
    ] {
        let setup = setup(&corpus, options, 5);
        assert_eq!(parallel(&setup, 1, Consistency::Bsp), serial(&setup), "{options:?}");
    }
}

#[test]
fn several_workers_under_bsp_repeat_to_the_bit() {
    let (corpus, _) = planted((4, 90, 25), 4);
    let setup = setup(&corpus, &[("batch-size", "8"), ("epochs", "3")], 5);
    assert_eq!(parallel(&setup, 3, Consistency::Bsp), parallel(&setup, 3, Consistency::Bsp));
}

#[test]
fn batch_inference_does_not_depend_on_workers_or_consistency() {
    let (corpus, _) = planted((4, 90, 25), 5);
    let setup = setup(&corpus, &[("batch-size", "0"), ("epochs", "6"), ("parts", "6")], 5);
    let expected = serial(&setup);
    for consistency in [Consistency::Bsp, Consistency::Ssp(3), Consistency::Async] {
        let found = parallel(&setup, 3, consistency);
        let apart = (&found - &expected).mapv(f32::abs).iter().copied().fold(0.0, f32::max);
        assert!(apart < 0.05, "{consistency:?}: {apart}"); // of λ up to hundreds
    }
}

#[test]
fn the_totals_of_a_run_are_the_sums_of_its_rows() {
    let (corpus, _) = planted((4, 60, 25), 6);
    let setup = setup(&corpus, &[("batch-size", "7"), ("epochs", "3"), ("tau0", "4")], 5);
    let lambda = serial(&setup);
    // With every step λ is a mean of the start (about 1 a word and topic) and of estimates of all tokens.
    let remains = setup.solver().rows().rates().remains(0, setup.solver().rows().rates().n_steps());
    let total: f64 = lambda.iter().map(|&value| f64::from(value)).sum();
    let (cells, tokens) = (lambda.len() as f64, corpus.n_tokens() as f64);
    let expected = cells * (0.05 + remains) + (1.0 - remains) * tokens;
    assert!((total / expected - 1.0).abs() < 0.02, "{total} {expected}");
}

/// Scores tokens by the first topic.
struct Tokens(Corpus);

impl Scoring for Tokens {
    fn n_parts(&self) -> usize {
        self.0.n_docs()
    }

    fn words(&self, part: usize) -> Vec<u32> {
        self.0.doc(part).0.to_vec()
    }

    fn score(&self, part: usize, topics: &Topics<'_>) -> Vec<f64> {
        let (words, counts) = self.0.doc(part);
        let mut sums = vec![0.0, 0.0];
        for (word, count) in words.iter().zip(counts) {
            let p = topics.word(*word).expect("it reads the words it asked for");
            sums[0] += f64::from(*count) * f64::from(p.iter().sum::<f32>());
            sums[1] += f64::from(*count);
        }
        sums
    }
}

#[test]
fn evaluations_score_documents_that_are_not_trained_on() {
    let (corpus, _) = planted((4, 60, 25), 7);
    let (held_out, _) = planted((4, 5, 25), 8);
    for size in ["0", "16"] {
        let params = params(&[("batch-size", size), ("epochs", "3")], Prior::symmetric(5, 0.1, 0.05));
        let scoring: Arc<dyn Scoring> = Arc::new(Tokens(held_out.clone()));
        let setup = Arc::new(Setup::new(&corpus, params, Some(scoring), 3).unwrap());
        let measure = |_: f64, sums: &[f64]| (sums[0], vec![("tokens".to_owned(), sums[1])]);
        let job = Job::new("svi").local(2).consistency(Consistency::Ssp(1));
        let job =
            setup.tables().into_iter().fold(job.schedule(setup.schedule(1, Box::new(measure))), Job::table);
        let apps = Arc::clone(&setup);
        let trained = job.start(move |_| Inference::new(Arc::clone(&apps))).unwrap().wait().unwrap();
        let found = setup.model(&trained.model);
        let probabilities = topic_word(&found);
        let expected: f64 = (0..5)
            .flat_map(|doc| {
                let (w, c) = held_out.doc(doc);
                w.iter().zip(c).map(|(w, c)| (*w, *c)).collect::<Vec<_>>()
            })
            .map(|(word, count)| f64::from(count) * probabilities.column(word as usize).sum())
            .sum();
        assert_eq!(trained.history.len(), 3);
        let last = &trained.history.last().unwrap().mark;
        assert_eq!(last.metrics, [("tokens".to_owned(), 125.0)]);
        assert!((last.objective / expected - 1.0).abs() < 1e-4, "{} {expected}", last.objective);
    }
}

#[test]
fn odd_corpora_train_to_finite_topics() {
    let one = BTreeMap::from([(2, 1)]);
    let huge = BTreeMap::from([(0, u32::MAX), (5, 1)]);
    let docs = [BTreeMap::new(), one, BTreeMap::new(), huge];
    let corpus = corpus(&docs, 9); // words 1, 3, 4, 6, 7, 8 never occur
    for n_topics in [1, 3] {
        for prior in [Prior::symmetric(n_topics, 0.1, 0.01), Prior::symmetric(n_topics, 1e-6, 1e-6)] {
            for size in ["0", "1", "100"] {
                let params = params(&[("batch-size", size), ("epochs", "20")], prior.clone());
                let setup = Setup::new(&corpus, params, None, 1).unwrap();
                let lambda = serial(&setup);
                assert!(
                    lambda.iter().all(|value| value.is_finite() && *value > 0.0),
                    "{size} {prior:?} {lambda:?}"
                );
                let total: f64 = lambda.column(0).iter().map(|&value| f64::from(value)).sum();
                assert!(size == "1" || (total / f64::from(u32::MAX) - 1.0).abs() < 0.1, "{size}: {total}");
            }
        }
    }
}

#[test]
fn documents_without_words_are_refused() {
    let params = params(&[], Prior::symmetric(2, 0.1, 0.1));
    let error = Setup::new(&corpus(&[BTreeMap::new()], 4), params, None, 1).err().unwrap().to_string();
    assert_eq!(error, "the documents have no words, expected at least one");
}

#[test]
fn more_steps_than_a_row_can_name_are_refused() {
    let docs = vec![BTreeMap::from([(0, 1)]); 1000];
    let params = params(&[("batch-size", "1"), ("epochs", "20000")], Prior::symmetric(2, 0.1, 0.1));
    let error = Setup::new(&corpus(&docs, 1), params, None, 1).err().unwrap().to_string();
    assert!(error.starts_with("--epochs is 20000, must be less: 1000 batches a pass make"), "{error}");
}
