//! Gradients, closed relations, a reference program's optimum, and what staleness costs.

use std::collections::VecDeque;

use sprs::CsMatI;

use super::batch::{Batch, Cut, Samples, cut};
use super::scaling::Scaling;
use super::serial::Serial;
use super::step::Softmax;

/// 90 samples of 4 features around 3 centres, by formula; `tests.rs` and the script below make the same numbers.
fn samples() -> (CsMatI<f64, u32, usize>, Vec<u32>) {
    let (n, p) = (90usize, 4usize);
    let values = (0..n * p).map(|k| {
        let (i, j) = (k / p, k % p);
        let centre = if i % 3 == j { 1.0 } else { 0.0 };
        centre + 1.2 * ((i * 7 + j * 13) as f64 * 0.61).sin()
    });
    let indptr = (0..=n).map(|i| i * p).collect();
    let indices = (0..n * p).map(|k| (k % p) as u32).collect();
    (CsMatI::new((n, p), indptr, indices, values.collect()), (0..n).map(|i| (i % 3) as u32).collect())
}

fn softmax(classes: usize, l1: f64, l2: f64) -> Softmax {
    Softmax { classes, l1, l2, rate: 0.2, in_flight: 0 }
}

fn identity(p: usize) -> Scaling {
    Scaling { shift: vec![0.0; p], scale: vec![1.0; p] }
}

fn all_in_one(samples: &Samples<'_>, scaling: &Scaling) -> Vec<Batch> {
    cut(samples, scaling, Cut { size: usize::MAX, intercept: true, seed: 1 }).unwrap()
}

#[test]
fn the_sums_of_squares_are_those_of_the_gradient_by_finite_differences() {
    let (features, labels) = samples();
    let samples = Samples { features: &features, labels: &labels };
    let batches = all_in_one(&samples, &identity(4));
    let mut run = Serial::new(softmax(3, 0.0, 0.0), identity(4));
    run.table.iter_mut().enumerate().for_each(|(k, w)| *w = if k % 6 < 3 { (k as f32).cos() } else { 1.0 });
    let rows = run.gather(&batches[0]);
    let mut deltas = vec![0.0; rows.len()];
    run.softmax.step(&batches[0], &rows, &mut deltas);
    for k in (0..rows.len()).filter(|k| k % 6 < 3) {
        let [up, down] = [1e-2f32, -1e-2].map(|shift| {
            let mut moved = run.clone();
            moved.table[k] += shift;
            moved.objective(&batches)
        });
        let gradient = (up - down) / 2e-2;
        let square = f64::from(deltas[k + 3]);
        assert!((square - gradient * gradient).abs() < 1e-3 * (1.0 + square), "{k}: {square} {gradient}");
        let expected = -0.2 * gradient / (1.0 + square).sqrt();
        assert!((f64::from(deltas[k]) - expected).abs() < 1e-3, "{k}: {} {expected}", deltas[k]);
    }
}

#[test]
fn two_classes_are_binary_logistic_regression_of_the_difference() {
    let (features, labels) = samples();
    let labels: Vec<u32> = labels.iter().map(|&label| label.min(1)).collect();
    let batches = all_in_one(&Samples { features: &features, labels: &labels }, &identity(4));
    let mut run = Serial::new(softmax(2, 0.0, 0.0), identity(4));
    run.table.iter_mut().enumerate().for_each(|(k, w)| *w = (k as f32 * 1.7).sin());
    let (weights, bias) = run.model();
    let mut expected = 0.0;
    for (row, &label) in features.outer_iterator().zip(&labels) {
        let margin: f64 =
            row.iter().map(|(j, x)| x * f64::from(weights[[1, j]] - weights[[0, j]])).sum::<f64>()
                + f64::from(bias[1] - bias[0]);
        let signed = if label == 1 { margin } else { -margin };
        expected += (-signed).exp().ln_1p();
    }
    let loss = run.score(&batches).loss;
    assert!((loss - expected).abs() < 1e-4 * expected, "{loss} {expected}");
}

/// Recorded from scikit-learn 1.9.1: `LogisticRegression(C=1/(90*0.01), tol=1e-10, max_iter=10000)` on the numbers of
/// [`samples`]; objective = mean of `-log P(y)` + 0.005 * sum of squared coefficients.
const REFERENCE: f64 = 0.502_923_95;

#[test]
fn it_reaches_the_optimum_of_a_reference_program() {
    let (features, labels) = samples();
    let samples = Samples { features: &features, labels: &labels };
    let scaling = Scaling::of(&features, true);
    let batches = cut(&samples, &scaling, Cut { size: 15, intercept: true, seed: 3 }).unwrap();
    let mut run = Serial::new(softmax(3, 0.0, 0.01), scaling);
    (0..300).for_each(|_| {
        run.pass(&batches);
    });
    let objective = run.objective(&batches);
    assert!(objective > REFERENCE * 0.99999 && objective < REFERENCE * 1.002, "{objective}");

    // The exported model scores the data as given the same.
    let raw = all_in_one(&samples, &identity(4));
    let mut same = Serial::new(softmax(3, 0.0, 0.01), identity(4));
    let (weights, bias) = run.model();
    for class in 0..3 {
        (0..4).for_each(|j| same.table[j * 6 + class] = weights[[class, j]]);
        same.table[4 * 6 + class] = bias[class];
    }
    assert!((same.objective(&raw) / objective - 1.0).abs() < 1e-4);
}

#[test]
fn a_large_l1_leaves_only_the_bias() {
    let (features, labels) = samples();
    let scaling = Scaling::of(&features, true);
    let samples = Samples { features: &features, labels: &labels };
    let batches = cut(&samples, &scaling, Cut { size: 15, intercept: true, seed: 3 }).unwrap();
    let mut run = Serial::new(softmax(3, 1.0, 0.0), scaling);
    (0..20).for_each(|_| {
        run.pass(&batches);
    });
    assert!(run.model().0.iter().all(|&weight| weight == 0.0));
}

#[test]
fn batches_hold_every_sample_once_and_list_what_occurs() {
    let features = CsMatI::new((3, 4), vec![0, 2, 2, 3], vec![1, 3, 1], vec![2.0, 3.0, 5.0]);
    let samples = Samples { features: &features, labels: &[0, 1, 1] };
    let batches = cut(&samples, &identity(4), Cut { size: 2, intercept: true, seed: 4 }).unwrap();
    assert_eq!(batches.iter().map(Batch::len).sum::<usize>(), 3);
    for batch in &batches {
        assert_eq!(batch.features.last(), Some(&4), "the bias is last");
        assert_eq!(batch.rarity.last(), Some(&0.0), "and not penalised");
        assert!(batch.features.is_sorted());
    }
    let rare: Vec<f32> = batches
        .iter()
        .flat_map(|batch| batch.features.iter().zip(&batch.rarity))
        .filter(|(feature, _)| **feature == 3)
        .map(|(_, &rarity)| rarity)
        .collect();
    assert_eq!(rare, [2.0], "in one of two batches");
}

#[test]
fn bad_samples_are_refused_with_a_reason() {
    let features = CsMatI::new((1, 1), vec![0, 1], vec![0], vec![f64::NAN]);
    let try_cut = |labels: &[u32]| {
        let samples = Samples { features: &features, labels };
        cut(&samples, &identity(1), Cut { size: 2, intercept: true, seed: 4 }).unwrap_err().to_string()
    };
    assert_eq!(try_cut(&[0, 1]), "1 samples have 2 labels, must be as many");
    assert_eq!(try_cut(&[0]), "a feature has the value NaN, must be a finite number");
}

/// Passes by `workers` of which each sees the others' updates `staleness` clocks late, and its own at once.
fn stale_passes(run: &mut Serial, batches: &[Batch], passes: usize, (workers, staleness): (usize, usize)) {
    let width = run.softmax.width();
    let mut late: VecDeque<Vec<(usize, Vec<f32>)>> = VecDeque::new();
    let tasks: Vec<usize> = (0..passes).flat_map(|_| 0..batches.len()).collect();
    for clock in tasks.chunks(workers) {
        let mut fresh = Vec::new();
        for (worker, &b) in clock.iter().enumerate() {
            let mut rows = run.gather(&batches[b]);
            for (of, deltas) in late.iter().filter_map(|clock| clock.get(worker)) {
                for (row, feature) in rows.chunks_exact_mut(width).zip(&batches[b].features) {
                    if let Ok(at) = batches[*of].features.binary_search(feature) {
                        row.iter_mut()
                            .zip(&deltas[at * width..])
                            .for_each(|(value, change)| *value += change);
                    }
                }
            }
            let mut deltas = vec![0.0; rows.len()];
            run.softmax.step(&batches[b], &rows, &mut deltas);
            fresh.push((b, deltas));
        }
        late.push_back(fresh);
        if late.len() > staleness {
            late.pop_front().into_iter().flatten().for_each(|(b, deltas)| run.add(&batches[b], &deltas));
        }
    }
    late.into_iter().flatten().for_each(|(b, deltas)| run.add(&batches[b], &deltas));
}

#[test]
fn rare_features_shrunk_by_many_at_once_stay_in_range() {
    // Feature 5 occurs in neighbouring batches only, so that all its steps are under way together.
    let n = 64usize;
    let indptr: Vec<usize> = (0..=n).map(|i| i + i.min(8)).collect();
    let indices: Vec<u32> =
        (0..n).flat_map(|i| if i < 8 { vec![i as u32 % 5, 5] } else { vec![i as u32 % 5] }).collect();
    let values = vec![0.1; indices.len()];
    let features = CsMatI::new((n, 6), indptr, indices, values);
    let labels: Vec<u32> = (0..n).map(|i| (i % 3) as u32).collect();
    let scaling = Scaling::of(&features, true);
    let samples = Samples { features: &features, labels: &labels };
    let mut batches = cut(&samples, &scaling, Cut { size: 1, intercept: true, seed: 3 }).unwrap();
    batches.sort_by_key(|batch| !batch.features.contains(&5));
    let mut run = Serial::new(Softmax { in_flight: 11, ..softmax(3, 0.0, 1.0) }, scaling);
    run.table[5 * 6] = 1.0;
    stale_passes(&mut run, &batches, 200, (4, 2));
    assert!(run.table[5 * 6].abs() < 0.1, "{}", run.table[5 * 6]);
    assert!(run.objective(&batches) < 1.2);
}

#[test]
fn four_workers_two_clocks_stale_reach_the_serial_objective() {
    let (features, labels) = samples();
    let scaling = Scaling::of(&features, true);
    let samples = Samples { features: &features, labels: &labels };
    let batches = cut(&samples, &scaling, Cut { size: 5, intercept: true, seed: 3 }).unwrap();
    let mut serial = Serial::new(softmax(3, 0.0, 0.01), scaling);
    let mut stale = serial.clone();
    (0..60).for_each(|_| {
        serial.pass(&batches);
    });
    stale.softmax.in_flight = 11;
    stale_passes(&mut stale, &batches, 60, (4, 2));
    let (serial, stale) = (serial.objective(&batches), stale.objective(&batches));
    assert!((stale / serial - 1.0).abs() < 0.02, "{stale} not {serial}");
}
