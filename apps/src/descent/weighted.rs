//! The inner problem of a Newton step: least squares with a weight for each row, kept as a weighted residual.

use super::columns::Column;
use super::quadratic::Space;
use super::residual::Geometry;
use crate::kernel;

/// `q(v) = −u·Xv/n + σ/2n · Σ w_i (Xv)_i²` about the present point: `u` is minus the gradient of the loss over the
/// rows and `w` its second derivative.
///
/// With an intercept the quadratic is minimised over it implicitly: `mean` is the intercept's best step, and follows
/// each step of a coefficient by one multiplication.
pub struct Weighted<'a> {
    geometry: &'a Geometry<'a>,
    weights: &'a [f64],
    /// `u − σ·w·Xv` at present.
    left: Vec<f64>,
    mean: f64,
    pending: Vec<f64>,
}

/// The geometry of these columns when rows are weighted.
pub fn geometry<'a>(columns: Vec<Column<'a>>, weights: &[f64], intercept: bool, sigma: f64) -> Geometry<'a> {
    let n = weights.len() as f64;
    let total: f64 = weights.iter().sum();
    let sums: Vec<f64> = columns.iter().map(|c| if intercept { c.dot(weights) } else { 0.0 }).collect();
    let curvatures = columns
        .iter()
        .zip(&sums)
        .map(|(column, sum)| {
            let square = column.weighted_square(weights);
            let spread = square - sum * sum / total;
            if spread <= 1e-12 * square { 0.0 } else { spread / n }
        })
        .collect();
    Geometry { columns, sums, curvatures, n, total, centre: intercept, sigma }
}

impl<'a> Weighted<'a> {
    /// The quadratic of these columns at a point with slope `left` and second derivative `weights` over the rows.
    pub fn new(geometry: &'a Geometry<'a>, weights: &'a [f64], left: Vec<f64>) -> Self {
        let mut space = Self { geometry, weights, left, mean: 0.0, pending: Vec::new() };
        space.find_mean();
        space
    }

    fn find_mean(&mut self) {
        if self.geometry.centre {
            self.mean = self.left.iter().sum::<f64>() / self.geometry.total;
        }
    }

    /// `pending = w · Xv`, and by how much the intercept's best step falls.
    fn image(&mut self, v: &[f64]) -> f64 {
        self.pending.clear();
        self.pending.resize(self.left.len(), 0.0);
        for (k, &a) in v.iter().enumerate().filter(|(_, a)| **a != 0.0) {
            self.geometry.columns[k].add_weighted_to(a, self.weights, &mut self.pending);
        }
        if self.geometry.centre { kernel::dot(&self.geometry.sums, v) / self.geometry.total } else { 0.0 }
    }
}

impl Space for Weighted<'_> {
    #[inline]
    fn slope(&self, k: usize) -> f64 {
        (self.geometry.columns[k].dot(&self.left) - self.geometry.sums[k] * self.mean) / self.geometry.n
    }

    #[inline]
    fn curvature(&self, k: usize) -> f64 {
        self.geometry.sigma * self.geometry.curvatures[k]
    }

    #[inline]
    fn shift(&mut self, k: usize, change: f64) {
        let change = self.geometry.sigma * change;
        self.geometry.columns[k].add_weighted_to(-change, self.weights, &mut self.left);
        if self.geometry.centre {
            self.mean -= change * self.geometry.sums[k] / self.geometry.total;
        }
    }

    fn multiply(&mut self, v: &[f64], support: &[usize], out: &mut [f64]) {
        let mean = self.image(v);
        for &k in support {
            out[k] = self.geometry.sigma
                * (self.geometry.columns[k].dot(&self.pending) - self.geometry.sums[k] * mean)
                / self.geometry.n;
        }
    }

    fn prepare(&mut self, changes: &[f64]) -> f64 {
        let mean = self.image(changes);
        let mut change = 0.0;
        for (k, a) in changes.iter().enumerate().filter(|(_, a)| **a != 0.0) {
            let image = (self.geometry.columns[k].dot(&self.pending) - self.geometry.sums[k] * mean)
                / self.geometry.n;
            change += a * (self.geometry.sigma * image / 2.0 - self.slope(k));
        }
        change
    }

    fn commit(&mut self) {
        kernel::axpy(-self.geometry.sigma, &self.pending, &mut self.left);
        self.find_mean();
    }
}
