//! An app of one's own with the whole command line of `slackline`: options and help, job files, progress, Ctrl-C,
//! checkpoints, the run directory, and clusters.
//!
//! ```text
//! $ seq 1 100 > numbers.txt
//! $ cargo run --example own_app -- train mean --data numbers.txt --rate 0.5 --out runs/mean
//! $ cargo run --example own_app -- evaluate runs/mean --data numbers.txt
//! $ printf 'app: mean\ndata: numbers.txt\nnodes: [{name: a}, {name: b}]\n' > two.yaml
//! $ cargo run --example own_app -- launch two.yaml
//! ```

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use slackline::prelude::*;
use slackline_apps::Error;
use slackline_apps::catalog::{App, Array, News, OptionSpec, Request, Trained, Watch};
use slackline_apps::options::Options;
use slackline_apps::run::{self, Origin};

/// The mean of a file of numbers, by gradient descent on ½·mean (x − m)².
struct Mean;

const OPTIONS: &[OptionSpec] = &[
    OptionSpec { name: "rate", value: "R", default: "0.5", help: "Step size, more than 0" },
    OptionSpec { name: "steps", value: "N", default: "50", help: "How many steps, 1 or more" },
    OptionSpec {
        name: "parts",
        value: "N",
        default: "one per worker",
        help: "Parts of the numbers, 1 or more",
    },
    OptionSpec { name: "pause", value: "MS", default: "0", help: "Milliseconds between steps, to watch it" },
    OptionSpec { name: "delay", value: "MS", default: "0", help: "Milliseconds before the first step" },
    OptionSpec { name: "centre", value: "", default: "true", help: "Start at the first number, not at 0" },
];

fn main() -> ExitCode {
    slackline_cluster::cli::run(&[&Mean], std::env::args_os().collect())
}

/// The app of one worker: it has all numbers, and a step is about the part that the schedule picked.
#[derive(Clone)]
struct Descender {
    numbers: Arc<[f64]>,
    parts: usize,
    rate: f64,
    pause: Duration,
}

impl Actor for Descender {
    type Context = Context<Self>;
}

impl Handler<Step> for Descender {
    type Result = Outcome;

    fn handle(&mut self, mut step: Step, _: &mut Self::Context) -> Outcome {
        let (part, pass) = (step.part().index(), step.orders()[0]);
        if pass > 0.0 {
            std::thread::sleep(self.pause);
        }
        let n = self.numbers.len();
        let slice = &self.numbers[part * n / self.parts..(part + 1) * n / self.parts];
        let mean = step.read::<f64>("mean").row(0)[0];
        let gradient = slice.iter().map(|x| mean - x).sum::<f64>() / n as f64;
        let mut change = step.delta::<f64>("mean");
        change.add_row(0, &[-self.rate * gradient]);
        step.add(change);
        step.done(squares(slice, mean) / (2.0 * n as f64))
    }
}

impl App for Mean {
    fn name(&self) -> &'static str {
        "mean"
    }

    fn about(&self) -> &'static str {
        "The mean of a file of numbers, by gradient descent"
    }

    fn options(&self) -> &'static [OptionSpec] {
        OPTIONS
    }

    fn train(&self, request: &Request, watch: &Watch) -> Result<Trained, Error> {
        let origin = Origin::find(request, watch)?;
        let request = &origin.inherit(request, &["parts"]);
        let options = Options(&request.options);
        let rate = options.positive("rate")?.unwrap_or(0.5);
        let steps = options.count("steps")?.unwrap_or(50);
        let parts = options.count("parts")?.unwrap_or(request.workers);
        let centre = options.switch("centre")?.unwrap_or(true);
        let milliseconds =
            |name| options.given(name, "a whole number", |_| true).map(Option::unwrap_or_default);
        let [pause, delay] = [milliseconds("pause")?, milliseconds("delay")?].map(Duration::from_millis);
        let consistency = run::consistency(request, Consistency::Bsp)?;
        let schedule = run::schedule(request, &["fixed"])?;
        let settings =
            [("rate", rate.to_string()), ("parts", parts.to_string()), ("centre", centre.to_string())];
        let origin = origin.settle((self.name(), consistency), request, settings)?;
        let numbers: Arc<[f64]> = read(&request.data)?.into();
        (watch.tell)(News::Fact(format!("{} numbers", numbers.len())));
        std::thread::sleep(delay);

        let start = if centre { numbers[0] } else { 0.0 };
        let table = Table::dense("mean", 1, 1).of::<f64>();
        let job = run::job(self.name(), request, consistency, origin)
            .table(table.starting(move |_, row: &mut [f64]| row[0] = start))
            .schedule(Fixed::new(parts, steps as u64));
        let app = Descender { numbers: Arc::clone(&numbers), parts, rate, pause };
        let trained = run::run(job, watch, move |_| app.clone())?;

        let mean = trained.model.dense::<f64>("mean")[[0, 0]];
        let mut config = run::common(consistency, schedule);
        config.extend([("rate".into(), rate.into()), ("steps".into(), steps.into())]);
        config.extend([("parts".into(), parts.into()), ("centre".into(), centre.into())]);
        Ok(Trained {
            objective: loss(&numbers, mean),
            arrays: vec![("mean".into(), Array::F64(ndarray::arr1(&[mean]).into_dyn()))],
            ..run::finished(&trained, config)
        })
    }

    fn evaluate(&self, directory: &Path, data: &Path) -> Result<BTreeMap<String, f64>, Error> {
        let path = directory.join("model").join("mean.npy");
        let problem =
            |error: ndarray_npy::ReadNpyError| Error::Data { path: path.clone(), problem: error.to_string() };
        let mean: ndarray::Array1<f64> = ndarray_npy::read_npy(&path).map_err(problem)?;
        Ok(BTreeMap::from([("loss".into(), loss(&read(data)?, mean[0]))]))
    }
}

fn squares(numbers: &[f64], mean: f64) -> f64 {
    numbers.iter().map(|x| (x - mean).powi(2)).sum()
}

fn loss(numbers: &[f64], mean: f64) -> f64 {
    squares(numbers, mean) / (2.0 * numbers.len() as f64)
}

fn read(path: &Path) -> Result<Vec<f64>, Error> {
    let text =
        std::fs::read_to_string(path).map_err(|source| Error::File { path: path.to_path_buf(), source })?;
    let number = |(index, line): (usize, &str)| {
        line.trim().parse().map_err(|_| Error::Line {
            path: path.to_path_buf(),
            line: index as u64 + 1,
            problem: format!("{line:?} is not a number"),
        })
    };
    let numbers: Vec<f64> = text.lines().enumerate().map(number).collect::<Result<_, _>>()?;
    match numbers.len() {
        0 => Err(Error::Data { path: path.to_path_buf(), problem: "holds no numbers".into() }),
        _ => Ok(numbers),
    }
}
