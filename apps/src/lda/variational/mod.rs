//! Variational inference for LDA, stochastic or of the whole corpus.
//!
//! Topics are Dirichlet, `β_k ~ Dir(λ_k)`, and so is the mixture of a document, `θ_d ~ Dir(γ_d)`; the bound on the
//! likelihood is raised in γ of each document with the topics as they are ([`local`]), and then in λ:
//!
//! ```text
//! E[log β_wk] = ψ(λ_wk) - ψ(Σ_v λ_vk)
//! λ_wk  ←  (1 - ρ_t) λ_wk  +  ρ_t (β + D/|B| Σ_{d in B} n_dw φ_dwk)          ρ_t = (τ0 + t - 1)^-κ
//! ```
//!
//! where step t sees the documents of a batch B out of D: a natural gradient from a sample (Hoffman, Blei and Bach 2010,
//! "Online learning for latent Dirichlet allocation"; Hoffman, Blei, Wang and Paisley 2013, "Stochastic variational
//! inference", figure 4). With `--batch-size 0` a step is a pass over all documents, `ρ = 1` and each document's γ goes on
//! from where it was: batch variational inference (Blei, Ng and Jordan 2003), whose bound never falls.
//!
//! # In parallel
//! A row of a shared table holds the λ of a word. A step reads the rows of the words of its batch and the totals over all
//! words, and sends `ρ_t D/|B| n φ` of them; the shard blends ([`rows`]). The schedule numbers the steps. With several in
//! flight, step t may read topics that lack a step before it, and updates may be blended in another order than that of their
//! numbers; what a row holds does not depend on that order. Under `bsp` a run repeats to the bit; under a bounded
//! staleness it converges as stochastic approximation with late gradients does (`Σ ρ = ∞`, `Σ ρ² < ∞` for κ above 0.5).
//! Batch inference is the same whatever the consistency, but for the order of additions.
//!
//! # What a row holds
//! All words shrink at every step, most of them by steps on batches that lack them; [`rows`] says how that costs nothing.
//!
//! | file | what it is |
//! |---|---|
//! | [`params`] | the options, checked |
//! | [`batches`] | the documents of each step |
//! | [`rates`], [`rows`] | the weight of each step; rows of tables, read and blended |
//! | [`local`] | the mixture of a document |
//! | [`solver`] | a step on a batch |
//! | [`bound`] | the evidence lower bound, exactly |
//! | [`scoring`] | what evaluations ask for |
//! | [`schedule`], [`actor`] | which batch is next; tables and the actor |
//! | [`serial`] | the same, one step after the other: oracle and baseline |

pub mod actor;
pub(super) mod app;
pub mod batches;
pub mod bound;
pub mod local;
pub mod params;
pub mod rates;
pub mod rows;
pub mod schedule;
pub mod scoring;
pub mod serial;
pub mod solver;

pub use actor::{Inference, Setup};
pub use params::{Params, Prior};
pub use scoring::{Scoring, Topics};

#[cfg(test)]
mod tests;
