//! Metric learning as an actor: the map is a shared table, rows and pairs stay with the worker.

use std::ops::Range;
use std::sync::Arc;

use actix::prelude::*;
use ndarray::Array2;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use slackline::prelude::*;

use super::gradient::{Batch, Losses, Metric, Room};
use super::pairs::Pairs;
use super::params::Params;
use super::rule::Fading;
use super::start;
use crate::Error;
use crate::data::points::Features;

/// The table: the map, rank x columns.
const MAP: &str = "map";

/// Everything that workers share and nobody changes.
pub struct Setup {
    features: Features,
    pairs: Pairs,
    /// The similar and the dissimilar pairs of each part.
    parts: Vec<[Range<usize>; 2]>,
    metric: Metric,
    start: Array2<f32>,
    rule: Fading,
    epochs: u64,
}

impl Setup {
    /// Deals the pairs to parts, of each kind as many as of the other's share, and finds where the map begins. Rows are
    /// taken as they are.
    ///
    /// # Errors
    /// A rank above the columns.
    pub fn new(features: Features, mut pairs: Pairs, params: &Params, seed: u64) -> Result<Self, Error> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        pairs.similar.shuffle(&mut rng);
        pairs.dissimilar.shuffle(&mut rng);
        let rank = params.rank_of(features.n_columns())?;
        let start = start::start(&features, &pairs, rank, (params.margin, seed));
        let n_parts = params.n_parts(pairs.len());
        let share = |n: usize, part: usize| n * part / n_parts..n * (part + 1) / n_parts;
        let of_part = |part| [share(pairs.similar.len(), part), share(pairs.dissimilar.len(), part)];
        let parts: Vec<[Range<usize>; 2]> = (0..n_parts).map(of_part).collect();
        let size =
            start.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>() / start.len().max(1) as f64;
        let steps = (n_parts * params.epochs) as f32;
        Ok(Self {
            parts,
            metric: Metric { lambda: params.lambda, margin: params.margin },
            rule: Fading { rate: (params.rate * size.sqrt()) as f32, steps },
            epochs: params.epochs as u64,
            start,
            features,
            pairs,
        })
    }

    /// The rows.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// What the objective weighs.
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// Where the map begins.
    pub fn start(&self) -> &Array2<f32> {
        &self.start
    }

    /// The step at the shard.
    pub fn rule(&self) -> Fading {
        self.rule
    }

    /// How many parts there are, and passes.
    pub fn shape(&self) -> (usize, u64) {
        (self.parts.len(), self.epochs)
    }

    /// The pairs of a part.
    pub fn batch(&self, part: usize) -> Batch<'_> {
        let [similar, dissimilar] = self.parts[part].clone();
        Batch { similar: &self.pairs.similar[similar], dissimilar: &self.pairs.dissimilar[dissimilar] }
    }

    /// The share of the objective that sums over some pairs are.
    pub fn share(&self, losses: Losses) -> f64 {
        let mean = |sum: f64, n: usize| sum / n.max(1) as f64;
        let far = self.metric.lambda * mean(losses.dissimilar, self.pairs.dissimilar.len());
        mean(losses.similar, self.pairs.similar.len()) + far
    }

    /// The table of the map, at its start.
    pub(super) fn table(self: &Arc<Self>) -> Table {
        let setup = Arc::clone(self);
        let (rank, columns) = self.start.dim();
        Table::dense(MAP, rank, columns).rule(Rule::Custom(Arc::new(self.rule))).starting(
            move |row, values: &mut [f32]| {
                values.iter_mut().zip(setup.start.row(row)).for_each(|(to, from)| *to = *from);
            },
        )
    }

    /// Passes over the parts, each followed by the exact objective.
    pub(super) fn schedule(&self, seed: u64) -> impl Schedule + 'static {
        let passes = Shuffled::new(self.parts.len(), self.epochs, seed);
        Evaluated::new(passes, self.parts.len(), 1, Box::new(|cost, _| (cost, Vec::new())))
    }

    /// The map that the table holds.
    pub(super) fn map(tables: &slackline::Model) -> Array2<f32> {
        tables.dense::<f32>(MAP)
    }
}

/// The app of one worker.
pub(super) struct Learner {
    setup: Arc<Setup>,
    room: Room,
    gradient: Array2<f32>,
}

impl Learner {
    /// An app that works on pairs of `setup`.
    pub(super) fn new(setup: Arc<Setup>) -> Self {
        let room = Room::new(&setup.features, setup.start.nrows());
        let gradient = Array2::zeros(setup.start.dim());
        Self { setup, room, gradient }
    }

    fn train(&mut self, mut step: Step) -> Outcome {
        let setup = &*self.setup;
        let (batch, map) = (setup.batch(step.part().index()), step.read::<f32>(MAP).to_array());
        let to = (&mut self.room, &mut self.gradient);
        let losses = setup.metric.gradient(&setup.features, batch, &map, to);
        if !losses.similar.is_finite() {
            return step.failed("the map ran out of range; choose a smaller --rate");
        }
        let mut delta = step.delta::<f32>(MAP);
        for (row, gradient) in self.gradient.outer_iter().enumerate() {
            delta.add_row(row, gradient.as_slice().expect("rows lie one after the other"));
        }
        step.add(delta);
        let cost = setup.share(losses);
        step.done(cost)
    }

    fn score(&mut self, step: Step) -> Outcome {
        let setup = &*self.setup;
        let (batch, map) = (setup.batch(step.part().index()), step.read::<f32>(MAP).to_array());
        let cost = setup.share(setup.metric.losses(&setup.features, batch, &map, &mut self.room));
        step.done(cost)
    }
}

impl Actor for Learner {
    type Context = Context<Self>;
}

impl Handler<Step> for Learner {
    type Result = Outcome;
    fn handle(&mut self, step: Step, _: &mut Self::Context) -> Outcome {
        match step.phase() {
            Phase::Train => self.train(step),
            Phase::Evaluate => self.score(step),
        }
    }
}
