//! The parallel core: first rows, a visit of one cell, and its exact score. No actors and no threads; whoever calls
//! makes sure that no two visits at the same time share a part or a block.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::SplitMix64;

use super::params::{DEFAULT_L2, Params, StepRule};
use crate::Error;
use crate::kernel::sgd::{self, HEADER, Rates, Rating};

/// What all ratings together say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// Mean of the ratings.
    pub mean: f64,
    /// Their standard deviation, or 1 where they are all equal.
    pub deviation: f64,
    /// The smallest rating.
    pub least: f32,
    /// The largest rating.
    pub most: f32,
}

impl Summary {
    /// Summarises the training ratings.
    ///
    /// # Errors
    /// No ratings, or one that is not a finite number.
    pub fn of(values: &[f32]) -> Result<Self, Error> {
        if values.is_empty() {
            return Err(Error::Run("there are no ratings to train on".to_owned()));
        }
        if let Some(at) = values.iter().position(|value| !value.is_finite()) {
            return Err(Error::Run(format!("rating {} is {}, must be a finite number", at + 1, values[at])));
        }
        let n = values.len() as f64;
        let mean = values.iter().map(|&value| f64::from(value)).sum::<f64>() / n;
        let variance = values.iter().map(|&value| (f64::from(value) - mean).powi(2)).sum::<f64>() / n;
        let least = values.iter().copied().fold(f32::INFINITY, f32::min);
        let most = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let deviation = if most > least { variance.sqrt() } else { 1.0 };
        Ok(Self { mean, deviation, least, most })
    }
}

/// Which side of the matrix a row is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Rows of users, grouped into parts.
    Users,
    /// Rows of items, grouped into blocks.
    Items,
}

/// An exact sum over the ratings of cells, in units of the ratings squared; see the head of [`super`].
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Score {
    /// Sum of squared errors.
    pub squared_error: f64,
    /// Sum of the l2 terms.
    pub penalty: f64,
}

impl std::ops::Add for Score {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            squared_error: self.squared_error + other.squared_error,
            penalty: self.penalty + other.penalty,
        }
    }
}

impl Score {
    /// The objective: squared errors and l2 terms.
    pub fn objective(&self) -> f64 {
        self.squared_error + self.penalty
    }
}

/// Errors beyond this many standard deviations count as this many in a gradient, so that a wild rating cannot throw a
/// row out of range.
const CLIP: f32 = 10.0;

/// First factors are uniform in `±SPREAD / sqrt(rank)`: small, and not all zero, since zero rows never move.
const SPREAD: f32 = 0.3;

/// The constants of a run; every worker has the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Solver {
    params: Params,
    summary: Summary,
    seed: u64,
}

impl Solver {
    /// A solver for ratings with this summary. All random numbers come from `seed`.
    pub fn new(params: Params, summary: Summary, seed: u64) -> Self {
        Self { params, summary, seed }
    }

    /// The options.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The summary of the ratings.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// The penalty of the factors per rating, in the units of the ratings.
    pub fn l2(&self) -> f64 {
        self.params.l2.unwrap_or(DEFAULT_L2 * self.summary.deviation)
    }

    /// Floats of a row of either side.
    pub fn width(&self) -> usize {
        sgd::width(self.params.rank)
    }

    /// The first rows of a part or block: those of `ids`, one after the other, each `width()` floats.
    ///
    /// `counts` has the ratings of every id of this side. A row depends on the seed and its id alone. Ids without
    /// ratings get zeros, so that they are predicted by the mean and the other side's bias.
    pub fn first_rows(&self, side: Side, ids: &[u32], counts: &[u32]) -> Vec<f32> {
        let width = self.width();
        let mut rows = vec![0.0; ids.len() * width];
        let bound = SPREAD / (self.params.rank as f32).sqrt();
        let least = if self.params.nonnegative { 0.0 } else { -bound };
        for (row, &id) in rows.chunks_exact_mut(width).zip(ids) {
            let count = counts[id as usize];
            row[1..3].fill(1.0);
            row[3] = 1.0 + (self.params.prior / f64::from(count.max(1))) as f32;
            if count == 0 {
                continue;
            }
            let stream = u64::from(id) << 1 | u64::from(side == Side::Items);
            let mut random =
                SplitMix64::seed_from_u64(self.seed ^ stream.wrapping_mul(0x9E37_79B9_7F4A_7C15));
            for factor in &mut row[HEADER..HEADER + self.params.rank] {
                *factor = random.random_range(least..=bound);
            }
        }
        rows
    }

    /// Steps through the ratings of a cell in pass `epoch` (from 0); returns the sum of squared errors, each as it was
    /// before its step, in units of the ratings.
    ///
    /// # Errors
    /// The factors ran out of range.
    pub fn visit(
        &self,
        cell: &[Rating],
        users: &mut [f32],
        items: &mut [f32],
        epoch: usize,
    ) -> Result<f64, Error> {
        let seen = sgd::visit(self.params.rank, cell, users, items, &self.rates(epoch));
        if !seen.is_finite() {
            let Params { rate, .. } = self.params;
            return Err(Error::Run(format!(
                "the factors ran out of range in epoch {}: the run diverged; choose a --rate below {rate:?} or a smaller --l2",
                epoch + 1
            )));
        }
        Ok(seen * self.summary.deviation.powi(2))
    }

    /// The steps and penalties of pass `epoch`, in scaled units.
    fn rates(&self, epoch: usize) -> Rates {
        let Params { rank, rate, step, l2_bias, .. } = self.params;
        let (rate, keep) = match step {
            StepRule::Adaptive => (rate, 1.0),
            StepRule::Decay => (rate / (1.0 + epoch as f64 / 4.0), 0.0),
        };
        Rates {
            factor: rate as f32,
            bias: rate as f32,
            l2_factor: (self.l2() / self.summary.deviation) as f32,
            l2_bias: l2_bias as f32,
            keep_factor: keep / rank as f32,
            keep_bias: keep,
            clip: CLIP,
            floor: if self.params.nonnegative { 0.0 } else { f32::NEG_INFINITY },
        }
    }

    /// The predicted rating for a row of each side, clipped to the range of the training ratings; `None` stands for a
    /// user or an item without a row.
    pub fn predict(&self, user: Option<&[f32]>, item: Option<&[f32]>) -> f64 {
        let bias = |row: Option<&[f32]>| row.map_or(0.0, |row| f64::from(row[0]));
        let product = match (user, item) {
            (Some(user), Some(item)) => f64::from(dot(&user[HEADER..], &item[HEADER..])),
            _ => 0.0,
        };
        let Summary { mean, deviation, least, most } = self.summary;
        (mean + deviation * (bias(user) + bias(item) + product)).clamp(f64::from(least), f64::from(most))
    }

    /// The exact score of a cell.
    pub fn score(&self, cell: &[Rating], users: &[f32], items: &[f32]) -> Score {
        let width = self.width();
        let Rates { l2_factor, l2_bias, .. } = self.rates(0);
        let penalty = |row: &[f32]| {
            row[3] * (l2_factor * dot(&row[HEADER..], &row[HEADER..]) + l2_bias * row[0] * row[0])
        };
        let mut score = Score::default();
        for rating in cell {
            let user = &users[rating.user as usize * width..][..width];
            let item = &items[rating.item as usize * width..][..width];
            let error = rating.value - user[0] - item[0] - dot(&user[HEADER..], &item[HEADER..]);
            score.squared_error += f64::from(error).powi(2);
            score.penalty += f64::from(penalty(user) + penalty(item));
        }
        let units = self.summary.deviation.powi(2);
        Score { squared_error: score.squared_error * units, penalty: score.penalty * units }
    }
}

/// The dot product of two runs of factors, four sums at a time.
pub(super) fn dot(left: &[f32], right: &[f32]) -> f32 {
    let ((left, left_rest), (right, right_rest)) = (left.as_chunks::<4>(), right.as_chunks::<4>());
    let mut sums = [0.0f32; 4];
    for (left, right) in left.iter().zip(right) {
        for ((sum, x), y) in sums.iter_mut().zip(left).zip(right) {
            *sum += x * y;
        }
    }
    let rest: f32 = left_rest.iter().zip(right_rest).map(|(x, y)| x * y).sum();
    sums.iter().sum::<f32>() + rest
}
