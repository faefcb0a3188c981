//! What staleness buys where workers are now and then slow: time and bytes to an objective, against `bsp`.
//!
//! Four workers train by stochastic gradients on shared rows. A step takes a fixed time, and five
//! times as long with probability 0.1: it waits on a timer, so that cores do not matter. With steps of length 1, a clock
//! of `bsp` lasts `1 + 4·(1 − 0.9⁴) = 2.376`, a step on its own `1.4`: no consistency can be below 0.59 of `bsp`.
//!
//! First a net on handwritten digits; then a least-squares model, in one process and on two nodes with a line of 20 ms and
//! 100 Mbit/s between them.
//!
//! `cargo bench -p slackline-benches --bench straggler -- DIR` writes the curves of the last seed as SVG, too.

mod link;
mod net;
mod problem;

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;

use plotters::prelude::*;
use slackline::prelude::*;
use slackline::{App, Event, Progress, Trained, WorkerId};

use problem::{Problem, WIDTH, Worker, job};

const WORKERS: usize = 4;
const SEEDS: u64 = 5;
/// The share of the first gap to the optimum that is left at the objective.
const GOAL: f64 = 0.01;
const CONSISTENCIES: [&str; 6] =
    ["bsp", "ssp:4", "essp:4", "bounded_error:0.05,4", "bounded_error:0.1,4", "adaptive:0,8"];

/// The same of the net: a loss of 0.1.
const GOAL_OF_NET: f64 = 0.0434;
const CONSISTENCIES_OF_NET: [&str; 4] = ["bsp", "ssp:2", "essp:2", "essp:4"];

/// Where the workers are.
#[derive(Clone, Copy)]
enum Where {
    OneProcess,
    TwoNodes,
}

/// Seconds, and the gap to the optimum as a share of the first.
type Curve = Vec<(f64, f64)>;

/// One run, stopped at the goal: the gap to the optimum over time, as a share of the first, and bytes that were sent.
fn run(
    problem: &Arc<Problem>,
    place: Where,
    consistency: &str,
    seed: u64,
) -> Result<(Curve, u64), Box<dyn Error>> {
    let consistency: Consistency = consistency.parse()?;
    let optimum = problem.optimum();
    let first = problem.gradient(0..problem.y.len(), &[0.0; WIDTH], &mut [0.0; WIDTH]) - optimum;
    let gap = move |cost: f64| ((cost - optimum) / first).max(1e-6);
    let job = || job(consistency, seed);
    let (curve, trained) = match place {
        Where::OneProcess => train(job().local(WORKERS), make(problem), gap, GOAL)?,
        Where::TwoNodes => {
            let [a, b] = link::seats(WORKERS / 2)?;
            let (follower, app) = (job().seat(b), Arc::clone(problem));
            let follower = thread::spawn(move || follower.start(move |_| Worker(Arc::clone(&app)))?.wait());
            let ended = train(job().seat(a), make(problem), gap, GOAL);
            drop(follower.join().map_err(|_| "the follower panicked")?); // its model is with the lead
            ended?
        }
    };
    Ok((curve, trained.workers.iter().map(|worker| worker.traffic.total()).sum()))
}

/// Makes the app of each worker.
fn make(problem: &Arc<Problem>) -> impl Fn(WorkerId) -> Worker + Send + Sync + 'static {
    let app = Arc::clone(problem);
    move |_| Worker(Arc::clone(&app))
}

/// Runs a job until `gap` of its objective is at the goal.
fn train<A: App>(
    job: Job,
    make: impl Fn(WorkerId) -> A + Send + Sync + 'static,
    gap: impl Fn(f64) -> f64,
    goal: f64,
) -> Result<(Curve, Trained), Box<dyn Error>> {
    let (sender, events) = channel();
    let job = job.watch(move |event| {
        if let Event::Progress(Progress { seconds, mark, .. }) = event {
            sender.send((*seconds, mark.objective)).ok();
        }
    });
    let run = job.start(make)?;
    let (handle, mut curve) = (run.handle(), Curve::new());
    for (seconds, cost) in events {
        curve.push((seconds, gap(cost)));
        if gap(cost) <= goal {
            handle.stop();
        }
    }
    Ok((curve, run.wait()?))
}

/// When the goal was reached, between two measurements where the logarithm of the gap says.
fn reached(curve: &[(f64, f64)], goal: f64) -> f64 {
    let Some(after) = curve.iter().position(|(_, gap)| *gap <= goal) else { return f64::INFINITY };
    let (t1, g1) = curve[after];
    let (t0, g0) = if after == 0 { (0.0, 1.0) } else { curve[after - 1] };
    t0 + (t1 - t0) * (goal.ln() - g0.ln()) / (g1.ln() - g0.ln())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn draw(path: &Path, name: &str, curves: &[(String, Curve)]) -> Result<(), Box<dyn Error>> {
    let area = SVGBackend::new(path, (800, 500)).into_drawing_area();
    area.fill(&WHITE)?;
    let longest = curves.iter().flat_map(|(_, curve)| curve).map(|(t, _)| *t).fold(0.0, f64::max);
    let mut chart = ChartBuilder::on(&area)
        .caption(format!("Steps five times as long with probability 0.1: {name}"), ("sans-serif", 18))
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

/// Runs every consistency on every seed; prints medians, and returns the curves of the last seed.
fn compare(place: Where) -> Result<Vec<(String, Curve)>, Box<dyn Error>> {
    let mut measured = vec![(Vec::new(), Vec::new()); CONSISTENCIES.len()];
    let mut curves = Vec::new();
    for seed in 0..SEEDS {
        let problem = Arc::new(Problem::new(seed));
        curves.clear();
        for (consistency, (times, bytes)) in CONSISTENCIES.iter().zip(&mut measured) {
            let (curve, sent) = run(&problem, place, consistency, seed)?;
            times.push(reached(&curve, GOAL));
            bytes.push(sent as f64);
            curves.push(((*consistency).to_owned(), curve));
        }
    }
    let medians: Vec<_> = measured.into_iter().map(|(times, bytes)| (median(times), median(bytes))).collect();
    println!("{:<22} {:>9} {:>7} {:>12}", "consistency", "seconds", "of bsp", "kB sent");
    for (consistency, (seconds, bytes)) in CONSISTENCIES.iter().zip(&medians) {
        let (of_bsp, sent) = (seconds / medians[0].0, bytes / 1000.0);
        println!("{consistency:<22} {seconds:>9.3} {of_bsp:>7.3} {sent:>12.0}");
    }
    Ok(curves)
}

/// The net under every consistency on every seed; prints medians.
fn compare_net() -> Result<(), Box<dyn Error>> {
    let mut measured = vec![(Vec::new(), Vec::new()); CONSISTENCIES_OF_NET.len()];
    for seed in 0..SEEDS {
        let problem = net::digits(seed)?;
        for (consistency, (times, passes)) in CONSISTENCIES_OF_NET.iter().zip(&mut measured) {
            let curve = net::run(&problem, consistency, seed, GOAL_OF_NET)?;
            times.push(reached(&curve, GOAL_OF_NET));
            passes.push(curve.len() as f64);
        }
    }
    let medians: Vec<_> =
        measured.into_iter().map(|(times, passes)| (median(times), median(passes))).collect();
    println!("{:<22} {:>9} {:>7} {:>7}", "consistency", "seconds", "of bsp", "passes");
    for (consistency, (seconds, passes)) in CONSISTENCIES_OF_NET.iter().zip(&medians) {
        println!("{consistency:<22} {seconds:>9.3} {:>7.3} {passes:>7}", seconds / medians[0].0);
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("{WORKERS} workers, a net, one process; medians over {SEEDS} seeds, to a loss of 0.1");
    compare_net()?;
    let directory = std::env::args().skip(1).find(|arg| !arg.starts_with("--"));
    let settings = [
        (Where::OneProcess, "one process", "stragglers.svg"),
        (Where::TwoNodes, "two nodes, 20 ms and 100 Mbit/s apart", "stragglers-line.svg"),
    ];
    for (place, name, file) in settings {
        println!("{WORKERS} workers, {name}; medians over {SEEDS} seeds, to a gap of {GOAL} of the first");
        let curves = compare(place)?;
        if let Some(directory) = &directory {
            draw(&Path::new(directory).join(file), name, &curves)?;
        }
    }
    Ok(())
}
