//! One step on the documents of a batch: what the actor and the serial reference both call.

use ndarray::{Array2, ArrayView2};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::batches::Batch;
use super::local::Local;
use super::params::Params;
use super::rates::Rates;
use super::rows::Rows;
use crate::Error;
use crate::kernel::special::digamma;
use crate::kernel::topics::{FAR_BELOW, Layout, exp_digamma, padded};

/// The constants of a run.
#[derive(Debug, Clone)]
pub struct Solver {
    params: Params,
    rows: Rows,
    n_words: usize,
    /// Documents that have words.
    n_docs: usize,
    seed: u64,
}

/// Rows as they were read: of the batch's words, and of the totals.
#[derive(Debug, Clone, Copy)]
pub struct Read<'a> {
    /// One row a word.
    pub words: &'a [f32],
    /// The row of `Σ_w λ_w`.
    pub totals: &'a [f64],
}

/// Updates of the same rows, zero when a step begins.
#[derive(Debug)]
pub struct Change<'a> {
    /// One row a word.
    pub words: &'a mut [f32],
    /// The row of the totals.
    pub totals: &'a mut [f64],
}

/// Memory that serves step after step.
#[derive(Debug, Clone)]
pub struct Room {
    local: Local,
    /// Padded rows of `exp(E[log β])`, one a word of the batch.
    topics: Vec<f32>,
    /// A padded row of λ, and of `ψ(Σ_w λ_w)`.
    lambda: Vec<f32>,
    shift: Vec<f32>,
}

impl Solver {
    /// Inference on `n_docs` documents that have words out of `n_words`, in `n_batches` batches.
    pub fn new(params: Params, (n_words, n_docs): (usize, usize), n_batches: usize, seed: u64) -> Self {
        let n_topics = params.prior.n_topics();
        let rows = if params.is_batch() {
            Rows::in_turn(n_topics, params.epochs)
        } else {
            Rows::blended(n_topics, Rates::new(params.tau0, params.kappa, params.epochs * n_batches))
        };
        Self { params, rows, n_words, n_docs, seed }
    }

    /// The options.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// How rows are laid out and folded.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Fills a word's row at the start: λ is β and a number around 1, with the mean and the variance of the
    /// `Gamma(100, 1/100)` of Hoffman, Blei and Bach (2010).
    pub fn first_row(&self, word: usize, row: &mut [f32]) {
        let place = (word as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.seed ^ place);
        let spread = 0.1 * 3f32.sqrt();
        row[..self.params.prior.n_topics()].fill_with(|| 1.0 + random.random_range(-spread..spread));
    }

    /// Fills the row of the totals at the start.
    pub fn first_totals(&self, totals: &mut [f64]) {
        let mut row = vec![0.0; self.rows.width()];
        for word in 0..self.n_words {
            self.first_row(word, &mut row);
            totals.iter_mut().zip(&row).for_each(|(total, excess)| *total += f64::from(*excess));
        }
    }

    /// Room for steps.
    pub fn room(&self) -> Room {
        let width = padded(self.params.prior.n_topics());
        let (lambda, shift) = (vec![1.0; width], vec![FAR_BELOW; width]);
        Room { local: Local::new(&self.params), topics: Vec::new(), lambda, shift }
    }

    /// The step whose topics a training step reads, or with `None` an evaluation.
    fn now(&self, step: Option<usize>, totals: &[f64]) -> usize {
        let last = self.rows.step_of(totals);
        step.filter(|_| self.rows.is_in_turn()).map_or(last, |step| step - 1)
    }

    /// `Σ_w λ_w` of each topic after step `now`.
    fn totals(&self, totals: &[f64], now: usize) -> Vec<f64> {
        let (excess, factor) = self.rows.excess(totals, now);
        let prior = self.n_words as f64 * self.params.prior.beta;
        excess.iter().map(|excess| prior + factor * excess).collect()
    }

    /// Writes λ of a row after step `now`.
    fn lambda(&self, row: &[f32], now: usize, to: &mut [f32]) {
        let (beta, (excess, factor)) = (self.params.prior.beta as f32, self.rows.excess(row, now));
        let factor = factor as f32;
        to.iter_mut().zip(excess).for_each(|(to, excess)| *to = beta + factor * excess);
    }

    /// Puts `exp(E[log β])` of the rows into the room.
    fn expect(&self, read: Read<'_>, now: usize, room: &mut Room) {
        let n_topics = self.params.prior.n_topics();
        let totals: Vec<f64> = self.totals(read.totals, now).into_iter().map(digamma).collect();
        let least = totals.iter().copied().fold(f64::INFINITY, f64::min);
        room.shift.iter_mut().zip(&totals).for_each(|(shift, total)| *shift = (total - least) as f32);
        let (width, stride) = (room.lambda.len(), self.rows.width());
        room.topics.resize(read.words.len() / stride * width, 0.0);
        for (row, topics) in read.words.chunks_exact(stride).zip(room.topics.chunks_exact_mut(width)) {
            self.lambda(row, now, &mut room.lambda);
            exp_digamma(&room.lambda, &room.shift, topics);
            topics[n_topics..].fill(0.0);
        }
    }

    /// Fits the documents of a batch and writes the update of step `step`; with `gammas` (one row of topics a document) each
    /// begins where it was and is left there. Returns the rounds that all documents took.
    ///
    /// # Errors
    /// The topics ran out of range.
    pub fn step(
        &self,
        (batch, step): (&Batch, usize),
        read: Read<'_>,
        room: &mut Room,
        (change, mut gammas): (&mut Change<'_>, Option<&mut [f32]>),
    ) -> Result<u64, Error> {
        let n_topics = self.params.prior.n_topics();
        self.expect(read, self.now(Some(step), read.totals), room);
        let layout = Layout { stride: self.rows.width(), place: self.rows.place(step).start };
        let mut rounds = 0;
        for doc in 0..batch.n_docs() {
            let (entries, counts) = batch.doc(doc);
            let gamma = gammas.as_deref_mut().map(|gammas| &mut gammas[doc * n_topics..][..n_topics]);
            let start = gamma.as_deref().filter(|gamma| gamma[0] > 0.0);
            rounds += u64::from(room.local.fit(&room.topics, (entries, counts), start));
            room.local.collect(entries, change.words, layout);
            if let Some(gamma) = gamma {
                gamma.copy_from_slice(room.local.gamma());
            }
        }
        self.weigh((batch, step), room, change)?;
        Ok(rounds)
    }

    /// Makes updates of the sums over documents: `ρ_t D/|B| n_w φ_wk`, and their totals.
    fn weigh(
        &self,
        (batch, step): (&Batch, usize),
        room: &Room,
        change: &mut Change<'_>,
    ) -> Result<(), Error> {
        let share = match self.rows.is_in_turn() {
            true => 1.0,
            false => self.n_docs as f64 / batch.n_docs().max(1) as f64,
        };
        let weight = (self.rows.rates().rate(step) * share) as f32;
        let totals = self.rows.update(change.totals, step);
        let rows = change.words.chunks_exact_mut(self.rows.width());
        for (row, topics) in rows.zip(room.topics.chunks_exact(room.lambda.len())) {
            let update = self.rows.update(row, step);
            for ((value, topic), total) in update.iter_mut().zip(topics).zip(&mut *totals) {
                *value *= weight * topic;
                *total += f64::from(*value);
            }
        }
        if totals.iter().all(|total| total.is_finite()) {
            return Ok(());
        }
        Err(Error::Run(format!(
            "the topics ran out of range in step {step}: check the counts of the documents"
        )))
    }

    /// The topics in expectation, `λ_wk / Σ_w λ_wk`, of the words read: words × topics.
    pub fn expected(&self, read: Read<'_>) -> Vec<f32> {
        let now = self.now(None, read.totals);
        let totals = self.totals(read.totals, now);
        let mut expected = vec![0.0; read.words.len() / self.rows.width() * totals.len()];
        let rows = read.words.chunks_exact(self.rows.width());
        for (row, to) in rows.zip(expected.chunks_exact_mut(totals.len())) {
            self.lambda(row, now, to);
            to.iter_mut().zip(&totals).for_each(|(to, total)| *to /= *total as f32);
        }
        expected
    }

    /// λ of all words, topics × words, from all rows and the row of the totals.
    pub fn model(&self, words: &ArrayView2<'_, f32>, totals: &[f64]) -> Array2<f32> {
        let now = self.now(None, totals);
        let mut lambda = Array2::zeros((self.params.prior.n_topics(), self.n_words));
        let mut topics = vec![0.0; self.params.prior.n_topics()];
        for (row, mut column) in words.outer_iter().zip(lambda.columns_mut()) {
            self.lambda(row.as_slice().expect("rows of a table lie one after the other"), now, &mut topics);
            column.iter_mut().zip(&topics).for_each(|(to, lambda)| *to = *lambda);
        }
        lambda
    }
}
