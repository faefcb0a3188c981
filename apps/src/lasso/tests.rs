//! The Lasso against closed forms, other programs and itself in other shapes.

use std::sync::Arc;

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::solver::{Problem, Worker};
use crate::descent::columns::{Rows, split};
use crate::descent::guide::{Penalties, Plan, Reach, Step};
use crate::descent::serial::{Descent, Fit, fit};
use crate::descent::simulated;
use crate::descent::sweep::Sweeper;
use crate::descent::task::Orders;

fn rows(dense: &[Vec<f64>]) -> Rows {
    let n_columns = dense.first().map_or(0, Vec::len);
    let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in dense {
        for (j, &v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            indices.push(j as u32);
            values.push(v);
        }
        starts.push(indices.len());
    }
    Rows::new((dense.len(), n_columns), starts, indices, values)
}

fn plan(lambda: f64) -> Plan {
    Plan {
        penalties: Penalties::Given(vec![lambda]),
        ridge: 0.0,
        tolerance: 1e-9,
        max_sweeps: 2000,
        reach: Reach::Pooled,
    }
}

fn problem(dense: &[Vec<f64>], labels: &[f64], parts: usize, intercept: bool) -> Arc<Problem> {
    Problem::new(split(rows(dense), parts), labels.to_vec(), intercept, false)
}

fn solve(problem: &Arc<Problem>, plan: Plan) -> Fit {
    fit(&mut Worker::new(Arc::clone(problem)), plan)
}

/// Coefficients by global column.
fn beta(problem: &Problem, fit: &Fit, n_columns: usize) -> Vec<f64> {
    let mut beta = vec![0.0; n_columns];
    for (part, values) in fit.coefficients.iter().enumerate() {
        for (&name, &value) in problem.columns(part).names().iter().zip(values) {
            beta[name as usize] = value;
        }
    }
    beta
}

/// Gaussian-like data with correlated columns and a sparse truth.
fn data(seed: u64, n: usize, p: usize, share: f64) -> (Vec<Vec<f64>>, Vec<f64>) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let draw = |random: &mut Xoshiro256PlusPlus| random.random::<f64>() + random.random::<f64>() - 1.0;
    let mut x = vec![vec![0.0; p]; n];
    for row in &mut x {
        let common = draw(&mut random);
        for v in row.iter_mut() {
            if random.random::<f64>() < share {
                *v = draw(&mut random) + 0.5 * common;
            }
        }
    }
    let y = x.iter().map(|row| 3.0 + row.iter().take(5).sum::<f64>() + 0.3 * draw(&mut random)).collect();
    (x, y)
}

fn objective(x: &[Vec<f64>], y: &[f64], beta: &[f64], intercept: f64, lambda: f64) -> f64 {
    let n = y.len() as f64;
    let loss: f64 = x
        .iter()
        .zip(y)
        .map(|(row, y)| (y - intercept - row.iter().zip(beta).map(|(x, b)| x * b).sum::<f64>()).powi(2))
        .sum();
    loss / (2.0 * n) + lambda * beta.iter().map(|b| b.abs()).sum::<f64>()
}

#[test]
fn orthogonal_columns_are_soft_thresholded() {
    let x = vec![vec![2.0, 0.0, 0.0], vec![0.0, 2.0, 0.0], vec![0.0, 0.0, 2.0], vec![0.0; 3]];
    let y = [3.0, -1.0, 0.2, 5.0];
    let p = problem(&x, &y, 2, false);
    // min 1/8·(y − 2b)² + 0.3·|b|: b = (y/2 shrunk by 0.3·4/4).
    let b = beta(&p, &solve(&p, plan(0.3)), 3);
    for (b, expected) in b.iter().zip([1.2, -0.2, 0.0]) {
        assert!((b - expected).abs() < 1e-9, "{b} {expected}");
    }
}

#[test]
fn the_largest_useful_penalty_gives_zero_and_a_little_less_does_not() {
    let (x, y) = data(1, 40, 12, 0.7);
    let p = problem(&x, &y, 3, true);
    let shares = Plan { penalties: Penalties::Shares(vec![1.0, 0.999]), ..plan(1.0) };
    let steps = solve(&p, shares).steps;
    assert_eq!(steps[0].coefficients, vec![]);
    assert_eq!(steps[1].coefficients.len(), 1);
    let mean = y.iter().sum::<f64>() / 40.0;
    assert!((steps[0].intercept - mean).abs() < 1e-12);
}

#[test]
fn odd_shapes_have_a_solution() {
    let nothing = problem(&[vec![], vec![]], &[1.0, 2.0], 2, true);
    assert!((solve(&nothing, plan(0.1)).steps[0].intercept - 1.5).abs() < 1e-12);
    let one_row = problem(&[vec![2.0, 1.0]], &[4.0], 1, true);
    let step: &Step = &solve(&one_row, plan(0.1)).steps[0];
    assert!(step.converged && step.coefficients.is_empty() && (step.intercept - 4.0).abs() < 1e-12);
    let constant = problem(&[vec![1.0, 0.0], vec![2.0, 0.0]], &[0.1, 0.1], 1, true);
    let shares = Plan { penalties: Penalties::Shares(vec![0.1]), ..plan(1.0) };
    assert!(solve(&constant, shares).steps[0].converged);
    let zero = problem(&[vec![1.0], vec![2.0]], &[0.0, 0.0], 1, false);
    assert!(solve(&zero, plan(0.1)).steps[0].converged);
    // One column: b = shrink(x·y/n, λ)/(x·x/n) = (2.5 − 0.1)/2.5.
    let one = problem(&[vec![1.0], vec![2.0]], &[1.0, 2.0], 1, false);
    assert!((solve(&one, plan(0.1)).steps[0].coefficients[0].2 - 0.96).abs() < 1e-9);
}

#[test]
fn a_tiny_penalty_still_converges() {
    let (x, y) = data(2, 60, 20, 0.5);
    let p = problem(&x, &y, 1, true);
    let step = &solve(&p, Plan { tolerance: 1e-6, ..plan(1e-5) }).steps[0];
    assert!(step.converged, "gap {} of {}", step.gap, step.objective);
}

#[test]
fn columns_of_ones_need_no_values() {
    let (x, y) = data(3, 80, 30, 0.2);
    let ones: Vec<Vec<f64>> = x.iter().map(|r| r.iter().map(|v| f64::from(*v != 0.0)).collect()).collect();
    let twos: Vec<Vec<f64>> = ones.iter().map(|r| r.iter().map(|v| 2.0 * v).collect()).collect();
    let index_only = problem(&ones, &y, 2, true);
    assert!(index_only.columns(0).all_ones());
    let valued = problem(&twos, &y, 2, true);
    assert!(!valued.columns(0).all_ones());
    let a = beta(&index_only, &solve(&index_only, plan(0.02)), 30);
    // Twice the column and twice the penalty: half the coefficient.
    let b = beta(&valued, &solve(&valued, plan(0.04)), 30);
    for (a, b) in a.iter().zip(&b) {
        assert!((a - 2.0 * b).abs() < 1e-6, "{a} {b}");
    }
}

#[test]
fn an_intercept_is_the_same_as_centred_data_and_standardising_as_scaled_columns() {
    let (x, y) = data(4, 50, 10, 0.3);
    let n = 50.0;
    let mean = |j: usize| x.iter().map(|r| r[j]).sum::<f64>() / n;
    let sd = |j: usize| (x.iter().map(|r| (r[j] - mean(j)).powi(2)).sum::<f64>() / n).sqrt();
    let y_mean = y.iter().sum::<f64>() / n;
    let centred: Vec<f64> = y.iter().map(|y| y - y_mean).collect();
    let scaled: Vec<Vec<f64>> =
        x.iter().map(|r| r.iter().enumerate().map(|(j, v)| (v - mean(j)) / sd(j)).collect()).collect();
    let sparse = Problem::new(split(rows(&x), 1), y.clone(), true, true);
    let dense = problem(&scaled, &centred, 1, false);
    let a = beta(&sparse, &solve(&sparse, plan(0.05)), 10);
    let b = beta(&dense, &solve(&dense, plan(0.05)), 10);
    assert!(b.iter().filter(|b| **b != 0.0).count() >= 3);
    for j in 0..10 {
        assert!((a[j] - b[j] / sd(j)).abs() < 1e-6, "{j}: {} {}", a[j], b[j] / sd(j));
    }
}

#[test]
fn the_objective_and_gap_are_those_of_the_coefficients() {
    let (x, y) = data(5, 60, 40, 0.4);
    let p = problem(&x, &y, 3, true);
    let fit = solve(&p, plan(0.03));
    let step = &fit.steps[0];
    let b = beta(&p, &fit, 40);
    assert!((objective(&x, &y, &b, step.intercept, 0.03) - step.objective).abs() < 1e-12);
    assert!(step.gap <= 1e-9 * step.objective && step.converged);
}

#[test]
fn a_sweep_that_passes_columns_over_finds_what_a_full_one_finds() {
    let (x, y) = data(6, 100, 200, 0.1);
    let p = problem(&x, &y, 1, true);
    let orders = |lambda| Orders {
        lambda,
        ridge: 0.0,
        intercept: 0.0,
        quota: 50,
        tolerance: 1e-3,
        max_epochs: 2,
        sigma: 1.0,
    };
    let mut residual = p.start();
    let mut coefficients = vec![0.0; 200];
    let mut worker = Worker::new(Arc::clone(&p));
    let mut passed_over = 0;
    for lambda in [0.2, 0.1, 0.05, 0.05, 0.05, 0.04, 0.04, 0.04] {
        let orders = orders(lambda);
        let full = p.sweep(0, &mut Sweeper::default(), (&residual, &coefficients), &orders);
        let quick = worker.sweep(0, (&residual, &coefficients), &orders);
        passed_over += full.visited - quick.visited;
        assert_eq!((full.violators, full.nonzero), (quick.violators, quick.nonzero));
        assert_eq!(full.candidates, quick.candidates);
        assert!(full.steepest.max(lambda) - quick.steepest.max(lambda) < 1e-12);
        let chosen: Vec<u32> = quick.candidates.iter().map(|c| c.column).collect();
        let mut delta = Vec::new();
        let mut pieces =
            [crate::descent::task::Piece { part: 0, coefficients: &mut coefficients, columns: &chosen }];
        worker.focus(&mut pieces, (&residual, &mut delta), &orders);
        crate::kernel::axpy(1.0, &delta, &mut residual);
    }
    assert!(passed_over > 100, "{passed_over} visits saved");
}

#[test]
fn a_path_ends_where_a_single_fit_does() {
    let (x, y) = data(7, 60, 80, 0.4);
    let p = problem(&x, &y, 2, true);
    let path = Plan { penalties: Penalties::Given(vec![0.3, 0.1, 0.05, 0.02]), ..plan(1.0) };
    let steps = solve(&p, path).steps;
    let single = &solve(&p, plan(0.02)).steps[0];
    assert!(steps.iter().all(|s| s.converged));
    assert!(steps.windows(2).all(|s| s[0].objective >= s[1].objective));
    assert!((steps[3].objective - single.objective).abs() <= 2e-9 * single.objective);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn stale_parts_with_duplicated_columns_reach_the_gap(seed in 0u64..1000, parts in 2usize..9, copies in 1usize..5) {
        let (mut x, y) = data(seed, 40, 24, 0.6);
        for row in &mut x {
            for j in 0..24 {
                row[j] = row[j % 24 / copies * copies];
            }
        }
        let p = problem(&x, &y, parts, seed % 2 == 0);
        let mut workers: Vec<Worker> = (0..parts).map(|_| Worker::new(Arc::clone(&p))).collect();
        let plan = Plan { reach: Reach::Parts(parts), tolerance: 1e-6, ..plan(0.02) };
        let outcome = simulated::run(&mut workers, plan);
        let step = &outcome.guide.steps()[0];
        prop_assert!(step.converged, "gap {:e} of {} after {} sweeps, width {}, objectives {:?}",
            step.gap, step.objective, step.sweeps, outcome.guide.width(), &outcome.objectives[..outcome.objectives.len().min(20)]);
        let single = &solve(&p, Plan { tolerance: 1e-6, ..self::plan(0.02) }).steps[0];
        prop_assert!((step.objective - single.objective).abs() <= 3e-6 * single.objective);
        prop_assert!(outcome.coefficients.iter().flatten().all(|b| b.is_finite()));
    }
}
