//! The same visits over the same cells in a plain loop: the oracle of tests and the baseline of benches.

use super::cells::{Part, Triples, parts};
use super::model::{Model, Rows};
use super::params::Params;
use super::solver::{Score, Side, Solver, Summary};
use crate::Error;
use crate::deal::{Deal, count};

/// Everything of a run in one place.
#[derive(Debug, Clone)]
pub struct Serial {
    /// The constants.
    pub solver: Solver,
    /// Users to parts.
    pub users: Deal,
    /// Items to blocks.
    pub items: Deal,
    /// The ratings of each part.
    pub parts: Vec<Part>,
    /// The rows of each part.
    pub user_rows: Vec<Vec<f32>>,
    /// The rows of each block.
    pub item_rows: Vec<Vec<f32>>,
    /// Passes so far.
    pub epoch: usize,
}

impl Serial {
    /// Deals users and items out, sorts the ratings into cells and makes the first rows. `shape` is (users, items).
    ///
    /// # Errors
    /// As [`Summary::of`].
    pub fn new(
        ratings: &Triples<'_>,
        shape: (usize, usize),
        params: Params,
        seed: u64,
    ) -> Result<Self, Error> {
        let summary = Summary::of(ratings.values)?;
        let (of_users, of_items) = (count(ratings.users, shape.0), count(ratings.items, shape.1));
        let users = Deal::even(&of_users, params.parts, seed);
        let items = Deal::even(&of_items, params.blocks, seed.wrapping_add(1));
        let parts = parts(ratings, &users, &items, (summary.mean, summary.deviation), seed);
        let solver = Solver::new(params, summary, seed);
        let rows = |side, deal: &Deal, counts: &[u32]| {
            deal.members.iter().map(|ids| solver.first_rows(side, ids, counts)).collect::<Vec<_>>()
        };
        let user_rows = rows(Side::Users, &users, &of_users);
        let item_rows = rows(Side::Items, &items, &of_items);
        Ok(Self { solver, users, items, parts, user_rows, item_rows, epoch: 0 })
    }

    /// Visits every cell once, diagonal by diagonal; returns the sum of squared errors as they were seen.
    ///
    /// # Errors
    /// The factors ran out of range.
    pub fn pass(&mut self) -> Result<f64, Error> {
        let n_blocks = self.item_rows.len();
        let mut seen = 0.0;
        for turn in 0..n_blocks {
            for (p, (part, users)) in self.parts.iter().zip(&mut self.user_rows).enumerate() {
                let b = (p + turn) % n_blocks;
                seen += self.solver.visit(&part.cells[b], users, &mut self.item_rows[b], self.epoch)?;
            }
        }
        self.epoch += 1;
        Ok(seen)
    }

    /// The exact score over all ratings.
    pub fn score(&self) -> Score {
        let mut total = Score::default();
        for (part, users) in self.parts.iter().zip(&self.user_rows) {
            for (cell, items) in part.cells.iter().zip(&self.item_rows) {
                total = total + self.solver.score(cell, users, items);
            }
        }
        total
    }

    /// The model as it is now.
    pub fn model(&self) -> Model {
        let users = Rows { deal: &self.users, groups: &self.user_rows };
        let items = Rows { deal: &self.items, groups: &self.item_rows };
        Model::collect(&self.solver, users, items)
    }
}
