//! The local step: the mixture of one document, with the topics as they are.
//!
//! ```text
//! φ_wk ∝ exp(E[log θ_k] + E[log β_wk])          γ_k = α_k + Σ_w n_w φ_wk
//! ```
//!
//! in turn, until γ changes by less than the tolerance on average (Blei, Ng and Jordan 2003, figure 6). φ is never stored:
//! with `t_k = exp(ψ(γ_k))` and the rows `b_wk = exp(E[log β_wk])`, both up to factors that cancel,
//! `γ_k = α_k + t_k Σ_w b_wk n_w / (t·b_w)`. The loops are those of [`crate::kernel::topics`].

use super::params::Params;
use crate::kernel::topics::{FAR_BELOW, Layout, Limits, Mixture, collect, mixture, padded, shares};

/// Room for one document after another.
#[derive(Debug, Clone)]
pub struct Local {
    n_topics: usize,
    alpha: Vec<f32>,
    shift: Vec<f32>,
    gamma: Vec<f32>,
    theta: Vec<f32>,
    sums: Vec<f32>,
    /// The padded rows of the document's words.
    rows: Vec<f32>,
    counts: Vec<f32>,
    shares: Vec<f32>,
    limits: Limits,
}

impl Local {
    /// Room for documents under these priors and limits.
    pub fn new(params: &Params) -> Self {
        let n_topics = params.prior.n_topics();
        let row = |topics: &[f32], padding: f32| {
            let mut row = topics.to_vec();
            row.resize(padded(n_topics), padding);
            row
        };
        let alpha: Vec<f32> = params.prior.alpha.iter().map(|&alpha| alpha as f32).collect();
        let alpha = row(&alpha, 1.0);
        Self {
            n_topics,
            shift: row(&vec![0.0; n_topics], FAR_BELOW),
            gamma: alpha.clone(),
            theta: alpha.clone(),
            sums: alpha.clone(),
            alpha,
            rows: Vec::new(),
            counts: Vec::new(),
            shares: Vec::new(),
            limits: Limits { change: (params.tolerance * n_topics as f64) as f32, rounds: params.rounds },
        }
    }

    /// Finds γ of a document; returns the rounds it took.
    ///
    /// `topics` are padded rows of `exp(E[log β])`, one a word, each up to a factor; `entries` say which of them the
    /// document has and `counts` how often. Begins with `start`, or with its tokens spread evenly over the topics.
    pub fn fit(&mut self, topics: &[f32], (entries, counts): (&[u32], &[f32]), start: Option<&[f32]>) -> u32 {
        let width = self.alpha.len();
        self.rows.clear();
        for entry in entries {
            self.rows.extend_from_slice(&topics[*entry as usize * width..][..width]);
        }
        self.counts.clear();
        self.counts.extend_from_slice(counts);
        self.counts.resize(counts.len().next_multiple_of(4), 0.0);
        self.rows.resize(self.counts.len() * width, 1.0);
        match start {
            Some(gamma) => self.gamma[..self.n_topics].copy_from_slice(gamma),
            None => {
                let even = counts.iter().sum::<f32>() / self.n_topics as f32;
                let topics = self.gamma.iter_mut().zip(&self.alpha).take(self.n_topics);
                topics.for_each(|(gamma, alpha)| *gamma = alpha + even);
            }
        }
        let mut document = Mixture {
            alpha: &self.alpha,
            shift: &self.shift,
            gamma: &mut self.gamma,
            theta: &mut self.theta,
            sums: &mut self.sums,
        };
        mixture(&self.rows, &self.counts, &mut document, self.limits)
    }

    /// γ of the document that was fitted last, one number a topic.
    pub fn gamma(&self) -> &[f32] {
        &self.gamma[..self.n_topics]
    }

    /// Adds `n_w φ_wk / b_wk` of the document that was fitted last to the rows of its words.
    pub fn collect(&mut self, entries: &[u32], to: &mut [f32], layout: Layout) {
        self.shares.resize(self.counts.len(), 0.0);
        shares(&self.rows, &self.counts, &self.theta, &mut self.shares);
        collect(entries, &self.shares, &self.theta[..self.n_topics], to, layout);
    }
}
