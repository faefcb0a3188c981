//! Fully connected nets, trained by back-propagation on batches.
//!
//! ```text
//! h₀ = x        z_l = W_l h_{l-1} + b_l        h_l = φ(z_l), of hidden layers
//!
//! minimise  mean over rows of loss(z_L, y)  +  decay/2 Σ_l |W_l|²
//! ```
//!
//! The loss is cross-entropy of a softmax, or half the squared distance to the target. With `e_L` the gradient of the mean
//! loss of a batch by its outputs (rows x outputs), back-propagation (Rumelhart, Hinton and Williams 1986) has
//!
//! ```text
//! ∂W_l = e_lᵀ h_{l-1}        ∂b_l = column sums of e_l        e_{l-1} = (e_l W_l) ∘ φ'(z_{l-1})
//! ```
//!
//! Three products of matrices a layer, by [`crate::kernel::gemm`]. With dropout a step multiplies each hidden unit by 0 with
//! that probability and else by `1 / (1 - dropout)` (Srivastava et al. 2014).
//!
//! # In parallel
//! Data-parallel: weights are shared tables, a step is one batch of rows, and what it sends is the gradient; the shards fold
//! gradients in by an [`optimizer`] and keep its moments. A layer's gradient leaves as soon as it is known, while those before
//! it are still computed. Weights are read, and gradients made, page by page where they lie (`tables`); every row of a layer
//! is cut or paged alike over all shards, so a wide layer is no hot spot. What several workers do to a rate is said in
//! [`optimizer`].
//!
//! Rows are dealt to batches anew each pass, by (seed, pass) alone, so the batches of a run do not depend on who computes
//! them, and neither do the units left out.
//!
//! | file | what it is |
//! |---|---|
//! | [`params`] | the options, checked |
//! | [`net`], [`activation`], [`loss`] | forward and back |
//! | [`optimizer`] | gradients to weights, at the shard |
//! | [`problem`] | the rows: trained on, held out, of the test; their batches |
//! | `tables` | first weights, pages, the best weights so far |
//! | [`patience`] | ends a run when held-out rows get worse |
//! | `actor`, `app`, `model` | the actor; the entry of the catalog; a trained net |
//! | [`serial`] | the same, one batch after the other: oracle and baseline |

pub mod activation;
mod actor;
mod app;
pub mod loss;
mod model;
pub mod net;
pub mod optimizer;
pub mod params;
pub mod patience;
pub mod problem;
pub mod serial;
mod tables;

pub use actor::Learner;
pub use app::Mlp;
pub use tables::tables;

#[cfg(test)]
mod tests;
