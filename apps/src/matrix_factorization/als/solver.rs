//! The least squares of one part: its rows, solved against the other side as it is.

use super::super::solver::Side;
use super::direct::Equations;
use super::params::Method;
use super::setup::{Members, Setup};
use super::tile::{Common, Tile};
use crate::kernel::normal::{self, TILE};

/// Coordinate descent ends when no entry of a row moves by more than this share of the largest.
const STILL: f64 = 1e-5;
/// Sweeps of coordinate descent over a row, at most.
const SWEEPS: usize = 100;

/// Solves the rows of parts; keeps the memory it works in.
#[derive(Debug, Default)]
pub struct Solver {
    tile: Tile,
    gram: Vec<f32>,
    ridge: Vec<f32>,
    single: Vec<f32>,
}

/// A part to solve.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    /// Its side.
    pub side: Side,
    /// Its number on that side.
    pub part: usize,
    /// Its rows as they were: conjugate gradients and coordinate descent begin there.
    pub before: &'a [f32],
    /// All parts of the other side.
    pub others: &'a [&'a [f32]],
}

impl Solver {
    /// Writes the solved rows of a part to `out`, which is zero before.
    pub fn solve(&mut self, setup: &Setup, rows: &Rows<'_>, out: &mut [f32]) {
        let members = setup.side(rows.side);
        let layout = members.layout;
        self.prepare(setup, rows);
        let n = members.deal.members[rows.part].len();
        for first in (0..n).step_by(TILE) {
            let range = first..(first + TILE).min(n);
            self.load(setup, rows, range.clone());
            match setup.params.method {
                Method::Gradients(steps) => {
                    let gram = (!layout.has_biases).then_some(&*self.gram);
                    self.tile.descend(&Common { gram, ridge: &self.ridge }, steps);
                }
                Method::Cholesky => self.each(range.len(), |equations, _| equations.solve()),
                Method::Nonnegative => self.each(range.len(), |equations, x| {
                    let mut x: Vec<f64> = x.iter().map(|x| f64::from(*x)).collect();
                    equations.descend(&mut x, layout.slot(), STILL, SWEEPS);
                    x
                }),
            }
            for (row, x) in range.zip(self.tile.x.chunks_exact(layout.width)) {
                let to = &mut out[layout.row(row)];
                to.copy_from_slice(x);
                if let Some(slot) = layout.slot() {
                    let bias = std::mem::replace(&mut to[slot], 1.0);
                    out[layout.rest().start + row] = bias;
                }
            }
        }
        setup.add_gram(rows.side, out);
    }

    /// Adds up the Gram matrix of the other side and says what the penalties are.
    fn prepare(&mut self, setup: &Setup, rows: &Rows<'_>) {
        let layout = setup.side(rows.side).layout;
        let (l2, l2_bias) = setup.penalties();
        self.ridge.clear();
        self.ridge.resize(layout.width, 1.0); // behind the factors rows are 0: anything does
        self.ridge[..layout.rank].fill(l2 as f32);
        if let Some(slot) = layout.slot() {
            self.ridge[slot] = l2_bias as f32;
            return;
        }
        let of_others = other(setup, rows.side).layout.rest();
        self.gram.clear();
        self.gram.resize(of_others.len(), 0.0);
        rows.others.iter().for_each(|part| normal::add(&part[of_others.clone()], &mut self.gram));
    }

    /// Gathers the ratings of a tile of rows.
    fn load(&mut self, setup: &Setup, rows: &Rows<'_>, range: std::ops::Range<usize>) {
        let (members, others) = (setup.side(rows.side), other(setup, rows.side).layout);
        let (layout, lists) = (members.layout, &members.lists[rows.part]);
        let tile = &mut self.tile;
        tile.clear(layout.width);
        for (place, row) in range.enumerate() {
            let (to, values) = lists.of(row);
            for (to, &value) in to.iter().zip(values) {
                let part = rows.others[to.part as usize];
                tile.rows.extend_from_slice(&part[others.row(to.row as usize)]);
                let (target, weight) = if layout.has_biases {
                    (others.bias(part, to.row as usize) - value, 1.0)
                } else {
                    (-1.0 - value, value)
                };
                tile.targets.push(target);
                tile.weights.push(weight);
            }
            tile.ends.push(tile.targets.len());
            tile.scales[place] = setup.weight(to.len()) as f32;
            let x = &mut tile.x[layout.row(place)];
            x.copy_from_slice(&rows.before[layout.row(row)]);
            if let Some(slot) = layout.slot() {
                x[slot] = layout.bias(rows.before, row);
            }
        }
    }

    /// Solves each row of the tile by its own equations; `solve` has those and the row as it was.
    fn each(&mut self, n: usize, solve: impl Fn(Equations, &[f32]) -> Vec<f64>) {
        let width = self.ridge.len();
        let mut start = 0;
        for row in 0..n {
            let end = self.tile.ends[row];
            let equations = self.equations(row, start..end);
            let x = &mut self.tile.x[row * width..(row + 1) * width];
            let solved = solve(equations, x);
            x.iter_mut().zip(solved).for_each(|(x, solved)| *x = solved as f32);
            start = end;
        }
    }

    /// The normal equations of a row of the tile.
    fn equations(&mut self, row: usize, ratings: std::ops::Range<usize>) -> Equations {
        let (tile, width) = (&self.tile, self.ridge.len());
        let rows = &tile.rows[ratings.start * width..ratings.end * width];
        self.single.clear();
        self.single.extend_from_slice(&self.gram);
        self.single.resize(width * width, 0.0);
        normal::add_gram(width, rows, &tile.weights[ratings.clone()], &mut self.single);
        let mut matrix: Vec<f64> = self.single.iter().map(|value| f64::from(*value)).collect();
        for (k, ridge) in self.ridge.iter().enumerate() {
            matrix[k * width + k] += f64::from(tile.scales[row]) * f64::from(*ridge);
        }
        let (zero, mut right) = (vec![0.0; width], vec![0.0; width]);
        let (targets, weights) = (&tile.targets[ratings.clone()], &tile.weights[ratings]);
        normal::add_gradient(rows, targets, weights, &zero, &mut right);
        Equations { matrix, right: right.iter().map(|value| -f64::from(*value)).collect() }
    }
}

/// The side that a side is solved against.
pub(super) fn other(setup: &Setup, side: Side) -> &Members {
    setup.side(match side {
        Side::Users => Side::Items,
        Side::Items => Side::Users,
    })
}
