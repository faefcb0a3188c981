//! Samples cut into mini-batches, each with the list of the features that occur in it.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use sprs::CsMatI;

use super::scaling::Scaling;
use crate::Error;

/// Samples and their classes.
#[derive(Debug, Clone, Copy)]
pub struct Samples<'a> {
    /// One row per sample (CSR), one column per feature.
    pub features: &'a CsMatI<f64, u32, usize>,
    /// The class of each sample, from 0.
    pub labels: &'a [u32],
}

/// One mini-batch: a part of the data, and what a task works on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Batch {
    /// The rows of the table that it reads and adds to, ascending; the bias, if there is one, is last.
    pub features: Vec<u32>,
    /// For each of [`Self::features`], what a step pays of its penalty: one over the share of batches in which it
    /// occurs (0 for the bias, which is not penalised).
    pub rarity: Vec<f32>,
    /// For each of [`Self::features`], the number of batches in which it occurs.
    pub occurs: Vec<f32>,
    /// For each of [`Self::features`], one over the scale of its column.
    pub unscale: Vec<f32>,
    /// Where each sample's entries start in `indices`, and where the last one's end.
    starts: Vec<usize>,
    /// Positions in [`Self::features`].
    indices: Vec<u32>,
    /// Values of the entries.
    values: Vec<f32>,
    /// The class of each sample.
    pub labels: Vec<u32>,
}

/// How samples are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// Samples per batch; the last one may have fewer.
    pub size: usize,
    /// Whether there is an unpenalised bias, as row `p` of the table.
    pub intercept: bool,
    /// The order of the samples comes from it.
    pub seed: u64,
}

impl Batch {
    /// How many samples there are.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Entries of sample `i`: positions in [`Self::features`] and values.
    pub fn sample(&self, i: usize) -> impl Iterator<Item = (usize, f32)> {
        let range = self.starts[i]..self.starts[i + 1];
        let entries = self.indices[range.clone()].iter().zip(&self.values[range]);
        entries.map(|(&index, &value)| (index as usize, value))
    }

    /// A batch of these samples, with `rarity` still 1 where a feature is penalised.
    fn of(samples: &Samples<'_>, which: &[usize], scaling: &Scaling, cut: Cut) -> Self {
        let rows = || which.iter().filter_map(|&i| samples.features.outer_view(i));
        let shifted = scaling.shifted();
        let mut features: Vec<u32> = rows().flat_map(|row| row.indices().to_vec()).chain(shifted).collect();
        features.sort_unstable();
        features.dedup();
        let bias = features.len();
        let unscale: Vec<f32> =
            features.iter().map(|&feature| 1.0 / scaling.scale[feature as usize]).collect();
        let empty: Vec<f32> = features
            .iter()
            .zip(&unscale)
            .map(|(&feature, by)| -scaling.shift[feature as usize] * by)
            .collect();
        let mut batch = Self {
            rarity: vec![1.0; bias],
            starts: vec![0],
            labels: which.iter().map(|&i| samples.labels[i]).collect(),
            ..Self::default()
        };
        let mut lane = empty.clone();
        for row in rows() {
            for (feature, &value) in row.iter() {
                let position = features.partition_point(|&other| (other as usize) < feature);
                lane[position] += value as f32 * unscale[position];
            }
            for (position, value) in lane.iter_mut().enumerate().filter(|(_, value)| **value != 0.0) {
                batch.indices.push(position as u32);
                batch.values.push(std::mem::replace(value, empty[position]));
            }
            lane.copy_from_slice(&empty);
            if cut.intercept {
                batch.indices.push(bias as u32);
                batch.values.push(1.0);
            }
            batch.starts.push(batch.indices.len());
        }
        (batch.features, batch.unscale) = (features, unscale);
        if cut.intercept {
            batch.features.push(scaling.scale.len() as u32);
            batch.rarity.push(0.0);
            batch.unscale.push(1.0);
        }
        batch
    }
}

/// Cuts samples, in an order drawn from the seed, into batches.
///
/// # Errors
/// No samples, another number of labels, or values that are not finite.
pub fn cut(samples: &Samples<'_>, scaling: &Scaling, cut: Cut) -> Result<Vec<Batch>, Error> {
    let n = samples.features.rows();
    if n == 0 {
        return Err(Error::Run("there are no samples to train on".to_owned()));
    }
    if samples.labels.len() != n {
        return Err(Error::Run(format!("{n} samples have {} labels, must be as many", samples.labels.len())));
    }
    if let Some(value) = samples.features.data().iter().find(|&&value| !(value as f32).is_finite()) {
        return Err(Error::Run(format!("a feature has the value {value}, must be a finite number")));
    }
    if samples.features.cols() > scaling.scale.len() {
        let (p, known) = (samples.features.cols(), scaling.scale.len());
        return Err(Error::Run(format!("the samples have {p} features, must be at most {known}")));
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(cut.seed));
    let mut batches: Vec<Batch> =
        order.chunks(cut.size.max(1)).map(|which| Batch::of(samples, which, scaling, cut)).collect();

    let mut occurs = vec![0u32; scaling.scale.len() + 1];
    for &feature in batches.iter().flat_map(|batch| &batch.features) {
        occurs[feature as usize] += 1;
    }
    let n_batches = batches.len() as f32;
    for batch in &mut batches {
        batch.occurs = batch.features.iter().map(|&feature| occurs[feature as usize] as f32).collect();
        for (rarity, occurs) in batch.rarity.iter_mut().zip(&batch.occurs) {
            *rarity *= n_batches / occurs;
        }
    }
    Ok(batches)
}
