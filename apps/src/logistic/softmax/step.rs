//! What one batch adds to the rows it read, and its exact score.

use super::batch::Batch;
use super::scaling::Scaling;

/// The constants of a run; every worker has the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Softmax {
    /// How many classes there are, 2 or more.
    pub classes: usize,
    /// Penalty of `|W|_1`.
    pub l1: f64,
    /// Penalty of `|W|²/2`.
    pub l2: f64,
    /// Step before it is divided by the root of the summed squared gradients.
    pub rate: f64,
    /// Steps of other batches that a step may not have seen: about workers × (staleness + 1) - 1.
    pub in_flight: usize,
}

/// Keeps a weight without any gradient from a division of zero by zero.
const FLOOR: f32 = 1e-12;

/// Sums over the samples of batches.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Score {
    /// Sum of cross-entropies, in nats.
    pub loss: f64,
    /// Samples whose most probable class is their own.
    pub correct: usize,
}

impl std::ops::Add for Score {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { loss: self.loss + other.loss, correct: self.correct + other.correct }
    }
}

/// A first step that suits columns scaled by [`Scaling`], found by trying powers of two: 0.2 where all features are in
/// every sample, less where few are, since a rare weight takes few steps and each of them counts. `density` is the share
/// of non-zeros, 0 to 1.
pub fn default_rate(density: f64) -> f64 {
    0.2 * density.clamp(1e-4, 1.0).powf(0.25)
}

/// What a step of one feature pays, in the units of its scaled column.
#[derive(Debug, Clone, Copy)]
struct Cost {
    /// `l1 / f`
    l1: f32,
    /// `l2 / f`
    l2: f32,
    /// `m`
    unseen: f32,
    /// `M`
    most_unseen: f32,
}

impl Softmax {
    /// Floats of a row of the table: weights, then summed squared gradients.
    pub fn width(&self) -> usize {
        2 * self.classes
    }

    /// Writes to `deltas` what is to be added to the rows; returns the batch's sum of losses before the step.
    ///
    /// `rows` and `deltas` hold the rows of `batch.features`, one after the other, each `width()` floats.
    ///
    /// # Panics
    /// If `rows` or `deltas` are not of that size.
    pub fn step(&self, batch: &Batch, rows: &[f32], deltas: &mut [f32]) -> f64 {
        let (classes, width) = (self.classes, self.width());
        assert_eq!(rows.len(), batch.features.len() * width, "one row per feature of the batch");
        assert_eq!(deltas.len(), rows.len(), "one delta per row");
        deltas.fill(0.0);
        let share = 1.0 / batch.len().max(1) as f32;
        let mut loss = 0.0;
        let mut logits = vec![0.0f32; classes];
        for i in 0..batch.len() {
            loss += self.residual(batch, rows, i, &mut logits);
            for (feature, value) in batch.sample(i) {
                let weight = value * share;
                for (sum, residual) in deltas[feature * width..][..classes].iter_mut().zip(&logits) {
                    *sum += weight * residual;
                }
            }
        }
        for (k, (delta, row)) in deltas.chunks_exact_mut(width).zip(rows.chunks_exact(width)).enumerate() {
            self.row_step(delta, row, &self.cost(batch, k));
        }
        loss
    }

    /// What the `k`-th feature of a batch pays.
    fn cost(&self, batch: &Batch, k: usize) -> Cost {
        let (rarity, unscale, others) = (batch.rarity[k], batch.unscale[k], self.in_flight as f32);
        Cost {
            l1: self.l1 as f32 * rarity * unscale,
            l2: self.l2 as f32 * rarity * unscale * unscale,
            unseen: 1.0 + others / rarity.max(1.0),
            most_unseen: batch.occurs[k].min(1.0 + others),
        }
    }

    /// Turns the gradient at the head of `delta` into what is to be added to the row.
    fn row_step(&self, delta: &mut [f32], row: &[f32], cost: &Cost) {
        let (rate, &Cost { l1, l2, unseen, most_unseen }) = (self.rate as f32, cost);
        let (change, sums) = delta.split_at_mut(self.classes);
        let (weights, sums_before) = row.split_at(self.classes);
        let lanes = change.iter_mut().zip(sums).zip(weights).zip(sums_before);
        for (((change, sum), &weight), &before) in lanes {
            let gradient = *change;
            *sum = (gradient.abs() + l1).powi(2);
            let step = 1.0 / ((before + unseen * *sum + FLOOR).sqrt() / rate + most_unseen * l2);
            let moved = weight - step * (gradient + l2 * weight);
            let kept = (moved.abs() - step * l1).max(0.0).copysign(moved);
            *change = kept - weight;
        }
    }

    /// Fills `logits` with `softmax - one-hot` of sample `i`; returns its loss.
    fn residual(&self, batch: &Batch, rows: &[f32], i: usize, logits: &mut [f32]) -> f64 {
        self.logits(batch, rows, i, logits);
        let label = batch.labels[i] as usize;
        let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let own = logits[label] - most;
        let mut sum = 0.0;
        for logit in logits.iter_mut() {
            *logit = (*logit - most).exp();
            sum += *logit;
        }
        logits.iter_mut().for_each(|probability| *probability /= sum);
        logits[label] -= 1.0;
        f64::from(sum).ln() - f64::from(own)
    }

    /// Fills `logits` with `W x + b` of sample `i`.
    fn logits(&self, batch: &Batch, rows: &[f32], i: usize, logits: &mut [f32]) {
        logits.fill(0.0);
        for (feature, value) in batch.sample(i) {
            for (logit, weight) in logits.iter_mut().zip(&rows[feature * self.width()..][..self.classes]) {
                *logit += value * weight;
            }
        }
    }

    /// The exact sums over a batch's samples.
    pub fn score(&self, batch: &Batch, rows: &[f32]) -> Score {
        let mut logits = vec![0.0f32; self.classes];
        let mut score = Score::default();
        for (i, &label) in batch.labels.iter().enumerate() {
            self.logits(batch, rows, i, &mut logits);
            let own = logits[label as usize];
            score.correct += usize::from(
                logits.iter().take(label as usize).all(|&logit| logit < own)
                    && logits.iter().all(|&logit| logit <= own),
            );
            score.loss += self.residual(batch, rows, i, &mut logits);
        }
        score
    }

    /// A batch's share of the penalty: the shares of all batches, `n_batches` of them, add up to the whole.
    pub fn share_of_penalty(&self, batch: &Batch, rows: &[f32], n_batches: usize) -> f64 {
        let of_weight = |w: f64| self.l1 * w.abs() + 0.5 * self.l2 * w * w;
        let lanes = rows.chunks_exact(self.width()).zip(batch.rarity.iter().zip(&batch.unscale));
        let of_row = |(row, (rarity, unscale)): (&[f32], (&f32, &f32))| {
            let weights = row[..self.classes].iter().map(|w| of_weight(f64::from(w * unscale)));
            f64::from(*rarity) / n_batches as f64 * weights.sum::<f64>()
        };
        lanes.map(of_row).sum()
    }

    /// `l1 |W|_1 + l2/2 |W|²` for the data as given, of a table of all rows (a bias at its end is not counted).
    pub fn penalty(&self, rows: &[f32], scaling: &Scaling) -> f64 {
        let of_weight = |w: f64| self.l1 * w.abs() + 0.5 * self.l2 * w * w;
        let rows = rows.chunks_exact(self.width()).zip(&scaling.scale);
        rows.flat_map(|(row, &scale)| {
            row[..self.classes].iter().map(move |&w| f64::from(w) / f64::from(scale))
        })
        .map(of_weight)
        .sum()
    }
}
