//! Matrix factorisation as an actor: item rows are leased by block, user rows by part, ratings stay with the worker.

use std::ops::Range;
use std::sync::Arc;

use actix::prelude::*;
use slackline::prelude::*;

use super::cells::{Part, Triples, parts};
use super::model::{Model, Rows};
use super::params::Params;
use super::solver::{Score, Side, Solver, Summary};
use crate::Error;
use crate::data::{HeldOutRatings, Ratings};
use crate::deal::{Deal, count};

/// The tables: one row per user or item, in the order of the deal.
pub(super) const USERS: &str = "users";
pub(super) const ITEMS: &str = "items";

/// Everything that workers share and nobody changes: constants, who owns which row, and the ratings by cell.
pub(super) struct Setup {
    pub(super) solver: Solver,
    users: Deal,
    items: Deal,
    parts: Vec<Part>,
    /// The held-out ratings of each part.
    held_out: Vec<Vec<HeldOut>>,
    counts: [Vec<u32>; 2],
}

/// A held-out rating, in rows of its part and of the item table.
struct HeldOut {
    /// Row in the part; none for a user without training ratings.
    user: Option<u32>,
    /// Row in the table; none for an item without training ratings.
    item: Option<u32>,
    value: f32,
}

impl Setup {
    /// Deals users and items out and sorts the ratings into cells.
    ///
    /// # Errors
    /// Ratings that cannot be trained on.
    pub(super) fn new(
        ratings: &Ratings,
        held_out: Option<&HeldOutRatings>,
        params: Params,
        seed: u64,
    ) -> Result<Self, Error> {
        let summary = Summary::of(&ratings.values)?;
        let of_users = count(&ratings.users, ratings.user_ids.len());
        let of_items = count(&ratings.items, ratings.item_ids.len());
        // More parts than users would only be empty ones to visit.
        let users = Deal::even(&of_users, params.parts.min(of_users.len()), seed);
        let items = Deal::even(&of_items, params.blocks.min(of_items.len()), seed.wrapping_add(1));
        let triples = Triples { users: &ratings.users, items: &ratings.items, values: &ratings.values };
        let parts = parts(&triples, &users, &items, (summary.mean, summary.deviation), seed);
        let solver = Solver::new(params, summary, seed);
        let mut setup =
            Self { solver, users, items, parts, held_out: Vec::new(), counts: [of_users, of_items] };
        setup.held_out = setup.sort(held_out);
        Ok(setup)
    }

    /// Sorts held-out ratings by part; those of unknown users go to part 0.
    fn sort(&self, held_out: Option<&HeldOutRatings>) -> Vec<Vec<HeldOut>> {
        let mut sorted: Vec<Vec<HeldOut>> = (0..self.parts.len()).map(|_| Vec::new()).collect();
        let Some(held_out) = held_out else { return sorted };
        let starts = starts(&self.items);
        for ((user, item), value) in held_out.users.iter().zip(&held_out.items).zip(&held_out.values) {
            let part = user.map_or(0, |user| self.users.group[user as usize]);
            let row =
                |item: u32| starts[self.items.group[item as usize] as usize] + self.items.row[item as usize];
            let user = user.map(|user| self.users.row[user as usize]);
            sorted[part as usize].push(HeldOut { user, item: item.map(row), value: *value });
        }
        sorted
    }

    /// The tables, each row at its start.
    pub(super) fn tables(self: &Arc<Self>) -> [Table; 2] {
        let table = |name: &str, side: Side, deal: &Deal| {
            let (setup, ids) = (Arc::clone(self), deal.members.concat());
            let table = Table::dense(name, ids.len(), self.solver.width());
            let table = match side {
                Side::Users => table.leased_by_part(&starts(deal)),
                Side::Items => table.leased_by_block(&starts(deal)),
            };
            table.starting(move |row, values: &mut [f32]| {
                let counts = &setup.counts[usize::from(side == Side::Items)];
                values.copy_from_slice(&setup.solver.first_rows(side, &ids[row..=row], counts));
            })
        };
        [table(USERS, Side::Users, &self.users), table(ITEMS, Side::Items, &self.items)]
    }

    /// Number of parts and blocks.
    pub(super) fn shape(&self) -> (usize, usize) {
        (self.users.n_groups(), self.items.n_groups())
    }

    /// The model that the tables hold.
    pub(super) fn model(&self, tables: &slackline::Model) -> Model {
        let groups = |name: &str, deal: &Deal| -> Vec<Vec<f32>> {
            let rows = tables.dense::<f32>(name);
            let of = |range: Range<usize>| rows.slice(ndarray::s![range, ..]).iter().copied().collect();
            blocks(deal).map(of).collect()
        };
        let (users, items) = (groups(USERS, &self.users), groups(ITEMS, &self.items));
        Model::collect(
            &self.solver,
            Rows { deal: &self.users, groups: &users },
            Rows { deal: &self.items, groups: &items },
        )
    }
}

/// First row of each group.
fn starts(deal: &Deal) -> Vec<u32> {
    blocks(deal).map(|rows| rows.start as u32).collect()
}

/// Rows of each group.
fn blocks(deal: &Deal) -> impl Iterator<Item = Range<usize>> + '_ {
    deal.members.iter().scan(0, |end, members| {
        let start = *end;
        *end += members.len();
        Some(start..*end)
    })
}

/// The app of one worker.
pub(super) struct Factorizer(pub(super) Arc<Setup>);

impl Actor for Factorizer {
    type Context = Context<Self>;
}

impl Handler<Step> for Factorizer {
    type Result = Outcome;
    fn handle(&mut self, step: Step, _: &mut Self::Context) -> Outcome {
        match step.phase() {
            Phase::Train => self.visit(step),
            Phase::Evaluate => self.score(step),
        }
    }
}

impl Factorizer {
    /// Steps through the ratings of one cell.
    fn visit(&self, mut step: Step) -> Outcome {
        let (part, pass) = (step.part().index(), step.orders()[0] as usize);
        let block = step.block().expect("a rotation picks the block").index();
        let [mut users, mut items] = step.lease::<f32, 2>([USERS, ITEMS]);
        let cell = &self.0.parts[part].cells[block];
        match self.0.solver.visit(cell, users.values(), items.values(), pass) {
            Ok(seen) => step.done(seen),
            Err(error) => step.failed(error.to_string()),
        }
    }

    /// Sums up the exact objective, the squared errors of a part's ratings and those of its held-out ratings.
    fn score(&self, mut step: Step) -> Outcome {
        let part = step.part().index();
        let blocks = step.blocks::<f32>(ITEMS);
        let [mut users] = step.lease::<f32, 1>([USERS]);
        let mut score = Score::default();
        for (cell, items) in self.0.parts[part].cells.iter().zip(&blocks) {
            score = score + self.0.solver.score(cell, users.values(), items.values());
        }
        let items = |row: u32| {
            let row = row as usize;
            let block =
                blocks.iter().find(|block| block.rows().contains(&row)).expect("blocks cover all items");
            block.row(row - block.rows().start)
        };
        let mut held_out = 0.0;
        for rating in &self.0.held_out[part] {
            let user = rating.user.map(|row| &*users.row(row as usize));
            let error = self.0.solver.predict(user, rating.item.map(items)) - f64::from(rating.value);
            held_out += error * error;
        }
        let sums = vec![score.squared_error, held_out];
        step.found(Findings { cost: score.objective(), sums, ..Findings::default() })
    }
}
