//! The ratings of every cell (part of users × block of items), in the order in which a visit steps through them.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use crate::deal::Deal;
use crate::kernel::sgd::Rating;

/// Ratings as read: dense ids and values, all three of one length.
#[derive(Debug, Clone, Copy)]
pub struct Triples<'a> {
    /// Dense id of the user of each rating.
    pub users: &'a [u32],
    /// Dense id of the item of each rating.
    pub items: &'a [u32],
    /// The ratings, in the units of the file.
    pub values: &'a [f32],
}

/// Rows of users that a visit works on at a time.
///
/// Ratings of one tile follow in random order: neighbours then seldom share a row, so the processor overlaps
/// their steps, while the tile's users stay in the first-level cache.
const TILE: u32 = 16;

/// A part's ratings, one list per block.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Part {
    /// The ratings of each cell of this part, by block.
    pub cells: Vec<Vec<Rating>>,
}

/// Sorts ratings into the cells of their parts; every rating is in exactly one cell. Values become
/// `(r - mean) / scale`.
pub fn parts(ratings: &Triples<'_>, users: &Deal, items: &Deal, centre: (f64, f64), seed: u64) -> Vec<Part> {
    let (mean, scale) = centre;
    let n_blocks = items.n_groups();
    let mut sizes = vec![0usize; users.n_groups() * n_blocks];
    let cell = |k: usize| {
        users.group[ratings.users[k] as usize] as usize * n_blocks
            + items.group[ratings.items[k] as usize] as usize
    };
    for k in 0..ratings.values.len() {
        sizes[cell(k)] += 1;
    }
    let mut cells: Vec<Vec<Rating>> = sizes.iter().map(|&size| Vec::with_capacity(size)).collect();
    for (k, &value) in ratings.values.iter().enumerate() {
        cells[cell(k)].push(Rating {
            user: users.row[ratings.users[k] as usize],
            item: items.row[ratings.items[k] as usize],
            value: ((f64::from(value) - mean) / scale) as f32,
        });
    }
    cells.par_iter_mut().enumerate().for_each(|(k, cell)| arrange(cell, seed.wrapping_add(k as u64)));
    let mut cells = cells.into_iter();
    (0..users.n_groups()).map(|_| Part { cells: cells.by_ref().take(n_blocks).collect() }).collect()
}

/// Orders a cell by tiles of users, at random within a tile.
fn arrange(cell: &mut Vec<Rating>, seed: u64) {
    let tile = TILE;
    let n_tiles = cell.iter().map(|rating| rating.user / tile + 1).max().unwrap_or(0) as usize;
    let mut ends = vec![0usize; n_tiles + 1];
    for rating in cell.iter() {
        ends[(rating.user / tile) as usize + 1] += 1;
    }
    for k in 1..=n_tiles {
        ends[k] += ends[k - 1];
    }
    let starts = ends.clone();
    let mut sorted = cell.clone();
    for rating in cell.iter() {
        let slot = &mut ends[(rating.user / tile) as usize];
        sorted[*slot] = *rating;
        *slot += 1;
    }
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    for k in 0..n_tiles {
        sorted[starts[k]..starts[k + 1]].shuffle(&mut random);
    }
    *cell = sorted;
}
