//! Multiclass logistic regression (softmax) by mini-batch gradient steps on shared rows.
//!
//! ```text
//! minimise over W (classes × p), b    1/n Σ_i [ log Σ_c exp(w_c·x_i + b_c) - (w_y·x_i + b_y) ]
//!                                     + l1 |W|_1 + l2/2 |W|²                       (b is not penalised)
//! ```
//!
//! The table has one row per *feature*, of `2 × classes` floats: the weights of the feature, then the sums of their
//! squared gradients. A batch reads only the rows of the features that occur in it, and answers with what is to be
//! added to them, so batches of other workers may add to the same rows meanwhile. The sums are shared state like the
//! weights: every worker's steps shrink with the gradients of all (AdaGrad: Duchi, Hazan and Singer 2011).
//!
//! Columns are scaled first ([`scaling`]), and the penalties are those of the weights of the data as given.
//!
//! For the mean gradient `g` of a batch over its samples, at a weight `w` with sum `A`:
//!
//! ```text
//! t = l1 / f            s = (|g| + t)²            m = 1 + f D,  M = min(1 + D, batches with the feature)
//! a = 1 / (sqrt(A + m s) / rate  +  M l2 / f)
//! z = w - a (g + l2 w / f)
//! w ← sign(z) max(|z| - a t, 0)                   A ← A + s
//! ```
//!
//! `f` is the share of batches in which the feature occurs: a rare feature pays the penalty of all the batches that
//! passed it by, so over an epoch it is right in the mean. `D` is how many steps of others may be under way unseen; `m`
//! of them are expected to meet this feature, `M` at the most. They are taken to have a gradient like one's own (in the
//! spirit of McMahan and Streeter 2014, "Delay-tolerant algorithms for asynchronous distributed online learning"):
//! otherwise the first steps, when all see `A = 0`, add up to many times `rate`. And by the second term of `a`, `M`
//! shrinkings by l2 at once bring a weight to zero and not beyond, or rare weights would grow at every pass.

pub mod batch;
pub mod scaling;
pub mod serial;
pub mod step;

pub use batch::{Batch, Cut, Samples, cut};
pub use scaling::Scaling;
pub use step::{Softmax, default_rate};

/// Coefficients (classes × p) and intercepts of the data as given, from the table.
pub fn model(
    table: &ndarray::Array2<f32>,
    classes: usize,
    scaling: &Scaling,
) -> (ndarray::Array2<f64>, Vec<f64>) {
    let n_features = table.nrows() - 1;
    let mut weights = table.slice(ndarray::s![..n_features, ..classes]).t().to_owned();
    let mut bias = table.slice(ndarray::s![n_features, ..classes]).to_owned();
    scaling.undo(&mut weights, &mut bias);
    (weights.mapv(f64::from), bias.iter().map(|b| f64::from(*b)).collect())
}

#[cfg(test)]
mod tests;
