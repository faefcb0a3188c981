//! The words that a topic gives most to.

use super::topics::{Topics, WordRow};
use std::ops::Range;

/// For each topic the words of greatest `p(w | k)`, the greatest first; among equals the one with the lower number.
#[derive(Debug, Clone, PartialEq)]
pub struct TopWords {
    most: usize,
    lists: Vec<Vec<(u32, f64)>>,
}

impl TopWords {
    /// Up to `most` words for each topic, none yet.
    pub fn new(n_topics: usize, most: usize) -> Self {
        Self { most, lists: vec![Vec::with_capacity(most); n_topics] }
    }

    /// Those among some words that a topic has more of than the base: a topic with few words has a short list.
    pub fn of(topics: &impl Topics, words: Range<u32>, most: usize) -> Self {
        let mut top = Self::new(topics.n_topics(), most);
        let mut row = WordRow::new(topics.n_topics());
        let base = |topic: u32| topics.base().get(topic as usize).copied().unwrap_or(0.0);
        for word in words {
            row.read(topics, word);
            let few = row.topics.iter().copied().zip(row.excesses.iter().copied());
            let all = (0..).zip(row.all.iter().copied());
            for (topic, excess) in few.chain(all).filter(|&(_, excess)| excess > 0.0) {
                top.add(topic, word, row.smoothing * base(topic) + excess);
            }
        }
        top
    }

    /// Takes in a word of a topic.
    #[inline]
    pub fn add(&mut self, topic: u32, word: u32, weight: f64) {
        let list = &mut self.lists[topic as usize];
        let comes_before = |&(other, least): &(u32, f64)| least > weight || (least == weight && other < word);
        if list.len() == self.most && list.last().is_none_or(comes_before) {
            return;
        }
        let at = list.partition_point(comes_before);
        list.truncate(self.most.saturating_sub(1));
        list.insert(at, (word, weight));
    }

    /// Takes in those of other words.
    pub fn merge(&mut self, other: &Self) {
        for (topic, list) in (0..).zip(&other.lists) {
            for &(word, weight) in list {
                self.add(topic, word, weight);
            }
        }
    }

    /// The words of each topic and their `p(w | k)`.
    pub fn lists(&self) -> &[Vec<(u32, f64)>] {
        &self.lists
    }
}
