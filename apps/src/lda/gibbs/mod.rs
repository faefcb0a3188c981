//! Collapsed Gibbs sampling by word rotation.

mod actor;
pub(super) mod app;
pub mod grid;
mod likelihood;
mod plan;
pub mod priors;
pub mod serial;
pub mod solver;
mod tables;

#[cfg(test)]
mod tests;
