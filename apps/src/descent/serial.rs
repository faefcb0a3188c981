//! The serial reference: the same kernels driven by a plain loop. The oracle of the tests and the baseline of the
//! benches; with one worker the actors do exactly this.

use super::guide::{Guide, Plan, Step, Verdict};
use super::task::{self, FocusReport, Orders, Piece, SweepReport};

/// An app that is solved by sweeps and focuses, and what one worker keeps of it.
pub trait Descent {
    /// How many parts the columns are cut into.
    fn n_parts(&self) -> usize;
    /// How many columns a part has.
    fn n_columns(&self, part: usize) -> usize;
    /// The shared row when all coefficients are zero.
    fn start(&self) -> Vec<f64>;
    /// One pass over a part at a snapshot of the shared row and the part's coefficients.
    fn sweep(&mut self, part: usize, at: (&[f64], &[f64]), orders: &Orders) -> SweepReport;
    /// Works on the columns of the pieces from a snapshot of the shared row; writes what to add to it.
    fn focus(
        &mut self,
        pieces: &mut [Piece<'_>],
        at: (&[f64], &mut Vec<f64>),
        orders: &Orders,
    ) -> FocusReport;
    /// Before a focus on this part, or on several (`None`): the columns, (part, column), that the last one left in an
    /// order that matters to the next. By itself a worker would take its own order, and a run that goes on from a
    /// checkpoint another one.
    fn recall(&mut self, _part: Option<usize>, _columns: Vec<(u32, u32)>) {}
    /// The columns that a focus on this part, or on several, has left in such an order.
    fn order(&self, _part: Option<usize>) -> &[(u32, u32)] {
        &[]
    }
}

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
pub fn fit(app: &mut impl Descent, plan: Plan) -> Fit {
    let n_parts = app.n_parts();
    let mut guide = Guide::new(plan);
    let mut coefficients: Vec<Vec<f64>> = (0..n_parts).map(|part| vec![0.0; app.n_columns(part)]).collect();
    let mut shared = app.start();
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
                        let at = (shared.as_slice(), coefficients[part].as_slice());
                        app.sweep(part, at, guide.orders())
                    })
                    .collect();
                guide.swept(&reports)
            }
            Verdict::Focus { size, .. } => {
                let chosen = task::choose(&reports, size);
                let mut pieces = task::pieces(&mut coefficients, &chosen);
                let at = (shared.as_slice(), &mut delta);
                let report = app.focus(&mut pieces, at, guide.orders());
                crate::kernel::axpy(1.0, &delta, &mut shared);
                epochs += report.epochs + report.products;
                guide.focused(&[report])
            }
        };
    }
    Fit { steps: guide.steps().to_vec(), coefficients, epochs }
}
