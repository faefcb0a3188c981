//! Topics as whoever trains them has them, by word.

/// Topics as distributions over the words: `p(w | k)` for words `w` and topics `k`, each topic's adding up to 1.
///
/// Counts give `p(w | k) = (n_wk + β_w) / (n_k + Σβ)`, which is the same small share for most topics and more for the
/// few that the word has tokens of. So it is told in two parts, `p(w | k) = smoothing(w) · base(k) + excess(w, k)`: with
/// `base(k) = 1 / (n_k + Σβ)`, `smoothing(w) = β_w` and `excess(w, k) = n_wk · base(k)` measuring costs what the
/// counts that are not 0 cost. Topics without such a structure have no base and fill [`WordRow::dense`].
pub trait Topics {
    /// Topics.
    fn n_topics(&self) -> usize;
    /// Words of the vocabulary.
    fn n_words(&self) -> usize;
    /// What every word has of each topic, once for its smoothing: one number a topic, or none at all.
    fn base(&self) -> &[f64];
    /// Writes what a word below [`Topics::n_words`] has beside it into an empty row.
    fn word(&self, word: u32, row: &mut WordRow);
}

/// One word's share of each topic: a few topics, or all of them.
#[derive(Debug, Clone, Default)]
pub struct WordRow {
    pub(super) smoothing: f64,
    pub(super) topics: Vec<u32>,
    pub(super) excesses: Vec<f64>,
    /// All topics; nothing where few are named.
    pub(super) all: Vec<f64>,
    n_topics: usize,
}

impl WordRow {
    /// An empty row.
    pub fn new(n_topics: usize) -> Self {
        Self { n_topics, ..Self::default() }
    }

    /// Makes room for the next word.
    pub fn clear(&mut self) {
        self.smoothing = 0.0;
        self.topics.clear();
        self.excesses.clear();
        self.all.clear();
    }

    /// How often the word has the base; 0 unless it is said.
    pub fn smoothing(&mut self, smoothing: f64) {
        self.smoothing = smoothing;
    }

    /// Adds what the word has of a topic beside the base; each topic once.
    #[inline]
    pub fn add(&mut self, topic: u32, excess: f64) {
        self.topics.push(topic);
        self.excesses.push(excess);
    }

    /// What the word has of every topic, zeros to be written over. A row that is filled so names no topics.
    pub fn dense(&mut self) -> &mut [f64] {
        self.all.resize(self.n_topics, 0.0);
        &mut self.all
    }

    /// Writes `p(w | k)` of every topic: the base as often as the row has it, and what it has beside that.
    pub fn shares(&self, base: &[f64], shares: &mut [f64]) {
        shares.fill(0.0);
        shares.iter_mut().zip(base).for_each(|(share, base)| *share = self.smoothing * base);
        shares.iter_mut().zip(&self.all).for_each(|(share, more)| *share += more);
        for (topic, excess) in self.topics.iter().zip(&self.excesses) {
            shares[*topic as usize] += excess;
        }
    }

    /// Reads the row of a word.
    pub(super) fn read(&mut self, topics: &impl Topics, word: u32) {
        self.clear();
        topics.word(word, self);
    }

    /// Names all topics if it names many, so that loops over them are those over dense rows.
    pub(super) fn prefer_dense(&mut self) {
        if self.all.is_empty() && self.topics.len() * DENSE >= self.n_topics {
            self.all.resize(self.n_topics, 0.0);
            for (&topic, &excess) in self.topics.iter().zip(&self.excesses) {
                self.all[topic as usize] += excess;
            }
            self.topics.clear();
            self.excesses.clear();
        }
    }
}

/// A number by itself costs as much as so many in a row.
const DENSE: usize = 4;

/// Topics as a table of words x topics, each topic adding up to 1 over the words.
#[derive(Debug, Clone, Copy)]
pub struct DenseTopics<'a> {
    table: &'a [f64],
    n_topics: usize,
}

impl<'a> DenseTopics<'a> {
    /// A table of words x topics, word after word.
    ///
    /// # Panics
    /// If the table is not a number of whole rows.
    pub fn new(table: &'a [f64], n_topics: usize) -> Self {
        assert!(n_topics > 0 && table.len().is_multiple_of(n_topics), "whole rows of {n_topics} topics");
        Self { table, n_topics }
    }
}

impl Topics for DenseTopics<'_> {
    fn n_topics(&self) -> usize {
        self.n_topics
    }

    fn n_words(&self) -> usize {
        self.table.len() / self.n_topics
    }

    fn base(&self) -> &[f64] {
        &[]
    }

    fn word(&self, word: u32, row: &mut WordRow) {
        let start = word as usize * self.n_topics;
        row.dense().copy_from_slice(&self.table[start..start + self.n_topics]);
    }
}
