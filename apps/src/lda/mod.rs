//! Latent Dirichlet allocation (Blei, Ng and Jordan 2003): topics of a collection of documents.

pub mod variational;
