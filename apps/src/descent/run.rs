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
use crate::catalog::{Request, Watch};
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
}

/// The answer.
pub(crate) struct Solved {
    /// The solution at each penalty that was reached.
    pub(crate) solutions: Vec<Step>,
    /// The coefficients of every part at the end.
    pub(crate) coefficients: Vec<Vec<f64>>,
    /// The run.
    pub(crate) trained: slackline::Trained,
}

/// Solves with the workers that `make` makes.
pub(crate) fn solve<D: Descent + Unpin + 'static>(
    task: Task<'_>,
    make: impl Fn() -> D + Send + Sync + 'static,
) -> Result<Solved, Error> {
    let Task { name, request, watch, plan, consistency, interference } = task;
    let template = make();
    let n_columns: Vec<usize> = (0..template.n_parts()).map(|part| template.n_columns(part)).collect();
    let layout = Layout::new(n_columns.iter().copied());
    let n_penalties = match &plan.penalties {
        Penalties::Given(penalties) | Penalties::Shares(penalties) => penalties.len(),
        Penalties::DownTo(_, n) => *n,
    };
    let (sender, solutions) = mpsc::channel();
    let goal = (plan.tolerance, n_penalties);
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
    let job = run::job(name, request, consistency)
        .table(shared.starting(move |_, row: &mut [f64]| row.copy_from_slice(&start)))
        .table(coefficients.leased_by_part(layout.starts()))
        .schedule(schedule);
    let trained = run::run(job, watch, move |_| Descender::new(make(), layout.clone()))?;
    let flat = trained.model.dense::<f64>(COEFFICIENTS).into_raw_vec_and_offset().0;
    let mut flat = flat.into_iter();
    let coefficients = n_columns.iter().map(|n| flat.by_ref().take(*n).collect()).collect();
    Ok(Solved { solutions: solutions.into_iter().collect(), coefficients, trained })
}
