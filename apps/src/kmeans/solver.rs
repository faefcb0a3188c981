//! The parallel core: a step on a part, and the exact inertia. No actors and no threads.

use std::ops::Range;

use ndarray::{Array2, s};
use rayon::prelude::*;

use super::centres::{BLOCK, Centres, Rows, nearest_two};
use crate::data::points::Features;

/// A row that counts for no centre yet.
pub const NONE: i32 = -1;

/// What bounds must differ by, relative to the numbers they come from: more than single precision may be wrong by.
const MARGIN: f32 = 1e-5;

/// The sums of each centre: k x (columns + 1), the number of rows last.
pub type Sums = Array2<f64>;

/// The centres that sums stand for: means, or the seeds of those without rows.
pub fn centres(sums: &Sums, seeds: &Array2<f32>, rows: &Rows) -> Centres {
    let mut centres = seeds.clone();
    let columns = seeds.ncols();
    for (mut centre, sums) in centres.outer_iter_mut().zip(sums.outer_iter()) {
        let count = sums[columns];
        if count > 0.5 {
            centre.iter_mut().zip(sums).for_each(|(to, sum)| *to = (sum / count) as f32);
        }
    }
    Centres::new(centres, matches!(rows.features, Features::Sparse(_)))
}

/// What a step found.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Found {
    /// The inertia of the rows at the centres that were read.
    pub cost: f64,
    /// Rows that count for another centre than before.
    pub moved: usize,
    /// Σ |c - c before|² since the last step on the part; none for the first.
    pub shift: Option<f64>,
}

/// What a worker remembers of a part, only to save work: how near each row is to its centre at the most, and to any other
/// at the least.
#[derive(Debug)]
struct Bounds {
    /// The centre of each row when the bounds were right.
    centre: Vec<i32>,
    /// Where the centres were then.
    seen: Array2<f32>,
    upper: Vec<f32>,
    lower: Vec<f32>,
    /// The sums of the part alone.
    sums: Sums,
}

/// Room for the steps of one worker, and what it remembers of each part.
#[derive(Debug)]
pub struct Room {
    copy: Array2<f32>,
    distances: Array2<f32>,
    open: Vec<u32>,
    bounds: std::collections::HashMap<usize, Bounds>,
}

impl Room {
    /// Room for rows of `columns` columns and `k` centres.
    pub fn new(columns: usize, k: usize) -> Self {
        let (copy, distances) = (Array2::zeros((BLOCK, columns)), Array2::zeros((BLOCK, k)));
        Self { copy, distances, open: Vec::new(), bounds: std::collections::HashMap::new() }
    }
}

/// Puts the rows of a part to their nearest centres. `centre` has the centre of each row, and `change`, zero before, takes what is
/// to be added to the sums of all.
pub fn full(
    rows: &Rows,
    (part, range): (usize, Range<usize>),
    centres: &Centres,
    room: &mut Room,
    (centre, change): (&mut [i32], &mut Sums),
) -> Found {
    let known = room.bounds.remove(&part).filter(|bounds| bounds.centre == centre);
    let shift = known.as_ref().map(|bounds| squares(&centres.drifts(&bounds.seen)));
    let mut bounds = known.unwrap_or_else(|| Bounds::unknown(rows, range.start, centre, centres));
    bounds.open(rows, range.start, centres, &mut room.open);
    let mut moved = 0;
    for which in room.open.chunks(BLOCK) {
        let mut distances = room.distances.slice_mut(s![..which.len(), ..]);
        centres.distances(rows, which, &mut room.copy, distances.view_mut());
        for (row, distances) in which.iter().zip(distances.outer_iter()) {
            let place = *row as usize - range.start;
            let lanes = distances.as_slice().expect("distances of a row lie one after the other");
            let (nearest, least, second) = nearest_two(lanes);
            (bounds.upper[place], bounds.lower[place]) = (least.sqrt(), second.sqrt());
            if bounds.centre[place] != nearest as i32 {
                add(rows, *row as usize, bounds.centre[place], -1.0, change);
                add(rows, *row as usize, nearest as i32, 1.0, change);
                bounds.centre[place] = nearest as i32;
                moved += 1;
            }
        }
    }
    centre.copy_from_slice(&bounds.centre);
    bounds.sums += &*change;
    let cost = bounds.cost(rows, range, centres);
    room.bounds.insert(part, bounds);
    Found { cost, moved, shift }
}

/// Adds the rows of a mini-batch to the sums of their nearest centres.
pub fn batch(rows: &Rows, which: &[u32], centres: &Centres, room: &mut Room, change: &mut Sums) -> Found {
    let mut found = Found::default();
    for which in which.chunks(BLOCK) {
        let mut distances = room.distances.slice_mut(s![..which.len(), ..]);
        centres.distances(rows, which, &mut room.copy, distances.view_mut());
        for (row, distances) in which.iter().zip(distances.outer_iter()) {
            let lanes = distances.as_slice().expect("distances of a row lie one after the other");
            let (nearest, least, _) = nearest_two(lanes);
            add(rows, *row as usize, nearest as i32, 1.0, change);
            found.cost += f64::from(least);
        }
    }
    found.moved = which.len();
    found
}

/// Adds a row to the sums of a centre, or takes it off.
fn add(rows: &Rows, row: usize, centre: i32, sign: f64, sums: &mut Sums) {
    let Ok(centre) = usize::try_from(centre) else { return };
    let mut sums = sums.row_mut(centre);
    let sums = sums.as_slice_mut().expect("rows lie one after the other");
    let (count, sums) = sums.split_last_mut().expect("the number of rows is last");
    rows.add(row, sign, sums);
    *count += sign;
}

fn squares(drifts: &[f32]) -> f64 {
    drifts.iter().map(|drift| f64::from(*drift).powi(2)).sum()
}

impl Bounds {
    /// Bounds that say nothing.
    fn unknown(rows: &Rows, start: usize, centre: &[i32], centres: &Centres) -> Self {
        let n = centre.len();
        let mut sums = Sums::zeros((centres.n(), centres.rows.ncols() + 1));
        for (place, centre) in centre.iter().enumerate() {
            add(rows, start + place, *centre, 1.0, &mut sums);
        }
        let seen = centres.rows.clone();
        Self { centre: centre.to_vec(), seen, upper: vec![f32::INFINITY; n], lower: vec![0.0; n], sums }
    }

    /// Moves the bounds with the centres, and lists the rows that they do not answer for.
    fn open(&mut self, rows: &Rows, start: usize, centres: &Centres, open: &mut Vec<u32>) {
        let (drifts, half_gaps) = (centres.drifts(&self.seen), centres.half_gaps());
        let most = drifts.iter().copied().fold(0.0, f32::max);
        let of_most = drifts.iter().position(|drift| *drift == most);
        let others = drifts.iter().enumerate().filter(|(j, _)| Some(*j) != of_most);
        let most_of_others = others.map(|(_, drift)| *drift).fold(0.0, f32::max);
        open.clear();
        for (place, centre) in self.centre.iter().enumerate() {
            let row = (start + place) as u32;
            let Ok(own) = usize::try_from(*centre) else {
                open.push(row);
                continue;
            };
            self.upper[place] += drifts[own];
            self.lower[place] -= if Some(own) == of_most { most_of_others } else { most };
            let slack = MARGIN * rows.squares[start + place].sqrt();
            if self.upper[place] * (1.0 + MARGIN) + slack >= self.lower[place].max(half_gaps[own]) {
                open.push(row);
            }
        }
        self.seen.assign(&centres.rows);
    }

    /// Σ |x - c|² of the part: Σ |x|² - 2 c·Σ x + n |c|², by centre.
    fn cost(&self, rows: &Rows, range: Range<usize>, centres: &Centres) -> f64 {
        let mut cost: f64 = rows.squares[range].iter().map(|square| f64::from(*square)).sum();
        for (centre, sums) in centres.rows.outer_iter().zip(self.sums.outer_iter()) {
            let (mut product, mut square) = (0.0, 0.0);
            for (c, sum) in centre.iter().zip(sums) {
                let c = f64::from(*c);
                product += c * sum;
                square += c * c;
            }
            cost += sums[centre.len()] * square - 2.0 * product;
        }
        cost.max(0.0)
    }
}

/// The nearest centre of every row and its exact squared distance, on all cores.
pub fn assigned(rows: &Rows, centres: &Centres) -> Vec<(u32, f64)> {
    let all: Vec<u32> = (0..rows.len() as u32).collect();
    let exact: Vec<f64> =
        centres.rows.outer_iter().map(|row| row.iter().map(|c| f64::from(*c).powi(2)).sum()).collect();
    all.par_chunks(BLOCK)
        .map_init(
            || (Array2::zeros((BLOCK, centres.rows.ncols())), Array2::zeros((BLOCK, centres.n()))),
            |(copy, distances), which| {
                let mut distances = distances.slice_mut(s![..which.len(), ..]);
                centres.distances(rows, which, copy, distances.view_mut());
                let of_row = |(row, distances): (&u32, ndarray::ArrayView1<'_, f32>)| {
                    let lanes = distances.as_slice().expect("distances of a row lie one after the other");
                    let nearest = nearest_two(lanes).0;
                    let centre = centres.rows.row(nearest);
                    let centre = centre.as_slice().expect("rows lie one after the other");
                    (nearest as u32, rows.distance(*row as usize, centre, exact[nearest]))
                };
                which.iter().zip(distances.outer_iter()).map(of_row).collect::<Vec<_>>()
            },
        )
        .flatten_iter()
        .collect()
}

/// The inertia of all rows.
pub fn inertia(rows: &Rows, centres: &Centres) -> f64 {
    assigned(rows, centres).iter().map(|(_, distance)| distance).sum()
}
