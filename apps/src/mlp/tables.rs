//! The tables of a net: of each layer the weights (outputs x inputs) and the bias, and where rows are held out a second pair
//! for the best so far.

use std::sync::Arc;

use ndarray::{Array2, ArrayView2};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use slackline::prelude::*;
use slackline::{Delta, View};

use super::net::{Layer, Net, Tile};
use super::problem::Problem;

/// Rows of weights in a page where they fit. Measured on 784-512-512-10 with batches of 128: products over pages of 128 rows
/// are as fast as over whole layers, of 64 rows 4 %, of 32 rows 9 % slower.
const PAGE_ROWS: usize = 128;
/// Numbers in a page at most: 1 MiB, half of a level-2 cache, and 64 pages for a layer of 4,096 x 4,096.
const PAGE_NUMBERS: usize = 256 * 1024;

/// The name of the weights of a layer, as a table and as an array of the model.
pub(super) fn weights_name(layer: usize) -> String {
    format!("weight_{layer}")
}

/// The name of the bias of a layer.
pub(super) fn bias_name(layer: usize) -> String {
    format!("bias_{layer}")
}

/// The name of the best values so far of a table.
fn best_name(name: &str) -> String {
    format!("best_{name}")
}

/// The first weights of one row of a layer; biases begin at 0.
pub(super) fn start(net: &Net, seed: u64, layer: usize, row: usize, values: &mut [f32]) {
    let place = ((layer as u64 + 1) << 40) ^ (row as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed ^ place.rotate_left(17));
    let bound = net.activation.first_bound(net.sizes[layer], net.sizes[layer + 1]);
    values.iter_mut().for_each(|value| *value = rng.random_range(-bound..bound));
}

/// Numbers in a page of a layer with so many inputs.
pub(super) fn page(inputs: usize) -> usize {
    (PAGE_ROWS * inputs).min((PAGE_NUMBERS / inputs * inputs).max(PAGE_NUMBERS.min(inputs)))
}

/// The tables of a run.
pub fn tables(problem: &Arc<Problem>) -> Vec<Table> {
    let net = &problem.net;
    let mut tables = Vec::new();
    for (layer, pair) in net.sizes.windows(2).enumerate() {
        let (inputs, outputs) = (pair[0], pair[1]);
        let rule = |decays| Rule::Custom(Arc::new(problem.fold(decays)));
        let of = Arc::clone(problem);
        let weights = Table::dense(weights_name(layer), outputs, inputs)
            .paged(page(inputs))
            .rule(rule(true))
            .starting(move |row, values: &mut [f32]| start(&of.net, of.seed(), layer, row, values));
        tables.push(weights);
        tables.push(Table::dense(bias_name(layer), 1, outputs).rule(rule(false)));
    }
    if problem.params.hold_out > 0.0 {
        let keep = problem.n_batches();
        let best = |table: &Table| {
            let n_rows = table.n_rows() as u32;
            Table::dense(best_name(table.name()), table.n_rows(), table.width())
                .paged(table.width())
                .rule(Rule::Assign)
                .reading(move |part| if part.index() == keep { (0..n_rows).collect() } else { Vec::new() })
        };
        tables.extend(tables.iter().map(best).collect::<Vec<_>>());
    }
    tables
}

/// The weights and biases of a step as they lie.
pub(super) struct Reading(Vec<(View<f32>, Vec<f32>)>);

impl Reading {
    pub(super) fn of(step: &Step, net: &Net) -> Self {
        let layer = |number| {
            let mut bias = vec![0.0; net.sizes[number + 1]];
            step.read::<f32>(&bias_name(number)).copy_row(0, &mut bias);
            (step.read::<f32>(&weights_name(number)), bias)
        };
        Self((0..net.n_layers()).map(layer).collect())
    }

    pub(super) fn layers(&self) -> Vec<Layer<'_>> {
        self.0
            .iter()
            .map(|(view, bias)| Layer { tiles: view.tiles().map(tile).collect(), bias: bias.clone() })
            .collect()
    }
}

fn tile(slackline::Tile { rows, columns, values }: slackline::Tile<&[f32]>) -> Tile<'_> {
    let weights = ArrayView2::from_shape((rows.len(), columns.len()), values);
    Tile { rows, columns, weights: weights.expect("a page has its rows and columns") }
}

/// Copies the values of this step into the tables of the best.
pub(super) fn keep(step: &mut Step, net: &Net) {
    for name in (0..net.n_layers()).flat_map(|layer| [weights_name(layer), bias_name(layer)]) {
        let values = step.read::<f32>(&name);
        let mut best: Delta<f32> = step.delta(&best_name(&name));
        let width = values.width();
        for (row, to) in best.gathered().chunks_exact_mut(width).enumerate() {
            values.copy_row(row, to);
        }
        step.add(best);
    }
}

/// The weights and the bias of every layer at the end: those that did best on held-out rows, where any were.
pub(super) fn trained(model: &Model, problem: &Problem, kept: bool) -> Vec<(Array2<f32>, Vec<f32>)> {
    let name = |name: String| if kept { best_name(&name) } else { name };
    let layer = |layer: usize| {
        let bias = model.dense::<f32>(&name(bias_name(layer)));
        (model.dense::<f32>(&name(weights_name(layer))), bias.iter().copied().collect())
    };
    (0..problem.net.n_layers()).map(layer).collect()
}
