//! What staleness buys where workers are now and then slow: time to an objective, against `bsp`.
//!
//! Four workers fit a least-squares model by stochastic gradients on one shared row. A step takes a fixed time, and five
//! times as long with probability 0.1: it waits on a timer, so that cores do not matter. With steps of length 1, a clock
//! of `bsp` lasts `1 + 4·(1 − 0.9⁴) = 2.376`, a step on its own `1.4`: no consistency can be below 0.59 of `bsp`.
//!
//! `cargo bench -p slackline-benches --bench straggler -- curves.svg` writes the curves of the last seed, too.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use actix::prelude::*;
use plotters::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use slackline::prelude::*;
use slackline::{Event, Progress};

const WORKERS: usize = 4;
const PARTS: usize = 32;
const SAMPLES: usize = 32;
const WIDTH: usize = 32;
const RATE: f64 = 0.005;
const STEP: Duration = Duration::from_millis(5);
const SEEDS: u64 = 5;
const PASSES: u64 = 30;
/// The share of the first gap to the optimum that is left at the objective.
const GOAL: f64 = 0.01;
const CONSISTENCIES: [&str; 5] = ["bsp", "ssp:4", "essp:4", "bounded_error:0.01,4", "adaptive:0,8"];

/// A made-up problem with a known answer, cut into parts.
struct Problem {
    x: Vec<[f64; WIDTH]>,
    y: Vec<f64>,
}

impl Problem {
    fn new(seed: u64) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut normal = || (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
        let truth: [f64; WIDTH] = std::array::from_fn(|_| normal());
        let x: Vec<[f64; WIDTH]> = (0..PARTS * SAMPLES).map(|_| std::array::from_fn(|_| normal())).collect();
        let y = x.iter().map(|x| dot(x, &truth) + 0.1 * normal()).collect();
        Self { x, y }
    }

    /// Half the mean squared error over samples, added up to `change` as a gradient.
    fn gradient(&self, samples: std::ops::Range<usize>, w: &[f64], change: &mut [f64]) -> f64 {
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
    fn optimum(&self) -> f64 {
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

struct Worker(Arc<Problem>);

impl Actor for Worker {
    type Context = Context<Self>;
}

impl Handler<Step> for Worker {
    type Result = Outcome;
    fn handle(&mut self, mut step: Step, _: &mut Self::Context) -> Outcome {
        let slow = step.rng().random::<f64>() < 0.1;
        std::thread::sleep(if slow { 5 * STEP } else { STEP });
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

/// Seconds, and the gap to the optimum as a share of the first.
type Curve = Vec<(f64, f64)>;

/// One run: the gap to the optimum over time, as a share of the first, and bytes that were sent.
fn run(problem: &Arc<Problem>, consistency: &str, seed: u64) -> Result<(Curve, u64), Box<dyn Error>> {
    let (sender, events) = channel();
    let app = Arc::clone(problem);
    let job = Job::new("straggler")
        .table(Table::dense("w", 1, WIDTH).of::<f64>())
        .schedule(Fixed::new(PARTS, PASSES))
        .consistency(consistency.parse()?)
        .local(WORKERS)
        .seed(seed)
        .watch(move |event| {
            if let Event::Progress(Progress { seconds, mark, .. }) = event {
                sender.send((*seconds, mark.objective)).ok();
            }
        });
    let trained = job.start(move |_| Worker(Arc::clone(&app)))?.wait()?;
    let optimum = problem.optimum();
    let first = problem.gradient(0..problem.y.len(), &[0.0; WIDTH], &mut [0.0; WIDTH]) - optimum;
    let curve =
        events.iter().map(|(seconds, cost)| (seconds, ((cost - optimum) / first).max(1e-6))).collect();
    Ok((curve, trained.workers.iter().map(|worker| worker.traffic.total()).sum()))
}

/// When the goal was reached, between two measurements where the logarithm of the gap says.
fn reached(curve: &[(f64, f64)]) -> f64 {
    let Some(after) = curve.iter().position(|(_, gap)| *gap <= GOAL) else { return f64::INFINITY };
    let (t1, g1) = curve[after];
    let (t0, g0) = if after == 0 { (0.0, 1.0) } else { curve[after - 1] };
    t0 + (t1 - t0) * (GOAL.ln() - g0.ln()) / (g1.ln() - g0.ln())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn draw(path: &Path, curves: &[(String, Vec<(f64, f64)>)]) -> Result<(), Box<dyn Error>> {
    let area = SVGBackend::new(path, (800, 500)).into_drawing_area();
    area.fill(&WHITE)?;
    let longest = curves.iter().flat_map(|(_, curve)| curve).map(|(t, _)| *t).fold(0.0, f64::max);
    let mut chart = ChartBuilder::on(&area)
        .caption("Four workers, steps five times as long with probability 0.1", ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d(0.0..longest, (1e-4..1.0).log_scale())?;
    chart.configure_mesh().x_desc("seconds").y_desc("gap to the optimum, of the first").draw()?;
    for (number, (name, curve)) in curves.iter().enumerate() {
        let color = Palette99::pick(number).mix(1.0);
        let line = LineSeries::new(curve.iter().copied(), color.stroke_width(2));
        chart
            .draw_series(line)?
            .label(name)
            .legend(move |(x, y)| PathElement::new(vec![(x, y), (x + 20, y)], color.stroke_width(2)));
    }
    chart.configure_series_labels().background_style(WHITE.mix(0.8)).border_style(BLACK).draw()?;
    area.present()?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let svg = std::env::args().skip(1).find(|arg| !arg.starts_with("--"));
    let (mut times, mut bytes) =
        (vec![Vec::new(); CONSISTENCIES.len()], vec![Vec::new(); CONSISTENCIES.len()]);
    let mut curves = Vec::new();
    for seed in 0..SEEDS {
        let problem = Arc::new(Problem::new(seed));
        curves.clear();
        for (number, consistency) in CONSISTENCIES.iter().enumerate() {
            let (curve, sent) = run(&problem, consistency, seed)?;
            times[number].push(reached(&curve));
            bytes[number].push(sent as f64);
            curves.push(((*consistency).to_owned(), curve));
        }
    }
    let (times, bytes): (Vec<f64>, Vec<f64>) =
        (times.into_iter().map(median).collect(), bytes.into_iter().map(median).collect());
    println!("{:<22} {:>9} {:>7} {:>12}", "consistency", "seconds", "of bsp", "kB sent");
    for (number, consistency) in CONSISTENCIES.iter().enumerate() {
        let (seconds, of_bsp, sent) = (times[number], times[number] / times[0], bytes[number] / 1000.0);
        println!("{consistency:<22} {seconds:>9.3} {of_bsp:>7.3} {sent:>12.0}");
    }
    println!("medians over {SEEDS} seeds; the goal is 0.7 or less, 0.59 is the limit");
    if let Some(path) = svg {
        draw(Path::new(&path), &curves)?;
        println!("curves: {path}");
    }
    Ok(())
}
