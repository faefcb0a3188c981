//! The objective of a batch of pairs and its gradient, as products of matrices.

use ndarray::{Array2, s};

use super::pairs::Pair;
use crate::data::points::{Features, Sparse};
use crate::kernel::gemm;

/// Pairs of a block: their differences stay in the second-level cache.
const BLOCK: usize = 256;

/// What the objective weighs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Metric {
    /// Weight of dissimilar pairs.
    pub lambda: f64,
    /// Squared distance that dissimilar pairs should have.
    pub margin: f64,
}

/// Sums over pairs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Losses {
    /// Σ |L δ|² of similar pairs.
    pub similar: f64,
    /// Σ max(0, margin - |L δ|²) of dissimilar pairs.
    pub dissimilar: f64,
}

/// The pairs of a batch.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    /// Those that should be near.
    pub similar: &'a [Pair],
    /// Those that should be far.
    pub dissimilar: &'a [Pair],
}

/// Room for the batches of one worker.
#[derive(Debug)]
pub struct Room {
    differences: Array2<f32>,
    products: Array2<f32>,
    /// For sparse rows: the map and its gradient with columns for rows.
    across: [Array2<f32>; 2],
}

impl Room {
    /// Room for a map of `rank` rows over the columns of `features`.
    pub fn new(features: &Features, rank: usize) -> Self {
        let columns = features.n_columns();
        let (of_block, across) = match features {
            Features::Dense(_) => (columns, 0),
            Features::Sparse(_) => (0, columns),
        };
        Self {
            differences: Array2::zeros((BLOCK, of_block)),
            products: Array2::zeros((BLOCK, rank)),
            across: [(); 2].map(|()| Array2::zeros((across, rank))),
        }
    }
}

impl Metric {
    /// The gradient of `1/|S| Σ |L δ|² + lambda/|D| Σ max(0, margin - |L δ|²)` over a batch, to `to` (rank x columns), and
    /// the sums themselves.
    pub fn gradient(
        &self,
        features: &Features,
        batch: Batch<'_>,
        map: &Array2<f32>,
        (room, to): (&mut Room, &mut Array2<f32>),
    ) -> Losses {
        to.fill(0.0);
        if let Features::Sparse(_) = features {
            room.across[0].assign(&map.t());
            room.across[1].fill(0.0);
        }
        let mut losses = Losses::default();
        let weight = 2.0 / batch.similar.len().max(1) as f32;
        for pairs in batch.similar.chunks(BLOCK) {
            losses.similar += multiply(features, pairs, map, room);
            add(features, pairs, weight, (room, to));
        }
        let weight = -2.0 * self.lambda as f32 / batch.dissimilar.len().max(1) as f32;
        for pairs in batch.dissimilar.chunks(BLOCK) {
            multiply(features, pairs, map, room);
            let near = self.gather_near(pairs, room, &mut losses);
            add(features, &near, weight, (room, to));
        }
        if let Features::Sparse(_) = features {
            to.assign(&room.across[1].t());
        }
        losses
    }

    /// The sums over a batch.
    pub fn losses(
        &self,
        features: &Features,
        batch: Batch<'_>,
        map: &Array2<f32>,
        room: &mut Room,
    ) -> Losses {
        if let Features::Sparse(_) = features {
            room.across[0].assign(&map.t());
        }
        let mut losses = Losses::default();
        for pairs in batch.similar.chunks(BLOCK) {
            losses.similar += multiply(features, pairs, map, room);
        }
        for pairs in batch.dissimilar.chunks(BLOCK) {
            multiply(features, pairs, map, room);
            for product in room.products.outer_iter().take(pairs.len()) {
                losses.dissimilar += (self.margin - square(&product)).max(0.0);
            }
        }
        losses
    }

    /// Moves the pairs within the margin to the front, with their differences and products, and returns them.
    fn gather_near(&self, pairs: &[Pair], room: &mut Room, losses: &mut Losses) -> Vec<Pair> {
        let mut near = Vec::with_capacity(pairs.len());
        for (at, pair) in pairs.iter().enumerate() {
            let missing = self.margin - square(&room.products.row(at));
            if missing <= 0.0 {
                continue;
            }
            losses.dissimilar += missing;
            if near.len() < at {
                for lanes in [&mut room.products, &mut room.differences] {
                    let width = lanes.ncols();
                    let lanes = lanes.as_slice_mut().expect("rows lie one after the other");
                    lanes.copy_within(at * width..(at + 1) * width, near.len() * width);
                }
            }
            near.push(*pair);
        }
        near
    }
}

fn square(product: &ndarray::ArrayView1<'_, f32>) -> f64 {
    product.iter().map(|p| f64::from(*p) * f64::from(*p)).sum()
}

/// `P = Δ Lᵀ` of a block of pairs; returns Σ |L δ|².
fn multiply(features: &Features, pairs: &[Pair], map: &Array2<f32>, room: &mut Room) -> f64 {
    let n = pairs.len();
    let mut products = room.products.slice_mut(s![..n, ..]);
    match features {
        Features::Dense(rows) => {
            for (pair, mut to) in pairs.iter().zip(room.differences.outer_iter_mut()) {
                let [x, y] = pair.map(|row| rows.row(row as usize));
                let lanes = x.iter().zip(y).zip(&mut to);
                lanes.for_each(|((x, y), to)| *to = x - y);
            }
            gemm(1.0, room.differences.slice(s![..n, ..]), map.t(), 0.0, products.view_mut());
        }
        Features::Sparse(rows) => {
            for (pair, mut to) in pairs.iter().zip(products.outer_iter_mut()) {
                to.fill(0.0);
                each_difference(rows, *pair, |column, value| {
                    to.scaled_add(value, &room.across[0].row(column));
                });
            }
        }
    }
    products.outer_iter().map(|product| square(&product)).sum()
}

/// Adds `weight · Pᵀ Δ` of a block of pairs to the gradient.
fn add(features: &Features, pairs: &[Pair], weight: f32, (room, to): (&mut Room, &mut Array2<f32>)) {
    let products = room.products.slice(s![..pairs.len(), ..]);
    match features {
        Features::Dense(_) => {
            gemm(weight, products.t(), room.differences.slice(s![..pairs.len(), ..]), 1.0, to.view_mut());
        }
        Features::Sparse(rows) => {
            for (pair, product) in pairs.iter().zip(products.outer_iter()) {
                each_difference(rows, *pair, |column, value| {
                    room.across[1].row_mut(column).scaled_add(weight * value, &product);
                });
            }
        }
    }
}

/// Calls `each` with the columns where two rows may differ, and by how much; a column of both comes twice.
fn each_difference(rows: &Sparse, pair: Pair, mut each: impl FnMut(usize, f32)) {
    for (row, sign) in pair.into_iter().zip([1.0, -1.0]) {
        let row = rows.outer_view(row as usize).expect("the row is there");
        row.iter().for_each(|(column, value)| each(column, sign * value));
    }
}
