//! Optimisers as update rules of a table: the shard folds each gradient in, and keeps what the optimiser remembers.
//!
//! With `g` the gradient of one batch at a weight `w` (its mean over the rows of the batch, plus `λ w` for weights with decay
//! λ) and `α` the rate at this step:
//!
//! | optimiser | beside a weight | a gradient does |
//! |---|---|---|
//! | `sgd` | nothing | `w ← w - α g` |
//! | `sgd` with momentum μ | v | `v ← μ v + g`, `w ← w - α v` |
//! | `adagrad` (Duchi, Hazan and Singer 2011) | s | `s ← s + g²`, `w ← w - α g / (√s + ε)` |
//! | `adam` (Kingma and Ba 2015, algorithm 1) | m, v | `m ← β₁ m + (1 - β₁) g`, `v ← β₂ v + (1 - β₂) g²`, `w ← w - α m̂ / (√v̂ + ε)` |
//! | `adarevision` (McMahan and Streeter 2014) | z, z' | `z ← z + g² + 2 g b`, `z' ← max(z', z)`, `w ← w - η' g + (η - η') b` |
//!
//! For AdaRevision `b` is the sum of all gradients that were folded in between the reading that `g` was computed from and
//! `g` itself, `η = α / √(1 + z')` before and `η'` after. Without delay `b` is 0 and it is AdaGrad begun at 1; with it, steps
//! that were too large in hindsight are taken back. (The decay of weights is no part of `b`.)
//!
//! # Several workers
//! A gradient is that of one worker's batch and is folded in as a step of its own. Under `bsp`, `W` workers compute `W`
//! gradients at the same weights, and the `W` steps are taken one after the other: for `sgd` that is one step along the sum,
//! as with a batch `W` times as large and a rate `W` times as high. So a rate needs no change with the number of workers, and
//! a pass over the data goes as far; what grows is the delay of a gradient, about as many steps as are in flight.

mod rates;
mod rule;

pub use rates::{Course, Rates};
pub use rule::Fold;

use crate::kernel::optimizer::{self as kernel, Averages, Pace, Revisions};

/// How gradients move weights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Optimizer {
    /// Gradient descent, with momentum where it is more than 0.
    Sgd {
        /// μ, from 0 to less than 1.
        momentum: f32,
    },
    /// Divided by the root of the sum of past squares.
    AdaGrad,
    /// Averages of gradients, divided by averages of squares.
    Adam,
    /// AdaGrad that knows how late a gradient is.
    AdaRevision,
}

/// Adam's β₁ and β₂, and what keeps a divisor from zero.
const FIRST: f32 = 0.9;
const SECOND: f32 = 0.999;
const EPSILON: f32 = 1e-8;

impl Optimizer {
    /// As the option has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sgd { .. } => "sgd",
            Self::AdaGrad => "adagrad",
            Self::Adam => "adam",
            Self::AdaRevision => "adarevision",
        }
    }

    /// The rate that suits most data.
    pub fn default_rate(self) -> f64 {
        match self {
            Self::Sgd { momentum } => 0.1 * f64::from(1.0 - momentum),
            Self::AdaGrad => 0.01,
            Self::Adam => 0.001,
            Self::AdaRevision => 0.3,
        }
    }

    /// How many numbers it keeps beside `n` weights; the steps taken are one more.
    pub fn n_kept(self, n: usize) -> usize {
        match self {
            Self::Sgd { momentum: 0.0 } => 0,
            Self::Sgd { .. } | Self::AdaGrad => n,
            Self::Adam | Self::AdaRevision => 2 * n,
        }
    }

    /// Whether it has to know which gradients came between.
    pub fn looks_back(self) -> bool {
        self == Self::AdaRevision
    }

    /// Folds a gradient into weights as step number `step`, from 1; `kept` has [`Optimizer::n_kept`] numbers, at first all
    /// zero, and `since` the gradients that came between, oldest first.
    ///
    /// # Panics
    /// When slices have not the lengths of each other.
    pub fn fold(
        self,
        (weights, gradient): (&mut [f32], &[f32]),
        kept: &mut [f32],
        since: &[&[f32]],
        (step, pace): (u64, Pace),
    ) {
        let n = weights.len();
        assert!(gradient.len() == n && kept.len() == self.n_kept(n), "a gradient is as long as its weights");
        match self {
            Self::Sgd { momentum: 0.0 } => kernel::plain(weights, gradient, pace),
            Self::Sgd { momentum } => kernel::momentum(weights, gradient, kept, momentum, pace),
            Self::AdaGrad => kernel::adagrad(weights, gradient, kept, EPSILON, pace),
            Self::Adam => {
                let power = i32::try_from(step).unwrap_or(i32::MAX);
                let correction = |beta: f32| (1.0 - f64::from(beta).powi(power)) as f32;
                let averages = Averages {
                    first: FIRST,
                    second: SECOND,
                    first_correction: correction(FIRST),
                    second_correction: correction(SECOND),
                    epsilon: EPSILON,
                };
                kernel::adam(weights, gradient, kept.split_at_mut(n), averages, pace);
            }
            Self::AdaRevision => {
                let mut between = vec![0.0; n];
                since.iter().for_each(|gradient| kernel::add(&mut between, gradient));
                let (sums, largest) = kept.split_at_mut(n);
                kernel::adarevision(weights, gradient, &between, Revisions { sums, largest }, pace);
            }
        }
    }
}

#[cfg(test)]
mod tests;
