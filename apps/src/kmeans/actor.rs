//! k-means as an actor: sums of centres are shared rows, the centre of each row is leased by part, rows stay with the worker.

use std::ops::Range;
use std::sync::Arc;

use actix::prelude::*;
use ndarray::Array2;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use slackline::prelude::*;

use super::centres::{Centres, Rows};
use super::params::{Method, Params};
use super::schedule::{End, Until};
use super::solver::{self, Found, NONE, Room, Sums};

/// The table of sums: a row a centre, the number of its rows last.
const SUMS: &str = "sums";
/// The table of rows: the centre of each.
const CENTRE: &str = "centre";

/// Everything that workers share and nobody changes.
pub struct Setup {
    rows: Rows,
    seeds: Array2<f32>,
    method: Method,
    /// Where the parts end.
    parts: Vec<Range<usize>>,
    /// The rows in the order of the parts, where it is another than that of the data.
    order: Vec<u32>,
}

impl Setup {
    /// Cuts the rows into parts: one after the other for full passes, dealt at random to mini-batches.
    pub fn new(rows: Rows, seeds: Array2<f32>, params: &Params, seed: u64) -> Self {
        let (n, n_parts) = (rows.len(), params.n_parts(rows.len()));
        let parts = (0..n_parts).map(|part| n * part / n_parts..n * (part + 1) / n_parts).collect();
        let mut order = Vec::new();
        if params.method == Method::Batch {
            order = (0..n as u32).collect();
            order.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
        }
        Self { rows, seeds, method: params.method, parts, order }
    }

    /// The rows.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// The rows, for another run.
    pub fn into_rows(self) -> Rows {
        self.rows
    }

    /// Where centres begin.
    pub fn seeds(&self) -> &Array2<f32> {
        &self.seeds
    }

    /// The rows of each mini-batch.
    pub fn batches(&self) -> impl Iterator<Item = &[u32]> {
        self.parts.iter().map(|part| &self.order[part.clone()])
    }

    /// The tables, all zero, and no row with a centre.
    pub fn tables(&self) -> Vec<Table> {
        let sums = Table::dense(SUMS, self.seeds.nrows(), self.seeds.ncols() + 1).of::<f64>();
        if self.method == Method::Batch {
            return vec![sums];
        }
        let starts: Vec<u32> = self.parts.iter().map(|part| part.start as u32).collect();
        let centre = Table::dense(CENTRE, self.rows.len(), 1).of::<i32>().leased_by_part(&starts);
        vec![sums, centre.starting(|_, row: &mut [i32]| row[0] = NONE)]
    }

    /// Passes until the centres stand.
    pub fn schedule(&self, params: &Params, seed: u64) -> Box<dyn Schedule> {
        let (n, epochs) = (self.parts.len(), params.epochs as u64);
        let end = |least| End { method: params.method, least };
        match params.method {
            Method::Full => {
                let least = params.tolerance * self.rows.mean_variance();
                Box::new(Until::new(Fixed::new(n, epochs), end(least)))
            }
            Method::Batch => Box::new(Until::new(Shuffled::new(n, epochs, seed), end(params.tolerance))),
        }
    }

    /// The centres that the tables hold.
    pub fn centres(&self, tables: &slackline::Model) -> Centres {
        solver::centres(&tables.dense::<f64>(SUMS), &self.seeds, &self.rows)
    }
}

/// The app of one worker.
pub(super) struct Clusterer {
    setup: Arc<Setup>,
    room: Room,
}

impl Clusterer {
    /// An app that works on parts of `setup`.
    pub(super) fn new(setup: Arc<Setup>) -> Self {
        let room = Room::new(setup.seeds.ncols(), setup.seeds.nrows());
        Self { setup, room }
    }

    fn step(&mut self, mut step: Step) -> Outcome {
        let setup = &*self.setup;
        let part = step.part().index();
        let centres = solver::centres(&step.read::<f64>(SUMS).to_array(), &setup.seeds, &setup.rows);
        let mut change = Sums::zeros((setup.seeds.nrows(), setup.seeds.ncols() + 1));
        let range = setup.parts[part].clone();
        let Found { cost, moved, shift } = match setup.method {
            Method::Full => {
                let [mut centre] = step.lease::<i32, 1>([CENTRE]);
                let to = (centre.values(), &mut change);
                solver::full(&setup.rows, (part, range), &centres, &mut self.room, to)
            }
            Method::Batch => {
                solver::batch(&setup.rows, &setup.order[range], &centres, &mut self.room, &mut change)
            }
        };
        let mut delta = step.delta::<f64>(SUMS);
        for (centre, change) in change.outer_iter().enumerate() {
            if change.iter().any(|change| *change != 0.0) {
                delta.add_row(centre, change.as_slice().expect("rows lie one after the other"));
            }
        }
        step.add(delta);
        let unknown = f64::from(u8::from(shift.is_none()));
        let sums = vec![moved as f64, shift.unwrap_or_default(), unknown];
        step.found(Findings { cost, sums, ..Findings::default() })
    }
}

impl Actor for Clusterer {
    type Context = Context<Self>;
}

impl Handler<Step> for Clusterer {
    type Result = Outcome;
    fn handle(&mut self, step: Step, _: &mut Self::Context) -> Outcome {
        self.step(step)
    }
}
