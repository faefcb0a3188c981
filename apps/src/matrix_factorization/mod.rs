//! Matrix factorisation: ratings explained by biases and a product of short vectors.
//!
//! ```text
//! r_ui ≈ mean + b_u + c_i + p_u·q_i
//!
//! minimise  Σ over ratings  (r_ui - mean - b_u - c_i - p_u·q_i)²
//!           + (1 + N/n_u) (l2 |p_u|² + l2_bias b_u²)
//!           + (1 + N/n_i) (l2 |q_i|² + l2_bias c_i²)
//! ```
//!
//! where `mean` is the mean of all ratings and `n_u`, `n_i` are how many ratings the user and the item have. Summed, a
//! row with `n` ratings is penalised as if it had `n + N`: `N = 0` is the penalty per rating of Koren, Bell and Volinsky
//! (2009), and the `N` imaginary ratings keep the rows of those with few real ones near zero. With `--l2 X` alone,
//! `l2 = l2_bias = X` and `N = 0`: the penalty is `X (|p_u|² + |q_i|² + b_u² + c_i²)` summed over the ratings.
//!
//! Solved here by stochastic gradient descent, and in [`als`] by alternating least squares. Descent goes over the cells of a grid. Users are cut into *parts* and items into *blocks*;
//! a cell is what the users of a part say about the items of a block. Two cells that share neither part nor block
//! share no row, so they can be visited at the same time and the result is that of visiting them one after the
//! other (Gemulla, Nijkamp, Haas and Sismanis 2011, "DSGD"). With more parts and blocks than workers there is
//! always a free cell, and no worker waits for a round to end (Zhuang, Chin, Juan and Lin 2013, "FPSGD").
//!
//! Inside, ratings are centred and divided by their standard deviation `s`, so that the steps suit any scale;
//! factors are then in units of `sqrt(s)` and biases in units of `s`. The steps are those of [`crate::kernel::sgd`];
//! with `--nonnegative` each ends with its factors at 0 or above (projected gradients, Lin 2007).
//!
//! | file | what it is |
//! |---|---|
//! | [`params`] | the options, checked |
//! | [`cells`] | the ratings of each cell |
//! | [`solver`] | first rows, a visit of a cell, its exact score |
//! | [`model`] | the factors in the units of the ratings; predictions |
//! | `actor`, `app` | the actor; the entry of the catalog |
//! | [`serial`] | the same, one cell after the other: oracle and baseline |
//! | [`als`] | the same objective by alternating least squares, and implicit feedback |
//! | [`rated`], [`ranking`] | who has rated what; the best of the others, and how good they are |
//! | `sgd`, `answers`, `recommend`, `output` | a run of descent; what a written model says; what a run writes |

mod actor;
pub mod als;
mod answers;
mod app;
pub mod cells;
pub mod model;
mod output;
pub mod params;
pub mod ranking;
pub mod rated;
mod recommend;
pub mod serial;
mod sgd;
pub mod solver;

pub use app::MatrixFactorization;
pub use model::Model;
pub use params::StepRule;

#[cfg(test)]
mod tests;
