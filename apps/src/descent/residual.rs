//! The inner problem kept as a residual over the rows: nothing to build, each step costs one column.

use super::columns::Column;
use super::quadratic::Space;
use crate::kernel;

/// The working columns of a least-squares problem, and how its loss is measured.
pub struct Geometry<'a> {
    /// The columns.
    pub columns: Vec<Column<'a>>,
    /// Their sums.
    pub sums: Vec<f64>,
    /// Their mean squares, about the mean where it is taken out; 0 for a column to leave alone.
    pub curvatures: Vec<f64>,
    /// How many rows, as a number.
    pub n: f64,
    /// The weight of all rows: `n`, unless rows are weighted.
    pub total: f64,
    /// Whether the mean of the residual is taken out implicitly (an intercept that is always at its best): the mean
    /// follows each step by one multiplication, and no column is made dense.
    pub centre: bool,
    /// How much steeper than it is the loss is taken to be.
    pub sigma: f64,
}

/// `q(b) = σ/2n · ‖r/σ − X b‖²`, up to a constant: least squares with the loss `σ` times as steep.
pub struct Residual<'a> {
    geometry: &'a Geometry<'a>,
    /// The residual, following every step `σ` times.
    pub residual: Vec<f64>,
    mean: f64,
    pending: Vec<f64>,
}

impl<'a> Residual<'a> {
    /// The problem at this residual.
    pub fn new(geometry: &'a Geometry<'a>, residual: Vec<f64>) -> Self {
        let mut space = Self { geometry, residual, mean: 0.0, pending: Vec::new() };
        space.find_mean();
        space
    }

    /// The products of the columns with the residual.
    pub fn raw_slopes(&self) -> Vec<f64> {
        self.geometry.columns.iter().map(|column| column.dot(&self.residual)).collect()
    }

    /// The mean of the residual if it is to be taken out, else 0.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    fn find_mean(&mut self) {
        if self.geometry.centre {
            self.mean = self.residual.iter().sum::<f64>() / self.geometry.n;
        }
    }

    /// `pending = X v`.
    fn image(&mut self, v: &[f64]) {
        self.pending.clear();
        self.pending.resize(self.residual.len(), 0.0);
        for (k, &a) in v.iter().enumerate().filter(|(_, a)| **a != 0.0) {
            self.geometry.columns[k].add_to(a, &mut self.pending);
        }
    }
}

impl Space for Residual<'_> {
    #[inline]
    fn slope(&self, k: usize) -> f64 {
        (self.geometry.columns[k].dot(&self.residual) - self.geometry.sums[k] * self.mean) / self.geometry.n
    }

    #[inline]
    fn curvature(&self, k: usize) -> f64 {
        self.geometry.sigma * self.geometry.curvatures[k]
    }

    #[inline]
    fn shift(&mut self, k: usize, change: f64) {
        let change = self.geometry.sigma * change;
        self.geometry.columns[k].add_to(-change, &mut self.residual);
        if self.geometry.centre {
            self.mean -= change * self.geometry.sums[k] / self.geometry.n;
        }
    }

    fn multiply(&mut self, v: &[f64], support: &[usize], out: &mut [f64]) {
        self.image(v);
        let mean =
            if self.geometry.centre { self.pending.iter().sum::<f64>() / self.geometry.n } else { 0.0 };
        for &k in support {
            out[k] = self.geometry.sigma
                * (self.geometry.columns[k].dot(&self.pending) - self.geometry.sums[k] * mean)
                / self.geometry.n;
        }
    }

    fn prepare(&mut self, changes: &[f64]) -> f64 {
        self.image(changes);
        let n = self.geometry.n;
        let (sum, square) = kernel::sum_and_square(&self.pending);
        let product = kernel::dot(&self.residual, &self.pending);
        let (square, product) = if self.geometry.centre {
            (square - sum * sum / n, product - sum * self.mean)
        } else {
            (square, product)
        };
        (self.geometry.sigma * square / 2.0 - product) / n
    }

    fn commit(&mut self) {
        kernel::axpy(-self.geometry.sigma, &self.pending, &mut self.residual);
        self.find_mean();
    }
}
