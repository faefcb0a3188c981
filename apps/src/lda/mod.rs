//! Latent Dirichlet allocation (Blei, Ng and Jordan 2003): topics of a collection of documents.

mod app;
pub mod evaluation;
pub mod explore;
pub mod gibbs;
mod output;
pub mod params;

pub use app::Lda;
