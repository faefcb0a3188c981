//! The perceptron (Rosenblatt 1958) as an app: the file to copy when you write your own (`CONTRIBUTING.md` says how).
//!
//! ```text
//! $ printf -- '-1 1:1 2:3\n1 1:4 2:1\n' > two.svm
//! $ cargo run --example perceptron -- train perceptron --data two.svm --out runs/p
//! $ cargo run --example perceptron -- predict runs/p --data two.svm
//! ```

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use actix::prelude::*;
use slackline::prelude::*;
use slackline_apps::catalog::{App, News, OptionSpec, Request, Trained, Watch};
use slackline_apps::data::Samples;
use slackline_apps::linear::LinearModel;
use slackline_apps::options::Options;
use slackline_apps::prediction::{Predictions, Question};
use slackline_apps::run::{self, Origin};
use slackline_apps::{Error, samples};

fn main() -> ExitCode {
    slackline_cluster::cli::run(&[&Perceptron], std::env::args_os().collect())
}

// 1. What it learns: `w·x + b > 0` for samples with a label above 0. A sample on the wrong side moves `w` by `y x`, and `b` by `y`.
struct Perceptron;

// 2. What it can be told.
const OPTIONS: &[OptionSpec] = &[
    OptionSpec { name: "epochs", value: "N", default: "10", help: "passes over the data, 1 or more" },
    OptionSpec {
        name: "parts",
        value: "N",
        default: "16",
        help: "parts of the data, 1 or more: one is a step",
    },
    samples::INDEX_BASE,
];

// 3. One worker: what it alone needs is in the struct, what others need goes through tables.
struct Learner {
    samples: Arc<Samples>,
    parts: usize,
}

impl Actor for Learner {
    type Context = Context<Self>;
}

impl Handler<Step> for Learner {
    type Result = Outcome;

    fn handle(&mut self, mut step: Step, _: &mut Self::Context) -> Outcome {
        let p = self.samples.features.cols();
        let mut weights = vec![0.0; p + 1];
        step.read::<f64>("weights").copy_row(0, &mut weights); // at most `s` clocks old
        let (read, mut mistakes) = (weights.clone(), 0.0);
        for i in (step.part().index()..self.samples.labels.len()).step_by(self.parts) {
            let y = self.samples.labels[i].signum();
            let row = self.samples.features.outer_view(i).expect("there is a row for every label");
            if y * samples::score(row, &weights[..p], weights[p]) <= 0.0 {
                row.iter().for_each(|(column, x)| weights[column] += y * x);
                weights[p] += y;
                mistakes += 1.0;
            }
        }
        let mut change = step.delta::<f64>("weights");
        let moved: Vec<f64> = weights.iter().zip(&read).map(|(new, old)| new - old).collect();
        change.add_row(0, &moved);
        step.add(change);
        step.done(mistakes) // its share of the objective of this pass
    }
}

// 4. From a request to a model.
impl App for Perceptron {
    fn name(&self) -> &'static str {
        "perceptron"
    }

    fn about(&self) -> &'static str {
        "Two classes, told apart by a plane: the perceptron"
    }

    fn options(&self) -> &'static [OptionSpec] {
        OPTIONS
    }

    fn train(&self, request: &Request, watch: &Watch) -> Result<Trained, Error> {
        run::only_known(self.name(), request, OPTIONS)?;
        let origin = Origin::find(request, watch)?; // a checkpoint, where the run goes on from one
        let options = Options(&request.options);
        let (epochs, parts) = (options.count("epochs")?.unwrap_or(10), options.count("parts")?.unwrap_or(16));
        let consistency = run::consistency(request, Consistency::Ssp(1))?;
        let (schedule, passes) = run::passes(request, parts, epochs)?;
        let settings = samples::settings(request).into_iter().chain([("parts", parts.to_string())]);
        let origin = origin.settle((self.name(), consistency), request, settings)?;
        let samples = Arc::new(samples::read(request, watch)?);
        let p = samples.features.cols();

        let job = run::job(self.name(), request, consistency, origin)
            .table(Table::dense("weights", 1, p + 1).of::<f64>())
            .schedule(passes);
        let learner = Arc::clone(&samples);
        let run = run::run(job, watch, move |_| Learner { samples: Arc::clone(&learner), parts })?;

        let mut coefficients = run.model.dense::<f64>("weights").row(0).to_vec();
        let intercept = coefficients.pop().expect("the bias is last");
        let model = LinearModel { coefficients, intercept, index_base: samples.facts.index_base };
        let mut config = run::common(consistency, schedule);
        config.extend([("epochs".into(), epochs.into()), ("parts".into(), parts.into())]);
        let mut trained = run::finished(&run, config);
        trained.objective = mistakes(&samples, &model);
        if let Some(path) = &request.test {
            let held_out = model.read_held_out(path, &watch.tell)?;
            trained.metrics.insert("test_accuracy".into(), accuracy(&held_out, &model));
        }
        model.write(&mut trained);
        Ok(trained)
    }

    fn evaluate(&self, directory: &Path, data: &Path) -> Result<BTreeMap<String, f64>, Error> {
        let model = LinearModel::read(directory)?;
        Ok(BTreeMap::from([("accuracy".into(), accuracy(&model.read_held_out(data, &|_| {})?, &model))]))
    }

    fn predict(
        &self,
        directory: &Path,
        data: &Path,
        question: &Question,
        tell: &(dyn Fn(News) + Sync),
    ) -> Result<Predictions, Error> {
        question.is_plain(self.name())?;
        let model = LinearModel::read(directory)?;
        let scores = model.scores(&model.read_new(data, tell)?);
        Ok(Predictions::numbers(["label", "score"], scores.into_iter().map(|score| [score.signum(), score])))
    }
}

/// Samples on the wrong side.
fn mistakes(samples: &Samples, model: &LinearModel) -> f64 {
    let scores = model.scores(&samples.features);
    scores.iter().zip(&samples.labels).filter(|(score, label)| **score * **label <= 0.0).count() as f64
}

fn accuracy(samples: &Samples, model: &LinearModel) -> f64 {
    1.0 - mistakes(samples, model) / samples.labels.len() as f64
}
