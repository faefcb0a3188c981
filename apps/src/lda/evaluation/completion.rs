//! Held-out perplexity by document completion.

use std::ops::Range;

use super::LogLikelihood;
use super::folding::FoldIn;
use super::pcg::Pcg64;
use super::topics::Topics;
use crate::data::Corpus;

/// Held-out documents that are measured; more do not change the figure much.
pub const MOST_DOCUMENTS: usize = 1000;

/// Held-out documents in halves: from the one a mixture is found, the other is predicted by it.
///
/// The tokens of each document are put in a random order, always the same, and dealt out in turn: an odd one goes to the
/// observed half. Perplexity is `exp(−log-likelihood / tokens)` of the other halves together. See Wallach et al. 2009,
/// section 5, and Hoffman et al. 2013, section 4.
#[derive(Debug, Clone)]
pub struct Completion {
    pub(super) observed: Corpus,
    pub(super) hidden: Corpus,
}

impl Completion {
    /// Splits the first [`MOST_DOCUMENTS`] of some held-out documents.
    pub fn new(held_out: &Corpus) -> Self {
        let n_docs = held_out.n_docs().min(MOST_DOCUMENTS);
        let mut random = Pcg64::seeded_12345();
        let empty = Corpus { starts: vec![0], n_words: held_out.n_words, ..Corpus::default() };
        let (mut observed, mut hidden) = (empty.clone(), empty);
        let (mut tokens, mut halves) = (Vec::new(), Vec::new());
        for doc in 0..n_docs {
            let (words, counts) = held_out.doc(doc);
            tokens.clear();
            for (entry, &count) in counts.iter().enumerate() {
                tokens.extend((0..count).map(|_| (random.next_f64(), entry)));
            }
            tokens.sort_by(|a, b| a.0.total_cmp(&b.0));
            halves.clear();
            halves.resize(words.len(), 0);
            tokens.iter().step_by(2).for_each(|&(_, entry)| halves[entry] += 1);
            push(&mut observed, words, halves.iter().copied());
            push(&mut hidden, words, counts.iter().zip(&halves).map(|(count, half)| count - half));
        }
        Self { observed, hidden }
    }

    /// Documents that are measured.
    pub fn n_docs(&self) -> usize {
        self.observed.n_docs()
    }

    /// The words of some of the documents, in no order, some of them several times.
    pub fn words(&self, docs: Range<usize>) -> Vec<u32> {
        let of = |corpus: &Corpus| corpus.words[corpus.starts[docs.start]..corpus.starts[docs.end]].to_vec();
        [of(&self.observed), of(&self.hidden)].concat()
    }

    /// The halves that are predicted, of some of the documents; the work is about the same for each document. Sums of
    /// parts are the whole.
    pub fn measure(&self, docs: Range<usize>, topics: &impl Topics) -> LogLikelihood {
        let (mut fold, mut sum) = (FoldIn::new(topics), LogLikelihood::default());
        for doc in docs {
            let (words, counts) = self.hidden.doc(doc);
            if !words.is_empty() {
                let (observed, times) = self.observed.doc(doc);
                fold.mixture(observed, times);
                sum += fold.score(words, counts);
            }
        }
        sum
    }
}

/// How likely documents are under the mixtures that all of their tokens give.
pub fn likelihood(corpus: &Corpus, docs: Range<usize>, topics: &impl Topics) -> LogLikelihood {
    let (mut fold, mut sum) = (FoldIn::new(topics), LogLikelihood::default());
    for doc in docs {
        let (words, counts) = corpus.doc(doc);
        fold.mixture(words, counts);
        sum += fold.score(words, counts);
    }
    sum
}

/// Adds a document of the words whose count is not 0.
fn push(corpus: &mut Corpus, words: &[u32], counts: impl Iterator<Item = u32>) {
    for (&word, count) in words.iter().zip(counts).filter(|&(_, count)| count > 0) {
        corpus.words.push(word);
        corpus.counts.push(count);
    }
    corpus.starts.push(corpus.words.len());
}
