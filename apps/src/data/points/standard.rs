//! Columns brought to mean 0 and deviation 1, as the training rows have them.

use std::path::Path;

use super::Features;
use crate::Error;
use crate::catalog::Array;
use crate::data::npy;

/// A deviation below this is that of a constant column.
const CONSTANT: f64 = 1e-8;

/// What is taken off each column, and what it is then divided by.
///
/// Columns of dense rows have their mean taken off. Those of sparse rows keep their zeros: they are only divided by their
/// deviation from the mean, which changes no distance between rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Standard {
    /// The mean of each column; 0 for sparse rows.
    pub mean: Vec<f32>,
    /// The deviation of each column, `sqrt(mean of squared differences from the mean)`; 1 where it is constant.
    pub scale: Vec<f32>,
}

impl Standard {
    /// Measures the columns of training rows.
    pub fn fit(features: &Features) -> Self {
        let (n_rows, n_columns) = (features.n_rows().max(1) as f64, features.n_columns());
        let mut mean = vec![0.0f64; n_columns];
        let mut counts = vec![0usize; n_columns];
        features.for_each(|_, column, value| {
            mean[column] += f64::from(value);
            counts[column] += 1;
        });
        mean.iter_mut().for_each(|sum| *sum /= n_rows);
        let mut squares = vec![0.0f64; n_columns];
        features.for_each(|_, column, value| squares[column] += (f64::from(value) - mean[column]).powi(2));
        let deviation = |column: usize| {
            let zeros = features.n_rows() - counts[column];
            ((squares[column] + zeros as f64 * mean[column] * mean[column]) / n_rows).sqrt()
        };
        let scale = |column| if deviation(column) < CONSTANT { 1.0 } else { deviation(column) as f32 };
        let scale = (0..n_columns).map(scale).collect();
        let mean = match features {
            Features::Dense(_) => mean.into_iter().map(|mean| mean as f32).collect(),
            Features::Sparse(_) => vec![0.0; n_columns],
        };
        Self { mean, scale }
    }

    /// Brings rows to the standard: `(x - mean) / scale`. Sparse rows become dense where a mean is not 0.
    ///
    /// # Panics
    /// When the rows have not as many columns as the training rows had.
    pub fn apply(&self, features: &mut Features) {
        assert_eq!(features.n_columns(), self.mean.len(), "the columns of the training rows");
        if matches!(features, Features::Sparse(_)) && self.mean.iter().any(|mean| *mean != 0.0) {
            *features = Features::Dense(features.to_dense());
        }
        match features {
            Features::Dense(rows) => {
                for mut row in rows.outer_iter_mut() {
                    let lanes = row.iter_mut().zip(&self.mean).zip(&self.scale);
                    lanes.for_each(|((x, mean), scale)| *x = (*x - mean) / scale);
                }
            }
            Features::Sparse(rows) => {
                for mut row in rows.outer_iterator_mut() {
                    row.iter_mut().for_each(|(column, x)| *x /= self.scale[column]);
                }
            }
        }
    }

    /// The arrays of `model/`: `feature_mean` and `feature_scale`.
    pub fn arrays(&self) -> [(String, Array); 2] {
        let array = |values: &[f32]| {
            Array::F32(ndarray::ArrayD::from_shape_vec(vec![values.len()], values.to_vec()).expect("a list"))
        };
        [("feature_mean".to_owned(), array(&self.mean)), ("feature_scale".to_owned(), array(&self.scale))]
    }

    /// Reads the standard back from the `model/` folder of a run; `None` where the model has none.
    ///
    /// # Errors
    /// Arrays that cannot be read or are not of one length.
    pub fn read(folder: &Path) -> Result<Option<Self>, Error> {
        let path = folder.join("feature_mean.npy");
        if !path.is_file() {
            return Ok(None);
        }
        let list = |name: &str| {
            Ok::<_, Error>(npy::read_f32(&folder.join(name))?.iter().copied().collect::<Vec<f32>>())
        };
        let (mean, scale) = (list("feature_mean.npy")?, list("feature_scale.npy")?);
        if mean.len() != scale.len() || scale.iter().any(|scale| *scale == 0.0 || !scale.is_finite()) {
            let problem = "does not belong to the feature_scale.npy beside it; train again".to_owned();
            return Err(Error::Data { path, problem });
        }
        Ok(Some(Self { mean, scale }))
    }
}

#[cfg(test)]
mod tests {
    use ndarray::arr2;

    use super::super::Sparse;
    use super::*;

    #[test]
    fn columns_are_standardised_as_a_textbook_says_and_constant_ones_only_shifted() {
        let mut rows = Features::Dense(arr2(&[[1.0, 5.0], [2.0, 5.0], [6.0, 5.0]]));
        let standard = Standard::fit(&rows);
        assert_eq!((standard.mean.as_slice(), standard.scale[1]), (&[3.0, 5.0][..], 1.0));
        assert!((standard.scale[0] - (14.0f32 / 3.0).sqrt()).abs() < 1e-6);
        standard.apply(&mut rows);
        let deviation = (14.0f32 / 3.0).sqrt();
        let expected = [-2.0 / deviation, 0.0, -1.0 / deviation, 0.0, 3.0 / deviation, 0.0];
        assert!(rows.to_dense().iter().zip(expected).all(|(x, y)| (x - y).abs() < 1e-6), "{rows:?}");
    }

    #[test]
    fn sparse_columns_are_divided_by_their_deviation_and_stay_sparse() {
        let (starts, values) = (vec![0, 2, 3, 4, 5], vec![3.0, 1.0, 1.0, -3.0, 1.0]);
        let mut sparse = Features::Sparse(Sparse::new((4, 20), starts, vec![0, 19, 1, 0, 2], values));
        let dense = Standard::fit(&Features::Dense(sparse.to_dense()));
        let standard = Standard::fit(&sparse);
        assert_eq!((standard.mean.iter().copied().sum::<f32>(), &standard.scale), (0.0, &dense.scale));
        standard.apply(&mut sparse);
        assert!(matches!(sparse, Features::Sparse(_)));
        assert!((sparse.to_dense()[[0, 0]] - 3.0 / 4.5f32.sqrt()).abs() < 1e-6);
        dense.apply(&mut sparse);
        assert!(matches!(sparse, Features::Dense(_)), "a mean that is not 0 fills the zeros");
    }

    #[test]
    fn a_standard_is_kept_with_the_model() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Standard::read(folder.path()).unwrap(), None);
        let standard = Standard { mean: vec![1.0, -2.5], scale: vec![0.5, 3.0] };
        for (name, array) in standard.arrays() {
            npy::write(&folder.path().join(format!("{name}.npy")), &array).unwrap();
        }
        assert_eq!(Standard::read(folder.path()).unwrap(), Some(standard));
        let one = Array::F32(ndarray::arr1(&[1.0f32]).into_dyn());
        npy::write(&folder.path().join("feature_scale.npy"), &one).unwrap();
        let said = Standard::read(folder.path()).unwrap_err().to_string();
        assert!(said.contains("does not belong to the feature_scale.npy beside it"), "{said}");
    }
}
