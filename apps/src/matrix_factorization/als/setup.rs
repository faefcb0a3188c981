//! Who is in which part, and what each has rated.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::SplitMix64;
use rayon::prelude::*;

use super::super::cells::Triples;
use super::super::params::DEFAULT_L2;
use super::super::solver::{Side, Summary};
use super::layout::Layout;
use super::params::{Feedback, Params};
use crate::Error;
use crate::deal::{Deal, count};
use crate::kernel::normal;

/// Parts of a side unless it is small or large: enough to share among many workers.
const PARTS: usize = 32;
/// A part has at least so many rows, unless it is told otherwise.
const FEW_ROWS: usize = 8;
/// A part has at most so many numbers, unless it is told otherwise: 16 MiB.
const MANY_NUMBERS: usize = 4 << 20;
/// First factors of explicit ratings are uniform in `±SPREAD / sqrt(rank)`, times the root of their deviation.
const SPREAD: f64 = 0.3;
/// Those of implicit feedback are uniform from 0 to `SMALL / sqrt(rank)`: preferences are positive, and conjugate gradients
/// come nearer from near 0 (on Epinions after five passes of rank 64, 1 % nearer than from `±SPREAD`).
const SMALL: f64 = 0.08;

/// Everything that workers share and nobody changes.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The options.
    pub params: Params,
    /// What all ratings together say; of implicit feedback the mean is 0.
    pub summary: Summary,
    /// The users and the items.
    pub sides: [Members; 2],
    seed: u64,
}

/// The rows of one side.
#[derive(Debug, Clone)]
pub struct Members {
    /// Which ids are in which part.
    pub deal: Deal,
    /// Where the rows of a part lie.
    pub layout: Layout,
    /// The ratings of each part.
    pub lists: Vec<Lists>,
}

/// The ratings of the rows of a part, row by row.
#[derive(Debug, Clone, Default)]
pub struct Lists {
    /// Where the ratings of each row end.
    pub ends: Vec<usize>,
    /// Whose row on the other side: its part and its row there.
    pub others: Vec<Place>,
    /// The rating less the mean; of implicit feedback `alpha` times the rating.
    pub values: Vec<f32>,
}

/// A row of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The part.
    pub part: u32,
    /// Its row.
    pub row: u32,
}

impl Lists {
    /// The ratings of a row.
    pub fn of(&self, row: usize) -> (&[Place], &[f32]) {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        let range = start..self.ends[row];
        (&self.others[range.clone()], &self.values[range])
    }
}

impl Setup {
    /// Deals users and items out and sorts the ratings by both. `shape` is (users, items).
    ///
    /// # Errors
    /// Ratings that cannot be trained on.
    pub fn new(
        ratings: &Triples<'_>,
        shape: (usize, usize),
        params: Params,
        seed: u64,
    ) -> Result<Self, Error> {
        let mut summary = Summary::of(ratings.values)?;
        let is_implicit = params.is_implicit();
        let scale = match params.feedback {
            Feedback::Implicit { .. } if summary.least < 0.0 => {
                return Err(Error::Run(format!(
                    "a rating is {}, must be 0 or more with --implicit: train on explicit ratings, or leave it out",
                    summary.least
                )));
            }
            Feedback::Implicit { alpha, .. } => {
                summary = Summary { mean: 0.0, least: f32::NEG_INFINITY, most: f32::INFINITY, ..summary };
                alpha as f32
            }
            Feedback::Explicit { .. } => 1.0,
        };
        let ids = [ratings.users, ratings.items];
        let (n, wanted) = ([shape.0, shape.1], [params.parts, params.blocks]);
        let deals = [0, 1].map(|side: usize| {
            let parts = wanted[side].unwrap_or_else(|| fitting(n[side], params.rank)).min(n[side]);
            Deal::level(&count(ids[side], n[side]), parts, seed.wrapping_add(side as u64))
        });
        let centred = |value: f32| ((f64::from(value) - summary.mean) as f32) * scale;
        let mut members = [0, 1].map(|side| {
            let largest = deals[side].members.iter().map(Vec::len).max().unwrap_or(0);
            let layout = Layout::new(largest, params.rank, !is_implicit);
            let lists = lists(ids[side], ids[1 - side], ratings.values, [&deals[side], &deals[1 - side]]);
            Members { deal: deals[side].clone(), layout, lists }
        });
        let all = members.iter_mut().flat_map(|side| &mut side.lists).collect::<Vec<_>>();
        all.into_par_iter().for_each(|lists| {
            if is_implicit {
                *lists = choices(lists);
            }
            lists.values.iter_mut().for_each(|value| *value = centred(*value));
        });
        Ok(Self { params, summary, sides: members, seed })
    }

    /// The penalty of a factor and of a bias: of each rating where feedback is explicit, of a row where it is implicit.
    pub fn penalties(&self) -> (f64, f64) {
        match self.params.feedback {
            Feedback::Explicit { l2, l2_bias, .. } => {
                (l2.unwrap_or(DEFAULT_L2 * self.summary.deviation), l2_bias)
            }
            Feedback::Implicit { l2, .. } => (l2, 0.0),
        }
    }

    /// How often the penalties count for a row with `n` ratings.
    pub fn weight(&self, n: usize) -> f64 {
        match self.params.feedback {
            Feedback::Explicit { prior, .. } => n as f64 + prior,
            Feedback::Implicit { .. } => 1.0,
        }
    }

    /// One side.
    pub fn side(&self, side: Side) -> &Members {
        &self.sides[usize::from(side == Side::Items)]
    }

    /// Writes a part as it is before the first pass: items at random, depending on the seed and the id alone; users zero.
    pub fn first(&self, side: Side, part: usize, values: &mut [f32]) {
        let Members { deal, layout, .. } = self.side(side);
        let is_nonnegative = self.params.method == super::params::Method::Nonnegative;
        let is_implicit = self.params.is_implicit();
        let spread = if is_implicit { SMALL } else { SPREAD * self.summary.deviation.sqrt() };
        let bound = (spread / (self.params.rank as f64).sqrt()) as f32;
        for (row, &id) in deal.members[part].iter().enumerate() {
            let row = &mut values[layout.row(row)];
            if let Some(slot) = layout.slot() {
                row[slot] = 1.0;
            }
            if side == Side::Items {
                let mut random = SplitMix64::seed_from_u64(
                    self.seed ^ (u64::from(id) << 1 | 1).wrapping_mul(0x9E37_79B9_7F4A_7C15),
                );
                let least = if is_nonnegative || is_implicit { 0.0 } else { -bound };
                row[..layout.rank].fill_with(|| random.random_range(least..=bound));
            }
        }
        self.add_gram(side, values);
    }

    /// Writes the Gram matrix of a part whose factors are there, if it has one.
    pub(super) fn add_gram(&self, side: Side, values: &mut [f32]) {
        let layout = &self.side(side).layout;
        if layout.has_biases {
            return;
        }
        let (factors, gram) = values.split_at_mut(layout.factors().end);
        gram.fill(0.0);
        normal::add_gram(layout.width, factors, &vec![1.0; layout.n_rows], gram);
    }
}

/// How many parts suit so many rows of this rank.
fn fitting(n_rows: usize, rank: usize) -> usize {
    let least = (n_rows * rank).div_ceil(MANY_NUMBERS);
    PARTS.min(n_rows / FEW_ROWS).max(least).max(1)
}

/// The ratings of each part, row by row, each row's in the order of the data; values as they are.
fn lists(ids: &[u32], others: &[u32], values: &[f32], [deal, other]: [&Deal; 2]) -> Vec<Lists> {
    let mut lists: Vec<Lists> = deal
        .members
        .iter()
        .map(|members| Lists { ends: vec![0; members.len()], ..Lists::default() })
        .collect();
    for &id in ids {
        lists[deal.group[id as usize] as usize].ends[deal.row[id as usize] as usize] += 1;
    }
    for list in &mut lists {
        let mut start = 0;
        for end in &mut list.ends {
            // Each holds the start of its row until the ratings are in, which moves it to the end.
            start += std::mem::replace(end, start);
        }
        list.others = vec![Place { part: 0, row: 0 }; start];
        list.values = vec![0.0; start];
    }
    for ((&id, &to), &value) in ids.iter().zip(others).zip(values) {
        let list = &mut lists[deal.group[id as usize] as usize];
        let end = &mut list.ends[deal.row[id as usize] as usize];
        list.others[*end] = Place { part: other.group[to as usize], row: other.row[to as usize] };
        list.values[*end] = value;
        *end += 1;
    }
    lists
}

/// What implicit feedback keeps: ratings above 0, those of one pair added up.
fn choices(lists: &Lists) -> Lists {
    let mut kept = Lists::default();
    for row in 0..lists.ends.len() {
        let (others, values) = lists.of(row);
        let start = kept.others.len();
        let mut chosen: Vec<(Place, f32)> =
            others.iter().copied().zip(values.iter().copied()).filter(|(_, value)| *value > 0.0).collect();
        chosen.sort_by_key(|(place, _)| (place.part, place.row));
        for (place, value) in chosen {
            if kept.others.len() > start && kept.others.last() == Some(&place) {
                kept.values.iter_mut().next_back().into_iter().for_each(|sum| *sum += value);
            } else {
                kept.others.push(place);
                kept.values.push(value);
            }
        }
        kept.ends.push(kept.others.len());
    }
    kept
}
