//! The words of a topic, the most relevant first.
//!
//! Relevance of word w to topic t (Sievert and Shirley 2014, section 3.1):
//!
//! ```text
//! r(w, t | λ) = λ log p(w|t) + (1 − λ) log (p(w|t) / p(w)) = log p(w|t) − (1 − λ) log p(w)
//! ```
//!
//! λ = 1 ranks by how often the topic says a word, λ = 0 by how much more often than the whole corpus does.
//! Words that never occur in the corpus are not ranked: p(w) = 0.

use super::TopicModel;

/// The order of words at one λ.
pub struct Ranking<'a> {
    model: &'a TopicModel,
    /// p(w)^(λ − 1) of every word, so that p(w|t) times it orders words as relevance does; 0 where a word does not occur.
    factors: Vec<f64>,
}

/// A word of a topic.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankedWord {
    /// Its row in the vocabulary.
    pub word: usize,
    /// p(word | topic).
    pub weight: f32,
    /// Its relevance in nats; −∞ where the weight is 0.
    pub relevance: f64,
}

impl<'a> Ranking<'a> {
    /// The ranking at `lambda`, 0 to 1.
    pub fn new(model: &'a TopicModel, lambda: f64) -> Self {
        let total = model.n_tokens() as f64;
        let factor = |&tokens: &u64| match tokens {
            0 => 0.0,
            _ => ((lambda - 1.0) * (tokens as f64 / total).ln()).exp(),
        };
        Self { model, factors: model.word_tokens.iter().map(factor).collect() }
    }

    /// The `n` most relevant words of a topic. Of words that are equally relevant the rarer comes first, then the earlier.
    pub fn top(&self, topic: usize, n: usize) -> Vec<RankedWord> {
        let words = (0..self.model.n_words()).filter(|&word| self.model.word_tokens[word] > 0);
        self.top_of(topic, words, n)
    }

    /// The `n` most relevant of these words, which must occur in the corpus.
    pub(super) fn top_of(
        &self,
        topic: usize,
        words: impl Iterator<Item = usize>,
        n: usize,
    ) -> Vec<RankedWord> {
        let weights = self.model.topic(topic);
        let score = |word: usize| (f64::from(weights[word]) * self.factors[word], word);
        let mut scored: Vec<(f64, usize)> = words.map(score).collect();
        let order = |a: &(f64, usize), b: &(f64, usize)| {
            let tokens = |word: usize| (self.model.word_tokens[word], word);
            b.0.total_cmp(&a.0).then_with(|| tokens(a.1).cmp(&tokens(b.1)))
        };
        if n < scored.len() {
            scored.select_nth_unstable_by(n, order);
            scored.truncate(n);
        }
        scored.sort_unstable_by(order);
        let ranked =
            |(score, word): (f64, usize)| RankedWord { word, weight: weights[word], relevance: score.ln() };
        scored.into_iter().map(ranked).collect()
    }
}
