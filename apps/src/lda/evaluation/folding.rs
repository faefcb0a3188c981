//! The mixture of a document, topics held fixed, and how likely words are under it.

use super::LogLikelihood;
use super::topics::{Topics, WordRow};
use crate::kernel::{Indices, axpy, dot, gather_dot, scatter_axpy};

/// Added to every `p(w | k)`, so that no word is impossible.
const FLOOR: f64 = 1e-12;
/// The prior of a document's mixture.
pub const ALPHA: f64 = 0.1;
/// Rounds of the fixed point.
pub const ROUNDS: usize = 50;
/// Numbers of a document's dense rows that are kept between rounds; rows beyond are read anew in each.
const KEPT: usize = 1 << 23;

/// Folds documents into topics: from `θ_k = 1 / K`, for a fixed number of rounds,
///
/// `θ_k ← α_k + Σ_w n_w θ_k p(w | k) / Σ_j θ_j p(w | j)`, scaled to add up to 1,
///
/// which climbs to a mixture of high posterior (the map estimate of `Dirichlet(1 + α)`, see Asuncion et al. 2009).
/// Holds the memory to work in: some numbers a topic, and the rows of the words of a document.
pub struct FoldIn<'a, T> {
    topics: &'a T,
    alpha: Vec<f64>,
    rounds: usize,
    row: WordRow,
    words: Rows,
    theta: Vec<f64>,
    next: Vec<f64>,
}

/// The rows of the words of one document.
#[derive(Debug, Default)]
struct Rows {
    /// For each word its number, how often it occurs, its smoothing, and where its row is.
    words: Vec<(u32, f64, f64, Place)>,
    indices: Indices,
    excesses: Vec<f64>,
    dense: Vec<f64>,
}

#[derive(Debug, Clone, Copy)]
enum Place {
    Sparse {
        start: usize,
        end: usize,
    },
    Dense {
        start: usize,
    },
    /// Read again in every round.
    Away,
}

impl<'a, T: Topics> FoldIn<'a, T> {
    /// Documents are folded as the measure of held-out perplexity does it: [`ALPHA`], [`ROUNDS`].
    pub fn new(topics: &'a T) -> Self {
        Self::with(topics, vec![ALPHA; topics.n_topics()], ROUNDS)
    }

    /// The same with a prior, a weight more than 0 for each topic, and a number of rounds.
    ///
    /// # Panics
    /// If there are not as many weights as topics.
    pub fn with(topics: &'a T, alpha: Vec<f64>, rounds: usize) -> Self {
        let n = topics.n_topics();
        assert_eq!(alpha.len(), n, "a weight for each topic");
        let (row, words) = (WordRow::new(n), Rows::default());
        Self { topics, alpha, rounds, row, words, theta: vec![0.0; n], next: vec![0.0; n] }
    }

    /// The mixture of a document with these words, as often as `counts` says: a share of each topic, in sum 1. Without any
    /// word it is the mean of the prior.
    pub fn mixture(&mut self, words: &[u32], counts: &[u32]) -> &[f64] {
        self.read(words, counts);
        let n_topics = self.theta.len();
        self.theta.fill(1.0 / n_topics as f64);
        if words.is_empty() {
            let sum: f64 = self.alpha.iter().sum();
            self.theta.iter_mut().zip(&self.alpha).for_each(|(theta, alpha)| *theta = alpha / sum);
            return &self.theta;
        }
        for _ in 0..self.rounds {
            self.round();
        }
        &self.theta
    }

    /// How likely words are under the last mixture: `Σ_w n_w log Σ_k θ_k p(w | k)`.
    pub fn score(&mut self, words: &[u32], counts: &[u32]) -> LogLikelihood {
        let base = dot(self.topics.base(), &self.theta);
        let scale = (FLOOR * self.topics.n_words() as f64).ln_1p();
        let mut sum = LogLikelihood::default();
        for (&word, &count) in words.iter().zip(counts) {
            self.row.read(self.topics, word);
            let own = if self.row.all.is_empty() { self.few() } else { dot(&self.row.all, &self.theta) };
            let p = own + self.row.smoothing * base + FLOOR;
            sum.log += f64::from(count) * (p.ln() - scale);
            sum.tokens += u64::from(count);
        }
        sum
    }

    /// The product of the row at hand with the mixture, few topics named.
    fn few(&self) -> f64 {
        let pairs = self.row.topics.iter().zip(&self.row.excesses);
        pairs.map(|(&topic, excess)| self.theta[topic as usize] * excess).sum()
    }

    /// Reads the rows of a document.
    fn read(&mut self, words: &[u32], counts: &[u32]) {
        let (row, rows) = (&mut self.row, &mut self.words);
        rows.words.clear();
        rows.excesses.clear();
        rows.dense.clear();
        let mut topics = Vec::new();
        for (&word, &count) in words.iter().zip(counts) {
            row.read(self.topics, word);
            row.prefer_dense();
            let place = if row.all.is_empty() {
                let start = topics.len();
                topics.extend_from_slice(&row.topics);
                rows.excesses.extend_from_slice(&row.excesses);
                Place::Sparse { start, end: topics.len() }
            } else if rows.dense.len() + row.all.len() <= KEPT {
                let start = rows.dense.len();
                rows.dense.extend_from_slice(&row.all);
                Place::Dense { start }
            } else {
                Place::Away
            };
            rows.words.push((word, f64::from(count), row.smoothing, place));
        }
        rows.indices = Indices::new(topics, self.topics.n_topics()).expect("topics are below their number");
    }

    /// One step of the fixed point.
    fn round(&mut self) {
        let n_topics = self.theta.len();
        let base = dot(self.topics.base(), &self.theta);
        let (mut smoothed, mut all) = (0.0, 0.0);
        self.next.fill(0.0);
        for &(word, count, smoothing, place) in &self.words.words {
            let rest = smoothing * base + FLOOR;
            let ratio = match place {
                Place::Sparse { start, end } => {
                    let topics = self.words.indices.slice(start..end);
                    let excesses = &self.words.excesses[start..end];
                    let ratio = count / (gather_dot(topics, excesses, &self.theta) + rest);
                    scatter_axpy(ratio, topics, excesses, &mut self.next);
                    ratio
                }
                Place::Dense { start } => {
                    let row = &self.words.dense[start..start + n_topics];
                    let ratio = count / (dot(row, &self.theta) + rest);
                    axpy(ratio, row, &mut self.next);
                    ratio
                }
                Place::Away => {
                    self.row.read(self.topics, word);
                    self.row.prefer_dense();
                    let ratio = count / (dot(&self.row.all, &self.theta) + rest);
                    axpy(ratio, &self.row.all, &mut self.next);
                    ratio
                }
            };
            smoothed += ratio * smoothing;
            all += ratio;
        }
        axpy(smoothed, self.topics.base(), &mut self.next);
        let mut sum = 0.0;
        for ((theta, next), alpha) in self.theta.iter_mut().zip(&self.next).zip(&self.alpha) {
            *theta = alpha + *theta * (next + all * FLOOR);
            sum += *theta;
        }
        self.theta.iter_mut().for_each(|theta| *theta /= sum);
    }
}
