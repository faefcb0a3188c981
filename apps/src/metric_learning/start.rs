//! Where the map begins: the principal directions of a sample of the rows, found by subspace iteration, and scaled.

use ndarray::{Array2, Axis};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::pairs::{Pair, Pairs};
use crate::data::points::Features;
use crate::kernel::gemm;

/// Rows of the sample, and numbers that it may have.
const SAMPLE: usize = 4096;
const MOST_NUMBERS: usize = 64 << 20;
/// Rounds of the iteration: the map need only begin well.
const ROUNDS: usize = 4;
/// Dissimilar pairs that the scale is taken from.
const SCALE_PAIRS: usize = 1000;

/// A map of `rank` rows under which the mean squared distance of dissimilar pairs is `margin`: principal directions, or
/// all axes where the rank is the number of columns.
pub fn start(features: &Features, pairs: &Pairs, rank: usize, (margin, seed): (f64, u64)) -> Array2<f32> {
    let mut map =
        if rank == features.n_columns() { Array2::eye(rank) } else { directions(features, rank, seed) };
    let spread = mean_square(features, &pairs.dissimilar, &map);
    if spread > 0.0 {
        map *= (margin / spread).sqrt() as f32;
    }
    map
}

/// The first `rank` principal directions of a sample, nearly: rank x columns, of length 1 and at right angles.
fn directions(features: &Features, rank: usize, seed: u64) -> Array2<f32> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let columns = features.n_columns();
    let n_sample = SAMPLE.min(MOST_NUMBERS / columns.max(1)).clamp(1, features.n_rows());
    let mut which: Vec<u32> = (0..features.n_rows() as u32).collect();
    which = which.partial_shuffle(&mut rng, n_sample).0.to_vec();
    let mut sample = Array2::zeros((n_sample, columns));
    features.gather(&which, sample.as_slice_mut().expect("rows of a new array lie one after the other"));
    if let Some(mean) = sample.mean_axis(Axis(0)) {
        sample -= &mean;
    }
    let mut map = Array2::from_shape_simple_fn((rank, columns), || rng.random_range(-1.0f32..1.0));
    make_orthonormal(&mut map);
    let mut scores = Array2::zeros((n_sample, rank));
    for _ in 0..ROUNDS {
        gemm(1.0, sample.view(), map.t(), 0.0, scores.view_mut());
        gemm(1.0, scores.t(), sample.view(), 0.0, map.view_mut());
        make_orthonormal(&mut map);
    }
    map
}

/// Makes rows of length 1 at right angles, by the modified process of Gram and Schmidt, twice each; a row that depends on
/// those before it becomes an axis.
fn make_orthonormal(rows: &mut Array2<f32>) {
    for at in 0..rows.nrows() {
        let (before, mut rest) = rows.view_mut().split_at(Axis(0), at);
        let mut row = rest.row_mut(0);
        let length = row.dot(&row).sqrt();
        for _ in 0..2 {
            for other in before.outer_iter() {
                let along = row.dot(&other);
                row.scaled_add(-along, &other);
            }
        }
        let left = row.dot(&row).sqrt();
        if left > 1e-5 * length {
            row /= left;
        } else {
            row.fill(0.0);
            let axis = at % row.len();
            row[axis] = 1.0;
        }
    }
}

/// The mean squared distance of the first pairs.
fn mean_square(features: &Features, pairs: &[Pair], map: &Array2<f32>) -> f64 {
    let pairs = &pairs[..pairs.len().min(SCALE_PAIRS)];
    let [mut left, mut right] = [(); 2].map(|()| Array2::zeros((pairs.len(), features.n_columns())));
    for (side, to) in [&mut left, &mut right].into_iter().enumerate() {
        let rows: Vec<u32> = pairs.iter().map(|pair| pair[side]).collect();
        features.gather(&rows, to.as_slice_mut().expect("rows of a new array lie one after the other"));
    }
    left -= &right;
    let mut products = Array2::zeros((pairs.len(), map.nrows()));
    gemm(1.0, left.view(), map.t(), 0.0, products.view_mut());
    products.iter().map(|p| f64::from(*p) * f64::from(*p)).sum::<f64>() / pairs.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directions_are_those_in_which_rows_spread_most() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        let spread = [0.1f32, 5.0, 0.2, 3.0, 0.3];
        let rows = Array2::from_shape_fn((500, 5), |(_, j)| 7.0 + spread[j] * rng.random_range(-1.0f32..1.0));
        let map = directions(&Features::Dense(rows), 2, 1);
        assert!(map[[0, 1]].abs() > 0.999 && map[[1, 3]].abs() > 0.999, "{map}");
        let product = map.dot(&map.t());
        assert!((product[[0, 1]].abs() < 1e-5) && (product[[0, 0]] - 1.0).abs() < 1e-5);
    }

    #[test]
    fn dissimilar_pairs_are_at_the_margin_in_the_mean_and_equal_rows_make_a_map_too() {
        let rows = Features::Dense(ndarray::arr2(&[[0.0f32, 0.0, 0.0], [3.0, 4.0, 0.0], [6.0, 8.0, 0.0]]));
        let pairs = Pairs { similar: vec![], dissimilar: vec![[0, 1], [0, 2]] };
        for rank in [1, 3] {
            let map = start(&rows, &pairs, rank, (2.0, 1));
            assert!((mean_square(&rows, &pairs.dissimilar, &map) - 2.0).abs() < 1e-5, "{map}");
        }
        let equal = Features::Dense(Array2::ones((4, 3)));
        assert!(start(&equal, &pairs, 2, (1.0, 1)).iter().all(|x| x.is_finite()));
    }
}
