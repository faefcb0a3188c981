//! The tables of the sampler, and where the counts of each word are in them.

use std::sync::Arc;

use slackline::prelude::*;
use slackline::{Block, Leased};

use super::grid::Grid;
use super::solver::{Assignment, Rows, UNASSIGNED};
use crate::lda::evaluation::{Topics, WordRow};

/// The topic of each token, by part; behind those of a part come [`STAMP`] rows that tell this state of them from others.
pub(super) const TOPICS: &str = "topics of tokens";
/// How often each topic has each frequent word: a dense row a word, by block.
pub(super) const FREQUENT: &str = "topics of frequent words";
/// The same for the other words: a list of non-zeros a word.
pub(super) const RARE: &str = "topics of rare words";
/// Sums of the counts over the samples that are kept, in rows like those of the counts.
pub(super) const FREQUENT_SUMS: &str = "sums of frequent words";
/// The same for the other words.
pub(super) const RARE_SUMS: &str = "sums of rare words";
/// Tokens of each topic: shared.
pub(super) const TOTALS: &str = "tokens of topics";

/// The priors that are sampled with, where they are fitted: `α` of every topic, then `β`.
pub(super) const PRIORS: &str = "priors";

/// Rows of a part behind its tokens.
pub(super) const STAMP: usize = 2;

/// Rows of the totals where the schedule goes in rounds: those of the rounds before the last, and the changes of the even
/// and of the odd round. A round leaves its own changes out, of which more or less may be in.
pub(super) const ROUNDS_ROWS: usize = 3;

/// Where each row is.
#[derive(Debug)]
pub(super) struct Layout {
    n_topics: usize,
    /// First rows of each part's tokens.
    parts: Vec<u32>,
    n_rows_of_topics: usize,
    /// First rows of each block among frequent words, and among the others.
    starts: [Vec<u32>; 2],
    n_rows: [usize; 2],
    /// The row of each word among frequent words, or after them all among the others.
    rows: Vec<u32>,
}

impl Layout {
    pub(super) fn new(grid: &Grid, n_topics: usize) -> Self {
        let starts = |sizes: &mut dyn Iterator<Item = usize>| {
            let mut end = 0;
            let mut starts = Vec::new();
            for size in sizes {
                starts.push(end as u32);
                end += size;
            }
            (starts, end)
        };
        let blocks = || grid.words.members.iter().zip(&grid.n_dense);
        let (parts, n_rows_of_topics) =
            starts(&mut grid.parts.iter().map(|part| Assignment::n_rows(part.n_tokens(), n_topics) + STAMP));
        let (frequent, n_frequent) = starts(&mut blocks().map(|(_, n_dense)| *n_dense));
        let (rare, n_rare) = starts(&mut blocks().map(|(words, n_dense)| words.len() - n_dense));
        let row = |(block, row): (&u32, &u32)| {
            let (block, n_dense) = (*block as usize, grid.n_dense[*block as usize] as u32);
            match row.checked_sub(n_dense) {
                None => frequent[block] + row,
                Some(row) => n_frequent as u32 + rare[block] + row,
            }
        };
        let rows = grid.words.group.iter().zip(&grid.words.row).map(row).collect();
        let (starts, n_rows) = ([frequent, rare], [n_frequent, n_rare]);
        Self { n_topics, parts, n_rows_of_topics, starts, n_rows, rows }
    }

    /// The tables of a run; `sums` where samples are kept.
    pub(super) fn tables(&self, in_rounds: bool, sums: bool) -> Vec<Table> {
        let k = self.n_topics;
        let [frequent, rare] = &self.starts;
        let of_frequent = |name| Table::dense(name, self.n_rows[0], k).of::<i32>().leased_by_block(frequent);
        let of_rare = |name| Table::sparse(name, self.n_rows[1], k).of::<i32>().leased_by_block(rare);
        let topics = Table::dense(TOPICS, self.n_rows_of_topics, 1)
            .of::<i32>()
            .leased_by_part(&self.parts)
            .starting(|_, topic: &mut [i32]| topic.fill(UNASSIGNED));
        let totals = Table::dense(TOTALS, if in_rounds { ROUNDS_ROWS } else { 1 }, k).of::<i32>();
        let mut tables = vec![topics, of_frequent(FREQUENT), of_rare(RARE), totals];
        if sums {
            tables.extend([of_frequent(FREQUENT_SUMS), of_rare(RARE_SUMS)]);
        }
        tables
    }

    /// Whether a word is frequent, and its row among the frequent or the others.
    fn row(&self, word: u32) -> (bool, usize) {
        let row = self.rows[word as usize] as usize;
        match row.checked_sub(self.n_rows[0]) {
            None => (true, row),
            Some(row) => (false, row),
        }
    }
}

/// The leased rows of a block, of one kind each.
pub(super) struct Counts<'a> {
    pub(super) frequent: Leased<'a, i32>,
    pub(super) rare: Leased<'a, i32>,
}

impl Rows for Counts<'_> {
    fn dense(&mut self, row: usize) -> &mut [i32] {
        self.frequent.row(row)
    }

    fn sparse(&mut self, row: usize) -> &mut Vec<(u32, i32)> {
        self.rare.sparse_row(row)
    }
}

/// The counts of all words.
pub(super) enum All {
    /// As an evaluation sees them: blocks that are not empty, first rows first.
    Blocks { frequent: Vec<Block<i32>>, rare: Vec<Block<i32>> },
    /// As the end of a run has them.
    Model { frequent: ndarray::Array2<i32>, rare: Vec<Vec<(u32, i32)>> },
}

impl All {
    /// What an evaluation sees.
    pub(super) fn seen(step: &mut Step) -> Self {
        let some = |mut blocks: Vec<Block<i32>>| {
            blocks.retain(|block| !block.rows().is_empty());
            blocks
        };
        Self::Blocks { frequent: some(step.blocks(FREQUENT)), rare: some(step.blocks(RARE)) }
    }

    /// What a finished run has in these two tables.
    pub(super) fn of(model: &Model, frequent: &str, rare: &str) -> Self {
        Self::Model { frequent: model.dense(frequent), rare: model.sparse(rare) }
    }

    /// The sum of the counts of each topic, at the end of a run.
    pub(super) fn totals(&self, n_topics: usize) -> Vec<i64> {
        let mut totals = vec![0; n_topics];
        if let Self::Model { frequent, rare } = self {
            for row in frequent.rows() {
                totals.iter_mut().zip(row).for_each(|(total, count)| *total += i64::from(*count));
            }
            rare.iter().flatten().for_each(|(topic, count)| totals[*topic as usize] += i64::from(*count));
        }
        totals
    }

    fn frequent(&self, row: usize) -> &[i32] {
        match self {
            Self::Blocks { frequent, .. } => {
                let block = block_of(frequent, row);
                block.row(row - block.rows().start)
            }
            Self::Model { frequent, .. } => {
                frequent.row(row).to_slice().expect("rows of a new array lie one after the other")
            }
        }
    }

    fn rare(&self, row: usize) -> &[(u32, i32)] {
        match self {
            Self::Blocks { rare, .. } => {
                let block = block_of(rare, row);
                block.sparse_row(row - block.rows().start)
            }
            Self::Model { rare, .. } => &rare[row],
        }
    }
}

fn block_of(blocks: &[Block<i32>], row: usize) -> &Block<i32> {
    &blocks[blocks.partition_point(|block| block.rows().end <= row)]
}

/// Topics as the counts have them: `p(w | k) = (n_wk + β) / (n_k + Vβ)`.
pub(super) struct Counted {
    layout: Arc<Layout>,
    counts: All,
    /// `β`.
    beta: f64,
    /// `1 / (n_k + Vβ)`.
    base: Vec<f64>,
}

impl Counted {
    /// `beta` is for one count of each token: for sums of several samples it is as many times larger.
    pub(super) fn new(layout: &Arc<Layout>, counts: All, totals: &[i64], beta: f64) -> Self {
        let prior = layout.rows.len() as f64 * beta;
        let base = totals.iter().map(|total| 1.0 / ((*total).max(0) as f64 + prior)).collect();
        Self { layout: Arc::clone(layout), counts, beta, base }
    }

    /// The counts of a word that are not 0.
    pub(super) fn of_word(&self, word: u32, mut count: impl FnMut(u32, i32)) {
        let (is_frequent, row) = self.layout.row(word);
        if is_frequent {
            let counts = self.counts.frequent(row).iter().enumerate();
            counts.filter(|(_, n)| **n != 0).for_each(|(topic, n)| count(topic as u32, *n));
        } else {
            self.counts.rare(row).iter().for_each(|(topic, n)| count(*topic, *n));
        }
    }
}

impl Topics for Counted {
    fn n_topics(&self) -> usize {
        self.base.len()
    }

    fn n_words(&self) -> usize {
        self.layout.rows.len()
    }

    fn base(&self) -> &[f64] {
        &self.base
    }

    fn word(&self, word: u32, row: &mut WordRow) {
        row.smoothing(self.beta);
        self.of_word(word, |topic, n| row.add(topic, f64::from(n) * self.base[topic as usize]));
    }
}
