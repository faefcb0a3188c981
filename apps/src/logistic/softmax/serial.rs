//! The same steps over the same batches in a plain loop: the oracle of tests and the baseline of benches.

use ndarray::{Array1, Array2};

use super::batch::Batch;
use super::scaling::Scaling;
use super::step::{Score, Softmax};

/// The table and what is done to it.
#[derive(Debug, Clone)]
pub struct Serial {
    /// The constants.
    pub softmax: Softmax,
    /// How the columns were scaled.
    pub scaling: Scaling,
    /// Rows of all features and of the bias, each `softmax.width()` floats.
    pub table: Vec<f32>,
}

impl Serial {
    /// A table of zeros for all features and a bias.
    pub fn new(softmax: Softmax, scaling: Scaling) -> Self {
        Self { softmax, table: vec![0.0; (scaling.scale.len() + 1) * softmax.width()], scaling }
    }

    /// The rows that a batch reads, one after the other.
    pub fn gather(&self, batch: &Batch) -> Vec<f32> {
        let width = self.softmax.width();
        batch
            .features
            .iter()
            .flat_map(|&feature| &self.table[feature as usize * width..][..width])
            .copied()
            .collect()
    }

    /// Adds what a batch's step has answered.
    pub fn add(&mut self, batch: &Batch, deltas: &[f32]) {
        let width = self.softmax.width();
        for (&feature, delta) in batch.features.iter().zip(deltas.chunks_exact(width)) {
            for (value, change) in self.table[feature as usize * width..][..width].iter_mut().zip(delta) {
                *value += change;
            }
        }
    }

    /// One step per batch, in order; returns the sum of losses as they were seen.
    pub fn pass(&mut self, batches: &[Batch]) -> f64 {
        let mut seen = 0.0;
        let mut deltas = Vec::new();
        for batch in batches {
            let rows = self.gather(batch);
            deltas.resize(rows.len(), 0.0);
            seen += self.softmax.step(batch, &rows, &mut deltas);
            self.add(batch, &deltas);
        }
        seen
    }

    /// The exact sums over all batches.
    pub fn score(&self, batches: &[Batch]) -> Score {
        let scores = batches.iter().map(|batch| self.softmax.score(batch, &self.gather(batch)));
        scores.fold(Score::default(), |sum, score| sum + score)
    }

    /// The objective: mean loss and penalty.
    pub fn objective(&self, batches: &[Batch]) -> f64 {
        let n: usize = batches.iter().map(Batch::len).sum();
        self.score(batches).loss / n.max(1) as f64 + self.softmax.penalty(&self.table, &self.scaling)
    }

    /// `W` (classes × p) and the bias (classes), for the data as given.
    pub fn model(&self) -> (Array2<f32>, Array1<f32>) {
        let (classes, width) = (self.softmax.classes, self.softmax.width());
        let n_features = self.table.len() / width - 1;
        let mut weights = Array2::from_shape_fn((classes, n_features), |(class, feature)| {
            self.table[feature * width + class]
        });
        let mut bias = Array1::from_iter(self.table[n_features * width..][..classes].iter().copied());
        self.scaling.undo(&mut weights, &mut bias);
        (weights, bias)
    }
}
