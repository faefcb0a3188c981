//! What a net is asked to minimise, and how well it does.

use std::ops::AddAssign;

use ndarray::{ArrayView2, ArrayViewMut2};

/// The loss of a row with outputs `z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// `-log softmax(z)_y` for class `y`: cross-entropy.
    Softmax,
    /// `½ |z - t|²` for targets `t`; a class `y` has target 1 at output `y` and 0 elsewhere.
    Squared,
}

/// What the outputs of some rows should be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Targets<'a> {
    /// A class each.
    Classes(&'a [u32]),
    /// A number each, for a net of one output.
    Numbers(&'a [f32]),
}

/// Sums over rows.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Score {
    /// Losses.
    pub loss: f64,
    /// Rows whose class has the largest output; for numbers, squared errors.
    pub hits: f64,
    /// Rows.
    pub rows: f64,
}

impl AddAssign for Score {
    fn add_assign(&mut self, other: Self) {
        self.loss += other.loss;
        self.hits += other.hits;
        self.rows += other.rows;
    }
}

impl Targets<'_> {
    /// Rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Classes(classes) => classes.len(),
            Self::Numbers(numbers) => numbers.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Loss {
    /// As the option has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Softmax => "softmax",
            Self::Squared => "squared",
        }
    }

    /// Scores outputs (rows x outputs) and turns them into the gradient of the mean loss by them.
    ///
    /// # Panics
    /// When numbers are to be had with softmax, or there are not as many targets as rows.
    pub fn back(self, mut outputs: ArrayViewMut2<'_, f32>, targets: Targets<'_>) -> Score {
        let score = self.score(&outputs.view(), targets);
        let share = 1.0 / outputs.nrows().max(1) as f32;
        for (row, mut z) in outputs.outer_iter_mut().enumerate() {
            let z = z.as_slice_mut().expect("outputs of a row lie one after the other");
            if self == Self::Softmax {
                softmax(z);
            }
            match targets {
                Targets::Classes(classes) => z[classes[row] as usize] -= 1.0,
                Targets::Numbers(numbers) => z[0] -= numbers[row],
            }
            z.iter_mut().for_each(|error| *error *= share);
        }
        score
    }

    /// Scores outputs.
    ///
    /// # Panics
    /// As [`Loss::back`].
    pub fn score(self, outputs: &ArrayView2<'_, f32>, targets: Targets<'_>) -> Score {
        assert_eq!(outputs.nrows(), targets.len(), "a target for every row");
        let mut score = Score { rows: outputs.nrows() as f64, ..Score::default() };
        for (row, z) in outputs.outer_iter().enumerate() {
            let z = z.to_slice().expect("outputs of a row lie one after the other");
            match targets {
                Targets::Classes(classes) => {
                    let class = classes[row] as usize;
                    score.loss += self.of_class(z, class);
                    score.hits += f64::from(u8::from(largest(z) == class));
                }
                Targets::Numbers(numbers) => {
                    let error = f64::from(z[0]) - f64::from(numbers[row]);
                    score.loss += 0.5 * error * error;
                    score.hits += error * error;
                }
            }
        }
        score
    }

    fn of_class(self, z: &[f32], class: usize) -> f64 {
        match self {
            Self::Softmax => {
                let most = f64::from(z.iter().copied().fold(f32::NEG_INFINITY, f32::max));
                let sum: f64 = z.iter().map(|z| (f64::from(*z) - most).exp()).sum();
                most + sum.ln() - f64::from(z[class])
            }
            Self::Squared => {
                let square =
                    |(place, z): (usize, &f32)| (f64::from(*z) - f64::from(u8::from(place == class))).powi(2);
                0.5 * z.iter().enumerate().map(square).sum::<f64>()
            }
        }
    }
}

/// The place of the largest number, the first of equals.
pub fn largest(z: &[f32]) -> usize {
    let mut best = 0;
    for (place, value) in z.iter().enumerate() {
        if *value > z[best] {
            best = place;
        }
    }
    best
}

/// Outputs become probabilities.
pub fn softmax(z: &mut [f32]) {
    let most = z.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    z.iter_mut().for_each(|z| *z = (*z - most).exp());
    let sum: f32 = z.iter().sum();
    z.iter_mut().for_each(|z| *z /= sum);
}

#[cfg(test)]
mod tests {
    use ndarray::arr2;

    use super::*;

    #[test]
    fn cross_entropy_is_minus_the_logarithm_of_the_probability_whatever_the_size_of_outputs() {
        let z = arr2(&[[1000.0, 1000.0, 1000.0 + 2.0f32.ln()], [0.0, 0.0, -2000.0]]);
        let score = Loss::Softmax.score(&z.view(), Targets::Classes(&[2, 0]));
        assert!((score.loss - 2.0 * 2.0f64.ln()).abs() < 1e-4, "{score:?}");
        assert_eq!((score.hits, score.rows), (2.0, 2.0));
    }

    #[test]
    fn the_gradient_of_cross_entropy_is_probabilities_less_the_class_shared_by_rows() {
        let mut z = arr2(&[[0.0, 3.0f32.ln()], [0.0, 0.0]]);
        Loss::Softmax.back(z.view_mut(), Targets::Classes(&[0, 1]));
        let expected = [-0.375, 0.375, 0.25, -0.25];
        assert!(z.iter().zip(expected).all(|(z, e)| (z - e).abs() < 1e-6), "{z}");
    }

    #[test]
    fn the_squared_loss_is_half_the_squared_distance_to_the_target() {
        let mut z = arr2(&[[0.5, 1.0]]);
        let score = Loss::Squared.back(z.view_mut(), Targets::Classes(&[1]));
        assert_eq!((score.loss, score.hits, z), (0.125, 1.0, arr2(&[[0.5, 0.0]])));
        let mut z = arr2(&[[3.0], [1.0]]);
        let score = Loss::Squared.back(z.view_mut(), Targets::Numbers(&[1.0, 1.0]));
        assert_eq!((score.loss, score.hits, z), (2.0, 4.0, arr2(&[[1.0], [0.0]])));
    }
}
