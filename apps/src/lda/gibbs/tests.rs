//! Whole runs: planted topics are found, and what is promised of bits and priors is kept.

use std::path::PathBuf;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::catalog::{App, Array, Request, Trained, Watch};
use crate::lda::Lda;

/// Documents drawn from planted topics: topic `k` has the words `10 k` to `10 k + 12`, half as likely beyond the tenth.
fn planted(n_topics: usize, n_docs: usize, weights: &[f64]) -> (tempfile::TempDir, PathBuf, Vec<Vec<f64>>) {
    let n_words = 10 * n_topics + 3;
    let topics: Vec<Vec<f64>> = (0..n_topics)
        .map(|k| {
            let weight = |word: usize| match word.checked_sub(10 * k) {
                Some(0..10) => 1.0 / 11.5,
                Some(10..13) => 0.5 / 11.5,
                _ => 0.0,
            };
            (0..n_words).map(weight).collect()
        })
        .collect();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
    let draw = |weights: &[f64], random: &mut Xoshiro256PlusPlus| {
        let mut point = random.random::<f64>() * weights.iter().sum::<f64>();
        let found = weights.iter().position(|weight| {
            point -= weight;
            point < 0.0
        });
        found.unwrap_or(weights.len() - 1)
    };
    let mut lines = String::new();
    for _ in 0..n_docs {
        let two = [draw(weights, &mut random), draw(weights, &mut random)];
        let mut counts = vec![0; n_words];
        for _ in 0..60 {
            let topic = two[usize::from(random.random::<f64>() < 0.3)];
            counts[draw(&topics[topic], &mut random)] += 1;
        }
        lines.push('0');
        for (word, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            lines.push_str(&format!(" {}:{count}", word + 1));
        }
        lines.push('\n');
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("planted.svm");
    std::fs::write(&path, lines).unwrap();
    (folder, path, topics)
}

fn train(request: &Request) -> Trained {
    Lda.train(request, &Watch::nobody()).unwrap_or_else(|error| panic!("{error}"))
}

/// Of several runs the one of greatest likelihood: a single one may end with two topics in one and one in two.
fn best(request: &Request) -> Trained {
    let runs = (0..4).map(|seed| train(&Request { seed, ..request.clone() }));
    runs.max_by(|a, b| a.objective.total_cmp(&b.objective)).expect("there are runs")
}

fn array<'a>(trained: &'a Trained, name: &str) -> &'a Array {
    &trained.arrays.iter().find(|array| array.0 == name).unwrap().1
}

fn topic_word(trained: &Trained) -> Vec<Vec<f64>> {
    let Array::F32(table) = array(trained, "topic_word") else { panic!("topics are single precision") };
    table.outer_iter().map(|row| row.iter().map(|p| f64::from(*p)).collect()).collect()
}

fn alpha(trained: &Trained) -> Vec<f64> {
    let Array::F64(alpha) = array(trained, "alpha") else { panic!("priors are double precision") };
    alpha.iter().copied().collect()
}

/// The mean total variation of planted topics and the nearest learned ones, each taken once.
fn distance(planted: &[Vec<f64>], mut learned: Vec<Vec<f64>>) -> f64 {
    let variation = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum::<f64>() / 2.0;
    let mut sum = 0.0;
    for topic in planted {
        let near = |other: &Vec<f64>| variation(topic, other);
        let best =
            (0..learned.len()).min_by(|a, b| near(&learned[*a]).total_cmp(&near(&learned[*b]))).unwrap();
        sum += near(&learned.swap_remove(best));
    }
    sum / planted.len() as f64
}

#[test]
fn planted_topics_are_found() {
    let (_folder, data, topics) = planted(6, 1000, &[1.0; 6]);
    let request = |workers, consistency: &str| {
        let request = Request { workers, consistency: Some(consistency.to_owned()), ..Request::on(&data) };
        request.with("topics", 6).with("sweeps", 60).with("samples", 10)
    };
    let trained = best(&request(2, "bsp"));
    let learned = topic_word(&trained);
    assert!(learned.iter().all(|row| (row.iter().sum::<f64>() - 1.0).abs() < 1e-5), "rows sum to 1");
    let off = distance(&topics, learned);
    assert!(off < 0.1, "total variation {off}");
    // Where workers do not wait for each other no two runs are alike: their likelihood is that of the best within a topic.
    for (workers, consistency) in [(3, "ssp:2"), (2, "async")] {
        let objective = best(&request(workers, consistency)).objective;
        assert!(
            (objective - trained.objective).abs() < 0.08 * trained.objective.abs(),
            "{consistency}: {objective}"
        );
    }
}

#[test]
fn rounds_under_bsp_have_the_same_bits_with_any_number_of_workers() {
    let (_folder, data, _) = planted(5, 150, &[1.0; 5]);
    let bits = |workers: usize| {
        let request = Request { workers, consistency: Some("bsp".to_owned()), ..Request::on(&data) };
        let request = request.with("topics", 6).with("sweeps", 12).with("parts", 6).with("optimize", "both");
        let trained = train(&request.with("burn-in", 3).with("samples", 3).with("doc-topic", true));
        let Array::F32(mixtures) = array(&trained, "doc_topic") else { panic!("single precision") };
        let mixtures: Vec<f64> = mixtures.iter().map(|p| f64::from(*p)).collect();
        (topic_word(&trained), alpha(&trained), mixtures, trained.metrics["test_perplexity"].to_bits())
    };
    let one = bits(1);
    for workers in [2, 3, 6, 8] {
        assert!(one == bits(workers), "{workers} workers");
    }
}

#[test]
fn fitted_priors_know_frequent_topics_from_rare_ones() {
    let weights = [8.0, 4.0, 2.0, 1.0];
    let (_folder, data, topics) = planted(4, 1500, &weights);
    let request = Request { workers: 2, consistency: Some("bsp".to_owned()), ..Request::on(&data) };
    let request = request.with("topics", 4).with("optimize", "both");
    let trained = best(&request.with("sweeps", 60).with("alpha", 0.5).with("beta", 0.1));
    assert!(distance(&topics, topic_word(&trained)) < 0.1);
    let mut alpha = alpha(&trained);
    alpha.sort_by(|a, b| b.total_cmp(a));
    assert!(alpha[0] > 3.0 * alpha[3], "{alpha:?}");
    let beta = trained.metrics["beta"];
    assert!(beta.is_finite() && (beta - 0.1).abs() > 0.01, "it is fitted: {beta}");
}

#[test]
fn a_run_that_gains_no_more_ends_early() {
    let (_folder, data, _) = planted(4, 300, &[1.0; 4]);
    let request = Request::on(&data).with("topics", 4).with("sweeps", 5000).with("tol", 0.02);
    let trained = train(&request.with("evaluate-every", 5));
    assert!(!trained.stopped, "it is done, not stopped");
    assert!(trained.metrics["sweeps"] < 200.0, "{:?}", trained.metrics);
}

#[test]
fn one_topic_is_the_frequencies_of_words() {
    let (_folder, data, _) = planted(3, 100, &[1.0; 3]);
    let trained = train(&Request::on(&data).with("topics", 1).with("sweeps", 2).with("beta", 0.5));
    let Array::I64(counts) = array(&trained, "word_counts") else { panic!("counts are whole") };
    let tokens = counts.sum() as f64 + 0.5 * counts.len() as f64;
    for (share, count) in topic_word(&trained)[0].iter().zip(counts) {
        assert!((share - (*count as f64 + 0.5) / tokens).abs() < 1e-7);
    }
}

#[test]
fn mixtures_of_documents_are_distributions() {
    let (_folder, data, _) = planted(3, 100, &[1.0; 3]);
    let trained = train(&Request::on(&data).with("topics", 7).with("sweeps", 5).with("doc-topic", true));
    let Array::F32(mixtures) = array(&trained, "doc_topic") else { panic!("single precision") };
    assert_eq!(mixtures.shape(), [90, 7], "a tenth is held out");
    assert!(mixtures.outer_iter().all(|row| (row.sum() - 1.0).abs() < 1e-5));
}
