//! Columns brought to one size before training, and the model brought back after: steps of one size then suit all.

use ndarray::{Array1, Array2};
use sprs::CsMatI;

/// Column `j` is trained as `(x_j - shift_j) / scale_j`, so its weight is `scale_j` times that of the data as given.
///
/// Only columns that are at least half full are shifted (by their mean, and only where a bias takes up the shift),
/// so that sparse columns stay sparse. The penalty is that of the weights of the data as given.
#[derive(Debug, Clone, PartialEq)]
pub struct Scaling {
    /// What is subtracted from each column.
    pub shift: Vec<f32>,
    /// What each column is then divided by: its deviation where it was shifted, else the root mean square of its
    /// non-zeros.
    pub scale: Vec<f32>,
}

impl Scaling {
    /// Measures the columns of training samples.
    pub fn of(features: &CsMatI<f64, u32, usize>, intercept: bool) -> Self {
        let (n, p) = features.shape();
        let (mut counts, mut sums, mut squares) = (vec![0usize; p], vec![0.0f64; p], vec![0.0f64; p]);
        for (&column, &value) in features.indices().iter().zip(features.data()) {
            counts[column as usize] += 1;
            sums[column as usize] += value;
            squares[column as usize] += value * value;
        }
        let (mut shift, mut scale) = (vec![0.0; p], vec![1.0; p]);
        for column in 0..p {
            let dense = intercept && 2 * counts[column] >= n;
            let (mean, square) = if dense {
                let mean = sums[column] / n as f64;
                (mean, squares[column] / n as f64 - mean * mean)
            } else {
                (0.0, squares[column] / counts[column].max(1) as f64)
            };
            shift[column] = mean as f32;
            if square > 1e-12 * mean * mean {
                scale[column] = square.sqrt() as f32;
            }
        }
        Self { shift, scale }
    }

    /// The columns that are shifted.
    pub(super) fn shifted(&self) -> impl Iterator<Item = u32> {
        self.shift.iter().enumerate().filter(|(_, shift)| **shift != 0.0).map(|(column, _)| column as u32)
    }

    /// The model of the data as given, from one of the scaled data: `weights` (classes × p) and `bias` (classes).
    pub fn undo(&self, weights: &mut Array2<f32>, bias: &mut Array1<f32>) {
        for (column, (&shift, &scale)) in self.shift.iter().zip(&self.scale).enumerate() {
            for (weight, bias) in weights.column_mut(column).iter_mut().zip(bias.iter_mut()) {
                *weight /= scale;
                *bias -= *weight * shift;
            }
        }
    }
}
