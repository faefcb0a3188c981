//! Decides what to do next: sweep, focus or stop; knows the penalty, the certificate and what was unsafe.
//!
//! The guide sees only reports. A sweep (with nothing in flight) gives the exact objective and a dual point, so
//! the gap it certifies holds whatever the focus tasks did before. Between sweeps, focus tasks may run side by side
//! on columns of different parts, each at a snapshot that misses the others' steps. Where columns of different
//! parts resemble each other such steps add up to too much. The guide notices: the objective of a sweep must not
//! lie above that of the sweep before, and the violation that tasks meet on arrival must not grow. If not, tasks are
//! told to take the loss as steeper (`sigma`, up to the number of tasks, where the sum of their steps is safe: Smith
//! et al. 2015), and then fewer run at a time, down to one, where each step is exact and descends.
//!
//! Columns that resemble each other weakly but are many make rounds safe and slow: each part undoes a little of what
//! the others did, hundreds of times over. So fewer run at a time also where a violation does not fall to a tenth
//! within twelve rounds, and only one where the gap does not fall to a quarter within three sweeps. One task alone takes the columns of all parts: it sees every correlation, and nothing is
//! in flight beside it.

use serde::{Deserialize, Serialize};

use super::certificate::{Certificate, certify};
pub use super::penalties::Penalties;
use super::task::{ACTIVE, FocusReport, Orders, SweepReport};

/// Whether a focus may work on all parts at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reach {
    /// One task takes the whole working set: best where every worker has all columns in memory.
    Pooled,
    /// A task takes the columns of one part; so many run at the same time, fewer where that does not pay. A single
    /// one takes the whole working set.
    Parts(usize),
}

/// What the guide is told once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The penalties, each warm-started from the one before.
    pub penalties: Penalties,
    /// The L2 penalty.
    pub ridge: f64,
    /// The duality gap to reach, relative to the objective.
    pub tolerance: f64,
    /// Most sweeps per penalty.
    pub max_sweeps: usize,
    /// How far a focus task reaches.
    pub reach: Reach,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Sweep every part at one snapshot, nothing else in flight.
    Sweep,
    /// Focus on the `size` candidates of the highest priority, `width` tasks at a time.
    Focus {
        /// Columns in the working set.
        size: usize,
        /// Tasks in flight at the same time.
        width: usize,
    },
    /// Done, or out of sweeps: see [`Guide::steps`].
    Stop,
}

/// The solution at one penalty.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The penalty.
    pub lambda: f64,
    /// The objective.
    pub objective: f64,
    /// The duality gap.
    pub gap: f64,
    /// Whether the gap reached the tolerance.
    pub converged: bool,
    /// The intercept.
    pub intercept: f64,
    /// (part, column within the part, coefficient) of the columns that have one.
    pub coefficients: Vec<(usize, u32, f64)>,
    /// Sweeps so far in the whole run.
    pub sweeps: usize,
}

/// Smallest working set.
const FEW: usize = 100;
/// Focus rounds of parts side by side before the next sweep.
const ROUNDS: usize = 12;
/// Epochs of a focus that has the working set to itself, and of one among others.
const EPOCHS: (usize, usize) = (2000, 3);
/// The gap must fall to this share in so many sweeps, or one task takes the columns of all parts.
const ENOUGH: f64 = 0.25;
const PATIENCE: usize = 3;
/// Sweeps without a better gap after which rounding is all that is left.
const STALLED: usize = 12;

/// See the head of this file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Guide {
    plan: Plan,
    /// Which penalty, once they are known as numbers.
    lambdas: Vec<f64>,
    at: usize,
    orders: Orders,
    width: usize,
    /// The gap some sweeps ago, to see whether it is worth going on like this.
    gap_then: f64,
    /// Focus rounds since the last sweep and the arrival violation of the first of them.
    rounds: usize,
    first_arrival: f64,
    /// Sweeps at this penalty, the objective at the last one, the best gap and since when.
    sweeps: usize,
    all_sweeps: usize,
    last_objective: f64,
    best_gap: f64,
    best_at: usize,
    size: usize,
    certificate: Certificate,
    steps: Vec<Step>,
}

impl Guide {
    /// A guide before the first sweep, which is what to do first.
    pub fn new(plan: Plan) -> Self {
        let lambdas = match &plan.penalties {
            Penalties::Given(lambdas) => lambdas.clone(),
            Penalties::Shares(_) | Penalties::DownTo(..) => Vec::new(),
        };
        let width = match plan.reach {
            Reach::Pooled => 1,
            Reach::Parts(width) => width.max(1),
        };
        let orders = Orders {
            lambda: lambdas.first().copied().unwrap_or(0.0),
            ridge: plan.ridge,
            intercept: 0.0,
            quota: FEW,
            tolerance: 0.0,
            max_epochs: 1,
            sigma: 1.0,
        };
        Self {
            lambdas,
            at: 0,
            orders,
            width,
            gap_then: f64::INFINITY,
            rounds: 0,
            first_arrival: 0.0,
            sweeps: 0,
            all_sweeps: 0,
            last_objective: f64::INFINITY,
            best_gap: f64::INFINITY,
            best_at: 0,
            size: FEW,
            certificate: Certificate::default(),
            steps: Vec::new(),
            plan,
        }
    }

    /// Goes on as another guide of the same plan.
    pub fn go_on_as(&mut self, other: Self) {
        *self = Self { plan: self.plan.clone(), ..other };
    }

    /// What the next tasks are told.
    pub fn orders(&self) -> &Orders {
        &self.orders
    }

    /// What the last sweep proved.
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// The penalties solved so far.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Sweeps so far.
    pub fn n_sweeps(&self) -> usize {
        self.all_sweeps
    }

    /// Tasks that may be in flight at once in the next focus round.
    pub fn width(&self) -> usize {
        self.width
    }

    /// All parts have been swept at one snapshot: what next?
    pub fn swept(&mut self, reports: &[SweepReport]) -> Verdict {
        if self.lambdas.is_empty() {
            let largest = reports.iter().map(|r| r.steepest).fold(0.0, f64::max);
            self.lambdas = self.plan.penalties.below(largest);
            let Some(&lambda) = self.lambdas.first() else { return Verdict::Stop };
            self.orders.lambda = lambda;
            return Verdict::Sweep;
        }
        self.sweeps += 1;
        self.all_sweeps += 1;
        self.certificate = certify(reports, &self.orders);
        self.orders.intercept = self.certificate.intercept;
        let Certificate { objective, gap, .. } = self.certificate;
        if gap < self.best_gap || objective < self.last_objective * (1.0 - 1e-14) {
            (self.best_gap, self.best_at) = (gap.min(self.best_gap), self.sweeps);
        }
        let converged = gap <= self.plan.tolerance * objective;
        let hopeless = self.sweeps >= self.plan.max_sweeps || self.sweeps - self.best_at >= STALLED;
        if converged || hopeless {
            return self.next_penalty(converged, reports);
        }
        self.guard(objective);
        if self.sweeps.is_multiple_of(PATIENCE) {
            if gap > ENOUGH * self.gap_then {
                (self.width, self.orders.sigma) = (1, 1.0);
            }
            self.gap_then = gap;
        }
        self.aim(reports)
    }

    /// Records the solution and moves to the next penalty, whose first sweep visits few columns: the snapshot has
    /// not moved.
    fn next_penalty(&mut self, converged: bool, reports: &[SweepReport]) -> Verdict {
        let active = |r: &SweepReport| -> Vec<(usize, u32, f64)> {
            r.candidates
                .iter()
                .filter(|c| c.priority == ACTIVE)
                .map(|c| (r.part, c.column, c.value))
                .collect()
        };
        self.steps.push(Step {
            lambda: self.orders.lambda,
            objective: self.certificate.objective,
            gap: self.certificate.gap,
            converged,
            intercept: self.certificate.intercept,
            coefficients: reports.iter().flat_map(active).collect(),
            sweeps: self.all_sweeps,
        });
        self.at += 1;
        let Some(&lambda) = self.lambdas.get(self.at) else { return Verdict::Stop };
        self.orders.lambda = lambda;
        self.sweeps = 0;
        self.last_objective = f64::INFINITY;
        self.gap_then = f64::INFINITY;
        (self.best_gap, self.best_at) = (f64::INFINITY, 0);
        Verdict::Sweep
    }

    /// Narrows when the objective rose.
    fn guard(&mut self, objective: f64) {
        let rose = objective > self.last_objective * (1.0 + 1e-12) || !objective.is_finite();
        self.last_objective = objective;
        if rose {
            self.narrow();
        }
    }

    /// Steeper, then fewer at a time.
    fn narrow(&mut self) {
        if self.width == 1 {
            return;
        }
        let full = self.width as f64;
        if self.orders.sigma < full {
            self.orders.sigma = (self.orders.sigma * 2.0).min(full);
        } else {
            self.halve();
            self.orders.sigma = self.width as f64;
        }
    }

    /// Half as many at a time, so that more columns meet in one task.
    fn halve(&mut self) {
        self.width = (self.width / 2).max(1);
        self.orders.sigma = if self.width == 1 { 1.0 } else { self.orders.sigma.min(self.width as f64) };
    }

    /// How many columns to work on and how exactly.
    fn aim(&mut self, reports: &[SweepReport]) -> Verdict {
        let violators: usize = reports.iter().map(|r| r.violators).sum();
        let violation = reports.iter().map(|r| r.violation).fold(0.0, f64::max);
        let nonzero = self.certificate.nonzero;
        let Certificate { objective, .. } = self.certificate;
        let l1: f64 = reports.iter().map(|r| r.l1).sum();
        let finest = self.finest(objective, l1, nonzero);
        self.orders.tolerance = if violators == 0 { finest } else { finest.max(0.1 * violation) };
        self.size = if self.orders.lambda > 0.0 { (2 * nonzero).max(FEW) } else { usize::MAX };
        self.orders.quota = self.size;
        self.rounds = 0;
        self.focus()
    }

    /// The violation, as a share of `lambda`, at which the gap should be within the tolerance.
    ///
    /// With an L1 penalty alone a violation of `ε·lambda` costs about `ε·lambda·‖b‖₁` for the scaling of the dual
    /// point and at most as much for the columns themselves; with an L2 penalty each column with a violation `v` costs
    /// `v²/2·ridge`. A third of the tolerance leaves room for what the estimate misses.
    fn finest(&self, objective: f64, l1: f64, nonzero: usize) -> f64 {
        let Orders { lambda, ridge, .. } = self.orders;
        let goal = self.plan.tolerance * objective;
        let scale = if lambda > 0.0 { lambda } else { 1.0 };
        if ridge > 0.0 {
            return 0.5 * (2.0 * ridge * goal / nonzero.max(1) as f64).sqrt() / scale;
        }
        if l1 > 0.0 { 0.3 * goal / (lambda * l1) } else { 0.1 }
    }

    fn focus(&mut self) -> Verdict {
        self.orders.max_epochs = if self.width == 1 { EPOCHS.0 } else { EPOCHS.1 };
        Verdict::Focus { size: self.size, width: self.width }
    }

    /// A focus round is over: what next?
    pub fn focused(&mut self, reports: &[FocusReport]) -> Verdict {
        self.rounds += 1;
        if self.width == 1 {
            return Verdict::Sweep;
        }
        let arrival = reports.iter().map(|r| r.arrival).fold(0.0, f64::max);
        if self.rounds == 1 {
            self.first_arrival = arrival;
        }
        let settled = arrival <= self.orders.tolerance.max(0.1 * self.first_arrival);
        let grows = self.rounds > 1 && (arrival > self.first_arrival || !arrival.is_finite());
        let slow = !settled && self.rounds >= ROUNDS;
        if grows {
            self.narrow();
        } else if slow {
            self.halve();
        }
        if settled || grows || slow { Verdict::Sweep } else { self.focus() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::task::Candidate;
    use super::*;

    fn guide(reach: Reach) -> Guide {
        let penalties = Penalties::Given(vec![1.0]);
        Guide::new(Plan { penalties, ridge: 0.0, tolerance: 1e-6, max_sweeps: 100, reach })
    }

    fn report(loss: f64) -> SweepReport {
        let candidates = vec![Candidate { column: 0, priority: 2.0, value: 0.0 }];
        SweepReport {
            loss,
            steepest: 2.0,
            scale: 0.5,
            violation: 1.0,
            violators: 1,
            candidates,
            ..Default::default()
        }
    }

    #[test]
    fn tasks_are_narrowed_when_the_objective_rises() {
        let mut guide = guide(Reach::Parts(4));
        let mut seen = Vec::new();
        for loss in [10.0, 9.0, 9.5, 9.6, 9.7, 9.8, 9.9, 9.95] {
            guide.swept(&[report(loss)]);
            seen.push((guide.orders().sigma, guide.width()));
        }
        let expected = [(1.0, 4), (1.0, 4), (2.0, 4), (4.0, 4), (2.0, 2), (1.0, 1), (1.0, 1), (1.0, 1)];
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_violation_that_grows_between_focus_rounds_ends_them() {
        let mut guide = guide(Reach::Parts(2));
        guide.swept(&[report(10.0)]);
        let focus = |arrival| FocusReport { arrival, ..Default::default() };
        assert!(matches!(guide.focused(&[focus(1.0)]), Verdict::Focus { width: 2, .. }));
        assert!(matches!(guide.focused(&[focus(0.6)]), Verdict::Focus { width: 2, .. }));
        assert_eq!(guide.focused(&[focus(1.1)]), Verdict::Sweep);
        assert_eq!(guide.orders().sigma, 2.0);
    }

    #[test]
    fn rounds_side_by_side_that_get_nowhere_end_in_one_task_over_all() {
        let mut guide = guide(Reach::Parts(2));
        guide.swept(&[report(10.0)]);
        assert_eq!(guide.orders().max_epochs, EPOCHS.1);
        let focus = FocusReport { arrival: 0.9, ..Default::default() };
        for _ in 1..ROUNDS {
            assert!(matches!(guide.focused(&[focus]), Verdict::Focus { width: 2, .. }));
        }
        assert_eq!(guide.focused(&[focus]), Verdict::Sweep);
        assert!(matches!(guide.swept(&[report(9.0)]), Verdict::Focus { width: 1, .. }));
        assert_eq!((guide.orders().sigma, guide.orders().max_epochs), (1.0, EPOCHS.0));
    }

    #[test]
    fn a_share_of_the_largest_penalty_is_known_after_one_sweep() {
        let penalties = Penalties::Shares(vec![0.5]);
        let plan = Plan { penalties, ridge: 0.0, tolerance: 1e-6, max_sweeps: 100, reach: Reach::Pooled };
        let mut guide = Guide::new(plan);
        assert_eq!(guide.orders().lambda, 0.0);
        assert_eq!(guide.swept(&[report(1.0)]), Verdict::Sweep);
        assert_eq!(guide.orders().lambda, 1.0);
    }
}
