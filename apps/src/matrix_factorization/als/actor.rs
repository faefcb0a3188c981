//! Alternating least squares as an actor: both sides are shared tables, a row a part, replaced when a part is solved.

use std::sync::Arc;

use actix::prelude::*;
use slackline::prelude::*;

use super::super::cells::Triples;
use super::super::model::Model;
use super::super::solver::Side;
use super::params::Params;
use super::setup::{Place, Setup};
use super::solver::{Rows, Solver};
use crate::Error;
use crate::data::{HeldOutRatings, Ratings};

/// The tables: one row per part.
const USERS: &str = "users";
const ITEMS: &str = "items";

fn name(side: Side) -> &'static str {
    match side {
        Side::Users => USERS,
        Side::Items => ITEMS,
    }
}

/// What workers share: the equations, and the held-out ratings of each part of the users.
pub(super) struct Shared {
    pub(super) setup: Setup,
    held_out: Vec<Vec<HeldOut>>,
}

/// A held-out rating.
struct HeldOut {
    /// Row in its part; none for a user without training ratings.
    user: Option<u32>,
    /// Part and row; none for an item without training ratings.
    item: Option<Place>,
    value: f32,
}

impl Shared {
    /// Prepares the training ratings, and the held-out ones where their errors are measured.
    ///
    /// # Errors
    /// Ratings that cannot be trained on.
    pub(super) fn new(
        ratings: &Ratings,
        held_out: Option<&HeldOutRatings>,
        params: Params,
        seed: u64,
    ) -> Result<Self, Error> {
        let triples = Triples { users: &ratings.users, items: &ratings.items, values: &ratings.values };
        let shape = (ratings.user_ids.len(), ratings.item_ids.len());
        let setup = Setup::new(&triples, shape, params, seed)?;
        let held_out = held_out.filter(|_| !setup.params.is_implicit());
        let held_out = sorted(&setup, held_out);
        Ok(Self { setup, held_out })
    }

    /// Parts of the users and of the items.
    pub(super) fn shape(&self) -> [usize; 2] {
        self.setup.sides.each_ref().map(|side| side.deal.n_groups())
    }

    /// The tables, each part at its start.
    pub(super) fn tables(self: &Arc<Self>) -> [Table; 2] {
        [Side::Users, Side::Items].map(|side| {
            let (shared, members) = (Arc::clone(self), self.setup.side(side));
            let width = members.layout.len();
            Table::dense(name(side), members.deal.n_groups(), width)
                .paged(width)
                .rule(Rule::Assign)
                .starting(move |part, values: &mut [f32]| shared.setup.first(side, part, values))
        })
    }

    /// The model that the tables hold.
    pub(super) fn model(&self, tables: &slackline::Model) -> Model {
        let (users, items) = (tables.dense::<f32>(USERS), tables.dense::<f32>(ITEMS));
        self.setup.model(&parts(&users), &parts(&items))
    }

    /// The side that a part of the schedule is of, and its number there.
    fn place(&self, part: usize) -> (Side, usize) {
        let [n_users, _] = self.shape();
        if part < n_users { (Side::Users, part) } else { (Side::Items, part - n_users) }
    }
}

/// The parts that a table holds, a row each.
fn parts(table: &ndarray::Array2<f32>) -> Vec<&[f32]> {
    let rows = table.as_slice().expect("a table is read row by row");
    rows.chunks_exact(table.ncols()).collect()
}

/// Sorts held-out ratings by part; those of unknown users go to part 0.
fn sorted(setup: &Setup, held_out: Option<&HeldOutRatings>) -> Vec<Vec<HeldOut>> {
    let (users, items) = (&setup.side(Side::Users).deal, &setup.side(Side::Items).deal);
    let mut sorted: Vec<Vec<HeldOut>> = (0..users.n_groups()).map(|_| Vec::new()).collect();
    let Some(held_out) = held_out else { return sorted };
    for ((user, item), &value) in held_out.users.iter().zip(&held_out.items).zip(&held_out.values) {
        let part = user.map_or(0, |user| users.group[user as usize]);
        let place = |item: u32| Place { part: items.group[item as usize], row: items.row[item as usize] };
        let user = user.map(|user| users.row[user as usize]);
        sorted[part as usize].push(HeldOut { user, item: item.map(place), value });
    }
    sorted
}

/// The app of one worker.
pub(super) struct Alternator {
    shared: Arc<Shared>,
    solver: Solver,
}

impl Alternator {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, solver: Solver::default() }
    }
}

impl Actor for Alternator {
    type Context = Context<Self>;
}

impl Handler<Step> for Alternator {
    type Result = Outcome;
    fn handle(&mut self, step: Step, _: &mut Self::Context) -> Outcome {
        match step.phase() {
            Phase::Train => self.solve(step),
            Phase::Evaluate => self.score(step),
        }
    }
}

impl Alternator {
    /// Solves the rows of a part against the other side.
    fn solve(&mut self, mut step: Step) -> Outcome {
        let (side, part) = self.shared.place(step.part().index());
        let [of_users, of_items] = [USERS, ITEMS].map(|name| step.read::<f32>(name));
        let [n_users, n_items] = self.shared.shape();
        let (own, others, n_others) = match side {
            Side::Users => (&of_users, &of_items, n_items),
            Side::Items => (&of_items, &of_users, n_users),
        };
        let others: Vec<&[f32]> = (0..n_others).map(|part| others.row(part)).collect();
        let rows = Rows { side, part, before: own.row(part), others: &others };
        let mut change = step.delta::<f32>(name(side));
        let solved = change.row(part);
        self.solver.solve(&self.shared.setup, &rows, solved);
        if solved.iter().any(|value| !value.is_finite()) {
            return step.failed("the factors ran out of range: the run diverged; choose a larger --l2");
        }
        step.add(change);
        step.done(0.0)
    }

    /// A part's share of the exact objective; of users also the squared errors of ratings and of held-out ones.
    fn score(&self, step: Step) -> Outcome {
        let (side, part) = self.shared.place(step.part().index());
        let setup = &self.shared.setup;
        if side == Side::Items {
            let penalty = setup.penalty(side, part, step.read::<f32>(ITEMS).row(part));
            return step.done(penalty);
        }
        let (users, items) = (step.read::<f32>(USERS), step.read::<f32>(ITEMS));
        let items: Vec<&[f32]> = (0..self.shared.shape()[1]).map(|part| items.row(part)).collect();
        let score = setup.score_users(part, users.row(part), &items);
        let held_out = self.shared.held_out[part].iter();
        let errors = held_out.map(|rating| {
            let predicted = setup.predict(
                rating.user.map(|row| (users.row(part), row as usize)),
                rating.item.map(|place| (items[place.part as usize], place.row as usize)),
            );
            (predicted - f64::from(rating.value)).powi(2)
        });
        let sums = vec![score.squared_error, errors.sum()];
        step.found(Findings { cost: score.objective(), sums, ..Findings::default() })
    }
}
