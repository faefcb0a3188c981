//! The parallel core: what a worker computes in a sweep and in a focus. Plain data in, plain data out.

use std::sync::Arc;

use super::loss;
use crate::Error;
use crate::descent::columns::Columns;
use crate::descent::quadratic::{self, Effort, Limits, Working};
use crate::descent::serial::Descent;
use crate::descent::sweep::{Slopes, Sweeper};
use crate::descent::task::{FocusReport, Orders, Piece, Roster, SweepReport};
use crate::descent::weighted::{self, Weighted};
use crate::kernel;

/// Newton steps in one focus.
const NEWTON_STEPS: usize = 20;
/// Epochs of coordinate descent in one Newton step.
const EPOCHS: usize = 12;
/// The smallest second derivative a row is given, so that a row that is certain does not stall its columns.
const LEAST_WEIGHT: f64 = 1e-10;

/// The data, ready to solve; shared by all workers and never changed.
#[derive(Debug)]
pub struct Problem {
    parts: Vec<Part>,
    labels: Vec<f64>,
    intercept: bool,
}

#[derive(Debug)]
struct Part {
    columns: Columns,
    /// 1, or 0 for a column that must stay zero: empty, or constant beside an intercept.
    weights: Vec<f64>,
    norms: Vec<f64>,
}

impl Problem {
    /// The problem over these parts; labels are −1 or 1.
    ///
    /// # Errors
    /// Labels other than −1 and 1, or all of one kind beside an intercept (which would grow for ever).
    pub fn new(parts: Vec<Columns>, labels: Vec<f64>, intercept: bool) -> Result<Arc<Self>, Error> {
        if let Some(bad) = labels.iter().find(|y| **y != 1.0 && **y != -1.0) {
            return Err(Error::Run(format!("a label is {bad}, must be -1 or 1")));
        }
        if intercept && !(labels.contains(&1.0) && labels.contains(&-1.0)) {
            return Err(Error::Run("every sample has the same label: there is nothing to tell apart".into()));
        }
        let parts = parts.into_iter().map(|columns| Part::new(columns, intercept)).collect();
        Ok(Arc::new(Self { parts, labels, intercept }))
    }

    /// How many parts there are.
    pub fn n_parts(&self) -> usize {
        self.parts.len()
    }

    /// The columns of a part.
    pub fn columns(&self, part: usize) -> &Columns {
        &self.parts[part].columns
    }

    /// The shared row at the start, all coefficients being zero: the scores, without the intercept.
    pub fn start(&self) -> Vec<f64> {
        vec![0.0; self.labels.len()]
    }

    fn best_intercept(&self, scores: &[f64], start: f64) -> f64 {
        if self.intercept { loss::best_intercept(scores, &self.labels, start) } else { 0.0 }
    }

    /// One pass over a part at a snapshot of the scores. `sweeper` belongs to the part (a new one is right too: it
    /// visits every column).
    pub fn sweep(
        &self,
        part: usize,
        sweeper: &mut Sweeper,
        (scores, coefficients): (&[f64], &[f64]),
        orders: &Orders,
    ) -> SweepReport {
        let intercept = self.best_intercept(scores, orders.intercept);
        let wrongs = loss::wrongs(scores, &self.labels, intercept);
        let slope: Vec<f64> = wrongs.iter().zip(&self.labels).map(|(p, y)| p * y).collect();
        let Part { columns, weights, norms } = &self.parts[part];
        let scan = sweeper.scan(&Slopes { columns, weights, norms }, (&slope, coefficients), orders);
        let bound = orders.ridge == 0.0 && scan.steepest > orders.lambda;
        let scale = if bound { orders.lambda / scan.steepest } else { 1.0 };
        SweepReport {
            part,
            loss: loss::mean(scores, &self.labels, intercept),
            intercept,
            l1: scan.l1,
            square: scan.square,
            steepest: scan.steepest,
            scale,
            dual: loss::entropy(&wrongs, scale),
            excess: if orders.ridge > 0.0 { scan.excess / (2.0 * orders.ridge) } else { 0.0 },
            violation: scan.violation,
            violators: scan.violators,
            nonzero: scan.nonzero,
            visited: scan.visited,
            candidates: scan.candidates,
        }
    }
}

impl Part {
    fn new(columns: Columns, intercept: bool) -> Self {
        let n = columns.n_rows() as f64;
        let (weights, norms) = columns
            .sums()
            .iter()
            .zip(columns.squares())
            .map(|(sum, square)| {
                let about_mean = square - sum * sum / n;
                let fixed = *square == 0.0 || (intercept && about_mean <= 1e-12 * square);
                let norm = if intercept { about_mean.max(0.0) } else { *square };
                (if fixed { 0.0 } else { 1.0 }, norm.sqrt())
            })
            .unzip();
        Self { columns, weights, norms }
    }
}

/// A worker of this app: the problem, and what it remembers from task to task. What is remembered only saves work, so
/// a part may change workers at any time.
#[derive(Debug)]
pub struct Worker {
    problem: Arc<Problem>,
    sweepers: Vec<Sweeper>,
}

impl Worker {
    /// A worker that remembers nothing yet.
    pub fn new(problem: Arc<Problem>) -> Self {
        let sweepers = vec![Sweeper::default(); problem.n_parts()];
        Self { problem, sweepers }
    }
}

impl Descent for Worker {
    fn n_parts(&self) -> usize {
        self.problem.n_parts()
    }

    fn n_columns(&self, part: usize) -> usize {
        self.problem.columns(part).n_columns()
    }

    fn start(&self) -> Vec<f64> {
        self.problem.start()
    }

    fn sweep(&mut self, part: usize, at: (&[f64], &[f64]), orders: &Orders) -> SweepReport {
        self.problem.sweep(part, &mut self.sweepers[part], at, orders)
    }

    fn focus(
        &mut self,
        pieces: &mut [Piece<'_>],
        at: (&[f64], &mut Vec<f64>),
        orders: &Orders,
    ) -> FocusReport {
        focus(&self.problem, pieces, at, orders)
    }
}

/// One focus at work: the scores as they change, and the objective of the working columns.
struct Focus<'a> {
    problem: &'a Problem,
    roster: Roster,
    orders: &'a Orders,
    scores: Vec<f64>,
    intercept: f64,
    working: Working,
}

/// Newton steps with coordinate descent inside on the columns of the pieces, from a snapshot of the scores. Changes
/// the coefficients; what to add to the shared scores is written to `delta`.
pub fn focus(
    problem: &Problem,
    pieces: &mut [Piece<'_>],
    (scores, delta): (&[f64], &mut Vec<f64>),
    orders: &Orders,
) -> FocusReport {
    let roster = Roster::new(pieces, <[_]>::sort_unstable);
    let thresholds = roster.each(|part, j| orders.lambda * problem.parts[part].weights[j]);
    let working = Working { values: roster.read(pieces), thresholds, ridge: orders.ridge };
    let intercept = problem.best_intercept(scores, orders.intercept);
    let mut focus = Focus { problem, roster, orders, scores: scores.to_vec(), intercept, working };
    let mut effort = Effort::default();
    for _ in 0..NEWTON_STEPS {
        let left = orders.max_epochs.saturating_sub(effort.epochs);
        if left == 0 {
            break;
        }
        let (step, moved) = focus.newton(left.min(EPOCHS));
        effort = effort.then(step);
        effort.departure = step.arrival;
        if step.arrival <= orders.tolerance || !moved {
            break;
        }
    }
    focus.roster.write(&focus.working.values, pieces);
    delta.clear();
    delta.extend(focus.scores.iter().zip(scores).map(|(new, old)| new - old));
    FocusReport {
        arrival: effort.arrival,
        departure: effort.departure,
        epochs: effort.epochs,
        products: effort.products,
        nonzero: focus.working.values.iter().filter(|b| **b != 0.0).count(),
    }
}

impl Focus<'_> {
    /// One Newton step: a quadratic about the present point, minimised by coordinate descent; then as far along the
    /// step as the true objective falls. Whether it moved.
    fn newton(&mut self, max_epochs: usize) -> (Effort, bool) {
        let labels = &self.problem.labels;
        let wrongs = loss::wrongs(&self.scores, labels, self.intercept);
        let slope: Vec<f64> = wrongs.iter().zip(labels).map(|(p, y)| p * y).collect();
        let weights: Vec<f64> = wrongs.iter().map(|p| (p * (1.0 - p)).max(LEAST_WEIGHT)).collect();
        let columns = self.roster.each(|part, j| self.problem.columns(part).column(j));
        let geometry = weighted::geometry(columns, &weights, self.problem.intercept, self.orders.sigma);
        let mut space = Weighted::new(&geometry, &weights, slope);
        let old = self.working.clone();
        let limits = Limits {
            tolerance: self.orders.tolerance,
            scale: if self.orders.lambda > 0.0 { self.orders.lambda } else { 1.0 },
            max_epochs,
            accelerate: true,
        };
        let effort = quadratic::solve_loosely(&mut space, &mut self.working, &limits);
        let moved = self.search(&old);
        (effort, moved)
    }

    /// Goes from `old` towards the working values by 1, ½, ¼, … of the way until the objective falls.
    fn search(&mut self, old: &Working) -> bool {
        let mut image = vec![0.0; self.scores.len()];
        let changes: Vec<f64> =
            self.working.values.iter().zip(&old.values).map(|(new, old)| new - old).collect();
        let columns = self.roster.each(|part, j| self.problem.columns(part).column(j));
        for (column, &change) in columns.iter().zip(&changes).filter(|(_, change)| **change != 0.0) {
            column.add_to(change, &mut image);
        }
        let before = self.objective(&self.scores, self.intercept, &old.values);
        let mut share = 1.0;
        for _ in 0..30 {
            let mut scores = self.scores.clone();
            kernel::axpy(share, &image, &mut scores);
            let values: Vec<f64> = if share == 1.0 {
                self.working.values.clone()
            } else {
                old.values.iter().zip(&changes).map(|(old, change)| old + share * change).collect()
            };
            let intercept = self.problem.best_intercept(&scores, self.intercept);
            // Near the optimum a step gains less than rounding: a whole step is then taken for what it is.
            let rounding = if share == 1.0 { 1e-14 * before } else { 0.0 };
            if self.objective(&scores, intercept, &values) < before + rounding {
                self.scores = scores;
                self.intercept = intercept;
                self.working.values = values;
                return true;
            }
            share /= 2.0;
        }
        self.working.values.clone_from(&old.values);
        false
    }

    fn objective(&self, scores: &[f64], intercept: f64, values: &[f64]) -> f64 {
        let penalty: f64 = values
            .iter()
            .zip(&self.working.thresholds)
            .map(|(b, threshold)| threshold * b.abs() + self.orders.ridge / 2.0 * b * b)
            .sum();
        loss::mean(scores, &self.problem.labels, intercept) + penalty
    }
}
