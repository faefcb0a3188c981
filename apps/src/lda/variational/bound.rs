//! The evidence lower bound, in double precision.
//!
//! ```text
//! Σ_d Σ_w n_dw log Σ_k exp(E[log θ_dk] + E[log β_wk])
//!   - Σ_d KL(Dir(γ_d) | Dir(α))  - Σ_k KL(Dir(λ_k) | Dir(β))
//! ```
//!
//! with φ at its best for γ and λ (Hoffman, Blei and Bach 2010, equation 1).

use ndarray::ArrayView2;

use super::batches::Batch;
use super::params::Prior;
use crate::kernel::special::{digamma, ln_gamma};

/// `E[log p]` of every p of a Dirichlet.
fn expected_logs(parameters: impl Iterator<Item = f64> + Clone) -> Vec<f64> {
    let total = digamma(parameters.clone().sum());
    parameters.map(|parameter| digamma(parameter) - total).collect()
}

/// `KL(Dir(a) | Dir(prior))`.
fn divergence(a: &[f64], prior: &[f64], logs: &[f64]) -> f64 {
    let normaliser = |of: &[f64]| ln_gamma(of.iter().sum()) - of.iter().copied().map(ln_gamma).sum::<f64>();
    let moved: f64 = a.iter().zip(prior).zip(logs).map(|((a, prior), log)| (a - prior) * log).sum();
    normaliser(a) - normaliser(prior) + moved
}

/// The bound for λ (topics × words) and, for each batch, γ of its documents one after the other.
pub fn bound(prior: &Prior, lambda: &ArrayView2<'_, f32>, batches: &[Batch], gammas: &[Vec<f32>]) -> f64 {
    let n_topics = prior.n_topics();
    let betas = vec![prior.beta; lambda.ncols()];
    let mut topics = Vec::with_capacity(n_topics);
    let mut bound = 0.0;
    for topic in lambda.outer_iter() {
        let topic: Vec<f64> = topic.iter().map(|&value| f64::from(value)).collect();
        let logs = expected_logs(topic.iter().copied());
        bound -= divergence(&topic, &betas, &logs);
        topics.push(logs);
    }
    for (batch, gammas) in batches.iter().zip(gammas) {
        for (doc, gamma) in gammas.chunks_exact(n_topics).enumerate() {
            let gamma: Vec<f64> = gamma.iter().map(|&value| f64::from(value)).collect();
            let logs = expected_logs(gamma.iter().copied());
            bound -= divergence(&gamma, &prior.alpha, &logs);
            let (entries, counts) = batch.doc(doc);
            for (entry, count) in entries.iter().zip(counts) {
                let word = batch.words[*entry as usize] as usize;
                let exponents = topics.iter().zip(&logs).map(|(topic, log)| topic[word] + log);
                let largest = exponents.clone().fold(f64::NEG_INFINITY, f64::max);
                let sum: f64 = exponents.map(|exponent| (exponent - largest).exp()).sum();
                bound += f64::from(*count) * (largest + sum.ln());
            }
        }
    }
    bound
}
