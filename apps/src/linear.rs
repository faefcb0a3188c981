//! A linear model on disk: what the apps write whose answer is `x·w + b`.

use std::path::Path;

use ndarray::Array1;

use crate::catalog::{Array, News, Trained};
use crate::data::{Csr, IndexBase, Samples, npy};
use crate::{Error, samples};

/// `x·w + b`.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearModel {
    /// `w`: a coefficient for each column.
    pub coefficients: Vec<f64>,
    /// `b`.
    pub intercept: f64,
    /// How the columns were counted.
    pub index_base: IndexBase,
}

impl LinearModel {
    /// Reads what [`Self::write`] made, from a run directory.
    ///
    /// # Errors
    /// A missing or foreign model.
    pub fn read(directory: &Path) -> Result<Self, Error> {
        let folder = directory.join("model");
        Ok(Self {
            index_base: samples::read_base(&folder)?,
            coefficients: npy::read_f64(&folder.join("coefficients.npy"))?.into_iter().collect(),
            intercept: npy::read_f64(&folder.join("intercept.npy"))?.first().copied().unwrap_or(0.0),
        })
    }

    /// Puts it among the arrays and texts of a finished run: `coefficients` (p), `intercept` (1).
    pub fn write(self, trained: &mut Trained) {
        let coefficients = Array::F64(Array1::from(self.coefficients).into_dyn());
        let intercept = Array::F64(ndarray::arr1(&[self.intercept]).into_dyn());
        let named = [("coefficients", coefficients), ("intercept", intercept)];
        trained.arrays.extend(named.map(|(name, array)| (name.to_owned(), array)));
        trained.texts.push(samples::base_text(self.index_base));
    }

    /// Held-out rows with their labels, read as those were that it was trained on.
    ///
    /// # Errors
    /// A file that cannot be used.
    pub fn read_held_out(&self, path: &Path, tell: &(dyn Fn(News) + Sync)) -> Result<Samples, Error> {
        samples::read_held_out(path, self.index_base, self.coefficients.len(), tell)
    }

    /// New rows, with labels or without.
    ///
    /// # Errors
    /// A file that cannot be used.
    pub fn read_new(&self, path: &Path, tell: &(dyn Fn(News) + Sync)) -> Result<Csr, Error> {
        samples::read_new(path, self.index_base, self.coefficients.len(), tell)
    }

    /// `x·w + b` of every row.
    pub fn scores(&self, features: &Csr) -> Vec<f64> {
        samples::scores(features, &self.coefficients, self.intercept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_reads_as_it_was_written() {
        let model =
            LinearModel { coefficients: vec![0.5, -2.0], intercept: 3.0, index_base: IndexBase::Zero };
        let mut trained = Trained::default();
        model.clone().write(&mut trained);
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path().join("model");
        std::fs::create_dir(&folder).unwrap();
        for (name, array) in &trained.arrays {
            npy::write(&folder.join(format!("{name}.npy")), array).unwrap();
        }
        for (name, lines) in &trained.texts {
            std::fs::write(folder.join(name), lines.join("\n")).unwrap();
        }
        assert_eq!(LinearModel::read(directory.path()).unwrap(), model);
        let one_row = Csr::new((1, 2), vec![0, 2], vec![0, 1], vec![2.0, 1.0]);
        assert_eq!(model.scores(&one_row), [2.0]);
    }
}
