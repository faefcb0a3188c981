//! Solving a coordinate-descent problem through the runtime: tables, schedule and the way back to plain vectors.

use std::sync::mpsc;

use slackline::VariableId;
use slackline::prelude::*;
use slackline::scheduler::policy::{Dependency, Priority};

use super::actor::{COEFFICIENTS, Descender, SHARED};
use super::conductor::Conductor;
use super::guide::{Guide, Penalties, Plan, Step};
use super::serial::Descent;
use super::words::Layout;
use crate::catalog::{News, Request, Watch};
use crate::run::Origin;
use crate::{Error, run};

/// Columns whose correlation reaches this are not worked on at the same time under the dependency schedule.
/// Petuum's default is 0.1 (`infthreshold`); words of a text seldom reach it.
const RHO: f64 = 0.1;

/// How much two variables interfere, 0 to 1.
pub(crate) type Interference = Box<dyn Fn(VariableId, VariableId) -> f64 + Send>;

/// What is solved and how.
pub(crate) struct Task<'a> {
    /// The app's name.
    pub(crate) name: &'static str,
    /// What the user asks for.
    pub(crate) request: &'a Request,
    /// Who is told.
    pub(crate) watch: &'a Watch,
    /// The penalties and the tolerance.
    pub(crate) plan: Plan,
    /// How old reads may be.
    pub(crate) consistency: Consistency,
    /// How much two variables interfere, where the schedule is to mind it.
    pub(crate) interference: Option<Interference>,
    /// What it goes on from.
    pub(crate) origin: Origin,
}

/// The answer.
pub(crate) struct Solved {
    /// The solution at each penalty that was reached.
    pub(crate) solutions: Vec<Step>,
    /// The coefficients of every part at the end.
    pub(crate) coefficients: Vec<Vec<f64>>,
    /// Whether the gap was reached at every penalty.
    pub(crate) converged: bool,
    /// The run.
    pub(crate) trained: slackline::Trained,
}

/// Solves with the workers that `make` makes.
pub(crate) fn solve<D: Descent + Unpin + 'static>(
    task: Task<'_>,
    make: impl Fn() -> D + Send + Sync + 'static,
) -> Result<Solved, Error> {
    let Task { name, request, watch, plan, consistency, interference, origin } = task;
    let template = make();
    let n_columns: Vec<usize> = (0..template.n_parts()).map(|part| template.n_columns(part)).collect();
    let layout = Layout::new(n_columns.iter().copied());
    let n_penalties = match &plan.penalties {
        Penalties::Given(penalties) | Penalties::Shares(penalties) => penalties.len(),
        Penalties::DownTo(_, n) => *n,
    };
    let (sender, solutions) = mpsc::channel();
    let (goal, max_sweeps) = ((plan.tolerance, n_penalties), plan.max_sweeps);
    let conductor = Conductor::new(Guide::new(plan), layout.clone(), goal, sender);
    let priority = Priority::new(n_columns.len(), conductor);
    let schedule: Box<dyn Schedule> = match interference {
        Some(interference) => Box::new(Dependency::new(priority, interference, RHO)),
        None => Box::new(priority),
    };
    let start = template.start();
    drop(template);
    let shared = Table::dense(SHARED, 1, start.len()).of::<f64>();
    let coefficients = Table::dense(COEFFICIENTS, n_columns.iter().sum(), 1).of::<f64>();
    let job = run::job(name, request, consistency, origin)
        .table(shared.starting(move |_, row: &mut [f64]| row.copy_from_slice(&start)))
        .table(coefficients.leased_by_part(layout.starts()))
        .schedule(schedule);
    let trained = run::run(job, watch, move |_| Descender::new(make(), layout.clone()))?;
    let flat = trained.model.dense::<f64>(COEFFICIENTS).into_raw_vec_and_offset().0;
    let mut flat = flat.into_iter();
    let coefficients = n_columns.iter().map(|n| flat.by_ref().take(*n).collect()).collect();
    let solutions = in_order(solutions);
    let missed = shortfall(&solutions, (goal.0, max_sweeps));
    let converged = missed.is_none() && !trained.stopped;
    if let Some(sentence) = missed {
        (watch.tell)(News::Fact(sentence));
    }
    Ok(Solved { solutions, coefficients, converged, trained })
}

/// The solutions along the path. A run that goes on from a checkpoint tells again what was found until then; what had
/// been told after that is void.
fn in_order(told: impl IntoIterator<Item = Step>) -> Vec<Step> {
    let mut solutions: Vec<Step> = Vec::new();
    for solution in told {
        solutions.retain(|earlier| earlier.sweeps < solution.sweeps);
        solutions.push(solution);
    }
    solutions
}

/// What to say where the gap was not reached: how far it is, why, and what to do. `goal` is the gap to reach, relative
/// to the objective, and the most sweeps for one penalty.
fn shortfall(solutions: &[Step], (tolerance, max_sweeps): (f64, usize)) -> Option<String> {
    let relative = |step: &Step| step.gap / step.objective.max(f64::MIN_POSITIVE);
    let missed = || solutions.iter().enumerate().filter(|(_, step)| !step.converged);
    let (_, worst) = missed().max_by(|(_, a), (_, b)| relative(a).total_cmp(&relative(b)))?;
    let sweeps_at = |at: usize| solutions[at].sweeps - if at > 0 { solutions[at - 1].sweeps } else { 0 };
    let given_up = missed().any(|(at, _)| sweeps_at(at) >= max_sweeps);
    let what = match solutions.len() {
        1 => "not converged".to_owned(),
        n => format!("not converged at {} of {n} penalties", missed().count()),
    };
    let gap = format!("the gap is {:.1e} of the objective, --tol asks for {tolerance:.1e}", relative(worst));
    let advice = match given_up {
        true => format!("allow more than {max_sweeps} with --max-sweeps, or ask for less with --tol"),
        false => "more sweeps gain nothing: ask for less with --tol, or a larger penalty".to_owned(),
    };
    Some(format!("{what}: {gap}; {advice}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(gap: f64, converged: bool, sweeps: usize) -> Step {
        Step { objective: 2.0, gap, converged, sweeps, ..Step::default() }
    }

    #[test]
    fn solutions_that_are_told_again_stand_once() {
        let told = [3, 15, 30, 3, 15, 33, 40].map(|sweeps| step(1e-7, true, sweeps));
        let sweeps: Vec<usize> = in_order(told).iter().map(|step| step.sweeps).collect();
        assert_eq!(sweeps, [3, 15, 33, 40]);
    }

    #[test]
    fn a_gap_that_was_not_reached_is_told_with_what_to_do() {
        assert_eq!(shortfall(&[step(1e-7, true, 3)], (1e-6, 10)), None);
        let given_up = shortfall(&[step(0.5, false, 10)], (1e-6, 10)).unwrap();
        assert_eq!(
            given_up,
            "not converged: the gap is 2.5e-1 of the objective, --tol asks for 1.0e-6; allow more than 10 with \
             --max-sweeps, or ask for less with --tol"
        );
        // The second penalty took 15 − 3 sweeps, fewer than allowed: rounding stopped it.
        let path = [step(1e-7, true, 3), step(4e-5, false, 15), step(2e-5, false, 30)];
        let stalled = shortfall(&path, (1e-6, 100)).unwrap();
        assert_eq!(
            stalled,
            "not converged at 2 of 3 penalties: the gap is 2.0e-5 of the objective, --tol asks for 1.0e-6; more \
             sweeps gain nothing: ask for less with --tol, or a larger penalty"
        );
    }
}
