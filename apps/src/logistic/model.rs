//! A trained model read back, and what it says of new samples: their most probable class and the probability of each.

use std::path::Path;

use ndarray::Array2;

use super::classes::Classes;
use crate::data::{Csr, IndexBase, npy};
use crate::prediction::{Cell, Column, Predictions};
use crate::{Error, samples};

/// A model as it was written.
pub(super) struct Model {
    /// How columns were counted.
    pub(super) base: IndexBase,
    /// The labels of the training data.
    pub(super) classes: Classes,
    /// Classes x columns; one row for two classes, the logit of the second.
    pub(super) coefficients: Array2<f64>,
    /// One a row of the coefficients.
    pub(super) intercepts: Vec<f64>,
}

impl Model {
    /// Reads the model of the run in `directory`.
    ///
    /// # Errors
    /// A folder that holds no such model.
    pub(super) fn read(directory: &Path) -> Result<Self, Error> {
        let folder = directory.join("model");
        let (base, classes) = (samples::read_base(&folder)?, Classes::read(&folder)?);
        let path = folder.join("coefficients.npy");
        let coefficients = npy::read_f64(&path)?;
        let rows = if classes.n() == 2 { 1 } else { classes.n() };
        let n_columns = coefficients.len() / rows;
        let refused = |path, what| Error::Data {
            path,
            problem: format!("does not hold {rows} {what}, one per class of classes.txt"),
        };
        let coefficients = coefficients
            .into_shape_with_order((rows, n_columns))
            .map_err(|_| refused(path, "rows of coefficients"))?;
        let path = folder.join("intercept.npy");
        let intercepts: Vec<f64> = npy::read_f64(&path)?.into_iter().collect();
        if intercepts.len() != rows {
            return Err(refused(path, "intercepts"));
        }
        Ok(Self { base, classes, coefficients, intercepts })
    }

    /// The label of each sample and the probability of each class: `label`, `p(1)`, `p(2)`, …
    pub(super) fn predict(self, features: Csr) -> Predictions {
        let probability = |label: &f64| Column::double(format!("p({label})"));
        let columns =
            [Column::double("label")].into_iter().chain(self.classes.0.iter().map(probability)).collect();
        let n_rows = features.rows();
        let row = move |row: usize| {
            let view = features.outer_view(row).expect("a row of the matrix");
            let logits = self.logits(view);
            let most = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let class = logits.iter().position(|logit| *logit == most).unwrap_or(0);
            let cells = [self.classes.0[class]].into_iter().chain(probabilities(logits, most));
            cells.map(Cell::Number).collect()
        };
        Predictions { columns, n_rows, rows: Box::new((0..n_rows).map(row)) }
    }

    /// z = W x + b: one of each class.
    fn logits(&self, row: sprs::CsVecViewI<'_, f64, u32>) -> Vec<f64> {
        let rows = self.coefficients.outer_iter().zip(&self.intercepts);
        let logit = |(weights, intercept): (ndarray::ArrayView1<'_, f64>, &f64)| {
            samples::score(row, weights.as_slice().expect("rows lie one after the other"), *intercept)
        };
        let first = (self.classes.n() == 2).then_some(0.0); // one logit: that of the second class over the first
        first.into_iter().chain(rows.map(logit)).collect()
    }
}

/// exp(zₖ) / Σ exp(zⱼ), shifted by the greatest so that no exponential overflows.
fn probabilities(logits: Vec<f64>, most: f64) -> impl Iterator<Item = f64> {
    let whole: f64 = logits.iter().map(|logit| (logit - most).exp()).sum();
    logits.into_iter().map(move |logit| (logit - most).exp() / whole)
}
