//! What was found in a file of documents.

use std::fmt;

use super::CorpusFormat;
use crate::data::facts::{Compression, grouped, some};

/// What was found in a file of documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CorpusFacts {
    /// The format.
    pub format: CorpusFormat,
    /// How the file is packed.
    pub compression: Compression,
    /// Documents, the empty ones too.
    pub documents: usize,
    /// Words of the vocabulary.
    pub words: usize,
    /// Tokens of known words: the sum of all counts.
    pub tokens: u64,
    /// Documents without a token of a known word.
    pub empty: u64,
    /// Entries joined with an earlier one of the same document and word. Of text, where a word comes as often as
    /// it likes, none are counted.
    pub joined: u64,
    /// Documents of which an entry came behind one of a later document.
    pub scattered: u64,
    /// Entries dropped since their count is 0.
    pub zeros: u64,
    /// Tokens of text dropped since they are stop words.
    pub stop_words: u64,
    /// Distinct words of text dropped since they are in too few documents.
    pub rare: u64,
    /// Distinct words of text dropped since they are in too many documents.
    pub frequent: u64,
    /// Distinct words that are not in the known vocabulary.
    pub unknown_words: u64,
    /// Their tokens.
    pub unknown_tokens: u64,
}

impl CorpusFacts {
    /// Nothing found yet.
    pub(super) fn new(format: CorpusFormat, compression: Compression) -> Self {
        let (documents, words, tokens) = (0, 0, 0);
        let (empty, joined, scattered, zeros) = (0, 0, 0, 0);
        let (stop_words, rare, frequent, unknown_words, unknown_tokens) = (0, 0, 0, 0, 0);
        Self {
            format,
            compression,
            documents,
            words,
            tokens,
            empty,
            joined,
            scattered,
            zeros,
            stop_words,
            rare,
            frequent,
            unknown_words,
            unknown_tokens,
        }
    }
}

impl fmt::Display for CorpusFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.format)?;
        if self.compression != Compression::None {
            write!(f, ", {}", self.compression)?;
        }
        let (documents, words) = (grouped(self.documents as u64), grouped(self.words as u64));
        write!(f, ", {documents} documents, {words} words, {} tokens", grouped(self.tokens))?;
        some(f, self.empty, "empty document", "")?;
        some(f, self.joined, "repeated word", " joined")?;
        some(f, self.scattered, "document", " put in order")?;
        some(f, self.zeros, "count", " of 0 dropped")?;
        some(f, self.stop_words, "token", " of stop words dropped")?;
        some(f, self.rare, "word", " in too few documents dropped")?;
        some(f, self.frequent, "word", " in too many documents dropped")?;
        if self.unknown_tokens > 0 {
            let share = 100.0 * self.unknown_tokens as f64 / (self.tokens + self.unknown_tokens) as f64;
            some(f, self.unknown_tokens, "token", "")?;
            let plural = if self.unknown_words == 1 { "" } else { "s" };
            let words = grouped(self.unknown_words);
            write!(f, " ({share:.2} %) of {words} unknown word{plural} dropped")?;
        }
        Ok(())
    }
}
