//! The parallel core: what a worker computes in a sweep and in a focus. Plain data in, plain data out.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::descent::columns::Columns;
use crate::descent::gram::{self, Gram, GramSpace};
use crate::descent::quadratic::{self, Effort, Limits, Working};
use crate::descent::residual::{Geometry, Residual};
use crate::descent::serial::Descent;
use crate::descent::sweep::{Slopes, Sweeper};
use crate::descent::task::{FocusReport, Orders, Piece, Roster, SweepReport};
use crate::kernel;

/// A column whose variance is below this share of its mean square is constant.
const CONSTANT: f64 = 1e-12;
/// Epochs on the residual before a Gram matrix is considered.
const EPOCHS_BEFORE_GRAM: usize = 8;
/// The matrix is built if that costs less than so many epochs.
const GRAM_EPOCHS: f64 = 40.0;

/// The data, ready to solve; shared by all workers and never changed.
#[derive(Debug)]
pub struct Problem {
    parts: Vec<Part>,
    labels: Vec<f64>,
    mean: f64,
    intercept: bool,
}

/// The columns of a part with what is known about each.
#[derive(Debug)]
struct Part {
    columns: Columns,
    weights: Vec<f64>,
    norms: Vec<f64>,
    curvatures: Vec<f64>,
}

impl Problem {
    /// The problem over these parts. With `intercept` means are taken out implicitly; with `standardize` the
    /// penalty of a column is weighed by its standard deviation, which is the same as scaling the column.
    pub fn new(parts: Vec<Columns>, labels: Vec<f64>, intercept: bool, standardize: bool) -> Arc<Self> {
        let n = labels.len() as f64;
        let mean = if intercept && n > 0.0 { labels.iter().sum::<f64>() / n } else { 0.0 };
        let mut labels = labels;
        labels.iter_mut().for_each(|y| *y -= mean);
        if intercept && labels.iter().all(|y| y.abs() <= 1e-12 * mean.abs()) {
            labels.fill(0.0);
        }
        let parts = parts.into_iter().map(|columns| Part::new(columns, intercept, standardize)).collect();
        Arc::new(Self { parts, labels, mean, intercept })
    }

    /// How many parts there are.
    pub fn n_parts(&self) -> usize {
        self.parts.len()
    }

    /// The columns of a part.
    pub fn columns(&self, part: usize) -> &Columns {
        &self.parts[part].columns
    }

    /// The shared row at the start, all coefficients being zero: the residual is the labels, less their mean.
    pub fn start(&self) -> Vec<f64> {
        self.labels.clone()
    }

    /// Rows.
    pub fn n_rows(&self) -> usize {
        self.labels.len()
    }

    /// One pass over a part at a snapshot of the residual. `sweeper` belongs to the part (a new one is right too:
    /// it visits every column).
    pub fn sweep(
        &self,
        part: usize,
        sweeper: &mut Sweeper,
        (residual, coefficients): (&[f64], &[f64]),
        orders: &Orders,
    ) -> SweepReport {
        let n = self.n_rows() as f64;
        let mean = if self.intercept { residual.iter().sum::<f64>() / n } else { 0.0 };
        let centred: Vec<f64> = residual.iter().map(|r| r - mean).collect();
        let Part { columns, weights, norms, .. } = &self.parts[part];
        let scan = sweeper.scan(&Slopes { columns, weights, norms }, (&centred, coefficients), orders);
        let square = kernel::dot(&centred, &centred);
        let product = kernel::dot(&centred, &self.labels);
        let scale = if scan.steepest > orders.lambda { orders.lambda / scan.steepest } else { 1.0 };
        SweepReport {
            part,
            loss: square / (2.0 * n),
            intercept: self.mean + mean,
            l1: scan.l1,
            square: scan.square,
            steepest: scan.steepest,
            scale,
            dual: scale * (product - scale * square / 2.0) / n,
            excess: 0.0,
            violation: scan.violation,
            violators: scan.violators,
            nonzero: scan.nonzero,
            visited: scan.visited,
            candidates: scan.candidates,
        }
    }
}

impl Part {
    fn new(columns: Columns, intercept: bool, standardize: bool) -> Self {
        let n = columns.n_rows() as f64;
        let (mut weights, mut norms, mut curvatures) = (Vec::new(), Vec::new(), Vec::new());
        for (sum, square) in columns.sums().iter().zip(columns.squares()) {
            let variance = (square - sum * sum / n) / n;
            let constant = variance <= CONSTANT * square / n;
            let curvature = if intercept { variance } else { square / n };
            let fixed = *square == 0.0 || (constant && (intercept || standardize));
            weights.push(match (fixed, standardize) {
                (true, _) => 0.0,
                (false, true) => variance.sqrt(),
                (false, false) => 1.0,
            });
            norms.push((curvature.max(0.0) * n).sqrt());
            curvatures.push(if fixed { 0.0 } else { curvature });
        }
        Self { columns, weights, norms, curvatures }
    }
}

/// A worker of this app: the problem, and what it remembers from task to task. What is remembered only saves work, so
/// a part may change workers at any time.
#[derive(Debug)]
pub struct Worker {
    problem: Arc<Problem>,
    sweepers: Vec<Sweeper>,
    focuser: Focuser,
}

impl Worker {
    /// A worker that remembers nothing yet.
    pub fn new(problem: Arc<Problem>) -> Self {
        let sweepers = vec![Sweeper::default(); problem.n_parts()];
        Self { problem, sweepers, focuser: Focuser::default() }
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
        self.focuser.focus(&self.problem, pieces, at, orders)
    }

    fn recall(&mut self, part: Option<usize>, columns: Vec<(u32, u32)>) {
        self.focuser.grams.entry(part).or_default().recall(columns);
    }

    fn order(&self, part: Option<usize>) -> &[(u32, u32)] {
        self.focuser.grams.get(&part).map_or(&[], Gram::known)
    }
}

/// Solves working sets; keeps Gram matrices from one focus to the next. One per worker.
#[derive(Debug, Default)]
pub struct Focuser {
    /// One for each part worked on alone, and one for several parts together.
    grams: BTreeMap<Option<usize>, Gram>,
}

impl Focuser {
    /// Coordinate descent on the columns of the pieces, from a snapshot of the residual. Changes the
    /// coefficients; what to add to the shared residual is written to `delta`.
    pub fn focus(
        &mut self,
        problem: &Problem,
        pieces: &mut [Piece<'_>],
        (residual, delta): (&[f64], &mut Vec<f64>),
        orders: &Orders,
    ) -> FocusReport {
        let part = if let [alone] = &*pieces { Some(alone.part) } else { None };
        let gram = self.grams.entry(part).or_default();
        let roster = Roster::new(pieces, |names| gram.order(names));
        let geometry = Geometry {
            columns: roster.each(|part, j| problem.columns(part).column(j)),
            sums: roster.each(|part, j| problem.columns(part).sums()[j]),
            curvatures: roster.each(|part, j| problem.parts[part].curvatures[j]),
            n: problem.n_rows() as f64,
            total: problem.n_rows() as f64,
            centre: problem.intercept,
            sigma: orders.sigma,
        };
        let thresholds = roster.each(|part, j| orders.lambda * problem.parts[part].weights[j]);
        let mut working = Working { values: roster.read(pieces), thresholds, ridge: 0.0 };
        let limits = Limits {
            tolerance: orders.tolerance,
            scale: orders.lambda.max(f64::MIN_POSITIVE),
            max_epochs: orders.max_epochs,
            accelerate: true,
        };
        let effort = solve(gram, (&geometry, &roster.names), (residual, delta), &mut working, &limits);
        roster.write(&working.values, pieces);
        FocusReport {
            arrival: effort.arrival,
            departure: effort.departure,
            epochs: effort.epochs,
            products: effort.products,
            nonzero: working.values.iter().filter(|b| **b != 0.0).count(),
        }
    }
}

/// A few epochs on the residual; if they are not enough, the rest on a Gram matrix where that is cheaper.
fn solve(
    gram: &mut Gram,
    (geometry, names): (&Geometry<'_>, &[(u32, u32)]),
    (residual, delta): (&[f64], &mut Vec<f64>),
    working: &mut Working,
    limits: &Limits,
) -> Effort {
    let n_rows = residual.len();
    let cost = gram.cost(names, &geometry.columns, n_rows);
    let old = working.values.clone();
    let mut space = Residual::new(geometry, residual.to_vec());
    let mut effort = Effort::default();
    if cost > EPOCHS_BEFORE_GRAM as f64 {
        let first = if cost > GRAM_EPOCHS { limits.max_epochs } else { EPOCHS_BEFORE_GRAM };
        let plain =
            Limits { max_epochs: first.min(limits.max_epochs), accelerate: cost > GRAM_EPOCHS, ..*limits };
        effort = quadratic::solve(&mut space, working, &plain);
    }
    if effort.epochs == 0 || (effort.departure > limits.tolerance && effort.epochs < limits.max_epochs) {
        let raw = space.raw_slopes();
        let mean = space.mean();
        gram.arrange(names, &geometry.columns, n_rows);
        let mut space = GramSpace::new(gram, geometry, raw, mean);
        let rest = Limits { max_epochs: limits.max_epochs - effort.epochs, ..*limits };
        let more = quadratic::solve(&mut space, working, &rest);
        effort = effort.then(more);
        delta.clear();
        delta.resize(n_rows, 0.0);
        gram::add_change(&geometry.columns, &old, &working.values, delta);
    } else {
        let unit = 1.0 / geometry.sigma;
        delta.clear();
        delta.extend(space.residual.iter().zip(residual).map(|(new, old)| (new - old) * unit));
    }
    effort
}
