//! Alternating least squares: with the items fixed the best row of every user is a small linear system of its own, and
//! the other way round.
//!
//! **Explicit ratings.** The objective is that of [`super`]: the penalty of a row grows with its number of ratings `n`,
//! as in ALS-WR (Zhou, Wilkinson, Schreiber and Pan 2008), and `--prior` adds to it. A row `x = (p_u, b_u)` solves
//!
//! ```text
//! (Σ y yᵀ + (n + N) diag(l2, …, l2, l2_bias)) x = Σ (r - mean - c_i) y,      y = (q_i, 1), sums over the user's ratings
//! ```
//!
//! **Implicit feedback** (Hu, Koren and Volinsky 2008). A rating `r > 0` says that the user chose the item, and `1 + alpha r`
//! how sure that is; all other pairs count as not chosen, with confidence 1. No biases, no mean, and, as in their
//! equation 3, over *all* pairs of a user and an item:
//!
//! ```text
//! minimise  Σ c_ui (t_ui - p_u·q_i)² + l2 (Σ |p_u|² + Σ |q_i|²),      c_ui = 1 + alpha r_ui,  t_ui = 1 where r_ui > 0, else 0
//! row:      (QᵀQ + Σ alpha r_ui q_i q_iᵀ + l2 I) p_u = Σ c_ui q_i,    sums over what the user chose
//! ```
//!
//! The Gram matrix `QᵀQ` is made once for all users: each part of the items adds up its own when it is solved, and a
//! step on users adds those up. By it the objective needs no sum over all pairs either: `Σ over all pairs (p_u·q_i)²` is the sum
//! of the products of the entries of `PᵀP` and `QᵀQ`. Repeated pairs count once, with the sum of their ratings.
//!
//! **Solvers.** A few steps of conjugate gradients from the row's last value (Takács, Pilászy and Tikk 2011), eight rows side
//! by side; `--solver cholesky` solves each exactly; `--nonnegative` keeps factors at 0 or above by cyclic coordinate descent
//! on the same equations (Cichocki and Phan 2009; Gillis 2014), biases free. Neither of them ever raises the objective.
//!
//! **Actors.** Users and items are dealt to parts, whose number does not depend on that of workers. A part's rows are *one*
//! row of a shared table that a step replaces ([`layout`]); in a pass first all parts of the users are solved and
//! then all of the items ([`slackline::scheduler::policy::Phases`]). So under `bsp` (or `essp:0`, where a node is sent
//! what changed and nothing twice) the model has the same bits for any number of workers.
//!
//! | file | what it is |
//! |---|---|
//! | [`params`] | the options, checked |
//! | [`layout`] | where the rows of a part lie |
//! | [`setup`] | who is in which part, and their ratings |
//! | [`solver`], [`tile`], [`direct`] | a part's least squares: by conjugate gradients; exactly, or without negatives |
//! | [`score`] | the exact objective of a part |
//! | [`serial`] | the same, one part after the other: oracle and baseline |

mod actor;
pub(super) mod app;
pub mod direct;
mod export;
pub mod layout;
pub mod params;
pub mod score;
pub mod serial;
pub mod setup;
pub mod solver;
pub mod tile;

#[cfg(test)]
mod tests;
