//! An optimiser as the shard runs it.

use slackline::values::{Buffer, Content};
use slackline::{Beside, UpdateRule};

use super::{Optimizer, Rates};
use crate::kernel::optimizer::Pace;

/// Folds gradients into the pages of a table of `f32`.
///
/// Beside a page are the numbers of the optimiser and, last, the steps taken: a whole number in the bits of an `f32`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fold {
    /// How gradients move weights.
    pub optimizer: Optimizer,
    /// How fast.
    pub rates: Rates,
    /// The weight decay λ.
    pub decay: f32,
}

impl Fold {
    /// Folds one gradient in.
    pub fn step(&self, weights: &mut [f32], gradient: &[f32], kept: &mut [f32], since: &[&[f32]]) {
        let (steps, kept) = kept.split_last_mut().expect("the steps taken are kept beside every page");
        let step = steps.to_bits().saturating_add(1).min(f32::MAX.to_bits());
        *steps = f32::from_bits(step);
        let pace = Pace { rate: self.rates.at(u64::from(step)), decay: self.decay };
        self.optimizer.fold((weights, gradient), kept, since, (u64::from(step), pace));
    }
}

impl UpdateRule for Fold {
    fn n_kept(&self, n: usize) -> usize {
        self.optimizer.n_kept(n) + 1
    }

    fn looks_back(&self) -> bool {
        self.optimizer.looks_back()
    }

    fn fold(&self, page: &mut Buffer, delta: &Buffer, beside: Beside<'_>) {
        let (Buffer::F32(page), Buffer::F32(gradient), Buffer::F32(kept)) = (page, delta, beside.kept) else {
            panic!("an optimiser is the rule of a table of f32");
        };
        let since: Vec<&[f32]> = beside.since.iter().map(|update| numbers(update)).collect();
        self.step(page.dense_mut(), gradient.dense(), kept.dense_mut(), &since);
    }
}

fn numbers(update: &Buffer) -> &[f32] {
    match update {
        Buffer::F32(Content::Dense(numbers)) => numbers,
        _ => panic!("an update has the numbers of its table"),
    }
}
