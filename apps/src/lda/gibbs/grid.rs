//! The tokens of every cell (part of documents x block of words), in the order in which a visit goes through them.

use std::ops::Range;

use rayon::prelude::*;

use crate::Error;
use crate::data::Corpus;
use crate::deal::Deal;

/// A word with at least this share of `n_topics` tokens has a dense row: fewer are cheaper as a list.
const DENSE: usize = 4;

/// A corpus cut into cells.
#[derive(Debug)]
pub struct Grid {
    /// Documents dealt to parts.
    pub docs: Deal,
    /// Words dealt to blocks, most frequent first.
    pub words: Deal,
    /// How many of the first words of each block have dense rows; the others have lists.
    pub n_dense: Vec<usize>,
    /// The tokens of each part.
    pub parts: Vec<Part>,
    /// Tokens of all parts.
    pub n_tokens: u64,
}

/// The tokens of a part, sorted by block, word and document.
#[derive(Debug, Clone, Default)]
pub struct Part {
    /// Tokens of each document.
    pub lengths: Vec<u32>,
    /// Row of the document of each token.
    pub docs: Vec<u32>,
    /// The words of each block that occur in the part.
    cells: Vec<Cell>,
}

#[derive(Debug, Clone, Default)]
struct Cell {
    start: u32,
    words: Vec<Span>,
}

/// A word of a cell.
#[derive(Debug, Clone, Copy)]
struct Span {
    /// Its row in the block.
    row: u32,
    /// The end of its tokens.
    end: u32,
}

impl Grid {
    /// Deals documents to `n_parts` and words to `n_blocks`, and sorts the tokens.
    ///
    /// # Errors
    /// There are no tokens, or more than a table has rows for.
    pub fn new(
        corpus: &Corpus,
        (n_parts, n_blocks): (usize, usize),
        n_topics: usize,
        seed: u64,
    ) -> Result<Self, Error> {
        let n_tokens = corpus.n_tokens();
        if n_tokens == 0 {
            return Err(Error::Run("there are no tokens to train on".to_owned()));
        }
        if n_tokens > u64::from(u32::MAX - (1 << 20)) {
            return Err(Error::Run(format!(
                "{n_tokens} tokens, at most 4 thousand million can be trained on"
            )));
        }
        let lengths: Vec<u32> =
            (0..corpus.n_docs()).map(|doc| corpus.doc(doc).1.iter().sum::<u32>()).collect();
        let mut of_words = vec![0u32; corpus.n_words];
        for (word, count) in corpus.words.iter().zip(&corpus.counts) {
            of_words[*word as usize] += count;
        }
        let docs = Deal::even(&lengths, n_parts.min(lengths.len()), seed);
        let words = Deal::even(&of_words, n_blocks.min(of_words.len()), seed.wrapping_add(1));
        let is_dense = |word: &u32| of_words[*word as usize] as usize >= n_topics.div_ceil(DENSE);
        let n_dense = words.members.iter().map(|block| block.partition_point(is_dense)).collect();
        let parts =
            docs.members.par_iter().map(|members| Part::new(corpus, members, &lengths, &words)).collect();
        Ok(Self { docs, words, n_dense, parts, n_tokens })
    }

    /// Parts and blocks.
    pub fn shape(&self) -> (usize, usize) {
        (self.docs.n_groups(), self.words.n_groups())
    }
}

impl Part {
    fn new(corpus: &Corpus, members: &[u32], lengths: &[u32], words: &Deal) -> Self {
        // Where the tokens of each word begin: words in the order of blocks and rows.
        let mut counts = vec![0u32; words.group.len()];
        for &doc in members {
            let (of_doc, times) = corpus.doc(doc as usize);
            of_doc.iter().zip(times).for_each(|(word, times)| counts[*word as usize] += times);
        }
        let mut next = vec![0u32; counts.len()];
        let mut end = 0;
        let mut cells = Vec::with_capacity(words.n_groups());
        for block in &words.members {
            let mut cell = Cell { start: end, words: Vec::new() };
            for (row, &word) in block.iter().enumerate().filter(|(_, word)| counts[**word as usize] > 0) {
                next[word as usize] = end;
                end += counts[word as usize];
                cell.words.push(Span { row: row as u32, end });
            }
            cells.push(cell);
        }
        let mut docs = vec![0; end as usize];
        for (row, &doc) in members.iter().enumerate() {
            let (of_doc, times) = corpus.doc(doc as usize);
            for (word, times) in of_doc.iter().zip(times) {
                let next = &mut next[*word as usize];
                docs[*next as usize..(*next + times) as usize].fill(row as u32);
                *next += times;
            }
        }
        Self { lengths: members.iter().map(|doc| lengths[*doc as usize]).collect(), docs, cells }
    }

    /// Tokens.
    pub fn n_tokens(&self) -> usize {
        self.docs.len()
    }

    /// The words of a block that occur here: the row of each and its tokens.
    pub fn words(&self, block: usize) -> impl Iterator<Item = (usize, Range<usize>)> + '_ {
        let Cell { start, words } = &self.cells[block];
        let mut start = *start as usize;
        words.iter().map(move |span| {
            let tokens = start..span.end as usize;
            start = tokens.end;
            (span.row as usize, tokens)
        })
    }
}
