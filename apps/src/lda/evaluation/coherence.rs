//! Whether the words of a topic occur in the same documents.

use std::ops::Range;

use crate::data::Corpus;

/// Counts in how many documents the top words of topics occur, alone and two at a time.
///
/// The coherence of a topic is the mean over the pairs of its top words (10 are usual) of the normalised pointwise mutual
/// information, `NPMI(i, j) = log(p(i, j) / (p(i) p(j))) / −log p(i, j)` (Bouma 2009), where `p` is the share of documents
/// that have the word or both words: -1 if they never meet, 0 if they meet as often as by chance, 1 if they only come
/// together. This is `C_NPMI` of Röder, Both and Hinneburg 2015 with a document as the window, on the documents trained on.
/// There and in gensim 1e-12 is added to `p(i, j)`, so that a pair that never meets has about -0.6 in place of its limit -1.
#[derive(Debug, Clone)]
pub struct Coherence {
    most: usize,
    /// For each word of the vocabulary, where its places begin in `places`.
    starts: Vec<u32>,
    /// Topic and rank of each top word, by word.
    places: Vec<(u32, u8)>,
    /// Words of each topic, by rank.
    n_words: Vec<usize>,
    /// Documents that have the word: topics x ranks.
    alone: Vec<u32>,
    /// Documents that have both words: topics x ranks x ranks.
    both: Vec<u32>,
    n_docs: u64,
}

impl Coherence {
    /// Top words that are counted at most, of each topic.
    pub const MOST_WORDS: usize = 64;

    /// For the top words of each topic, distinct, at most [`Coherence::MOST_WORDS`], of a vocabulary of `n_words`.
    pub fn new<'a>(top_words: impl IntoIterator<Item = &'a [u32]>, n_words: usize) -> Self {
        let lists: Vec<&[u32]> =
            top_words.into_iter().map(|list| &list[..list.len().min(Self::MOST_WORDS)]).collect();
        let mut placed: Vec<(u32, (u32, u8))> = Vec::new();
        for (topic, list) in (0..).zip(&lists) {
            placed.extend((0..).zip(*list).map(|(rank, &word)| (word, (topic, rank))));
        }
        placed.sort_unstable();
        let mut starts = vec![0; n_words + 1];
        for &(word, _) in &placed {
            starts[word as usize + 1] += 1;
        }
        for word in 0..n_words {
            starts[word + 1] += starts[word];
        }
        let most = lists.iter().map(|list| list.len()).max().unwrap_or(0);
        Self {
            most,
            starts,
            places: placed.into_iter().map(|(_, place)| place).collect(),
            n_words: lists.iter().map(|list| list.len()).collect(),
            alone: vec![0; lists.len() * most],
            both: vec![0; lists.len() * most * most],
            n_docs: 0,
        }
    }

    /// Counts some documents.
    pub fn count(&mut self, corpus: &Corpus, docs: Range<usize>) {
        let (mut present, mut touched) = (vec![0_u64; self.n_words.len()], Vec::new());
        self.n_docs += docs.len() as u64;
        for doc in docs {
            for &word in corpus.doc(doc).0 {
                let places = self.starts[word as usize] as usize..self.starts[word as usize + 1] as usize;
                for &(topic, rank) in &self.places[places] {
                    if present[topic as usize] == 0 {
                        touched.push(topic);
                    }
                    present[topic as usize] |= 1 << rank;
                }
            }
            for topic in touched.drain(..) {
                let ranks = std::mem::take(&mut present[topic as usize]);
                self.count_topic(topic as usize, ranks);
            }
        }
    }

    /// Counts a document that has the words of these ranks.
    fn count_topic(&mut self, topic: usize, ranks: u64) {
        for i in bits(ranks) {
            self.alone[topic * self.most + i] += 1;
            for j in bits(ranks & ((1 << i) - 1)) {
                self.both[(topic * self.most + i) * self.most + j] += 1;
            }
        }
    }

    /// Adds the counts of other documents, for the same words.
    pub fn merge(&mut self, other: &Self) {
        self.n_docs += other.n_docs;
        self.alone.iter_mut().zip(&other.alone).for_each(|(sum, n)| *sum += n);
        self.both.iter_mut().zip(&other.both).for_each(|(sum, n)| *sum += n);
    }

    /// The coherence of each topic; `None` for one of less than two words.
    pub fn npmi(&self) -> Vec<Option<f64>> {
        (0..self.n_words.len()).map(|topic| self.of_topic(topic)).collect()
    }

    /// The mean over the topics that have one.
    pub fn mean(&self) -> Option<f64> {
        let each: Vec<f64> = self.npmi().into_iter().flatten().collect();
        (!each.is_empty()).then(|| each.iter().sum::<f64>() / each.len() as f64)
    }

    fn of_topic(&self, topic: usize) -> Option<f64> {
        let n = self.n_words[topic];
        let share = |count: u32| f64::from(count) / self.n_docs as f64;
        let mut sum = 0.0;
        for i in 0..n {
            for j in 0..i {
                let both = share(self.both[(topic * self.most + i) * self.most + j]);
                let (alone, other) = (self.alone[topic * self.most + i], self.alone[topic * self.most + j]);
                sum += npmi(share(alone), share(other), both);
            }
        }
        (n >= 2).then(|| sum / (n * (n - 1) / 2) as f64)
    }
}

/// Normalised pointwise mutual information, with its limits where both or none always are.
fn npmi(alone: f64, other: f64, both: f64) -> f64 {
    if both == 0.0 {
        -1.0
    } else if both == 1.0 {
        1.0
    } else {
        (both / (alone * other)).ln() / -both.ln()
    }
}

/// The numbers of the bits that are set.
fn bits(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(bit)
    })
}
