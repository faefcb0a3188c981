//! The best items of many users at a time, and how good a ranking is on what was held out.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::model::Model;
use super::rated::Rated;
use crate::data::HeldOutRatings;
use crate::kernel::normal::{self, LANES, TILE};

/// Items that are scored for a group of users before the best of them are kept.
const BATCH: usize = 128 * TILE;
/// Ranks that count.
const TOP: usize = 10;
/// Users that a measurement ranks items for, at most: evenly spread over those there are.
const SAMPLE: usize = 5_000;

/// An item and its score.
pub type Scored = (u32, f32);

/// Ranks items: a model with its items side by side.
#[derive(Debug)]
pub struct Ranker<'a> {
    model: &'a Model,
    /// Rows of items, up to a whole tile (n × rank).
    items: Vec<f32>,
}

impl<'a> Ranker<'a> {
    /// Of this model.
    pub fn new(model: &'a Model) -> Self {
        let (n, rank) = model.item_factors.dim();
        let mut items = Vec::with_capacity(n.next_multiple_of(TILE) * rank);
        items.extend(model.item_factors.iter());
        items.resize(n.next_multiple_of(TILE) * rank, 0.0);
        Self { model, items }
    }

    /// The `top` items of each user with the highest prediction, best first; ties in the order of the items. Those that
    /// `without` says the user has rated are left out.
    pub fn rank(&self, users: &[u32], top: usize, without: Option<&Rated>) -> Vec<Vec<Scored>> {
        let groups = users.par_chunks(LANES);
        groups.flat_map_iter(|users| self.rank_group(users, top, without)).collect()
    }

    fn rank_group(&self, users: &[u32], top: usize, without: Option<&Rated>) -> Vec<Vec<Scored>> {
        let Model { user_factors, item_bias, .. } = self.model;
        let rank = user_factors.ncols();
        let mut across = vec![0.0; rank * LANES]; // a column a user
        for (lane, &user) in users.iter().enumerate() {
            let row = user_factors.row(user as usize);
            row.iter().enumerate().for_each(|(k, factor)| across[k * LANES + lane] = *factor);
        }
        let mut left_out: Vec<&[i32]> =
            users.iter().map(|&user| without.map_or(&[][..], |rated| rated.by(user as usize))).collect();
        let mut best = vec![Best::new(top); users.len()];
        let mut scores = vec![0.0; BATCH * LANES];
        for (batch, items) in self.items.chunks(BATCH * rank).enumerate() {
            let n = items.len() / rank;
            scores[..n * LANES].fill(0.0);
            normal::add_product(rank, items, LANES, &across, &mut scores);
            let first = batch * BATCH;
            let biases = item_bias.iter().skip(first).zip(scores.chunks_exact(LANES));
            for ((item, (bias, scores)), _) in (first as u32..).zip(biases).zip(0..n) {
                for ((best, left_out), score) in best.iter_mut().zip(&mut left_out).zip(scores) {
                    if left_out.first().is_some_and(|next| next.cast_unsigned() == item) {
                        *left_out = &left_out[1..];
                        continue;
                    }
                    best.offer(item, score + bias);
                }
            }
        }
        best.into_iter().map(|best| best.kept).collect()
    }
}

/// The best items so far, best first.
#[derive(Debug, Clone)]
struct Best {
    top: usize,
    kept: Vec<Scored>,
}

impl Best {
    fn new(top: usize) -> Self {
        Self { top, kept: Vec::new() }
    }

    /// Takes an item in if it is among the best; items come in ascending order.
    fn offer(&mut self, item: u32, score: f32) {
        if self.kept.len() >= self.top && self.kept.last().is_none_or(|(_, last)| score <= *last) {
            return;
        }
        let place = self.kept.partition_point(|(_, kept)| *kept >= score);
        self.kept.insert(place, (item, score));
        self.kept.truncate(self.top);
    }
}

/// What was held out, by user: items with a rating above 0 that the user had not rated in training, each once.
///
/// Users and items that training does not know are left out: no ranking can have them.
#[derive(Debug, Default)]
pub struct Held(BTreeMap<u32, Vec<u32>>);

impl Held {
    /// Of held-out ratings.
    pub fn of(ratings: &HeldOutRatings, rated: &Rated) -> Self {
        let mut held: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for ((user, item), value) in ratings.users.iter().zip(&ratings.items).zip(&ratings.values) {
            if let (Some(user), Some(item)) = (user, item)
                && *value > 0.0
                && !rated.has(*user as usize, *item)
            {
                held.entry(*user).or_default().push(*item);
            }
        }
        for items in held.values_mut() {
            items.sort_unstable();
            items.dedup();
        }
        Self(held)
    }
}

/// How good rankings are, on average over users.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Quality {
    /// Share of the ten best that were held out.
    pub precision: f64,
    /// Share of what was held out that is among the ten best.
    pub recall: f64,
    /// Normalised discounted cumulative gain (Järvelin and Kekäläinen 2002): a hit at rank `k` counts `1 / log2(k + 1)`,
    /// divided by the most that ten ranks could have.
    pub ndcg: f64,
    /// Users that it is the average over.
    pub users: usize,
}

impl Quality {
    /// By name, each with `prefix`; none where there are no users.
    pub(super) fn metrics(self, prefix: &str) -> Vec<(String, f64)> {
        let named = [
            ("precision_at_10", self.precision),
            ("recall_at_10", self.recall),
            ("ndcg_at_10", self.ndcg),
            ("ranked_users", self.users as f64),
        ];
        let metrics = named.into_iter().filter(|_| self.users > 0);
        metrics.map(|(name, value)| (format!("{prefix}{name}"), value)).collect()
    }
}

/// Ranks the items that each user has not rated, and compares with what was held out; over 5,000 users at most.
pub fn measure_ranking(model: &Model, rated: &Rated, held: &Held) -> Quality {
    let n = held.0.len();
    let chosen = n.min(SAMPLE);
    let all: Vec<(&u32, &Vec<u32>)> = held.0.iter().collect();
    let sample: Vec<(&u32, &Vec<u32>)> = (0..chosen).map(|k| all[k * n / chosen.max(1)]).collect();
    let users: Vec<u32> = sample.iter().map(|(user, _)| **user).collect();
    let ranked = Ranker::new(model).rank(&users, TOP, Some(rated));
    let mut total = Quality { users: chosen, ..Quality::default() };
    for ((_, held), ranked) in sample.iter().zip(&ranked) {
        let [precision, recall, ndcg] = quality(held, ranked);
        total.precision += precision / chosen as f64;
        total.recall += recall / chosen as f64;
        total.ndcg += ndcg / chosen as f64;
    }
    total
}

/// Precision, recall and gain of one ranking.
fn quality(held: &[u32], ranked: &[Scored]) -> [f64; 3] {
    let gain = |rank: usize| 1.0 / (rank as f64 + 2.0).log2();
    let hits: Vec<usize> =
        (0..ranked.len()).filter(|&rank| held.binary_search(&ranked[rank].0).is_ok()).collect();
    let most: f64 = (0..held.len().min(TOP)).map(gain).sum();
    let n = hits.len() as f64;
    [n / TOP as f64, n / held.len() as f64, hits.into_iter().map(gain).sum::<f64>() / most]
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array1, Array2};

    fn model(n_users: usize, n_items: usize, rank: usize) -> Model {
        let number = |k: usize| ((k as f64 + 1.0) * 12.9898).sin() as f32;
        Model {
            user_factors: Array2::from_shape_fn((n_users, rank), |(u, k)| number(u * rank + k)),
            item_factors: Array2::from_shape_fn((n_items, rank), |(i, k)| number(7000 + i * rank + k)),
            user_bias: Array1::zeros(n_users),
            item_bias: Array1::from_shape_fn(n_items, |i| number(i + 90_000)),
            mean: 0.0,
            range: (f32::NEG_INFINITY, f32::INFINITY),
            confidence: None,
        }
    }

    #[test]
    fn a_ranking_is_that_of_sorting_all_predictions() {
        let model = model(20, 1_500, 5);
        let rated = Rated::of(&[3, 3, 3, 17], &[1, 8, 1_499, 2], 20);
        let users: Vec<u32> = (0..20).collect();
        let ranked = Ranker::new(&model).rank(&users, 12, Some(&rated));
        for (&user, ranked) in users.iter().zip(&ranked) {
            let mut all: Vec<(u32, f64)> = (0..1_500u32)
                .filter(|item| !rated.has(user as usize, *item))
                .map(|item| (item, model.predict(user as usize, item as usize)))
                .collect();
            all.sort_by(|a, b| b.1.total_cmp(&a.1));
            let expected: Vec<u32> = all[..12].iter().map(|(item, _)| *item).collect();
            assert_eq!(ranked.iter().map(|(item, _)| *item).collect::<Vec<_>>(), expected, "user {user}");
        }
    }

    #[test]
    fn fewer_items_than_asked_for_are_all_of_them() {
        let model = model(1, 3, 2);
        let rated = Rated::of(&[0], &[1], 1);
        assert_eq!(Ranker::new(&model).rank(&[0], 10, Some(&rated))[0].len(), 2);
        assert_eq!(Ranker::new(&model).rank(&[0], 10, None)[0].len(), 3);
    }

    #[test]
    fn quality_is_that_of_the_textbook() {
        // Hits at ranks 1 and 3 of three that were held out.
        let ranked: Vec<Scored> = [4, 9, 6, 1].iter().map(|item| (*item, 0.0)).collect();
        let [precision, recall, ndcg] = quality(&[4, 6, 8], &ranked);
        assert!((precision - 0.2).abs() < 1e-12 && (recall - 2.0 / 3.0).abs() < 1e-12);
        let most = 1.0 + 1.0 / 3f64.log2() + 0.5;
        assert!((ndcg - 1.5 / most).abs() < 1e-12, "{ndcg}");
    }
}
