//! How good a map is: average precision over pairs, accuracy of nearest neighbours.

use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis, s};
use rayon::prelude::*;

use super::pairs::{Pair, Pairs};
use crate::data::points::Features;
use crate::kernel::gemm;

/// Neighbours that vote.
pub const NEIGHBOURS: usize = 5;
/// Rows that are mapped or looked up at once, and rows that they are compared to at once.
const BLOCK: usize = 128;
const TILE: usize = 2048;

/// Rows under the map: rows x rank.
pub fn transform(features: &Features, map: &Array2<f32>) -> Array2<f32> {
    let (n_rows, columns, rank) = (features.n_rows(), features.n_columns(), map.nrows());
    let mut all = vec![0.0f32; n_rows * rank];
    let blocks = all.par_chunks_mut(BLOCK * rank.max(1)).enumerate();
    blocks.for_each_init(
        || Array2::zeros((BLOCK, columns)),
        |copy, (block, to)| {
            let rows = block * BLOCK..block * BLOCK + to.len() / rank;
            let to = ArrayViewMut2::from_shape((rows.len(), rank), to).expect("whole rows");
            match features {
                Features::Dense(all) => gemm(1.0, all.slice(s![rows, ..]), map.t(), 0.0, to),
                Features::Sparse(_) => {
                    let mut part = copy.slice_mut(s![..rows.len(), ..]);
                    for (row, mut to) in rows.zip(part.outer_iter_mut()) {
                        features.copy_row(row, to.as_slice_mut().expect("rows lie one after the other"));
                    }
                    gemm(1.0, part.view(), map.t(), 0.0, to);
                }
            }
        },
    );
    Array2::from_shape_vec((n_rows, rank), all).expect("as many as were asked for")
}

/// The mean, over similar pairs, of the share of similar ones among all pairs that are as near or nearer. Of pairs at one
/// distance the similar ones come first, and all in their order.
pub fn average_precision(rows: &Array2<f32>, pairs: &Pairs) -> f64 {
    let distance = |pair: &Pair| -> f64 {
        let [x, y] = pair.map(|row| rows.row(row as usize));
        x.iter().zip(y).map(|(x, y)| (f64::from(*x) - f64::from(*y)).powi(2)).sum()
    };
    let all = |pairs: &[Pair], same| pairs.par_iter().map(|pair| (distance(pair), same)).collect::<Vec<_>>();
    let mut ranked = [all(&pairs.similar, true), all(&pairs.dissimilar, false)].concat();
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut similar, mut sum) = (0.0, 0.0);
    for (rank, (_, same)) in ranked.iter().enumerate() {
        if *same {
            similar += 1.0;
            sum += similar / (rank + 1) as f64;
        }
    }
    sum / f64::max(similar, 1.0)
}

/// Rows and their classes.
#[derive(Debug, Clone, Copy)]
pub struct Classed<'a> {
    /// The rows.
    pub rows: &'a Array2<f32>,
    /// The class of each.
    pub classes: &'a [u32],
}

/// The share of `of` whose class most of their [`NEIGHBOURS`] nearest rows of `among` have; a tie goes to the class of the
/// nearest. With `within` the two are the same rows, and none is its own neighbour.
pub fn knn_accuracy(among: Classed<'_>, of: Classed<'_>, within: bool) -> f64 {
    let squares: Vec<f32> = among.rows.outer_iter().map(|row| row.dot(&row)).collect();
    let blocks = of.classes.par_chunks(BLOCK).enumerate();
    let right = blocks.map_init(
        || Array2::zeros((BLOCK, TILE)),
        |room, (block, classes)| {
            let first = block * BLOCK;
            let rows = of.rows.slice(s![first..first + classes.len(), ..]);
            let nearest = neighbours(&rows, (among.rows, &squares), within.then_some(first), room);
            nearest
                .iter()
                .zip(classes)
                .filter(|(near, class)| vote(near, among.classes) == Some(**class))
                .count()
        },
    );
    right.sum::<usize>() as f64 / of.classes.len().max(1) as f64
}

/// Neighbours of a row, the nearest first: squared distance less a constant of the row, and place.
type Near = Vec<(f32, u32)>;

/// The nearest rows of `among` to each of `rows`; those from `own` on are the same rows.
fn neighbours(
    rows: &ArrayView2<'_, f32>,
    (among, squares): (&Array2<f32>, &[f32]),
    own: Option<usize>,
    room: &mut Array2<f32>,
) -> Vec<Near> {
    let mut nearest: Vec<Near> = vec![Vec::with_capacity(NEIGHBOURS + 1); rows.nrows()];
    for (tile, others) in among.axis_chunks_iter(Axis(0), TILE).enumerate() {
        let mut distances = room.slice_mut(s![..rows.nrows(), ..others.nrows()]);
        gemm(-2.0, rows.view(), others.t(), 0.0, distances.view_mut());
        let squares = &squares[tile * TILE..];
        for (at, (distances, near)) in distances.outer_iter().zip(&mut nearest).enumerate() {
            let mut farthest = if near.len() < NEIGHBOURS { f32::INFINITY } else { near[NEIGHBOURS - 1].0 };
            for (place, (product, square)) in distances.iter().zip(squares).enumerate() {
                let distance = product + square;
                let place = tile * TILE + place;
                if distance < farthest && own.is_none_or(|own| own + at != place) {
                    let rank = near.partition_point(|(other, _)| *other <= distance);
                    near.insert(rank, (distance, place as u32));
                    near.truncate(NEIGHBOURS);
                    farthest = if near.len() < NEIGHBOURS { f32::INFINITY } else { near[NEIGHBOURS - 1].0 };
                }
            }
        }
    }
    nearest
}

/// The class of most neighbours; of those with as many the one that has the nearest.
fn vote(near: &[(f32, u32)], classes: &[u32]) -> Option<u32> {
    let class = |(_, place): &(f32, u32)| classes[*place as usize];
    let votes = |of: u32| near.iter().filter(|other| class(other) == of).count();
    let most = near.iter().map(|neighbour| votes(class(neighbour))).max()?;
    near.iter().map(class).find(|class| votes(*class) == most)
}
