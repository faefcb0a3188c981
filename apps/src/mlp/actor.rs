//! A net as an actor: weights are shared and moved by the shards, rows stay with the worker.

use std::sync::Arc;

use actix::prelude::*;
use slackline::prelude::*;

use super::net::Room;
use super::problem::{Problem, Wanted};
use super::tables::{self, Reading, bias_name, weights_name};

/// The app of one worker: its steps, for an actor of one's own that wraps them, too.
pub struct Learner {
    problem: Arc<Problem>,
    /// Into how many parts an evaluation is cut.
    n_parts: usize,
    room: Room,
    wanted: Wanted,
    /// The pass under way, and its rows.
    order: Option<(u64, Vec<u32>)>,
}

impl Learner {
    /// An app that works on `problem`; its evaluations are cut into `n_parts`.
    pub fn new(problem: Arc<Problem>, n_parts: usize) -> Self {
        let room = problem.room();
        Self { problem, n_parts, room, wanted: Wanted::default(), order: None }
    }

    /// A step of training or evaluation.
    pub fn step(&mut self, step: Step) -> Outcome {
        match step.phase() {
            Phase::Train => self.train(step),
            Phase::Evaluate => self.score(step),
        }
    }

    /// The gradients of one batch, each sent as soon as it is known.
    fn train(&mut self, mut step: Step) -> Outcome {
        let problem = Arc::clone(&self.problem);
        let (pass, number) = (step.orders()[0] as u64, step.part().index());
        if number == problem.n_batches() {
            tables::keep(&mut step, &problem.net);
            return step.done(0.0);
        }
        if problem.batch(number).is_empty() {
            return step.done(0.0);
        }
        if self.order.as_ref().is_none_or(|(of, _)| *of != pass) {
            self.order = Some((pass, problem.order(pass)));
        }
        let order = self.order.as_ref().map_or(&[][..], |(_, order)| order);
        let reading = Reading::of(&step, &problem.net);
        let room = (&mut self.room, &mut self.wanted);
        let score = problem.step(&reading.layers(), (pass, number, order), room, |layer, gradient| {
            let mut weights = step.delta::<f32>(&weights_name(layer));
            weights.fill(|tile| gradient.weights(tile.rows, tile.columns, tile.values));
            step.send(weights);
            let mut bias = step.delta::<f32>(&bias_name(layer));
            let mut of_bias = vec![0.0; problem.net.sizes[layer + 1]];
            gradient.bias(&mut of_bias);
            bias.add_row(0, &of_bias);
            step.send(bias);
        });
        if !score.loss.is_finite() {
            let (rate, pass) = (problem.params.rate, pass + 1);
            return step.failed(format!(
                "the loss is no finite number any more in pass {pass}: the weights grew beyond bounds at --rate {rate}; try a \
                 tenth of it, or --standardize where columns differ in size"
            ));
        }
        step.done(score.loss)
    }

    /// Scores a part of what an evaluation scores; the first part also has the penalty.
    fn score(&mut self, step: Step) -> Outcome {
        let part = step.part().index();
        let reading = Reading::of(&step, &self.problem.net);
        let layers = reading.layers();
        let room = (&mut self.room, &mut self.wanted);
        let scores = self.problem.score(&layers, (part, self.n_parts), room);
        let cost = if part == 0 { super::serial::penalty(&self.problem, &layers) } else { 0.0 };
        let sums = scores.iter().flat_map(|score| [score.loss, score.hits, score.rows]).collect();
        step.found(Findings { cost, sums, ..Findings::default() })
    }
}

impl Actor for Learner {
    type Context = Context<Self>;
}

impl Handler<Step> for Learner {
    type Result = Outcome;
    fn handle(&mut self, step: Step, _: &mut Self::Context) -> Outcome {
        self.step(step)
    }
}
