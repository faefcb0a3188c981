//! Documents as they come from a file, put in order and made tidy.

use rayon::prelude::*;

use super::Corpus;
use crate::data::ids::dense;

/// Documents in the making: entries in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Builder {
    /// First entry of each document so far.
    starts: Vec<usize>,
    words: Vec<u32>,
    counts: Vec<u32>,
    /// The document of each entry, once one came behind a later document.
    docs: Option<Vec<u32>>,
}

/// A document and a word whose counts add up to more than a count can hold.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Overflow {
    pub(super) doc: usize,
    pub(super) word: u32,
}

/// Entries that one task puts in order.
const BLOCK: usize = 1 << 16;

impl Builder {
    /// Adds entries of a document, from 0: behind those that it has, wherever it lies.
    pub(super) fn entries(&mut self, doc: u32, words: &[u32], counts: &[u32]) {
        let at = doc as usize;
        if at + 1 < self.starts.len() && self.docs.is_none() {
            self.docs = Some(self.doc_of_each());
        }
        if let Some(docs) = &mut self.docs {
            docs.resize(docs.len() + words.len(), doc);
        }
        while self.starts.len() <= at {
            self.starts.push(self.words.len());
        }
        self.words.extend_from_slice(words);
        self.counts.extend_from_slice(counts);
    }

    /// Adds the next documents: all entries, and where those of each document end.
    pub(super) fn documents(&mut self, ends: &[usize], words: &[u32], counts: &[u32]) {
        let offset = self.words.len();
        let starts = std::iter::once(0).chain(ends.iter().copied()).take(ends.len());
        self.starts.extend(starts.map(|start| offset + start));
        self.words.extend_from_slice(words);
        self.counts.extend_from_slice(counts);
    }

    fn doc_of_each(&self) -> Vec<u32> {
        let mut docs = Vec::with_capacity(self.words.capacity());
        for (doc, &end) in (0..).zip(&self.starts[1..]) {
            docs.resize(end, doc);
        }
        docs.resize(self.words.len(), dense(self.starts.len() - 1));
        docs
    }

    /// The documents, at least `n_docs` of them, those at the end empty; and how many had to be put in order.
    /// Words are as they came.
    pub(super) fn finish(mut self, n_docs: usize) -> (Corpus, u64) {
        self.starts.resize(self.starts.len().max(n_docs), self.words.len());
        self.starts.push(self.words.len());
        let scattered = match self.docs.take() {
            Some(docs) => self.gather(&docs),
            None => 0,
        };
        let Self { starts, mut words, mut counts, .. } = self;
        words.shrink_to_fit();
        counts.shrink_to_fit();
        (Corpus { starts, words, counts, n_words: 0 }, scattered)
    }

    /// Puts the entries in the order of their documents; returns how many came behind a later one.
    fn gather(&mut self, docs: &[u32]) -> u64 {
        let n_docs = self.starts.len() - 1;
        let (mut next, mut late, mut latest) = (vec![0_usize; n_docs + 1], vec![false; n_docs], 0);
        for &doc in docs {
            next[doc as usize + 1] += 1;
            late[doc as usize] |= doc < latest;
            latest = latest.max(doc);
        }
        for doc in 0..n_docs {
            next[doc + 1] += next[doc];
        }
        self.starts.copy_from_slice(&next);
        let (mut words, mut counts) = (vec![0; docs.len()], vec![0; docs.len()]);
        for (entry, &doc) in docs.iter().enumerate() {
            let place = &mut next[doc as usize];
            (words[*place], counts[*place]) = (self.words[entry], self.counts[entry]);
            *place += 1;
        }
        (self.words, self.counts) = (words, counts);
        late.iter().filter(|&&late| late).count() as u64
    }
}

impl Corpus {
    /// Gives each entry the word that `row` has for it; entries without one go.
    pub(super) fn renumber(&mut self, mut row: impl FnMut(u32, u32) -> Option<u32>) {
        let (mut kept, mut start) = (0, 0);
        for next in &mut self.starts[1..] {
            let end = *next;
            for entry in start..end {
                if let Some(row) = row(self.words[entry], self.counts[entry]) {
                    (self.words[kept], self.counts[kept]) = (row, self.counts[entry]);
                    kept += 1;
                }
            }
            (start, *next) = (end, kept);
        }
        self.truncate(kept);
    }

    /// Sorts the words of each document and joins repeated ones; returns how many entries that saved.
    pub(super) fn tidy(&mut self) -> Result<u64, Overflow> {
        let shorter = self.sort_documents()?;
        let joined: usize = shorter.iter().map(|&(doc, n)| self.starts[doc + 1] - self.starts[doc] - n).sum();
        if joined > 0 {
            self.close_up(&shorter);
        }
        Ok(joined as u64)
    }

    /// Sorts each document; returns those that have fewer entries now, and how many.
    fn sort_documents(&mut self) -> Result<Vec<(usize, usize)>, Overflow> {
        let (mut blocks, mut first) = (Vec::new(), 0);
        let (mut words, mut counts) = (&mut self.words[..], &mut self.counts[..]);
        for doc in 0..self.starts.len() - 1 {
            let n = self.starts[doc + 1] - self.starts[first];
            if n >= BLOCK || doc + 2 == self.starts.len() {
                let (head, tail) = std::mem::take(&mut words).split_at_mut(n);
                let (head_counts, tail_counts) = std::mem::take(&mut counts).split_at_mut(n);
                blocks.push((first, &self.starts[first..=doc + 1], head, head_counts));
                (words, counts, first) = (tail, tail_counts, doc + 1);
            }
        }
        let sorted: Result<Vec<_>, Overflow> = blocks
            .into_par_iter()
            .map(|(first, starts, words, counts)| sort_block(first, starts, words, counts))
            .collect();
        Ok(sorted?.concat())
    }

    /// Closes the gaps behind documents that have fewer entries than before.
    fn close_up(&mut self, shorter: &[(usize, usize)]) {
        let (mut shorter, mut kept, mut start) = (shorter.iter().peekable(), 0, 0);
        for doc in 0..self.starts.len() - 1 {
            let end = self.starts[doc + 1];
            let n = shorter.next_if(|(at, _)| *at == doc).map_or(end - start, |&(_, n)| n);
            self.words.copy_within(start..start + n, kept);
            self.counts.copy_within(start..start + n, kept);
            kept += n;
            (start, self.starts[doc + 1]) = (end, kept);
        }
        self.truncate(kept);
    }

    /// Keeps so many entries.
    pub(super) fn truncate(&mut self, kept: usize) {
        self.words.truncate(kept);
        self.counts.truncate(kept);
        self.words.shrink_to_fit();
        self.counts.shrink_to_fit();
    }
}

/// Sorts the documents whose entries these are; the first of them is `first`, and `starts` says where each begins.
fn sort_block(
    first: usize,
    starts: &[usize],
    words: &mut [u32],
    counts: &mut [u32],
) -> Result<Vec<(usize, usize)>, Overflow> {
    let (mut shorter, mut pairs) = (Vec::new(), Vec::new());
    for (doc, bounds) in (first..).zip(starts.windows(2)) {
        let entries = bounds[0] - starts[0]..bounds[1] - starts[0];
        let (words, counts) = (&mut words[entries.clone()], &mut counts[entries]);
        if words.is_sorted_by(|a, b| a < b) {
            continue;
        }
        pairs.clear();
        pairs.extend(words.iter().copied().zip(counts.iter().copied()));
        pairs.sort_unstable();
        let mut n = 0;
        for &(word, count) in &pairs {
            if n > 0 && words[n - 1] == word {
                let sum = counts[n - 1].checked_add(count).ok_or(Overflow { doc, word })?;
                counts[n - 1] = sum;
            } else {
                (words[n], counts[n]) = (word, count);
                n += 1;
            }
        }
        if n < words.len() {
            shorter.push((doc, n));
        }
    }
    Ok(shorter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_that_come_in_pieces_are_put_together() {
        let mut builder = Builder::default();
        builder.entries(1, &[5, 3], &[1, 2]);
        builder.entries(3, &[0], &[4]);
        builder.entries(1, &[3], &[7]);
        builder.entries(0, &[9], &[1]);
        builder.entries(3, &[8], &[2]);
        let (mut corpus, scattered) = builder.finish(6);
        assert_eq!((corpus.n_docs(), scattered), (6, 2));
        assert_eq!(corpus.tidy(), Ok(1));
        assert_eq!(corpus.starts, [0, 1, 3, 3, 5, 5, 5]);
        assert_eq!((&corpus.words[..], &corpus.counts[..]), (&[9, 3, 5, 0, 8][..], &[1, 9, 1, 4, 2][..]));
    }

    #[test]
    fn entries_without_a_row_go_and_the_documents_stay() {
        let mut builder = Builder::default();
        builder.documents(&[2, 2, 3], &[0, 1, 1], &[1, 2, 3]);
        let (mut corpus, _) = builder.finish(0);
        corpus.renumber(|word, _| (word == 0).then_some(7));
        assert_eq!((corpus.starts, corpus.words, corpus.counts), (vec![0, 1, 1, 1], vec![7], vec![1]));
    }

    #[test]
    fn many_documents_are_sorted_in_blocks() {
        let mut builder = Builder::default();
        let n = 3 * BLOCK as u32;
        for doc in 0..n {
            builder.documents(&[2], &[doc, doc / 2], &[1, 1]);
        }
        let (mut corpus, _) = builder.finish(0);
        assert_eq!(corpus.tidy(), Ok(1)); // of document 0
        assert_eq!(corpus.doc(0), (&[0][..], &[2][..]));
        assert!((1..n).all(|doc| corpus.doc(doc as usize).0 == [doc / 2, doc]));
    }

    #[test]
    fn a_sum_beyond_the_largest_count_is_refused() {
        let mut builder = Builder::default();
        builder.documents(&[0, 2], &[4, 4], &[u32::MAX, 1]);
        assert_eq!(builder.finish(0).0.tidy(), Err(Overflow { doc: 1, word: 4 }));
    }
}
