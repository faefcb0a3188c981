//! The serial reference: the same kernels driven by a plain loop. The oracle of the tests and the baseline of the
//! benches; with one worker and one part the actors do exactly this.

use crate::descent::guide::{Guide, Plan, Step, Verdict};
use crate::descent::sweep::Sweeper;
use crate::descent::task::{self, Piece, SweepReport};

use super::solver::{Focuser, Problem};

/// What a fit arrived at.
#[derive(Debug, Clone)]
pub struct Fit {
    /// The solution at each penalty.
    pub steps: Vec<Step>,
    /// The coefficients of each part at the last penalty.
    pub coefficients: Vec<Vec<f64>>,
    /// Epochs of focus, products of conjugate gradients included.
    pub epochs: usize,
}

/// Solves for every penalty of the plan.
pub fn fit(problem: &Problem, plan: Plan) -> Fit {
    let n_parts = problem.n_parts();
    let mut guide = Guide::new(plan);
    let mut coefficients: Vec<Vec<f64>> =
        (0..n_parts).map(|part| vec![0.0; problem.columns(part).n_columns()]).collect();
    let mut sweepers = vec![Sweeper::default(); n_parts];
    let mut focuser = Focuser::default();
    let mut residual = problem.start();
    let mut delta = Vec::new();
    let mut reports: Vec<SweepReport> = Vec::new();
    let mut verdict = Verdict::Sweep;
    let mut epochs = 0;
    loop {
        verdict = match verdict {
            Verdict::Stop => break,
            Verdict::Sweep => {
                reports = (0..n_parts)
                    .map(|part| {
                        let at = (residual.as_slice(), coefficients[part].as_slice());
                        problem.sweep(part, &mut sweepers[part], at, guide.orders())
                    })
                    .collect();
                guide.swept(&reports)
            }
            Verdict::Focus { size, .. } => {
                let chosen = task::choose(&reports, size);
                let mut pieces: Vec<Piece<'_>> = Vec::new();
                let mut rest = coefficients.as_mut_slice();
                let mut before = 0;
                for (part, columns) in &chosen {
                    let (_, from) = rest.split_at_mut(part - before);
                    let (one, after) = from.split_at_mut(1);
                    pieces.push(Piece { part: *part, coefficients: &mut one[0], columns });
                    rest = after;
                    before = part + 1;
                }
                let at = (residual.as_slice(), &mut delta);
                let report = focuser.focus(problem, &mut pieces, at, guide.orders());
                crate::kernel::axpy(1.0, &delta, &mut residual);
                epochs += report.epochs + report.products;
                guide.focused(&[report])
            }
        };
    }
    Fit { steps: guide.steps().to_vec(), coefficients, epochs }
}
