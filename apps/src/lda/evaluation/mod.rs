//! How good topics are: held-out perplexity, log-likelihood, coherence, and their words.
//!
//! * [`Completion`]: perplexity of held-out documents by document completion, the figure to compare programs by.
//! * [`likelihood`]: how likely documents are that all of their tokens are known of, such as those trained on.
//! * [`joint`]: `log p(w | z)`, what a sampler of topics climbs.
//! * [`Coherence`]: whether the words of a topic occur together (NPMI).
//! * [`TopWords`]: the words of each topic.
//!
//! All of it takes parts of documents or words and adds up, so that whoever trains can share the work, and takes topics
//! by word ([`Topics`]), so that no table of topics x words need be made.

mod coherence;
mod completion;
mod folding;
pub mod joint;
mod likelihood;
mod pcg;
mod top_words;
mod topics;

pub use coherence::Coherence;
pub use completion::{Completion, MOST_DOCUMENTS, likelihood};
pub use folding::{ALPHA, FoldIn, ROUNDS};
pub use likelihood::LogLikelihood;
pub use top_words::TopWords;
pub use topics::{DenseTopics, Topics, WordRow};

#[cfg(test)]
mod tests;
