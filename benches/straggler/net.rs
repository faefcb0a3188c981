//! A net that reads 1,797 handwritten digits (`apps/data`), in steps of a fixed time that are now and then slow.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use actix::prelude::*;
use slackline::prelude::*;
use slackline_apps::catalog::Request;
use slackline_apps::data::points::{PointsOptions, Wanted, read_points};
use slackline_apps::mlp::params::Params;
use slackline_apps::mlp::problem::{Problem, Rows};
use slackline_apps::mlp::{Learner, tables};

use crate::{Curve, WORKERS, problem, train};

/// More than any consistency needs to reach the goal.
const PASSES: u64 = 60;

/// The net, in steps that wait.
struct Paced(Learner);

impl Actor for Paced {
    type Context = Context<Self>;
}

impl Handler<Step> for Paced {
    type Result = Outcome;
    fn handle(&mut self, step: Step, _: &mut Self::Context) -> Outcome {
        problem::pace(&step);
        self.0.step(step)
    }
}

/// The digits and a net of 64-32-10, by plain gradient descent.
pub(crate) fn digits(seed: u64) -> Result<Arc<Problem>, Box<dyn Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../apps/data/digits.svm.zst");
    let options = PointsOptions { wanted: Wanted::Classes, ..PointsOptions::default() };
    let points = read_points(&path, &options, &|_| {})?;
    let request = Request::on(path).with("layers", 32).with("optimizer", "sgd").with("rate", 0.002);
    let params = Params::parse(&request.with("batch", 64).with("step", "constant").options)?;
    let labels = points.labels.ok_or("the digits have labels")?;
    Ok(Arc::new(Problem::new(Rows { features: points.features, labels }, None, params, seed)))
}

/// One run, stopped at the goal: the training loss over time, as a share of that of ten equal chances.
pub(crate) fn run(
    problem: &Arc<Problem>,
    consistency: &str,
    seed: u64,
    goal: f64,
) -> Result<Curve, Box<dyn Error>> {
    let job = Job::new("net")
        .schedule(Shuffled::new(problem.n_batches(), PASSES, seed))
        .consistency(consistency.parse()?)
        .seed(seed)
        .local(WORKERS);
    let job = tables(problem).into_iter().fold(job, Job::table);
    let (first, app) = (problem.n_rows() as f64 * 10f64.ln(), Arc::clone(problem));
    let make = move |_| Paced(Learner::new(Arc::clone(&app), 1));
    Ok(train(job, make, move |loss| loss / first, goal)?.0)
}
