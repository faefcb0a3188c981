//! Where centres begin: k-means++ (Arthur and Vassilvitskii 2007, "k-means++: the advantages of careful seeding").
//!
//! The first seed is any row. Each next one is drawn with a probability in proportion to `D²`, its squared distance to the
//! nearest seed so far; of `2 + ln k` rows so drawn the one that leaves the least `Σ D²` is taken (their greedy variant, which
//! scikit-learn uses too). Rows are looked at in a sample where there are many: the seeds of a sample are as good, and
//! cheaper.

use ndarray::Array2;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use super::centres::{BLOCK, Centres, Rows};
use crate::Error;

/// Rows of the sample at the least, and for each cluster.
const LEAST: usize = 10_000;
const EACH: usize = 50;

/// Seeds for `k` clusters: k x columns. Uses `threads` threads; the result does not depend on how many.
///
/// # Errors
/// Fewer rows than clusters; no threads to be had.
pub fn seeds(rows: &Rows, k: usize, seed: u64, threads: usize) -> Result<Array2<f32>, Error> {
    if rows.len() < k {
        return Err(Error::Run(format!(
            "{} rows make no {k} clusters; choose --clusters {0} or less",
            rows.len()
        )));
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| Error::Run(format!("no threads for the seeding: {error}")))?;
    Ok(pool.install(|| chosen(rows, k, seed)))
}

fn chosen(rows: &Rows, k: usize, seed: u64) -> Array2<f32> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let n_sample = rows.len().min(LEAST.max(EACH.saturating_mul(k)));
    let mut sample: Vec<u32> = (0..rows.len() as u32).collect();
    if n_sample < rows.len() {
        sample = sample.partial_shuffle(&mut rng, n_sample).0.to_vec();
    }
    sample.sort_unstable();
    let n_tries = 2 + (k as f64).ln() as usize;
    let first = sample[rng.random_range(0..n_sample)];
    let mut seeds = vec![first];
    let mut nearest = vec![f32::INFINITY; n_sample];
    (nearest, _) = best(rows, &sample, &nearest, &[first]);
    while seeds.len() < k {
        let tries: Vec<u32> = (0..n_tries).map(|_| draw(&sample, &nearest, &mut rng)).collect();
        let (left, taken) = best(rows, &sample, &nearest, &tries);
        nearest = left;
        seeds.push(tries[taken]);
    }
    gathered(rows, &seeds)
}

/// The rows, dense.
fn gathered(rows: &Rows, which: &[u32]) -> Array2<f32> {
    let mut all = Array2::zeros((which.len(), rows.features.n_columns()));
    rows.features.gather(which, all.as_slice_mut().expect("rows of a new array lie one after the other"));
    all
}

/// A row with a probability in proportion to its weight; any where all are 0.
fn draw(sample: &[u32], weights: &[f32], rng: &mut Xoshiro256PlusPlus) -> u32 {
    let total: f64 = weights.iter().map(|weight| f64::from(*weight)).sum();
    let mut left = rng.random::<f64>() * total;
    if total <= 0.0 {
        return sample[rng.random_range(0..sample.len())];
    }
    for (row, weight) in sample.iter().zip(weights) {
        left -= f64::from(*weight);
        if left < 0.0 {
            return *row;
        }
    }
    let last = weights.iter().rposition(|weight| *weight > 0.0); // rounding left a little
    sample[last.unwrap_or(0)]
}

/// The squared distance of each row to the nearest seed with the best of `tries` among them, and which that is.
fn best(rows: &Rows, sample: &[u32], nearest: &[f32], tries: &[u32]) -> (Vec<f32>, usize) {
    let sparse = matches!(rows.features, crate::data::points::Features::Sparse(_));
    let candidates = Centres::new(gathered(rows, tries), sparse);
    let n_tries = tries.len();
    let columns = rows.features.n_columns();
    let blocks: Vec<(Vec<f32>, Vec<f64>)> = sample
        .par_chunks(BLOCK)
        .zip(nearest.par_chunks(BLOCK))
        .map_init(
            || Array2::zeros((BLOCK, columns)),
            |copy, (which, nearest)| {
                let mut distances = Array2::zeros((which.len(), n_tries));
                candidates.distances(rows, which, copy, distances.view_mut());
                let mut sums = vec![0.0f64; n_tries];
                for (mut row, nearest) in distances.outer_iter_mut().zip(nearest) {
                    for (distance, sum) in row.iter_mut().zip(&mut sums) {
                        *distance = distance.min(*nearest);
                        *sum += f64::from(*distance);
                    }
                }
                (distances.into_raw_vec_and_offset().0, sums)
            },
        )
        .collect();
    let total = |candidate: usize| blocks.iter().map(|(_, sums)| sums[candidate]).sum::<f64>();
    let taken = (0..n_tries).min_by(|a, b| total(*a).total_cmp(&total(*b))).unwrap_or(0);
    let of_taken = blocks.iter().flat_map(|(distances, _)| distances.iter().skip(taken).step_by(n_tries));
    (of_taken.copied().collect(), taken)
}
