//! Many workers in one thread, for the tests: focus tasks side by side start from the same snapshot and miss each
//! other's steps, which is the worst that staleness can do.

use super::guide::{Guide, Plan, Verdict};
use super::serial::Descent;
use super::task::{self, SweepReport};
use crate::kernel;

/// What a simulated run came to.
pub(crate) struct Outcome {
    pub(crate) guide: Guide,
    pub(crate) coefficients: Vec<Vec<f64>>,
    /// The objective at every sweep.
    pub(crate) objectives: Vec<f64>,
}

/// Runs a plan with tasks of one part each, as many at a time as the guide allows; a single one takes all parts.
pub(crate) fn run<D: Descent>(workers: &mut [D], plan: Plan) -> Outcome {
    let n_parts = workers[0].n_parts();
    let mut guide = Guide::new(plan);
    let mut coefficients: Vec<Vec<f64>> = (0..n_parts).map(|p| vec![0.0; workers[0].n_columns(p)]).collect();
    let mut shared = workers[0].start();
    let mut reports: Vec<SweepReport> = Vec::new();
    let mut objectives = Vec::new();
    let mut verdict = Verdict::Sweep;
    let n_workers = workers.len();
    loop {
        verdict = match verdict {
            Verdict::Stop => return Outcome { guide, coefficients, objectives },
            Verdict::Sweep => {
                reports = (0..n_parts)
                    .map(|p| workers[p % n_workers].sweep(p, (&shared, &coefficients[p]), guide.orders()))
                    .collect();
                let next = guide.swept(&reports);
                objectives.push(guide.certificate().objective);
                next
            }
            Verdict::Focus { size, width } => {
                let chosen = task::choose(&reports, size);
                let mut done = Vec::new();
                let tasks: Vec<_> =
                    if width == 1 { vec![chosen] } else { chosen.into_iter().map(|c| vec![c]).collect() };
                for side_by_side in tasks.chunks(width) {
                    let snapshot = shared.clone();
                    for (w, task) in side_by_side.iter().enumerate() {
                        let mut delta = Vec::new();
                        let mut pieces = task::pieces(&mut coefficients, task);
                        let worker = &mut workers[w % n_workers];
                        done.push(worker.focus(&mut pieces, (&snapshot, &mut delta), guide.orders()));
                        kernel::axpy(1.0, &delta, &mut shared);
                    }
                }
                guide.focused(&done)
            }
        };
    }
}
