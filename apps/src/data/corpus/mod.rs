//! Documents as counts of words.

/// Documents as bags of words: for each document its words, ascending, and how often each occurs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Corpus {
    /// First entry of each document, and the end of the last: documents + 1 numbers, from 0.
    pub starts: Vec<usize>,
    /// The word of each entry: a row of the vocabulary, below `n_words`, ascending within a document.
    pub words: Vec<u32>,
    /// How often it occurs in the document, 1 or more.
    pub counts: Vec<u32>,
    /// Words of the vocabulary, whether they occur or not.
    pub n_words: usize,
}

impl Corpus {
    /// Documents, the empty ones too.
    pub fn n_docs(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Tokens: the sum of all counts.
    pub fn n_tokens(&self) -> u64 {
        self.counts.iter().map(|&count| u64::from(count)).sum()
    }

    /// The words of a document and how often each occurs.
    pub fn doc(&self, doc: usize) -> (&[u32], &[u32]) {
        let entries = self.starts[doc]..self.starts[doc + 1];
        (&self.words[entries.clone()], &self.counts[entries])
    }
}
