//! The inner problem of a Newton step: least squares with a weight for each row, kept as a weighted residual.

use super::columns::Column;
use super::quadratic::Space;
use crate::kernel;

/// `q(v) = −u·Xv/n + σ/2n · Σ w_i (Xv)_i²` about the present point: `u` is minus the gradient of the loss over the
/// rows and `w` its second derivative.
///
/// With an intercept the quadratic is minimised over it implicitly: `mean` is the intercept's best step, and follows
/// each step of a coefficient by one multiplication.
pub struct Weighted<'a> {
    columns: Vec<Column<'a>>,
    weights: &'a [f64],
    /// Σ of the weights, if there is an intercept to take out.
    total: Option<f64>,
    /// The weighted sum of each column.
    sums: Vec<f64>,
    curvatures: Vec<f64>,
    /// `u − σ·w·Xv` at present.
    left: Vec<f64>,
    mean: f64,
    sigma: f64,
    pending: Vec<f64>,
}

impl<'a> Weighted<'a> {
    /// The quadratic of these columns at a point with slope `left` and second derivative `weights` over the rows.
    pub fn new(
        columns: Vec<Column<'a>>,
        weights: &'a [f64],
        left: Vec<f64>,
        intercept: bool,
        sigma: f64,
    ) -> Self {
        let n = left.len() as f64;
        let total = intercept.then(|| weights.iter().sum::<f64>()).filter(|total| *total > 0.0);
        let sums: Vec<f64> = match total {
            Some(_) => columns.iter().map(|c| c.dot(weights)).collect(),
            None => vec![0.0; columns.len()],
        };
        let curvatures = columns
            .iter()
            .zip(&sums)
            .map(|(column, sum)| {
                let square = column.weighted_square(weights);
                let spread = square - total.map_or(0.0, |total| sum * sum / total);
                if spread <= 1e-12 * square { 0.0 } else { spread / n }
            })
            .collect();
        let mean = total.map_or(0.0, |total| left.iter().sum::<f64>() / total);
        Self { columns, weights, total, sums, curvatures, left, mean, sigma, pending: Vec::new() }
    }

    fn n(&self) -> f64 {
        self.left.len() as f64
    }

    /// `pending = w · Xv`, and by how much the intercept's best step falls.
    fn image(&mut self, v: &[f64]) -> f64 {
        self.pending.clear();
        self.pending.resize(self.left.len(), 0.0);
        for (k, &a) in v.iter().enumerate().filter(|(_, a)| **a != 0.0) {
            self.columns[k].add_weighted_to(a, self.weights, &mut self.pending);
        }
        self.total.map_or(0.0, |total| kernel::dot(&self.sums, v) / total)
    }
}

impl Space for Weighted<'_> {
    #[inline]
    fn slope(&self, k: usize) -> f64 {
        (self.columns[k].dot(&self.left) - self.sums[k] * self.mean) / self.n()
    }

    #[inline]
    fn curvature(&self, k: usize) -> f64 {
        self.sigma * self.curvatures[k]
    }

    #[inline]
    fn shift(&mut self, k: usize, change: f64) {
        let change = self.sigma * change;
        self.columns[k].add_weighted_to(-change, self.weights, &mut self.left);
        if let Some(total) = self.total {
            self.mean -= change * self.sums[k] / total;
        }
    }

    fn multiply(&mut self, v: &[f64], support: &[usize], out: &mut [f64]) {
        let mean = self.image(v);
        for &k in support {
            out[k] = self.sigma * (self.columns[k].dot(&self.pending) - self.sums[k] * mean) / self.n();
        }
    }

    fn prepare(&mut self, changes: &[f64]) -> f64 {
        let mean = self.image(changes);
        let mut change = 0.0;
        for (k, a) in changes.iter().enumerate().filter(|(_, a)| **a != 0.0) {
            let image = (self.columns[k].dot(&self.pending) - self.sums[k] * mean) / self.n();
            change += a * (self.sigma * image / 2.0 - self.slope(k));
        }
        change
    }

    fn commit(&mut self) {
        kernel::axpy(-self.sigma, &self.pending, &mut self.left);
        if let Some(total) = self.total {
            self.mean = self.left.iter().sum::<f64>() / total;
        }
    }
}
