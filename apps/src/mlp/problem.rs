//! The rows of a run: those trained on and their batches, those held out, those of the test.

use std::ops::Range;

use ndarray::{ArrayViewMut2, s};
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::loss::{Score, Targets};
use super::model::known;
use super::net::{Layer, Net, Room};
use super::optimizer::{Fold, Rates};
use super::params::Params;
use crate::data::points::{Features, Labels};

/// Rows trained on that an evaluation scores at most: the same ones in every evaluation.
pub const MOST_SCORED: usize = 10_000;

/// Rows with what a net should make of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    /// The inputs.
    pub features: Features,
    /// One a row.
    pub labels: Labels,
}

impl Rows {
    /// Copies inputs of some rows to the first of `to`.
    fn inputs(&self, rows: &[u32], to: ArrayViewMut2<'_, f32>) {
        self.features.gather(rows, to.into_slice().expect("rows of a whole array lie one after the other"));
    }
}

/// Room for the targets of a batch.
#[derive(Debug, Default)]
pub struct Wanted {
    classes: Vec<u32>,
    numbers: Vec<f32>,
}

impl Wanted {
    /// The targets of some rows.
    fn of(&mut self, labels: &Labels, rows: &[u32]) -> Targets<'_> {
        match labels {
            Labels::Classes { of, .. } => {
                self.classes.clear();
                self.classes.extend(rows.iter().map(|row| of[*row as usize]));
                Targets::Classes(&self.classes)
            }
            Labels::Numbers(numbers) => {
                self.numbers.clear();
                self.numbers.extend(rows.iter().map(|row| numbers[*row as usize]));
                Targets::Numbers(&self.numbers)
            }
        }
    }
}

/// Everything that workers share and nobody changes.
#[derive(Debug)]
pub struct Problem {
    /// The form of the net.
    pub net: Net,
    /// The options.
    pub params: Params,
    /// All rows of the training file.
    rows: Rows,
    /// Those trained on, and those held out.
    train: Vec<u32>,
    held_out: Vec<u32>,
    test: Option<Rows>,
    /// Those of the test whose class is known.
    known: Vec<u32>,
    n_batches: usize,
    seed: u64,
}

/// Sums over the rows that an evaluation scores: trained on, held out, of the test.
pub type Scores = [Score; 3];

impl Problem {
    /// Deals the rows; there is at least one.
    pub fn new(rows: Rows, test: Option<Rows>, params: Params, seed: u64) -> Self {
        let n_outputs = match &rows.labels {
            Labels::Classes { names, .. } => names.len(),
            Labels::Numbers(_) => 1,
        };
        let inputs = std::iter::once(rows.features.n_columns());
        let sizes = inputs.chain(params.layers.iter().copied()).chain([n_outputs]).collect();
        let net = Net { sizes, activation: params.activation, loss: params.loss, dropout: params.dropout };
        let mut all = shuffled(rows.features.n_rows(), Xoshiro256PlusPlus::seed_from_u64(seed));
        let n_held_out = (all.len() as f64 * params.hold_out) as usize;
        let train = all.split_off(n_held_out.min(all.len() - 1));
        let known = test.as_ref().map_or_else(Vec::new, |test| known(&test.labels, n_outputs));
        let n_batches = params.parts.unwrap_or(train.len().div_ceil(params.batch));
        Self { net, params, rows, train, held_out: all, test, known, n_batches, seed }
    }

    /// Steps of a pass.
    pub fn n_batches(&self) -> usize {
        self.n_batches
    }

    /// Rows trained on.
    pub fn n_rows(&self) -> usize {
        self.train.len()
    }

    /// Rows of each kind that an evaluation scores: trained on, held out, of the test.
    pub fn n_scored(&self) -> [usize; 3] {
        [self.train.len().min(MOST_SCORED), self.held_out.len(), self.known.len()]
    }

    /// Rows of the test whose class is not among those trained on.
    pub fn n_unknown(&self) -> f64 {
        let n_test = self.test.as_ref().map_or(0, |test| test.features.n_rows());
        (n_test - self.known.len()) as f64
    }

    /// The seed of the run.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The update rule of weights, or of biases, which do not decay.
    pub fn fold(&self, decays: bool) -> Fold {
        let Params { rate, course, epochs, optimizer, decay, .. } = self.params;
        let rates = Rates { first: rate, course, pass: self.n_batches as u64, passes: epochs as u64 };
        Fold { optimizer, rates, decay: if decays { decay } else { 0.0 } }
    }

    /// Room for a batch, and for as many rows as are scored at once.
    pub fn room(&self) -> Room {
        Room::new(&self.net, self.train.len().div_ceil(self.n_batches).max(1))
    }

    /// The rows of all batches of a pass, one after the other.
    pub fn order(&self, pass: u64) -> Vec<u32> {
        let mut order = self.train.clone();
        order.shuffle(&mut self.rng(pass, u64::MAX));
        order
    }

    /// Which of a pass's rows are those of a batch.
    pub fn batch(&self, number: usize) -> Range<usize> {
        let n = self.train.len();
        n * number / self.n_batches..n * (number + 1) / self.n_batches
    }

    /// One step of the net on a batch, given the rows of its pass.
    pub fn step(
        &self,
        layers: &[Layer<'_>],
        (pass, number, order): (u64, usize, &[u32]),
        (room, wanted): (&mut Room, &mut Wanted),
        each: impl FnMut(usize, &super::net::Gradient<'_>),
    ) -> Score {
        let rows = &order[self.batch(number)];
        self.rows.inputs(rows, room.inputs.slice_mut(s![..rows.len(), ..]));
        let targets = wanted.of(&self.rows.labels, rows);
        self.net.step(layers, (room, targets), &mut self.rng(pass, number as u64), each)
    }

    /// Scores share `part` of `of` equal ones of what an evaluation scores.
    pub fn score(
        &self,
        layers: &[Layer<'_>],
        (part, of): (usize, usize),
        (room, wanted): (&mut Room, &mut Wanted),
    ) -> Scores {
        let share = |n: usize| n * part / of..n * (part + 1) / of;
        let [train, held_out, test] = self.n_scored().map(share);
        let mut score = |rows: &Rows, numbers: &[u32]| {
            let mut sum = Score::default();
            for numbers in numbers.chunks(room.n_rows()) {
                rows.inputs(numbers, room.inputs.slice_mut(s![..numbers.len(), ..]));
                let outputs = self.net.forward(layers, room, numbers.len());
                sum += self.net.loss.score(&outputs, wanted.of(&rows.labels, numbers));
            }
            sum
        };
        let test = self.test.as_ref().map_or_else(Score::default, |rows| score(rows, &self.known[test]));
        [score(&self.rows, &self.train[train]), score(&self.rows, &self.held_out[held_out]), test]
    }

    /// A generator of this (seed, pass, number) and no other.
    fn rng(&self, pass: u64, number: u64) -> Xoshiro256PlusPlus {
        let place = (pass << 32) ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        Xoshiro256PlusPlus::seed_from_u64(self.seed ^ place.rotate_left(17))
    }
}

fn shuffled(n: usize, mut rng: impl Rng) -> Vec<u32> {
    let mut all: Vec<u32> = (0..n as u32).collect();
    all.shuffle(&mut rng);
    all
}
