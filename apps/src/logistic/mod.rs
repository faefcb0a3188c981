//! Logistic regression with L1 and L2 penalties. More than two classes: see [`softmax`]. Two classes, by coordinate
//! descent inside Newton steps:
//!
//! ```text
//! min over b, b₀   1/n · Σ ln(1 + e^{−y_i (x_i·b + b₀)})  +  l1 · ‖b‖₁  +  l2/2 · ‖b‖²            y_i = ±1
//! ```
//!
//! As in the Lasso the columns are cut into parts whose coefficients are leased; the shared row holds the scores
//! `X b`. The intercept is no state of its own: whoever reads the scores finds the best one by Newton's method on one
//! number. That also makes the dual point feasible: with `p_i` the probability of the wrong label, `Σ y_i p_i = 0`.
//!
//! A *sweep* computes `c_j = Σ y_i p_i x_ij / n`. The dual is the mean entropy of `θ = s·p`, with `s = min(1, l1 / max
//! |c_j|)` when there is only an L1 penalty, and `s = 1`, less `Σ (|c_j| − l1)₊² / 2·l2`, when there is an L2 one. A
//! *focus* takes Newton steps on few columns: coordinate descent on the quadratic about the present point and a search
//! along the step for a lower objective (Yuan, Ho & Lin 2012, newGLMNET).

mod app;
mod binary;
pub mod classes;
pub mod loss;
mod model;
mod multiclass;
pub mod params;
pub mod softmax;
pub mod solver;
#[cfg(test)]
mod tests;

pub use app::Logistic;
