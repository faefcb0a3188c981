//! Latent Dirichlet allocation (Blei, Ng and Jordan 2003): topics of a collection of documents.
//!
//! ```text
//! θ_d ~ Dirichlet(α)      mixture of topics of document d
//! φ_k ~ Dirichlet(β)      distribution over words of topic k
//! z_di ~ θ_d              topic of token i
//! w_di ~ φ_z              its word
//! ```
//!
//! Two ways to learn `φ`:
//!
//! * [`gibbs`]: the mixtures and topics are integrated out and `z` is sampled (Griffiths and Steyvers 2004), exactly but for the
//!   tokens per topic, of which other workers' last changes may be missing. Documents stay with a worker, words rotate: the
//!   data parallelism and the model parallelism of STRADS (Lee et al. 2014).
//! * [`variational`]: stochastic variational inference (Hoffman, Blei, Wang and Paisley 2013), and batch inference as a special
//!   case.
//!
//! # Why this sampler
//!
//! Samplers with constant work a token (LightLDA, Yuan et al. 2015; WarpLDA, Chen et al. 2016) propose topics from what was
//! true a while ago and accept or refuse them: a sweep of theirs gains less than one of an exact sampler. On 10.5 million
//! tokens of technical documentation and 100 topics, 20 sweeps of WarpLDA end at a held-out perplexity of 297, 20 exact ones
//! at 260. The exact draw here costs the topics of the token's document, which a processor takes 16 at a time
//! ([`crate::kernel::gibbs`]), so that an exact sweep takes about as long as one of theirs; `benches/README.md` has the times to
//! the same perplexity. First topics are drawn at random: those that are sampled one after the other from the start
//! end in worse optima (perplexity 300 to 315 in place of 260 in the case above).
//!
//! # Memory
//!
//! A token takes 6 bytes (its document, its topic; 8 with more than 65,535 topics), a document 4 bytes for each of its
//! topics, rounded up to 64, a frequent word 4 bytes a topic and a rare one 8 bytes for each topic that it has.
//!
//! # Held-out documents
//!
//! Half of the tokens of each held-out document give its mixture, the other half are scored: [`evaluation::Completion`].

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
