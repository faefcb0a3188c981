//! The step at the shard: AdaGrad, with a rate that falls in a line to nothing at the last step.
//!
//! ```text
//! A ← A + g²        w ← w - rate (1 - t/T) g / sqrt(A)
//! ```

use slackline::values::Buffer;
use slackline::{Beside, UpdateRule};

/// Keeps a weight without any gradient from a division of zero by zero.
const FLOOR: f32 = 1e-20;

/// AdaGrad over a number of steps that is known. Beside a page it keeps `A` and, last, the steps so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fading {
    /// The rate of the first step.
    pub rate: f32,
    /// Steps of the run.
    pub steps: f32,
}

impl Fading {
    /// One step of `weights` against `gradient`; `kept` has one number more than they.
    ///
    /// # Panics
    /// When `kept` is empty.
    pub fn step(&self, weights: &mut [f32], gradient: &[f32], kept: &mut [f32]) {
        let (taken, squares) = kept.split_last_mut().expect("the steps so far are last");
        let rate = self.rate * (1.0 - *taken / self.steps).max(0.0);
        for ((weight, g), square) in weights.iter_mut().zip(gradient).zip(squares) {
            *square += g * g;
            *weight -= rate * g / (*square + FLOOR).sqrt();
        }
        *taken += 1.0;
    }
}

impl UpdateRule for Fading {
    fn n_kept(&self, n: usize) -> usize {
        n + 1
    }

    fn fold(&self, page: &mut Buffer, delta: &Buffer, beside: Beside<'_>) {
        let (Buffer::F32(page), Buffer::F32(gradient), Buffer::F32(kept)) = (page, delta, beside.kept) else {
            panic!("the map is a table of f32");
        };
        self.step(page.dense_mut(), gradient.dense(), kept.dense_mut());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_falls_to_nothing_and_by_the_root_of_past_squares() {
        let rule = Fading { rate: 0.5, steps: 2.0 };
        let (mut weights, mut kept) = ([1.0f32, 1.0], [0.0f32; 3]);
        rule.step(&mut weights, &[2.0, 0.0], &mut kept);
        assert_eq!((weights, kept), ([0.5, 1.0], [4.0, 0.0, 1.0]));
        rule.step(&mut weights, &[-2.0, 1.0], &mut kept);
        let second = 0.5 + 0.25 * 2.0 / 8.0f32.sqrt();
        assert!((weights[0] - second).abs() < 1e-6 && (weights[1] - 0.75).abs() < 1e-6, "{weights:?}");
        let last = weights;
        rule.step(&mut weights, &[1.0, 1.0], &mut kept);
        assert_eq!(weights, last);
    }
}
