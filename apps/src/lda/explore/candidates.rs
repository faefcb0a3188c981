//! The words of a topic that are among its first n at some λ: what a page with a slider must know.
//!
//! Relevance is `log p(w|t) − μ log p(w)` with μ = 1 − λ from 0 to 1. A word that n others beat in both (no less probable in
//! the topic and no more frequent in the corpus) is behind them at every λ. Few words are left, some hundred of any
//! vocabulary, and of those the first n at each of a slider's steps are found one by one.

use std::collections::BinaryHeap;

use super::{Ranking, TopicModel};

/// Finds candidates at the steps of a slider.
pub(super) struct Candidates<'a> {
    model: &'a TopicModel,
    /// One for each step.
    rankings: Vec<Ranking<'a>>,
    /// How many words are shown.
    n: usize,
}

impl<'a> Candidates<'a> {
    /// For a slider from 0 to 1 in `steps` steps.
    pub(super) fn new(model: &'a TopicModel, n: usize, steps: u32) -> Self {
        let ranking = |step: u32| Ranking::new(model, f64::from(step) / f64::from(steps));
        Self { model, rankings: (0..=steps).map(ranking).collect(), n }
    }

    /// The candidates of a topic, most probable first.
    pub(super) fn of(&self, topic: usize) -> Vec<usize> {
        let unbeaten = self.unbeaten(topic);
        let mut shown = vec![false; self.model.n_words()];
        for ranking in &self.rankings {
            for ranked in ranking.top_of(topic, unbeaten.iter().copied(), self.n) {
                shown[ranked.word] = true;
            }
        }
        unbeaten.into_iter().filter(|&word| shown[word]).collect()
    }

    /// The words that fewer than n others beat.
    fn unbeaten(&self, topic: usize) -> Vec<usize> {
        let (weights, tokens) = (self.model.topic(topic), &self.model.word_tokens);
        let mut words: Vec<usize> = (0..self.model.n_words()).filter(|&word| tokens[word] > 0).collect();
        words.sort_unstable_by(|&a, &b| {
            weights[b].total_cmp(&weights[a]).then_with(|| (tokens[a], a).cmp(&(tokens[b], b)))
        });
        let mut rarest: BinaryHeap<u64> = BinaryHeap::with_capacity(self.n + 1); // the n smallest counts so far
        words.retain(|&word| {
            if rarest.len() == self.n {
                if rarest.peek().is_none_or(|&most| tokens[word] >= most) {
                    return false;
                }
                rarest.pop();
            }
            rarest.push(tokens[word]);
            true
        });
        words
    }
}
