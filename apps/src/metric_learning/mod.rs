//! Distance metric learning: a linear map under which like is near and unlike is far.
//!
//! ```text
//! minimise over L (rank x columns)
//!     1/|S| Σ over similar pairs  |L (x - y)|²
//!     + lambda/|D| Σ over dissimilar pairs  max(0, margin - |L (x - y)|²)
//! ```
//!
//! The problem of Xing, Ng, Jordan and Russell (2002, "Distance metric learning with application to clustering with
//! side-information") in the form of Xing et al. (2015, "Petuum: a new platform for distributed machine learning on big
//! data"): the Mahalanobis metric `M = LᵀL` is free of its constraint `M ⪰ 0`, whose projection would take the eigenvectors
//! of a matrix of columns x columns, and distant pairs are asked for by a hinge. A greater `lambda` keeps more of what tells
//! single rows apart: better neighbours, less agreement over all pairs.
//!
//! `L` is one shared table. A step takes a mini-batch of pairs, half of them similar, and sends the gradient
//!
//! ```text
//! G = 2/|S'| Σ (L δ) δᵀ  -  2 lambda/|D'| Σ of those with |L δ|² < margin  (L δ) δᵀ        δ = x - y
//! ```
//!
//! which is two products of matrices: `P = Δ Lᵀ` and, each row of `P` weighted, `G = Pᵀ Δ`. The shard takes the step
//! ([`rule`]): AdaGrad (Duchi, Hazan and Singer 2011) with a rate that falls to nothing over the run.
//!
//! Columns are brought to mean 0 and deviation 1 first, unless told otherwise. `L` begins at the principal directions of a
//! sample of the rows, scaled so that dissimilar pairs are at the margin in the mean ([`start`]).
//!
//! | file | what it is |
//! |---|---|
//! | [`params`] | the options, checked |
//! | [`pairs`] | pairs from a file or drawn from labels |
//! | [`start`] | where `L` begins |
//! | [`gradient`] | the objective of a batch of pairs and its gradient |
//! | [`rule`] | the step at the shard |
//! | [`scores`] | average precision over pairs, accuracy of nearest neighbours |
//! | `actor`, `app` | the actor; the entry of the catalog |
//! | [`serial`] | the same in plain loops of double precision: the oracle |

mod actor;
mod app;
pub mod gradient;
pub mod pairs;
pub mod params;
pub mod rule;
pub mod scores;
pub mod serial;
pub mod start;

pub use actor::Setup;
pub use app::MetricLearning;
pub use params::Params;

#[cfg(test)]
mod tests;
