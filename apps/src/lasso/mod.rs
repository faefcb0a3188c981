//! The Lasso: least squares with an L1 penalty, by coordinate descent.
//!
//! ```text
//! min over b, b₀   1/2n · ‖y − X b − b₀‖²  +  lambda · Σ w_j |b_j|          w_j = 1, or the deviation of column j
//! ```
//!
//! The columns of X are cut into parts. The coefficients of a part are leased: one task at a time holds them. The
//! residual `y − X b` is one shared row: a task reads a snapshot of it, which may miss steps in flight, and gives back
//! what to add. The intercept is the mean of the residual and is taken out of every product implicitly: sparse columns
//! stay sparse.
//!
//! A *sweep* computes `c_j = x_j·r/n` for the columns of a part. The dual point is the residual, scaled by
//! `min(1, lambda / max |c_j|/w_j)`; objective less dual is the gap, which bounds how far the objective can be from
//! the optimum whatever happened before (Fercoq, Gramfort & Salmon 2015). A *focus* works on few columns: those with
//! a coefficient and the worst violators (working sets as in Massias et al. 2018), with coordinate descent (Tseng &
//! Yun 2009; Friedman et al. 2010) and, once the signs have settled, conjugate gradients between epochs. They do what
//! the Anderson extrapolation of Bertrand & Massias (2021) does, and go on where it is refused: on strongly correlated
//! columns most extrapolations raise the objective. Long columns are replaced by a Gram matrix of the working set when
//! building it costs less than the epochs it saves.
//!
//! The working set of one task may reach over all parts (pooled), or tasks on single parts run side by side as in
//! Shotgun (Bradley et al. 2011), made safe by the scaling of Smith et al. (2015): see [`crate::descent::guide`].
//!
//! ```
//! use slackline_apps::descent::columns::{Rows, split};
//! use slackline_apps::descent::guide::{Penalties, Plan, Reach};
//! use slackline_apps::descent::serial::fit;
//! use slackline_apps::lasso::solver::{Problem, Worker};
//!
//! // Two orthogonal columns: the coefficients are soft-thresholded.
//! let x = Rows::new((2, 2), vec![0, 1, 2], vec![0, 1], vec![1.0, 1.0]);
//! let problem = Problem::new(split(x, 1), vec![3.0, 0.5], false, false);
//! let plan = Plan {
//!     penalties: Penalties::Given(vec![0.5]),
//!     ridge: 0.0,
//!     tolerance: 1e-9,
//!     max_sweeps: 100,
//!     reach: Reach::Pooled,
//! };
//! let fit = fit(&mut Worker::new(problem), plan);
//! assert_eq!(fit.coefficients, vec![vec![2.0, 0.0]]);
//! ```

mod app;
pub mod params;
#[cfg(test)]
mod reference;
pub mod solver;
#[cfg(test)]
mod tests;

pub use app::Lasso;
