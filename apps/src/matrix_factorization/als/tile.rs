//! Eight rows at a time by conjugate gradients: their products with the Gram matrix are one product of matrices.

use crate::kernel::normal::{self, TILE};

/// The equations of up to [`TILE`] rows and the vectors of their solution.
#[derive(Debug, Default)]
pub struct Tile {
    width: usize,
    /// The other side's rows of all ratings, row by row.
    pub(super) rows: Vec<f32>,
    /// Of each rating, its weight times the target, negated; and its weight.
    pub(super) targets: Vec<f32>,
    pub(super) weights: Vec<f32>,
    /// Where the ratings of each row end.
    pub(super) ends: Vec<usize>,
    /// How often the ridge counts for each row.
    pub(super) scales: Vec<f32>,
    /// The solutions: starting values before, solved after.
    pub(super) x: Vec<f32>,
    r: Vec<f32>,
    p: Vec<f32>,
    q: Vec<f32>,
    no_targets: Vec<f32>,
}

/// What all rows have in common.
#[derive(Debug, Clone, Copy)]
pub struct Common<'a> {
    /// The Gram matrix of the other side (width × width), where it belongs to the equations.
    pub gram: Option<&'a [f32]>,
    /// The penalty of each number of a row.
    pub ridge: &'a [f32],
}

impl Tile {
    /// Empties it for rows of this width; starting values are 0.
    pub(super) fn clear(&mut self, width: usize) {
        self.width = width;
        self.rows.clear();
        self.targets.clear();
        self.weights.clear();
        self.ends.clear();
        self.scales.clear();
        self.scales.resize(TILE, 0.0);
        for vector in [&mut self.x, &mut self.r, &mut self.p, &mut self.q] {
            vector.clear();
            vector.resize(TILE * width, 0.0);
        }
    }

    /// `steps` steps of conjugate gradients from `x` for every row.
    pub fn descend(&mut self, common: &Common<'_>, steps: usize) {
        let width = self.width;
        self.no_targets.resize(self.targets.len(), 0.0);
        // The residual is b - A x, the negated gradient of half the objective.
        let Self { r, x, .. } = self;
        apply(common, &self.scales, x, r);
        self.add_ratings(Of::Solution);
        self.r.iter_mut().for_each(|r| *r = -*r);
        self.p.copy_from_slice(&self.r);
        let mut squares: [f32; TILE] = std::array::from_fn(|row| {
            let r = &self.r[row * width..][..width];
            normal::dot(r, r)
        });
        for _ in 0..steps {
            apply(common, &self.scales, &self.p, &mut self.q);
            self.add_ratings(Of::Direction);
            normal::step(&mut self.x, &mut self.r, &mut self.p, &self.q, &mut squares);
        }
    }

    /// Adds what the ratings of each row say: to `r` of the solution, targets too, or to `q` of the direction.
    fn add_ratings(&mut self, of: Of) {
        let width = self.width;
        let (from, targets, to) = match of {
            Of::Solution => (&self.x, &self.targets, &mut self.r),
            Of::Direction => (&self.p, &self.no_targets, &mut self.q),
        };
        let mut start = 0;
        for (row, &end) in self.ends.iter().enumerate() {
            let (rows, at) = (&self.rows[start * width..end * width], row * width..(row + 1) * width);
            let (targets, weights) = (&targets[start..end], &self.weights[start..end]);
            normal::add_gradient(rows, targets, weights, &from[at.clone()], &mut to[at]);
            start = end;
        }
    }
}

#[derive(Clone, Copy)]
enum Of {
    Solution,
    Direction,
}

/// `out = G x + scale ridge ∘ x` for every row.
fn apply(common: &Common<'_>, scales: &[f32], x: &[f32], out: &mut [f32]) {
    let width = common.ridge.len();
    normal::penalise(common.ridge, scales, x, out);
    if let Some(gram) = common.gram {
        normal::add_product(width, x, width, gram, out);
    }
}
