//! The same, one cell after the other in one thread: oracle and baseline.

use super::grid::Grid;
use super::likelihood::log_of_documents;
use super::solver::{Assignment, Cell, Documents, Rows, UNASSIGNED, random};
use crate::kernel::gibbs::{Priors, Sampler};
use crate::lda::evaluation::joint;

/// Collapsed Gibbs sampling of a whole corpus.
#[derive(Debug)]
pub struct Serial<'a> {
    grid: &'a Grid,
    priors: Priors,
    sampler: Sampler,
    seed: u64,
    pass: u64,
    blocks: Vec<Owned>,
    topics: Vec<Vec<i32>>,
    documents: Vec<Documents>,
    totals: Vec<i32>,
}

/// The rows of a block.
#[derive(Debug, Clone, Default)]
struct Owned {
    n_topics: usize,
    dense: Vec<i32>,
    sparse: Vec<Vec<(u32, i32)>>,
}

impl Rows for Owned {
    fn dense(&mut self, row: usize) -> &mut [i32] {
        &mut self.dense[row * self.n_topics..(row + 1) * self.n_topics]
    }

    fn sparse(&mut self, row: usize) -> &mut Vec<(u32, i32)> {
        &mut self.sparse[row]
    }
}

impl<'a> Serial<'a> {
    /// Nothing sampled yet.
    pub fn new(grid: &'a Grid, priors: &Priors, seed: u64) -> Self {
        let n_topics = priors.alpha.len();
        let blocks = grid.words.members.iter().zip(&grid.n_dense).map(|(words, n_dense)| Owned {
            n_topics,
            dense: vec![0; n_dense * n_topics],
            sparse: vec![Vec::new(); words.len() - n_dense],
        });
        Self {
            grid,
            priors: priors.clone(),
            sampler: Sampler::new(priors),
            seed,
            pass: 0,
            blocks: blocks.collect(),
            topics: grid
                .parts
                .iter()
                .map(|part| vec![UNASSIGNED; Assignment::n_rows(part.n_tokens(), n_topics)])
                .collect(),
            documents: grid.parts.iter().map(|part| Documents::new(part, n_topics)).collect(),
            totals: vec![0; n_topics],
        }
    }

    /// Visits every cell once. The first pass gives tokens their first topics.
    pub fn pass(&mut self) {
        for (p, part) in self.grid.parts.iter().enumerate() {
            for block in 0..self.blocks.len() {
                let mut random = random(self.seed, p, block, self.pass);
                let mut cell = Cell {
                    part,
                    block,
                    n_dense: self.grid.n_dense[block],
                    rows: &mut self.blocks[block],
                    topics: Assignment::of(&mut self.topics[p], self.totals.len()),
                    documents: &mut self.documents[p],
                };
                if self.pass == 0 {
                    cell.start(&mut self.totals, &mut random);
                } else {
                    self.sampler.begin(&self.totals);
                    cell.visit(&mut self.sampler, &mut random);
                    self.totals.copy_from_slice(self.sampler.totals());
                }
            }
        }
        self.pass += 1;
    }

    /// The joint log-likelihood of the words and their topics, priors integrated out, per token.
    pub fn log_likelihood(&mut self) -> f64 {
        let (alpha, beta) = (self.priors.alpha.clone(), self.priors.beta);
        let parts = self.grid.parts.iter().zip(&self.documents);
        let of_documents: f64 =
            parts.map(|(part, documents)| log_of_documents(&alpha, &part.lengths, documents)).sum();
        let counts = self.counts().into_iter().filter(|count| *count > 0).map(i32::cast_unsigned);
        let of_counts = joint::of_counts(counts, beta);
        let totals = self.totals.iter().map(|total| u64::from(total.cast_unsigned()));
        let of_totals = joint::of_totals(totals, self.priors.n_words, beta);
        (of_documents + of_counts + of_totals) / self.grid.n_tokens as f64
    }

    /// How often each topic has each word, topic by topic: `n_topics x n_words` numbers.
    pub fn counts(&mut self) -> Vec<i32> {
        let n_words = self.grid.words.group.len();
        let mut counts = vec![0; self.totals.len() * n_words];
        for (word, (&block, &row)) in self.grid.words.group.iter().zip(&self.grid.words.row).enumerate() {
            let (rows, row) = (&mut self.blocks[block as usize], row as usize);
            let n_dense = self.grid.n_dense[block as usize];
            if row < n_dense {
                let row = rows.dense(row).iter().enumerate();
                row.for_each(|(topic, count)| counts[topic * n_words + word] = *count);
            } else {
                let row = rows.sparse(row - n_dense).iter();
                row.for_each(|(topic, count)| counts[*topic as usize * n_words + word] = *count);
            }
        }
        counts
    }
}
