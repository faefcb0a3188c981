//! One pass over the columns of a part at a snapshot: who violates optimality, and what the dual point may be.
//!
//! Most columns need no visit after the first passes. The slope of a column is a product with a vector over the
//! rows; when that vector has moved by `d` since the column was last visited, the slope has moved by at most
//! `‖x_j‖·d/n`. A column that so cannot have come near its penalty neither violates optimality nor limits the dual
//! point, and is passed over. This is the sphere test of gap-safe screening (Fercoq, Gramfort, Salmon 2015) around
//! the last visited point in place of the dual one: it needs no gap, holds at any penalty, and is never for good.

use super::columns::Columns;
use super::task::{ACTIVE, Candidate, Orders};
use crate::kernel;

/// A column is near its penalty, and a candidate, from this share of it.
const NEAR: f64 = 0.9;

/// What makes the slopes of a part: its columns and what is known about them once.
#[derive(Debug, Clone)]
pub struct Slopes<'a> {
    /// The columns.
    pub columns: &'a Columns,
    /// The penalty of each relative to `lambda`; 0 for a column that must stay zero.
    pub weights: &'a [f64],
    /// The norm of each, about its mean where an intercept takes the mean out.
    pub norms: &'a [f64],
}

/// What one pass found.
#[derive(Debug, Clone, Default)]
pub struct Scan {
    /// Largest |slope| over weight.
    pub steepest: f64,
    /// Σ over columns of `(|slope before the L2 part| − lambda·weight)₊²`.
    pub excess: f64,
    /// Largest violation of optimality as a share of `lambda`.
    pub violation: f64,
    /// Columns without a coefficient that should have one.
    pub violators: usize,
    /// Σ weight·|b|.
    pub l1: f64,
    /// Σ b².
    pub square: f64,
    /// Columns with a coefficient.
    pub nonzero: usize,
    /// Columns whose slope was computed.
    pub visited: usize,
    /// Those with a coefficient and the most violating others.
    pub candidates: Vec<Candidate>,
}

/// Remembers, per part, how far each column was from mattering when last visited.
#[derive(Debug, Clone, Default)]
pub struct Sweeper {
    /// The vector of the last pass.
    last: Vec<f64>,
    /// How far the vector has moved over all passes.
    travelled: f64,
    /// `|slope|·n/‖x‖ − travelled` at the last visit: the column's slope times `n/‖x‖` is now at most this plus
    /// what has been travelled by now.
    reach: Vec<f64>,
}

impl Sweeper {
    /// One pass with the slope vector `vector` (a mean taken out already, if one is to be).
    pub fn scan(
        &mut self,
        part: &Slopes<'_>,
        (vector, coefficients): (&[f64], &[f64]),
        orders: &Orders,
    ) -> Scan {
        self.travel(vector, part.columns.n_columns());
        let n = vector.len() as f64;
        let mut scan = Scan::default();
        let limit = NEAR * orders.lambda;
        for (j, &b) in coefficients.iter().enumerate() {
            let (weight, norm) = (part.weights[j], part.norms[j]);
            let near = limit * weight * n;
            if weight == 0.0 || (b == 0.0 && (self.reach[j] + self.travelled) * norm <= near) {
                continue;
            }
            let slope = part.columns.column(j).dot(vector) / n;
            self.reach[j] = slope.abs() * n / norm * (1.0 + 1e-12) - self.travelled;
            scan.visited += 1;
            scan.take((j, b), slope, weight, orders);
        }
        scan.keep_best(orders.quota);
        scan
    }

    /// Follows the vector to where it is now.
    fn travel(&mut self, vector: &[f64], n_columns: usize) {
        if self.last.len() != vector.len() || self.reach.len() != n_columns {
            self.last = vector.to_vec();
            self.reach = vec![f64::INFINITY; n_columns];
            self.travelled = 0.0;
            return;
        }
        let squared: f64 = kernel::distance_square(vector, &self.last);
        self.travelled += squared.sqrt() * (1.0 + 1e-12);
        self.last.copy_from_slice(vector);
    }
}

impl Scan {
    fn take(&mut self, (j, b): (usize, f64), slope: f64, weight: f64, orders: &Orders) {
        let over = (slope.abs() - orders.lambda * weight).max(0.0);
        self.excess += over * over;
        let steep = slope.abs() / weight;
        self.steepest = self.steepest.max(steep);
        let scale = if orders.lambda > 0.0 { orders.lambda } else { 1.0 };
        if b != 0.0 {
            let off = slope - orders.ridge * b - orders.lambda * weight * b.signum();
            self.violation = self.violation.max(off.abs() / (scale * weight));
            self.l1 += weight * b.abs();
            self.square += b * b;
            self.nonzero += 1;
            self.candidates.push(Candidate { column: j as u32, priority: ACTIVE, value: b });
            return;
        }
        if steep > orders.lambda {
            self.violators += 1;
            self.violation = self.violation.max((steep - orders.lambda) / scale);
        }
        if steep > NEAR * orders.lambda {
            let priority = (steep / scale) as f32;
            self.candidates.push(Candidate {
                column: j as u32,
                priority: priority.min(ACTIVE / 2.0),
                value: 0.0,
            });
        }
    }

    /// Keeps all columns with a coefficient and the `quota` others of the highest priority.
    fn keep_best(&mut self, quota: usize) {
        let most = self.nonzero.saturating_add(quota);
        if self.candidates.len() > most && most > 0 {
            let order = |a: &Candidate, b: &Candidate| {
                b.priority.total_cmp(&a.priority).then(a.column.cmp(&b.column))
            };
            self.candidates.select_nth_unstable_by(most - 1, order);
            self.candidates.truncate(most);
        }
        self.candidates.sort_unstable_by_key(|c| c.column);
    }
}
