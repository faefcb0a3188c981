//! Logistic regression against closed forms, other programs and itself in other shapes.

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::solver::{Problem, Worker};
use crate::catalog::{App, Request, Trained, Watch};
use crate::data::{ReadOptions, read_samples};
use crate::descent::columns::{Rows, split};
use crate::descent::guide::{Penalties, Plan, Reach, Step};
use crate::descent::serial::fit;
use crate::descent::simulated;

fn plan(l1: f64, l2: f64) -> Plan {
    let penalties = Penalties::Given(vec![l1]);
    Plan { penalties, ridge: l2, tolerance: 1e-9, max_sweeps: 2000, reach: Reach::Pooled }
}

/// 60 samples, 12 sparse columns, the last one a copy of the first.
fn data() -> (Rows, Vec<f64>) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
    let (mut starts, mut indices, mut values, mut labels) = (vec![0], Vec::new(), Vec::new(), Vec::new());
    for _ in 0..60 {
        let row: Vec<f64> = (0..11)
            .map(|_| if random.random::<f64>() < 0.4 { random.random::<f64>() * 2.0 - 1.0 } else { 0.0 })
            .collect();
        let score = 4.0 * row[0] - 3.0 * row[1] + 0.5 + random.random::<f64>() - 0.5;
        labels.push(if score > 0.0 { 1.0 } else { -1.0 });
        for (j, &v) in row.iter().chain(std::iter::once(&row[0])).enumerate().filter(|(_, v)| **v != 0.0) {
            indices.push(j as u32);
            values.push(v);
        }
        starts.push(indices.len());
    }
    (Rows::new((60, 12), starts, indices, values), labels)
}

fn solve(parts: usize, intercept: bool, plan: Plan) -> Step {
    let (x, y) = data();
    let problem = Problem::new(split(x, parts), y, intercept).unwrap();
    fit(&mut Worker::new(problem), plan).steps[0].clone()
}

#[test]
fn no_column_and_an_intercept_give_the_log_odds() {
    let x = Rows::new((4, 1), vec![0, 0, 0, 0, 0], vec![], vec![]);
    let problem = Problem::new(split(x, 1), vec![1.0, 1.0, 1.0, -1.0], true).unwrap();
    let step = fit(&mut Worker::new(problem), plan(0.1, 0.0)).steps[0].clone();
    assert!((step.intercept - 3.0f64.ln()).abs() < 1e-10);
    assert!(step.converged && step.coefficients.is_empty());
}

#[test]
fn every_mix_of_penalties_is_certified() {
    for intercept in [true, false] {
        for (l1, l2) in [(0.05, 0.0), (0.001, 0.0), (0.02, 0.01), (0.0, 0.1), (0.0, 1e-4)] {
            let one = solve(1, intercept, plan(l1, l2));
            assert!(one.converged, "{l1} {l2} {intercept}: gap {:e} of {}", one.gap, one.objective);
            let three = solve(3, intercept, plan(l1, l2));
            assert!((one.objective - three.objective).abs() <= 2e-9 * one.objective);
        }
    }
}

#[test]
fn one_column_without_an_intercept_meets_its_condition() {
    // Two samples x = 1 with label 1: the slope ½·2/2·… is p(b) = l1 + l2·b with p = 1/(1 + e^b).
    let x = Rows::new((2, 1), vec![0, 1, 2], vec![0, 0], vec![1.0, 1.0]);
    let problem = Problem::new(split(x, 1), vec![1.0, 1.0], false).unwrap();
    let step = fit(&mut Worker::new(Arc::clone(&problem)), plan(0.1, 0.2)).steps[0].clone();
    let b = step.coefficients[0].2;
    assert!((1.0 / (1.0 + b.exp()) - 0.1 - 0.2 * b).abs() < 1e-5, "{b}");
    let pure = fit(&mut Worker::new(problem), plan(0.1, 0.0)).steps[0].clone();
    assert!((pure.coefficients[0].2 - 9.0f64.ln()).abs() < 1e-6);
}

#[test]
fn stale_parts_with_a_duplicated_column_reach_the_gap() {
    let (x, y) = data();
    for parts in [2, 4, 8] {
        let problem = Problem::new(split(x.clone(), parts), y.clone(), true).unwrap();
        let mut workers: Vec<Worker> = (0..parts).map(|_| Worker::new(Arc::clone(&problem))).collect();
        let plan = Plan { reach: Reach::Parts(parts), tolerance: 1e-6, ..plan(0.01, 0.0) };
        let outcome = simulated::run(&mut workers, plan);
        let step = &outcome.guide.steps()[0];
        assert!(step.converged, "{parts} parts: gap {:e} after {} sweeps", step.gap, step.sweeps);
        assert!(outcome.objectives.iter().all(|o| o.is_finite()));
        assert_eq!(outcome.coefficients.len(), parts);
    }
}

#[test]
fn labels_that_cannot_be_told_apart_are_refused() {
    let x = || split(Rows::new((2, 1), vec![0, 1, 2], vec![0, 0], vec![1.0, 2.0]), 1);
    let same = Problem::new(x(), vec![1.0, 1.0], true).unwrap_err();
    assert_eq!(same.to_string(), "every sample has the same label: there is nothing to tell apart");
    let odd = Problem::new(x(), vec![1.0, 2.0], true).unwrap_err();
    assert_eq!(odd.to_string(), "a label is 2, must be -1 or 1");
}

/// liblinear 2.50 on the 32,561 x 123 a9a data, no intercept, 1 % of the largest penalty: objective 0.372335; needs
/// the directory of the full `a9a.train.svm.zst` in `SLACKLINE_DATA`.
#[test]
fn a9a_as_liblinear_fits_it() {
    let Some(directory) = std::env::var_os("SLACKLINE_DATA") else {
        eprintln!("skipped: SLACKLINE_DATA is not set");
        return;
    };
    let path = std::path::Path::new(&directory).join("a9a.train.svm.zst");
    let samples = read_samples(&path, &ReadOptions::default(), &|_| {}).unwrap();
    let problem = Problem::new(split(samples.features, 2), samples.labels, false).unwrap();
    let step = fit(&mut Worker::new(problem), plan(0.002_690_488_621, 0.0)).steps[0].clone();
    assert!(step.converged && (step.objective - 0.372_335).abs() < 1e-6, "{}", step.objective);
}

/// scikit-learn 1.9.1 on the shipped files, n samples, labels -1 and 1. L1:
/// `LogisticRegression(penalty="l1", C=1/(n*l1), solver="liblinear", tol=1e-10, max_iter=1000, fit_intercept=False)`;
/// L2: `LogisticRegression(penalty="l2", C=1/(n*l2), solver="newton-cg", tol=1e-12, max_iter=1000)`. The objective is
/// `logaddexp(0, -y * (X @ w + b)).mean() + l1 * abs(w).sum() + l2 / 2 * w @ w`.
#[test]
fn shipped_data_are_fitted_as_scikit_learn_fits_them() {
    for (file, l1, l2, intercept, expected) in [
        ("mushrooms.train", 1e-3, 0.0, false, 0.050_536_663_939_141_33),
        ("a9a.test", 1e-3, 0.0, false, 0.343_513_499_956_728_8),
        ("mushrooms.train", 0.0, 1e-2, true, 0.142_680_557_370_440_1),
        ("a9a.test", 0.0, 1e-2, true, 0.365_888_822_812_453),
    ] {
        let fit = catalog(file, (l1, l2), intercept);
        assert_eq!(fit.metrics["converged"], 1.0, "{file} {l1} {l2}");
        assert!((fit.objective / expected - 1.0).abs() < 2e-7, "{file} {l1} {l2}: {}", fit.objective);
    }
}

#[test]
fn every_mix_of_penalties_reaches_its_gap_on_mushrooms() {
    for penalties in [(0.0, 1e-2), (0.0, 1e-4), (1e-3, 1e-3), (1e-4, 1e-2)] {
        let fit = catalog("mushrooms.train", penalties, true);
        let gap = fit.metrics["relative_gap"];
        assert!(fit.metrics["converged"] == 1.0 && gap <= 1e-7, "{penalties:?}: {gap:e}");
    }
}

/// Through the catalog, with two workers, to a gap of 1e-7.
fn catalog(file: &str, (l1, l2): (f64, f64), intercept: bool) -> Trained {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("data/{file}.svm.zst"));
    let request = Request { workers: 2, ..Request::on(path) }.with("l1", l1).with("l2", l2);
    let request = request.with("intercept", intercept).with("tol", 1e-7);
    super::Logistic.train(&request, &Watch::nobody()).unwrap()
}
