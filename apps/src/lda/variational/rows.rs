//! A row of the topics as it lies in a table, and the rule by which a shard folds an update in.
//!
//! A row holds the excess `λ_w - β` of a word, one number a topic, and behind it the last step that touched it. All words
//! shrink at every step, those of the batch and the others:
//!
//! ```text
//! λ_w - β  ←  (1 - ρ_t) (λ_w - β)  +  ρ_t D/|B| s_w          s_w = 0 where the batch lacks the word
//! ```
//!
//! so a row need not be touched to shrink: who reads it, or adds to it, multiplies by what the steps since the last one
//! leave of it ([`Rates::remains`]). An update that comes late, after a later step was folded in, is shrunk by the steps
//! that it missed. So a row holds `Σ_t ρ_t Π_{t<i≤T} (1 - ρ_i) D/|B_t| s_wt` whatever the order in which updates arrive.
//!
//! In batch inference (`ρ = 1`) a step is a whole pass, to which all parts add, and the pass reads what the one before left:
//! such a row holds two excesses, one for even steps and one for odd ones.

use std::ops::{AddAssign, Mul, Range};

use slackline::values::Content;
use slackline::{Beside, Buffer, UpdateRule};

use super::rates::Rates;

/// A number of a table that holds rows: `f32`, or `f64` for the totals.
pub trait Number: Copy + Mul<Output = Self> + AddAssign + From<f32> + Into<f64> {
    /// The nearest number.
    fn near(value: f64) -> Self;
}

impl Number for f32 {
    fn near(value: f64) -> Self {
        value as Self
    }
}

impl Number for f64 {
    fn near(value: f64) -> Self {
        value
    }
}

/// The most steps of a run: a row names its step in single precision.
pub const MOST_STEPS: usize = 1 << 24;

/// How rows are laid out, read and folded.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    n_topics: usize,
    /// Whether a row holds an excess for even steps and one for odd ones.
    in_turn: bool,
    rates: Rates,
}

impl Rows {
    /// Rows of stochastic inference.
    pub fn blended(n_topics: usize, rates: Rates) -> Self {
        Self { n_topics, in_turn: false, rates }
    }

    /// Rows of batch inference.
    pub fn in_turn(n_topics: usize, n_steps: usize) -> Self {
        Self { n_topics, in_turn: true, rates: Rates::replacing(n_steps) }
    }

    /// Whether a step is a whole pass, to which several parts add.
    pub fn is_in_turn(&self) -> bool {
        self.in_turn
    }

    /// The weight of every step.
    pub fn rates(&self) -> &Rates {
        &self.rates
    }

    /// Numbers in a row.
    pub fn width(&self) -> usize {
        self.n_topics * if self.in_turn { 2 } else { 1 } + 1
    }

    /// Where in a row the excess after a step lies.
    pub(super) fn place(&self, step: usize) -> Range<usize> {
        let first = if self.in_turn { step % 2 * self.n_topics } else { 0 };
        first..first + self.n_topics
    }

    /// The last step that touched a row.
    pub fn step_of<T: Number>(&self, row: &[T]) -> usize {
        row[self.width() - 1].into() as usize
    }

    /// The excess in a row and the factor that makes it that after step `now`, or after a later one that is in it.
    pub fn excess<'a, T: Number>(&self, row: &'a [T], now: usize) -> (&'a [T], f64) {
        let step = self.step_of(row);
        let factor = match self.in_turn {
            true => f64::from(u8::from(step == now || step == now + 1)),
            false => self.rates.remains(step, now),
        };
        (&row[self.place(now)], factor)
    }

    /// The place in the update of a row for `ρ_t D/|B| s_w`; the update is marked as that of `step`.
    pub fn update<'a, T: Number>(&self, row: &'a mut [T], step: usize) -> &'a mut [T] {
        row[self.width() - 1] = T::from(step as f32);
        &mut row[self.place(step)]
    }

    /// Folds the update of one row in; one of no step is none.
    pub fn fold<T: Number>(&self, row: &mut [T], update: &[T]) {
        let (last, step) = (self.step_of(row), self.step_of(update));
        if step == 0 {
            return;
        }
        let place = self.place(step);
        let (values, update) = (&mut row[place.clone()], &update[place]);
        let (kept, added) = (self.rates.remains(last, step), self.rates.remains(step, last));
        let (kept, added) = (T::near(kept), T::near(added));
        for (value, more) in values.iter_mut().zip(update) {
            *value = *value * kept;
            *value += *more * added;
        }
        row[self.width() - 1] = T::from(last.max(step) as f32);
    }

    fn fold_all<T: Number>(&self, rows: &mut [T], updates: &[T]) {
        for (row, update) in rows.chunks_exact_mut(self.width()).zip(updates.chunks_exact(self.width())) {
            self.fold(row, update);
        }
    }
}

impl UpdateRule for Rows {
    fn fold(&self, page: &mut Buffer, delta: &Buffer, _: Beside<'_>) {
        match (page, delta) {
            (Buffer::F32(Content::Dense(page)), Buffer::F32(Content::Dense(delta))) => {
                self.fold_all(page, delta);
            }
            (Buffer::F64(Content::Dense(page)), Buffer::F64(Content::Dense(delta))) => {
                self.fold_all(page, delta);
            }
            _ => panic!("topics and their totals are dense rows of floating-point numbers"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Statistics of (step, word): a word is in some batches only.
    fn statistics(step: usize, word: usize) -> Option<[f64; 2]> {
        let seed = (step * 7 + word * 13) % 11;
        (!seed.is_multiple_of(3)).then(|| [seed as f64 * 0.5, (seed * seed) as f64 * 0.1])
    }

    /// What updating every row at every step makes of words that start at 1.
    fn eager(rates: &Rates, word: usize) -> [f64; 2] {
        let mut excess = [1.0, 2.0];
        for step in 1..=rates.n_steps() {
            let statistics = statistics(step, word).unwrap_or_default();
            for (excess, more) in excess.iter_mut().zip(statistics) {
                *excess = (1.0 - rates.rate(step)) * *excess + rates.rate(step) * more;
            }
        }
        excess
    }

    fn lazy(rows: &Rows, word: usize, steps: &[usize]) -> Vec<f64> {
        let mut row = vec![1.0, 2.0, 0.0];
        for &step in steps {
            let Some(statistics) = statistics(step, word) else { continue };
            let mut update = vec![0.0; 3];
            let place = rows.update(&mut update, step);
            place.iter_mut().zip(statistics).for_each(|(to, more)| *to = rows.rates().rate(step) * more);
            rows.fold(&mut row, &update);
        }
        let (excess, factor) = rows.excess(&row, rows.rates().n_steps());
        excess.iter().map(|value| value * factor).collect()
    }

    #[test]
    fn rows_that_shrink_when_they_are_read_are_those_that_shrink_at_every_step() {
        for (tau0, kappa) in [(1.0, 0.7), (4.0, 0.5), (1.0, 1.0)] {
            let rows = Rows::blended(2, Rates::new(tau0, kappa, 40));
            for word in 0..11 {
                let (lazy, eager) = (lazy(&rows, word, &Vec::from_iter(1..=40)), eager(rows.rates(), word));
                for (lazy, eager) in lazy.iter().zip(eager) {
                    assert!((lazy - eager).abs() <= 1e-12 * (1.0 + eager), "{word}: {lazy} {eager}");
                }
            }
        }
    }

    #[test]
    fn the_order_in_which_updates_arrive_does_not_matter() {
        let rows = Rows::blended(2, Rates::new(2.0, 0.6, 12));
        let late = [2, 1, 3, 7, 6, 5, 4, 12, 9, 8, 11, 10];
        for word in 0..11 {
            let (lazy, eager) = (lazy(&rows, word, &late), eager(rows.rates(), word));
            for (lazy, eager) in lazy.iter().zip(eager) {
                assert!((lazy - eager).abs() <= 1e-12 * (1.0 + eager), "{word}: {lazy} {eager}");
            }
        }
    }

    #[test]
    fn a_pass_of_batch_inference_adds_up_and_is_not_seen_before_the_next_one() {
        let rows = Rows::in_turn(1, 3);
        let mut row = vec![5.0f32, 0.0, 0.0]; // the start
        for (step, parts, before) in [(1, [1.0, 2.0], 5.0), (2, [10.0, 20.0], 3.0), (3, [4.0, 0.0], 30.0)] {
            for part in parts {
                let mut update = vec![0.0; 3];
                rows.update(&mut update, step)[0] = part;
                rows.fold(&mut row, &update);
                assert_eq!(rows.excess(&row, step - 1), (&[before][..], 1.0));
            }
            assert_eq!(rows.excess(&row, step), (&[parts[0] + parts[1]][..], 1.0));
        }
        let never_touched = vec![5.0f32, 0.0, 0.0];
        assert_eq!(rows.excess(&never_touched, 2).1, 0.0);
    }

    #[test]
    fn an_update_of_no_step_changes_nothing() {
        let rows = Rows::blended(2, Rates::new(1.0, 0.7, 3));
        let mut row = vec![1.0f32, 2.0, 0.0];
        rows.fold(&mut row, &[0.0; 3]);
        assert_eq!(row, [1.0, 2.0, 0.0]);
    }
}
