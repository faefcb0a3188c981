//! What is trained: a least-squares model on one shared row, in steps of a fixed time that are now and then slow.

use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use slackline::prelude::*;

const PARTS: usize = 32;
const SAMPLES: usize = 32;
pub(crate) const WIDTH: usize = 32;
const RATE: f64 = 0.005;
const STEP: Duration = Duration::from_millis(5);
/// More than any consistency needs to reach the goal.
const PASSES: u64 = 60;

/// A made-up problem with a known answer, cut into parts.
pub(crate) struct Problem {
    x: Vec<[f64; WIDTH]>,
    pub(crate) y: Vec<f64>,
}

impl Problem {
    pub(crate) fn new(seed: u64) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut normal = || (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
        let truth: [f64; WIDTH] = std::array::from_fn(|_| normal());
        let x: Vec<[f64; WIDTH]> = (0..PARTS * SAMPLES).map(|_| std::array::from_fn(|_| normal())).collect();
        let y = x.iter().map(|x| dot(x, &truth) + 0.1 * normal()).collect();
        Self { x, y }
    }

    /// Half the mean squared error over samples, added up to `change` as a gradient.
    pub(crate) fn gradient(&self, samples: std::ops::Range<usize>, w: &[f64], change: &mut [f64]) -> f64 {
        let n = samples.len() as f64;
        let mut cost = 0.0;
        for (x, y) in self.x[samples.clone()].iter().zip(&self.y[samples]) {
            let error = dot(x, w) - y;
            cost += 0.5 * error * error / n;
            change.iter_mut().zip(x).for_each(|(change, x)| *change += error * x / n);
        }
        cost
    }

    /// The smallest objective, by plain gradient descent.
    pub(crate) fn optimum(&self) -> f64 {
        let (mut w, mut cost) = ([0.0; WIDTH], 0.0);
        for _ in 0..200 {
            let mut change = [0.0; WIDTH];
            cost = self.gradient(0..self.y.len(), &w, &mut change);
            w.iter_mut().zip(change).for_each(|(w, change)| *w -= 0.5 * change);
        }
        cost
    }
}

fn dot(x: &[f64], w: &[f64]) -> f64 {
    x.iter().zip(w).map(|(x, w)| x * w).sum()
}

/// Waits for as long as the step takes.
pub(crate) fn pace(step: &Step) {
    let slow = step.rng().random::<f64>() < 0.1;
    std::thread::sleep(if slow { 5 * STEP } else { STEP });
}

/// The app.
pub(crate) struct Worker(pub(crate) Arc<Problem>);

impl Actor for Worker {
    type Context = Context<Self>;
}

impl Handler<Step> for Worker {
    type Result = Outcome;
    fn handle(&mut self, mut step: Step, _: &mut Self::Context) -> Outcome {
        pace(&step);
        let first = step.part().index() * SAMPLES;
        let w = step.read::<f64>("w");
        let mut delta = step.delta::<f64>("w");
        let mut change = [0.0; WIDTH];
        let cost = self.0.gradient(first..first + SAMPLES, w.row(0), &mut change);
        delta.row(0).iter_mut().zip(change).for_each(|(delta, change)| *delta = -RATE * change);
        step.add(delta);
        step.done(cost / PARTS as f64)
    }
}

/// The job, without workers or a seat.
pub(crate) fn job(consistency: Consistency, seed: u64) -> Job {
    Job::new("straggler")
        .table(Table::dense("w", 1, WIDTH).of::<f64>())
        .schedule(Fixed::new(PARTS, PASSES))
        .consistency(consistency)
        .seed(seed)
}
