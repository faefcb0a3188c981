//! One batch after the other: the oracle of tests and the baseline of benches.

use ndarray::Array2;

use super::net::{Layer, Room};
use super::problem::{Problem, Scores, Wanted};
use super::tables::start;

/// One layer with what the optimiser keeps beside it.
struct Own {
    weights: Array2<f32>,
    bias: Vec<f32>,
    beside_weights: Vec<f32>,
    beside_bias: Vec<f32>,
}

/// A net in training.
pub struct Serial<'a> {
    problem: &'a Problem,
    layers: Vec<Own>,
    room: Room,
    wanted: Wanted,
    pass: u64,
}

impl<'a> Serial<'a> {
    /// A net at its start.
    pub fn new(problem: &'a Problem) -> Self {
        let layer = |(number, pair): (usize, &[usize])| {
            let (inputs, outputs) = (pair[0], pair[1]);
            let mut weights = Array2::zeros((outputs, inputs));
            for (row, mut values) in weights.outer_iter_mut().enumerate() {
                let values = values.as_slice_mut().expect("rows of a whole array lie one after the other");
                start(&problem.net, problem.seed(), number, row, values);
            }
            let kept = |n: usize| vec![0.0; problem.params.optimizer.n_kept(n) + 1];
            Own {
                weights,
                bias: vec![0.0; outputs],
                beside_weights: kept(inputs * outputs),
                beside_bias: kept(outputs),
            }
        };
        let layers = problem.net.sizes.windows(2).enumerate().map(layer).collect();
        Self { problem, layers, room: problem.room(), wanted: Wanted::default(), pass: 0 }
    }

    /// One pass over the rows. The gradients of `at_once` batches are computed at the same weights, then folded in one after
    /// the other: what as many workers do under `bsp`.
    pub fn pass(&mut self, at_once: usize) {
        let order = self.problem.order(self.pass);
        let numbers: Vec<usize> = (0..self.problem.n_batches()).collect();
        for numbers in numbers.chunks(at_once) {
            let gradients: Vec<_> = numbers.iter().map(|number| self.gradients(*number, &order)).collect();
            gradients.iter().for_each(|gradients| self.fold(gradients));
        }
        self.pass += 1;
    }

    /// The gradients of all weights and biases, layer by layer.
    fn gradients(&mut self, number: usize, order: &[u32]) -> Vec<(Vec<f32>, Vec<f32>)> {
        let net = &self.problem.net;
        let mut found: Vec<_> =
            self.layers.iter().map(|own| (vec![0.0; own.weights.len()], own.bias.clone())).collect();
        let layers = of(&self.layers);
        let room = (&mut self.room, &mut self.wanted);
        if self.problem.batch(number).is_empty() {
            return Vec::new();
        }
        self.problem.step(&layers, (self.pass, number, order), room, |layer, gradient| {
            let (inputs, outputs) = (net.sizes[layer], net.sizes[layer + 1]);
            gradient.weights(0..outputs, 0..inputs, &mut found[layer].0);
            gradient.bias(&mut found[layer].1);
        });
        found
    }

    fn fold(&mut self, gradients: &[(Vec<f32>, Vec<f32>)]) {
        let (of_weights, of_bias) = (self.problem.fold(true), self.problem.fold(false));
        for (own, (weights, bias)) in self.layers.iter_mut().zip(gradients) {
            let values = own.weights.as_slice_mut().expect("a whole array");
            of_weights.step(values, weights, &mut own.beside_weights, &[]);
            of_bias.step(&mut own.bias, bias, &mut own.beside_bias, &[]);
        }
    }

    /// Scores the net as an evaluation does.
    pub fn scores(&mut self) -> Scores {
        self.problem.score(&of(&self.layers), (0, 1), (&mut self.room, &mut self.wanted))
    }

    /// The mean loss of the rows trained on, and the penalty.
    pub fn objective(&mut self) -> f64 {
        let [train, ..] = self.scores();
        train.loss / train.rows.max(1.0) + penalty(self.problem, &of(&self.layers))
    }

    /// The weights and the bias of every layer.
    pub fn weights(&self) -> impl Iterator<Item = (&Array2<f32>, &[f32])> {
        self.layers.iter().map(|own| (&own.weights, &own.bias[..]))
    }
}

/// Layers as a step reads them.
fn of(layers: &[Own]) -> Vec<Layer<'_>> {
    layers.iter().map(|own| Layer::whole(&own.weights, own.bias.clone())).collect()
}

/// `decay/2 Σ |W|²`
pub(super) fn penalty(problem: &Problem, layers: &[Layer<'_>]) -> f64 {
    if problem.params.decay == 0.0 {
        return 0.0;
    }
    let squares = |weight: &f32| f64::from(*weight).powi(2);
    let tiles = layers.iter().flat_map(|layer| &layer.tiles);
    0.5 * f64::from(problem.params.decay) * tiles.flat_map(|tile| &tile.weights).map(squares).sum::<f64>()
}
