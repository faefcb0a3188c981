//! The documents of each step, with words by their place among those of the step.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::data::Corpus;

/// Documents that one step works on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Batch {
    /// The words that occur in it, ascending: rows of the vocabulary.
    pub words: Vec<u32>,
    /// First entry of each document, and the end of the last.
    pub starts: Vec<usize>,
    /// The word of each entry, by its place in `words`.
    pub entries: Vec<u32>,
    /// How often it occurs.
    pub counts: Vec<f32>,
    /// The document of the corpus that each one is.
    pub docs: Vec<u32>,
}

impl Batch {
    fn of(corpus: &Corpus, docs: Vec<u32>) -> Self {
        let mut batch = Self { starts: vec![0], ..Self::default() };
        for &doc in &docs {
            let (words, counts) = corpus.doc(doc as usize);
            batch.entries.extend_from_slice(words);
            batch.counts.extend(counts.iter().map(|&count| count as f32));
            batch.starts.push(batch.entries.len());
        }
        batch.words.clone_from(&batch.entries);
        batch.words.sort_unstable();
        batch.words.dedup();
        for entry in &mut batch.entries {
            let place = batch.words.binary_search(entry).expect("a word of the batch");
            *entry = place as u32;
        }
        batch.docs = docs;
        batch
    }

    /// Documents.
    pub fn n_docs(&self) -> usize {
        self.docs.len()
    }

    /// The entries and counts of a document.
    pub fn doc(&self, doc: usize) -> (&[u32], &[f32]) {
        let entries = self.starts[doc]..self.starts[doc + 1];
        (&self.entries[entries.clone()], &self.counts[entries])
    }
}

/// Deals the documents that have words to batches of nearly one size, in an order drawn from `seed`; `n_batches` says how
/// many batches so many documents make. Empty documents say nothing about topics and are left out.
pub fn batches(corpus: &Corpus, n_batches: impl Fn(usize) -> usize, seed: u64) -> Vec<Batch> {
    let is_empty = |doc: &usize| corpus.starts[*doc] == corpus.starts[doc + 1];
    let mut docs: Vec<u32> =
        (0..corpus.n_docs()).filter(|doc| !is_empty(doc)).map(|doc| doc as u32).collect();
    docs.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
    let n = n_batches(docs.len()).clamp(1, docs.len().max(1));
    let bound = |batch: usize| (docs.len() as u128 * batch as u128 / n as u128) as usize;
    (0..n).map(|batch| Batch::of(corpus, docs[bound(batch)..bound(batch + 1)].to_vec())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_document_with_words_is_in_one_batch_as_it_is() {
        let corpus = Corpus {
            starts: vec![0, 2, 2, 3, 6, 7],
            words: vec![1, 4, 9, 0, 4, 9, 1],
            counts: vec![1, 2, 3, 4, 5, 6, 7],
            n_words: 12,
        };
        let batches = batches(&corpus, |docs| docs.div_ceil(3), 5);
        let mut seen = Vec::new();
        for batch in &batches {
            assert!(batch.words.is_sorted() && batch.n_docs() == 2);
            for doc in 0..batch.n_docs() {
                let (entries, counts) = batch.doc(doc);
                let words: Vec<u32> = entries.iter().map(|&place| batch.words[place as usize]).collect();
                let (expected, times) = corpus.doc(batch.docs[doc] as usize);
                assert_eq!(words, expected);
                assert!(counts.iter().zip(times).all(|(count, times)| *count == *times as f32));
                seen.push(batch.docs[doc]);
            }
        }
        seen.sort_unstable();
        assert_eq!(seen, [0, 2, 3, 4]);
    }
}
