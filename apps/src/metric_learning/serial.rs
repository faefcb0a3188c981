//! The same steps one after the other, in plain loops of double precision: the oracle of tests.

use ndarray::{Array1, Array2};
use slackline::prelude::*;

use super::actor::Setup;
use super::gradient::Metric;
use super::pairs::Pair;

/// A run in one place.
pub struct Serial<'a> {
    setup: &'a Setup,
    rows: Array2<f64>,
    map: Array2<f64>,
    squares: Array2<f64>,
    steps: f64,
}

/// The objective of pairs and its gradient: similar pairs, dissimilar pairs, rows, map.
pub fn objective(
    metric: Metric,
    (similar, dissimilar): (&[Pair], &[Pair]),
    rows: &Array2<f64>,
    map: &Array2<f64>,
) -> (f64, Array2<f64>) {
    let (mut cost, mut gradient) = (0.0, Array2::zeros(map.dim()));
    let difference =
        |pair: &Pair| -> Array1<f64> { &rows.row(pair[0] as usize) - &rows.row(pair[1] as usize) };
    let mut add = |weight: f64, product: &Array1<f64>, delta: &Array1<f64>| {
        for (mut row, p) in gradient.outer_iter_mut().zip(product) {
            row.scaled_add(weight * p, delta);
        }
    };
    for pair in similar {
        let delta = difference(pair);
        let product = map.dot(&delta);
        cost += product.dot(&product) / similar.len() as f64;
        add(2.0 / similar.len() as f64, &product, &delta);
    }
    for pair in dissimilar {
        let delta = difference(pair);
        let product = map.dot(&delta);
        let missing = metric.margin - product.dot(&product);
        if missing > 0.0 {
            let weight = metric.lambda / dissimilar.len() as f64;
            cost += weight * missing;
            add(-2.0 * weight, &product, &delta);
        }
    }
    (cost, gradient)
}

impl<'a> Serial<'a> {
    /// The map at its start.
    pub fn new(setup: &'a Setup) -> Self {
        let map = setup.start().mapv(f64::from);
        let rows = setup.features().to_dense().mapv(f64::from);
        Self { setup, rows, squares: Array2::zeros(map.dim()), map, steps: 0.0 }
    }

    /// All passes, in the order of a run from `seed`.
    pub fn run(&mut self, seed: u64) {
        let (n_parts, epochs) = self.setup.shape();
        let mut order = Shuffled::new(n_parts, epochs, seed);
        while let Next::Task(task) = order.next(WorkerId(0)) {
            self.step(task.part.index());
            order.finished(&task, &Findings::default());
        }
    }

    fn step(&mut self, part: usize) {
        let (batch, rule) = (self.setup.batch(part), self.setup.rule());
        let pairs = (batch.similar, batch.dissimilar);
        let (_, gradient) = objective(self.setup.metric(), pairs, &self.rows, &self.map);
        let rate = f64::from(rule.rate) * (1.0 - self.steps / f64::from(rule.steps));
        for ((weight, square), g) in self.map.iter_mut().zip(&mut self.squares).zip(&gradient) {
            *square += g * g;
            *weight -= rate * g / (*square + 1e-20).sqrt();
        }
        self.steps += 1.0;
    }

    /// The objective over all pairs.
    pub fn objective(&self) -> f64 {
        let batches: Vec<_> = (0..self.setup.shape().0).map(|part| self.setup.batch(part)).collect();
        let similar: Vec<Pair> = batches.iter().flat_map(|batch| batch.similar).copied().collect();
        let dissimilar: Vec<Pair> = batches.iter().flat_map(|batch| batch.dissimilar).copied().collect();
        objective(self.setup.metric(), (&similar, &dissimilar), &self.rows, &self.map).0
    }

    /// The map.
    pub fn map(&self) -> &Array2<f64> {
        &self.map
    }
}
