//! The priors fitted to the counts by Minka's fixed point (Minka 2000, "Estimating a Dirichlet distribution", equation 55;
//! Wallach 2008, section 2.3), one step a pass:
//!
//! ```text
//! α_k ← (α_k Σ_d [ψ(n_dk + α_k) - ψ(α_k)] + a) / (Σ_d [ψ(n_d + Σα) - ψ(Σα)] + b)
//! β   ←  β Σ_wk [ψ(n_wk + β) - ψ(β)] / (V Σ_k [ψ(n_k + Vβ) - ψ(Vβ)])
//! ```
//!
//! with `a = 0.001` and `b = 1`, a Gamma prior that keeps topics without tokens from an `α` of zero.

use serde::{Deserialize, Serialize};

use crate::kernel::special::digamma;

/// What is fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// Nothing: the priors stay as they are given.
    Nothing,
    /// An `α` for each topic.
    Alpha,
    /// An `α` for each topic, and one `β`.
    Both,
}

impl Fit {
    /// As the option has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nothing => "none",
            Self::Alpha => "alpha",
            Self::Both => "both",
        }
    }
}

/// The Gamma prior of an `α`: shape less 1, and rate.
const GAMMA: (f64, f64) = (0.001, 1.0);
/// No prior becomes smaller or larger.
const RANGE: (f64, f64) = (1e-7, 1e3);

/// What the parts and blocks last told, until all have.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Statistics {
    parts: Vec<Option<Vec<f64>>>,
    blocks: Vec<Option<Vec<f64>>>,
}

impl Statistics {
    pub(super) fn new(n_parts: usize, n_blocks: usize) -> Self {
        Self { parts: vec![None; n_parts], blocks: vec![None; n_blocks] }
    }

    pub(super) fn tell_part(&mut self, part: usize, sums: &[f64]) {
        self.parts[part] = Some(sums.to_vec());
    }

    pub(super) fn tell_block(&mut self, block: usize, sums: &[f64]) {
        self.blocks[block] = Some(sums.to_vec());
    }

    /// A step of every `α` once all parts have told. Returns whether there was one.
    pub(super) fn fit_alpha(&mut self, alpha: &mut [f64]) -> bool {
        let Some(sums) = taken(&mut self.parts, alpha.len() + 1) else { return false };
        let (of_topics, of_all) = sums.split_at(alpha.len());
        for (alpha, of_topic) in alpha.iter_mut().zip(of_topics) {
            *alpha = ((*alpha * of_topic + GAMMA.0) / (of_all[0] + GAMMA.1)).clamp(RANGE.0, RANGE.1);
        }
        true
    }

    /// A step of `β` once all blocks have told. Returns whether there was one.
    pub(super) fn fit_beta(&mut self, beta: &mut f64) -> bool {
        let n_blocks = self.blocks.len() as f64;
        let Some(sums) = taken(&mut self.blocks, 2) else { return false };
        // Each block told the totals as they were then: their mean.
        let step = *beta * sums[0] / (sums[1] / n_blocks);
        if step.is_finite() {
            *beta = step.clamp(RANGE.0, RANGE.1);
        }
        step.is_finite()
    }
}

/// The sum over all, in their order, once all are there; none is left.
fn taken(told: &mut [Option<Vec<f64>>], n: usize) -> Option<Vec<f64>> {
    if told.iter().any(Option::is_none) {
        return None;
    }
    let mut sums = vec![0.0; n];
    for told in told.iter_mut().filter_map(Option::take) {
        sums.iter_mut().zip(told).for_each(|(sum, more)| *sum += more);
    }
    Some(sums)
}

/// `Σ [ψ(n + prior) - ψ(prior)]` over counts; those of 0 are nothing.
#[derive(Debug)]
pub(super) struct Digammas {
    prior: f64,
    /// The values of small counts.
    small: Vec<f64>,
}

impl Digammas {
    pub(super) fn new(prior: f64) -> Self {
        let mut small = vec![0.0];
        for n in 0..SMALL {
            small.push(small[n] + 1.0 / (prior + n as f64));
        }
        Self { prior, small }
    }

    pub(super) fn of(&self, count: u64) -> f64 {
        match self.small.get(count as usize) {
            Some(value) => *value,
            None => digamma(count as f64 + self.prior) - digamma(self.prior),
        }
    }
}

/// Counts up to which values are kept.
const SMALL: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_values_are_differences_of_digammas() {
        let digammas = Digammas::new(0.3);
        for n in [1, 2, 31, 32, 33, 1000] {
            let expected = digamma(n as f64 + 0.3) - digamma(0.3);
            assert!((digammas.of(n) - expected).abs() < 1e-10 * expected, "{n}");
        }
    }

    /// Documents drawn from a Dirichlet-multinomial: the fixed point finds its parameters again.
    #[test]
    fn the_fixed_point_finds_the_priors_that_counts_were_drawn_with() {
        use rand::{RngExt, SeedableRng};
        let truth = [0.8, 0.2, 2.0];
        let mut random = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(5);
        // A Polya urn draws from the Dirichlet-multinomial.
        let documents: Vec<[u64; 3]> = (0..4000)
            .map(|_| {
                let mut counts = [0u64; 3];
                for n in 0..60 {
                    let mut point = random.random::<f64>() * (3.0 + f64::from(n));
                    let topic = (0..2).find(|k| {
                        point -= truth[*k] + counts[*k] as f64;
                        point < 0.0
                    });
                    counts[topic.unwrap_or(2)] += 1;
                }
                counts
            })
            .collect();
        let mut alpha = vec![1.0; 3];
        for _ in 0..300 {
            let mut statistics = Statistics::new(1, 1);
            let mut sums = vec![0.0; 4];
            for (k, sum) in sums[..3].iter_mut().enumerate() {
                let digammas = Digammas::new(alpha[k]);
                *sum = documents.iter().map(|counts| digammas.of(counts[k])).sum();
            }
            sums[3] = documents.len() as f64 * Digammas::new(alpha.iter().sum()).of(60);
            statistics.tell_part(0, &sums);
            assert!(statistics.fit_alpha(&mut alpha));
        }
        for (alpha, truth) in alpha.iter().zip(truth) {
            assert!((alpha - truth).abs() < 0.08 * truth, "{alpha} for {truth}");
        }
    }
}
