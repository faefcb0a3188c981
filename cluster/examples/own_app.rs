//! An app of one's own with the whole command line of `slackline`: options and help, job files, progress, Ctrl-C and
//! the run directory.
//!
//! ```text
//! $ seq 1 100 > numbers.txt
//! $ cargo run --example own_app -- train mean --data numbers.txt --rate 0.5 --out runs/mean
//! $ cargo run --example own_app -- evaluate runs/mean --data numbers.txt
//! ```

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use slackline_apps::Error;
use slackline_apps::catalog::{App, Array, News, OptionSpec, Progress, Request, Trained, Watch};

/// The mean of a file of numbers, by gradient descent on ½·mean (x − m)².
struct Mean;

const OPTIONS: &[OptionSpec] = &[
    OptionSpec { name: "rate", value: "R", default: "0.5", help: "Step size, more than 0" },
    OptionSpec { name: "steps", value: "N", default: "50", help: "How many steps, 1 or more" },
    OptionSpec { name: "pause", value: "MS", default: "0", help: "Milliseconds between steps, to watch it" },
    OptionSpec { name: "delay", value: "MS", default: "0", help: "Milliseconds before the first step" },
    OptionSpec { name: "centre", value: "", default: "true", help: "Start at the first number, not at 0" },
];

fn main() -> ExitCode {
    slackline_cluster::cli::run(&[&Mean], std::env::args_os().collect())
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
        let rate: f64 = option(request, "rate", 0.5, "a number more than 0")?;
        let steps: u64 = option(request, "steps", 50, "a whole number")?;
        let pause: u64 = option(request, "pause", 0, "a whole number")?;
        let delay: u64 = option(request, "delay", 0, "a whole number")?;
        let centre: bool = option(request, "centre", true, "true or false")?;
        let numbers = read(&request.data)?;
        (watch.tell)(News::Fact(format!("{} numbers", numbers.len())));

        std::thread::sleep(Duration::from_millis(delay));
        let (mut mean, started) = (if centre { numbers[0] } else { 0.0 }, Instant::now());
        let mut trained = Trained { objective: loss(&numbers, mean), ..Trained::default() };
        for clock in 1..=steps {
            if watch.stop.is_thrown() {
                trained.stopped = true;
                break;
            }
            let gradient = numbers.iter().map(|x| mean - x).sum::<f64>() / numbers.len() as f64;
            mean -= rate * gradient;
            trained.objective = loss(&numbers, mean);
            trained.clocks = clock;
            (watch.tell)(News::Progress(Progress {
                seconds: started.elapsed().as_secs_f64(),
                clock,
                epoch: clock as f64,
                objective: trained.objective,
                done: Some(clock as f64 / steps as f64),
                ..Progress::default()
            }));
            std::thread::sleep(Duration::from_millis(pause));
        }
        trained.train_seconds = started.elapsed().as_secs_f64();
        trained.config.extend([("rate".into(), rate.into()), ("steps".into(), steps.into())]);
        trained.config.insert("centre".into(), centre.into());
        trained.arrays = vec![("mean".into(), Array::F64(ndarray::arr1(&[mean]).into_dyn()))];
        Ok(trained)
    }

    fn evaluate(&self, directory: &Path, data: &Path) -> Result<BTreeMap<String, f64>, Error> {
        let path = directory.join("model").join("mean.npy");
        let problem =
            |error: ndarray_npy::ReadNpyError| Error::Data { path: path.clone(), problem: error.to_string() };
        let mean: ndarray::Array1<f64> = ndarray_npy::read_npy(&path).map_err(problem)?;
        Ok(BTreeMap::from([("loss".into(), loss(&read(data)?, mean[0]))]))
    }
}

fn loss(numbers: &[f64], mean: f64) -> f64 {
    numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (2.0 * numbers.len() as f64)
}

fn option<T: std::str::FromStr>(request: &Request, name: &str, default: T, rule: &str) -> Result<T, Error> {
    let Some(value) = request.options.get(name) else { return Ok(default) };
    let refuse =
        |_| Error::Option { option: format!("--{name}"), value: value.clone(), rule: rule.to_owned() };
    value.parse().map_err(refuse)
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
