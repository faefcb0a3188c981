//! Documents as counts of words: what topic models are trained on.
//!
//! | format | a file of it | words |
//! |---|---|---|
//! | docword | UCI bag of words: three lines (documents, words, entries), then `document word count` | from 1 |
//! | MatrixMarket | the same behind a banner, as gensim and SciPy write it | from 1 |
//! | LDA-C | a document a line, `n word:count …` with `n` pairs | from 0 |
//! | libsvm | a document a line, `label word:count …` | from 1 |
//! | text | a document a line, or a directory with a file for each | [`text`](TextOptions) |
//!
//! Which it is shows in the first lines ([`CorpusFormat`] says how), unless it is said. Any file may be gzip or zstd.
//! A line is a document even when it is empty, so that documents are numbered as lines are.
//!
//! ```
//! use slackline_apps::data::corpus::{CorpusOptions, read_corpus};
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("news.txt");
//! std::fs::write(&path, "Cats chase mice.\nDogs chase cats, and cats run.\n")?;
//!
//! let news = read_corpus(&path, &CorpusOptions::default(), &|_news| {})?;
//! let words = news.vocabulary.expect("text has words");
//! assert_eq!(words.iter().collect::<Vec<_>>(), ["cats", "chase", "dogs", "mice", "run"]);
//! assert_eq!(news.train.corpus.doc(1), (&[0, 1, 2, 4][..], &[2, 1, 1, 1][..]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod builder;
mod docword;
mod facts;
mod format;
mod held_out;
mod numbers;
mod options;
mod pairs;
mod read;
mod text;
mod vocabulary;

pub use facts::CorpusFacts;
pub use format::CorpusFormat;
pub use held_out::{Collection, Documents, HeldOut};
pub use options::{CorpusOptions, OPTIONS};
pub use read::{Known, NewDocuments, read_corpus, read_documents};
pub use text::{DocumentFrequency, StopWords, TextOptions};
pub use vocabulary::Vocabulary;

use read::Raw;

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
