//! The same steps one after the other, in a plain loop: the oracle of tests and the baseline of benches.

use ndarray::{Array2, ArrayView2};
use slackline::prelude::*;

use super::actor::Setup;
use super::schedule::Steps;
use super::solver::{Change, Read, Room};
use crate::Error;

/// A run in one place.
pub struct Serial<'a> {
    setup: &'a Setup,
    order: Steps,
    room: Room,
    /// The rows of all words, one after the other.
    words: Vec<f32>,
    totals: Vec<f64>,
    /// In batch inference: γ of the documents of each batch.
    gammas: Vec<Vec<f32>>,
}

impl<'a> Serial<'a> {
    /// Topics at their start.
    pub fn new(setup: &'a Setup, seed: u64) -> Self {
        let (solver, params) = (setup.solver(), setup.solver().params());
        let (width, n_topics) = (solver.rows().width(), params.prior.n_topics());
        let mut words = vec![0.0; setup.n_words() * width];
        words.chunks_exact_mut(width).enumerate().for_each(|(word, row)| solver.first_row(word, row));
        let mut totals = vec![0.0; width];
        solver.first_totals(&mut totals);
        let n_batches = setup.batches().len();
        let order = Steps::new(n_batches, params.epochs as u64, 0, params.is_batch(), seed);
        let gammas = setup.batches().iter().map(|batch| vec![0.0; batch.n_docs() * n_topics]).collect();
        Self { setup, order, room: solver.room(), words, totals, gammas }
    }

    /// Visits every batch once; returns whether there was a pass left.
    ///
    /// # Errors
    /// The topics ran out of range.
    pub fn pass(&mut self) -> Result<bool, Error> {
        while let Next::Task(task) = self.order.next(WorkerId(0)) {
            self.step(task.part.index(), task.orders[1] as usize)?;
            if self.order.finished(&task, &Findings::default()).is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn step(&mut self, part: usize, number: usize) -> Result<(), Error> {
        let (solver, batch) = (self.setup.solver(), &self.setup.batches()[part]);
        let width = solver.rows().width();
        let row = |word: u32| word as usize * width..(word as usize + 1) * width;
        let read: Vec<f32> = batch.words.iter().flat_map(|&word| &self.words[row(word)]).copied().collect();
        let (mut of_words, mut of_totals) = (vec![0.0; read.len()], vec![0.0; width]);
        let gammas = solver.params().is_batch().then_some(&mut self.gammas[part][..]);
        solver.step(
            (batch, number),
            Read { words: &read, totals: &self.totals },
            &mut self.room,
            (&mut Change { words: &mut of_words, totals: &mut of_totals }, gammas),
        )?;
        for (&word, update) in batch.words.iter().zip(of_words.chunks_exact(width)) {
            solver.rows().fold(&mut self.words[row(word)], update);
        }
        solver.rows().fold(&mut self.totals, &of_totals);
        Ok(())
    }

    /// λ of all words, topics × words.
    pub fn model(&self) -> Array2<f32> {
        let shape = (self.setup.n_words(), self.setup.solver().rows().width());
        let words = ArrayView2::from_shape(shape, &self.words).expect("rows of all words");
        self.setup.solver().model(&words, &self.totals)
    }

    /// In batch inference: γ of each document of the batches, in their order.
    pub fn gammas(&self) -> &[Vec<f32>] {
        &self.gammas
    }
}
