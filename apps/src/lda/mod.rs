//! Latent Dirichlet allocation (Blei, Ng and Jordan 2003): topics of a collection of documents.

mod app;
pub mod evaluation;
pub mod explore;
pub mod gibbs;
mod output;
pub mod params;
mod predict;
pub mod variational;

pub use app::Lda;

/// The metric of held-out documents.
const PERPLEXITY: &str = "test_perplexity";
