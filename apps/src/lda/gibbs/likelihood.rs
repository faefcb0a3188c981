//! The part of the documents in the joint log-likelihood of words and topics.

use super::solver::{Documents, with};
use crate::kernel::special::ln_gamma;

/// `log p(z | α)` of documents: `Σ_d log Γ(Σα)/Γ(n_d + Σα) + Σ_dk log Γ(n_dk + α_k)/Γ(α_k)`.
pub(super) fn log_of_documents(alpha: &[f64], lengths: &[u32], documents: &Documents) -> f64 {
    let none: Vec<f64> = alpha.iter().map(|alpha| ln_gamma(*alpha)).collect();
    let all: f64 = alpha.iter().sum();
    let mut log = 0.0;
    with!(documents, lists => {
        for doc in 0..lengths.len() {
            let of_topics = lists.of(doc).map(|(k, n)| ln_gamma(f64::from(n) + alpha[k as usize]) - none[k as usize]);
            log += of_topics.sum::<f64>();
        }
    });
    let none = ln_gamma(all);
    log + lengths.iter().map(|length| none - ln_gamma(f64::from(*length) + all)).sum::<f64>()
}
