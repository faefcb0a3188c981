//! k-means: rows are put to the nearest of `k` centres, and each centre is the mean of its rows.
//!
//! ```text
//! minimise over c_1 … c_k    inertia = Σ over rows  min_j |x - c_j|²
//! ```
//!
//! The shared table has a row a centre: the sum of the rows that count for it, and how many they are. A centre is their
//! mean, or the seed that it began as while there are none. So every update is an addition, whatever the order in which
//! updates arrive and however old the centres were that a step has read.
//!
//! * `--method full` (Lloyd 1982, "Least squares quantization in PCM"): a step puts the rows of a part to their nearest
//!   centres, and takes those that moved from one sum to another. Which centre a row counts for is leased by part. Rows whose
//!   nearest centre cannot have changed are passed over, by the bounds of Hamerly (2010, "Making k-means even faster"). Under
//!   `bsp`, with one part for each worker, a pass is an iteration of Lloyd's.
//! * `--method batch` (Sculley 2010, "Web-scale k-means clustering"): a step adds the rows of a mini-batch to the sums of their
//!   nearest centres. That is his step of 1 over the rows that a centre has seen: a centre is the mean of all of them.
//!
//! Centres begin at rows chosen by k-means++ (Arthur and Vassilvitskii 2007), the best of `2 + ln k` candidates each time
//! ([`seeding`]).
//!
//! Distances are `|x|² + |c|² - 2 x·c`, the products of many rows at once. Dense rows have their mean taken off before, so that
//! a far origin costs no digits.
//!
//! | file | what it is |
//! |---|---|
//! | [`params`] | the options, checked |
//! | [`centres`] | distances of rows to centres |
//! | [`seeding`] | where centres begin |
//! | [`solver`] | a step on a part, and the bounds; the exact inertia |
//! | [`schedule`] | passes until nothing moves |
//! | `actor`, `app` | the actor; the entry of the catalog |
//! | [`serial`] | Lloyd's iterations in plain loops of double precision: the oracle |

mod actor;
mod app;
pub mod centres;
pub mod params;
pub mod schedule;
pub mod seeding;
pub mod serial;
pub mod solver;

pub use actor::Setup;
pub use app::KMeans;
pub use params::{Method, Params};

#[cfg(test)]
mod tests;
