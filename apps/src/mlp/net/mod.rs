//! A net: outputs of rows going forward, gradients coming back, all as products of matrices.
//!
//! Weights are read where they lie: a layer is a list of [`Tile`]s, the pages of its table, and each product is made tile by
//! tile, into gradients that lie as the weights do. Nothing of the size of a layer is copied.

use std::ops::Range;

use ndarray::{Array2, ArrayView2, ArrayViewMut2, s};
use rand::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::activation::Activation;
use super::loss::{Loss, Score, Targets};
use crate::kernel::gemm;

/// Some rows and columns of the weights of a layer, row after row.
#[derive(Debug, Clone)]
pub struct Tile<'a> {
    /// Rows of the layer: its outputs.
    pub rows: Range<usize>,
    /// Columns of the layer: its inputs.
    pub columns: Range<usize>,
    /// rows x columns
    pub weights: ArrayView2<'a, f32>,
}

/// One layer as a step reads it: `z = W x + b`.
#[derive(Debug, Clone)]
pub struct Layer<'a> {
    /// Tiles that cover W, rows first: those of the same rows one after the other.
    pub tiles: Vec<Tile<'a>>,
    /// b
    pub bias: Vec<f32>,
}

impl<'a> Layer<'a> {
    /// A layer whose weights lie in one piece.
    pub fn whole(weights: &'a Array2<f32>, bias: Vec<f32>) -> Self {
        let (rows, columns) = (0..weights.nrows(), 0..weights.ncols());
        Self { tiles: vec![Tile { rows, columns, weights: weights.view() }], bias }
    }
}

/// What back-propagation has found for one layer: with errors `e` (rows of the batch x outputs), the gradients of the mean
/// loss are `eᵀ · inputs` and the column sums of `e`.
#[derive(Debug)]
pub struct Gradient<'a> {
    errors: ArrayView2<'a, f32>,
    inputs: ArrayView2<'a, f32>,
}

impl Gradient<'_> {
    /// The gradient of some rows and columns of the weights, written to `to`, row after row.
    pub fn weights(&self, rows: Range<usize>, columns: Range<usize>, to: &mut [f32]) {
        let errors = self.errors.slice(s![.., rows.clone()]).reversed_axes();
        let inputs = self.inputs.slice(s![.., columns.clone()]);
        let to = ArrayViewMut2::from_shape((rows.len(), columns.len()), to);
        gemm(1.0, errors, inputs, 0.0, to.expect("room for the tile"));
    }

    /// The gradient of the bias, written to `to`.
    pub fn bias(&self, to: &mut [f32]) {
        to.fill(0.0);
        for row in self.errors.outer_iter() {
            to.iter_mut().zip(row).for_each(|(to, error)| *to += error);
        }
    }
}

/// The form of a net, without its weights.
#[derive(Debug, Clone, PartialEq)]
pub struct Net {
    /// Inputs, hidden units of each layer, outputs.
    pub sizes: Vec<usize>,
    /// Of hidden units.
    pub activation: Activation,
    /// Of outputs.
    pub loss: Loss,
    /// The share of hidden units left out in a training step, 0 or more and less than 1.
    pub dropout: f32,
}

/// Where a step keeps what goes forward and comes back.
#[derive(Debug)]
pub struct Room {
    /// The inputs, rows x inputs: filled by the caller.
    pub inputs: Array2<f32>,
    /// Of each layer, rows x outputs.
    outputs: Vec<Array2<f32>>,
    /// Of each hidden layer, where units are left out: 0 for those, else `1 / (1 - dropout)`.
    kept: Vec<Array2<f32>>,
    /// Of each layer but the last: what comes back to it.
    errors: Vec<Array2<f32>>,
}

impl Room {
    /// Room for so many rows.
    pub fn new(net: &Net, rows: usize) -> Self {
        let room =
            |sizes: &[usize]| sizes.iter().map(|size| Array2::zeros((rows, *size))).collect::<Vec<_>>();
        let hidden = &net.sizes[1..net.sizes.len() - 1];
        Self {
            inputs: Array2::zeros((rows, net.sizes[0])),
            outputs: room(&net.sizes[1..]),
            kept: if net.dropout > 0.0 { room(hidden) } else { Vec::new() },
            errors: room(hidden),
        }
    }

    /// Rows there is room for.
    pub fn n_rows(&self) -> usize {
        self.inputs.nrows()
    }
}

impl Net {
    /// Layers.
    pub fn n_layers(&self) -> usize {
        self.sizes.len() - 1
    }

    /// Weights and biases.
    pub fn n_numbers(&self) -> usize {
        self.sizes.windows(2).map(|pair| (pair[0] + 1) * pair[1]).sum()
    }

    /// The outputs of the first `n` rows of `room.inputs`.
    pub fn forward<'r>(&self, layers: &[Layer<'_>], room: &'r mut Room, n: usize) -> ArrayView2<'r, f32> {
        self.ahead(layers, room, n, None);
        room.outputs[layers.len() - 1].slice(s![..n, ..])
    }

    /// One pass forward and back over the first rows of `room.inputs`, one for each target: `each` is called with every
    /// layer's gradient as soon as it is known, the last layer first. Units are left out as `rng` has it.
    pub fn step(
        &self,
        layers: &[Layer<'_>],
        (room, targets): (&mut Room, Targets<'_>),
        rng: &mut Xoshiro256PlusPlus,
        mut each: impl FnMut(usize, &Gradient<'_>),
    ) -> Score {
        let n = targets.len();
        self.ahead(layers, room, n, Some(rng));
        let last = layers.len() - 1;
        let score = self.loss.back(room.outputs[last].slice_mut(s![..n, ..]), targets);
        for number in (0..=last).rev() {
            let (before, after) = room.errors.split_at_mut(number);
            let errors = if number == last { &room.outputs[last] } else { &after[0] };
            let errors = errors.slice(s![..n, ..]);
            let inputs = if number == 0 { &room.inputs } else { &room.outputs[number - 1] };
            let inputs = inputs.slice(s![..n, ..]);
            each(number, &Gradient { errors, inputs });
            if let Some(back) = before.last_mut() {
                let mut back = back.slice_mut(s![..n, ..]);
                for tile in &layers[number].tiles {
                    let beta = if tile.rows.start == 0 { 0.0 } else { 1.0 };
                    let errors = errors.slice(s![.., tile.rows.clone()]);
                    gemm(1.0, errors, tile.weights, beta, back.slice_mut(s![.., tile.columns.clone()]));
                }
                let kept = room.kept.get(number - 1).map(|kept| kept.slice(s![..n, ..]));
                self.through(&inputs, kept, back);
            }
        }
        score
    }

    /// Outputs of every layer; hidden units are left out where there is a generator.
    fn ahead(
        &self,
        layers: &[Layer<'_>],
        room: &mut Room,
        n: usize,
        mut rng: Option<&mut Xoshiro256PlusPlus>,
    ) {
        for (number, layer) in layers.iter().enumerate() {
            let (before, after) = room.outputs.split_at_mut(number);
            let inputs = before.last().unwrap_or(&room.inputs).slice(s![..n, ..]);
            let mut outputs = after[0].slice_mut(s![..n, ..]);
            for tile in &layer.tiles {
                let beta = if tile.columns.start == 0 { 0.0 } else { 1.0 };
                let inputs = inputs.slice(s![.., tile.columns.clone()]);
                let to = outputs.slice_mut(s![.., tile.rows.clone()]);
                gemm(1.0, inputs, tile.weights.t(), beta, to);
            }
            for mut row in outputs.outer_iter_mut() {
                row.iter_mut().zip(&layer.bias).for_each(|(z, bias)| *z += bias);
            }
            if number + 1 == layers.len() {
                return;
            }
            let outputs = outputs.into_slice().expect("rows of a whole array lie one after the other");
            self.activation.apply(outputs);
            if let (Some(rng), Some(kept)) = (rng.as_deref_mut(), room.kept.get_mut(number)) {
                let kept = kept.slice_mut(s![..n, ..]).into_slice().expect("as the outputs");
                leave_out(self.dropout, rng, kept);
                outputs.iter_mut().zip(kept).for_each(|(output, kept)| *output *= *kept);
            }
        }
    }

    /// What comes back to a hidden layer's outputs becomes what comes back to its sums.
    fn through(
        &self,
        outputs: &ArrayView2<'_, f32>,
        kept: Option<ArrayView2<'_, f32>>,
        errors: ArrayViewMut2<'_, f32>,
    ) {
        let errors = errors.into_slice().expect("rows of a whole array lie one after the other");
        let outputs = outputs.to_slice().expect("as the errors");
        let Some(kept) = kept else { return self.activation.back(outputs, errors) };
        let kept = kept.to_slice().expect("as the errors");
        // An output that is kept was multiplied: the slope is that of the output before. One that is left out has no slope.
        let before: Vec<f32> =
            outputs.iter().zip(kept).map(|(y, kept)| if *kept > 0.0 { y / kept } else { 0.0 }).collect();
        self.activation.back(&before, errors);
        errors.iter_mut().zip(kept).for_each(|(error, kept)| *error *= kept);
    }
}

/// Fills `kept` with 0 for units that are left out and `1 / (1 - share)` for the others.
fn leave_out(share: f32, rng: &mut Xoshiro256PlusPlus, kept: &mut [f32]) {
    let threshold = (f64::from(share) * 65_536.0) as u64; // in units of 1/65536
    let factor = 65_536.0 / (65_536 - threshold) as f32;
    for units in kept.chunks_mut(4) {
        let mut bits = rng.next_u64();
        for unit in units {
            *unit = if bits & 0xFFFF < threshold { 0.0 } else { factor };
            bits >>= 16;
        }
    }
}

#[cfg(test)]
mod tests;
