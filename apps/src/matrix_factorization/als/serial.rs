//! The same half-passes in a plain loop over parts: the oracle of tests and the baseline of benches.

use super::super::cells::Triples;
use super::super::model::Model;
use super::super::solver::{Score, Side};
use super::params::Params;
use super::setup::Setup;
use super::solver::{Rows, Solver};
use crate::Error;

/// Everything of a run in one place.
#[derive(Debug)]
pub struct Serial {
    /// Who is where, and the ratings.
    pub setup: Setup,
    /// The parts of the users.
    pub users: Vec<Vec<f32>>,
    /// The parts of the items.
    pub items: Vec<Vec<f32>>,
    solver: Solver,
}

impl Serial {
    /// Deals users and items out and makes the first rows. `shape` is (users, items).
    ///
    /// # Errors
    /// As [`Setup::new`].
    pub fn new(
        ratings: &Triples<'_>,
        shape: (usize, usize),
        params: Params,
        seed: u64,
    ) -> Result<Self, Error> {
        let setup = Setup::new(ratings, shape, params, seed)?;
        let first = |side: Side| -> Vec<Vec<f32>> {
            let members = setup.side(side);
            let part = |part: usize| {
                let mut values = vec![0.0; members.layout.len()];
                setup.first(side, part, &mut values);
                values
            };
            (0..members.deal.n_groups()).map(part).collect()
        };
        let (users, items) = (first(Side::Users), first(Side::Items));
        Ok(Self { setup, users, items, solver: Solver::default() })
    }

    /// Solves all rows of a side.
    pub fn half(&mut self, side: Side) {
        let (own, others) = match side {
            Side::Users => (&mut self.users, &self.items),
            Side::Items => (&mut self.items, &self.users),
        };
        let others: Vec<&[f32]> = others.iter().map(Vec::as_slice).collect();
        for (part, values) in own.iter_mut().enumerate() {
            let mut out = vec![0.0; values.len()];
            let rows = Rows { side, part, before: values, others: &others };
            self.solver.solve(&self.setup, &rows, &mut out);
            *values = out;
        }
    }

    /// Solves the users, then the items.
    pub fn pass(&mut self) {
        self.half(Side::Users);
        self.half(Side::Items);
    }

    /// The exact objective.
    pub fn score(&self) -> Score {
        let items: Vec<&[f32]> = self.items.iter().map(Vec::as_slice).collect();
        let users = self.users.iter().enumerate();
        let users = users.map(|(part, values)| self.setup.score_users(part, values, &items));
        let of_items = self.items.iter().enumerate();
        let penalty = of_items.map(|(part, values)| self.setup.penalty(Side::Items, part, values)).sum();
        users.fold(Score { squared_error: 0.0, penalty }, std::ops::Add::add)
    }

    /// The model as it is now.
    pub fn model(&self) -> Model {
        let users: Vec<&[f32]> = self.users.iter().map(Vec::as_slice).collect();
        let items: Vec<&[f32]> = self.items.iter().map(Vec::as_slice).collect();
        self.setup.model(&users, &items)
    }
}
