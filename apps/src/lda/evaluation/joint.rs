//! The joint log-likelihood of words given their topics, topics integrated out:
//!
//! `log p(w | z) = Σ_k [log Γ(Vβ) − log Γ(n_k + Vβ)] + Σ_kw [log Γ(n_kw + β) − log Γ(β)]`
//!
//! (Griffiths and Steyvers 2004, equation 2). The second sum has terms only where a count is not 0.

use crate::kernel::special::ln_gamma;

/// The terms of some counts of words in topics; those that are 0 may be left out.
pub fn of_counts(counts: impl IntoIterator<Item = u32>, beta: f64) -> f64 {
    let none = ln_gamma(beta);
    counts.into_iter().map(|count| ln_gamma(f64::from(count) + beta) - none).sum()
}

/// The terms of the tokens in each topic, for a vocabulary of `n_words`.
pub fn of_totals(totals: impl IntoIterator<Item = u64>, n_words: usize, beta: f64) -> f64 {
    let prior = n_words as f64 * beta;
    let none = ln_gamma(prior);
    totals.into_iter().map(|total| none - ln_gamma(total as f64 + prior)).sum()
}
