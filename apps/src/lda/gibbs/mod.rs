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

/// The metric of held-out documents.
const PERPLEXITY: &str = "test_perplexity";

#[cfg(test)]
mod tests;
