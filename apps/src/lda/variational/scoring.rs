//! What an evaluation makes of the topics: a score of documents, part by part.

/// Documents that are scored while topics are learned, such as held-out ones by document completion.
pub trait Scoring: Send + Sync {
    /// Parts of the documents, scored by any worker each.
    fn n_parts(&self) -> usize;

    /// The words that a part reads, ascending, each once.
    fn words(&self, part: usize) -> Vec<u32>;

    /// Sums over the documents of a part, such as log-likelihoods and tokens; they are added up over the parts.
    fn score(&self, part: usize, topics: &Topics<'_>) -> Vec<f64>;
}

/// Topics in expectation, for the words of a part.
#[derive(Debug, Clone, Copy)]
pub struct Topics<'a> {
    /// The words, ascending.
    pub words: &'a [u32],
    /// Numbers of a word.
    pub n_topics: usize,
    /// `E[β_wk] = λ_wk / Σ_v λ_vk`, words × topics.
    pub weights: &'a [f32],
}

impl<'a> Topics<'a> {
    /// The probability of a word in each topic; `None` for a word that the part does not read.
    pub fn word(&self, word: u32) -> Option<&'a [f32]> {
        let place = self.words.binary_search(&word).ok()?;
        self.weights.get(place * self.n_topics..(place + 1) * self.n_topics)
    }
}
