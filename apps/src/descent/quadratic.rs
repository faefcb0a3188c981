//! Coordinate descent on a few columns: the inner problem of every focus, whatever the loss.
//!
//! Minimises over the coefficients `b` of the working columns
//!
//! ```text
//! q(b) + ridge/2 · ‖b‖² + Σ threshold_k · |b_k|,        q quadratic with Hessian H
//! ```
//!
//! by cyclic coordinate descent (Tseng & Yun 2009; Friedman et al. 2010), which finds the signs quickly, and,
//! between epochs, by conjugate gradients on the columns that are not zero with their signs held, which finds
//! the values quickly where coordinate descent crawls. A step that would carry a coefficient through zero stops
//! it there and is taken only if the objective falls, so the objective falls with every move.
//!
//! What `H` is made of is behind [`Space`]: a residual over the rows, or a Gram matrix of the working columns.

/// How the gradient of the quadratic part is kept while coefficients change.
pub trait Space {
    /// Minus the derivative of `q` along column `k`.
    fn slope(&self, k: usize) -> f64;
    /// The second derivative of `q` along column `k`.
    fn curvature(&self, k: usize) -> f64;
    /// Coefficient `k` rises by `change`.
    fn shift(&mut self, k: usize, change: f64);
    /// `out_k = (H v)_k` for the `k` of `support`; `v` is zero elsewhere.
    fn multiply(&mut self, v: &[f64], support: &[usize], out: &mut [f64]);
    /// Prepares a change of several coefficients; how `q` would change.
    fn prepare(&mut self, changes: &[f64]) -> f64;
    /// Makes the prepared change.
    fn commit(&mut self);
}

/// The working columns' coefficients and penalties.
#[derive(Debug, Clone, Default)]
pub struct Working {
    /// Coefficients.
    pub values: Vec<f64>,
    /// The L1 penalty of each.
    pub thresholds: Vec<f64>,
    /// The L2 penalty of all.
    pub ridge: f64,
}

/// When to stop.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Largest violation of optimality allowed, as a share of the thresholds' scale.
    pub tolerance: f64,
    /// What a violation is measured against: the L1 penalty, or the largest slope where there is none.
    pub scale: f64,
    /// Most epochs.
    pub max_epochs: usize,
    /// Whether conjugate gradients may help between epochs.
    pub accelerate: bool,
}

/// What a solve did.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Effort {
    /// Largest violation met in the first epoch.
    pub arrival: f64,
    /// Largest violation met in the last epoch.
    pub departure: f64,
    /// Epochs of coordinate descent.
    pub epochs: usize,
    /// Products with the Hessian in conjugate gradients, each about the work of an epoch.
    pub products: usize,
}

impl Effort {
    /// This effort and the one that went on from it.
    pub fn then(self, more: Self) -> Self {
        Self {
            arrival: if self.epochs == 0 { more.arrival } else { self.arrival },
            departure: more.departure,
            epochs: self.epochs + more.epochs,
            products: self.products + more.products,
        }
    }
}

/// Fewest epochs of coordinate descent between two rounds of conjugate gradients.
const EPOCHS_PER_ROUND: usize = 3;
/// Conjugate gradients wait until at most one in so many coefficients came or went in an epoch,
const SETTLED: usize = 200;
/// or until so many epochs have passed.
const PATIENCE: usize = 60;
/// Most products in one round of conjugate gradients.
const MAX_PRODUCTS: usize = 100;

/// The minimiser of `½·curvature·(x − at)² + threshold·|x|`.
#[inline]
pub fn shrink(at: f64, threshold: f64) -> f64 {
    if at > threshold {
        at - threshold
    } else if at < -threshold {
        at + threshold
    } else {
        0.0
    }
}

/// Runs epochs, accelerated, until the violation is small or the epochs are used up.
pub fn solve<S: Space>(space: &mut S, working: &mut Working, limits: &Limits) -> Effort {
    let mut effort = Effort::default();
    let mut since = 0;
    while effort.epochs < limits.max_epochs {
        let pass = epoch(space, working);
        let violation = pass.violation / limits.scale;
        effort.epochs += 1;
        if effort.epochs == 1 {
            effort.arrival = violation;
        }
        effort.departure = violation;
        if violation <= limits.tolerance {
            break;
        }
        since += 1;
        let settled = pass.flips * SETTLED <= pass.nonzero;
        if limits.accelerate && since >= EPOCHS_PER_ROUND && (settled || since >= PATIENCE) {
            let goal = (0.3 * limits.tolerance / violation).clamp(1e-3, 0.1);
            effort.products += accelerate(space, working, goal);
            since = 0;
        }
    }
    effort
}

/// As [`solve`], but content with a tenth of the violation met on arrival: for a quadratic that is itself only near.
pub fn solve_loosely<S: Space>(space: &mut S, working: &mut Working, limits: &Limits) -> Effort {
    let first = solve(space, working, &Limits { max_epochs: 1, ..*limits });
    if first.arrival <= limits.tolerance || limits.max_epochs <= 1 {
        return first;
    }
    let tolerance = limits.tolerance.max(0.1 * first.arrival);
    first.then(solve(space, working, &Limits { tolerance, max_epochs: limits.max_epochs - 1, ..*limits }))
}

/// What one epoch met.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pass {
    /// Largest violation of optimality.
    pub violation: f64,
    /// Coefficients that came or went.
    pub flips: usize,
    /// Coefficients that are not zero.
    pub nonzero: usize,
}

/// One pass of exact minimisation along each coordinate.
pub fn epoch<S: Space>(space: &mut S, working: &mut Working) -> Pass {
    let mut pass = Pass::default();
    for k in 0..working.values.len() {
        let curvature = space.curvature(k) + working.ridge;
        if curvature <= 0.0 {
            continue;
        }
        let old = working.values[k];
        let slope = space.slope(k) - working.ridge * old;
        let new = shrink(old + slope / curvature, working.thresholds[k] / curvature);
        let change = new - old;
        pass.nonzero += usize::from(new != 0.0);
        if change != 0.0 {
            working.values[k] = new;
            space.shift(k, change);
            pass.violation = pass.violation.max(change.abs() * curvature);
            pass.flips += usize::from(old == 0.0 || new == 0.0);
        }
    }
    pass
}

/// Conjugate gradients on the non-zero coefficients with their signs held; how many products it took. `goal` is how
/// far the residual of the linear system is to be reduced.
///
/// Where a coefficient would pass through zero the step ends there, the coefficient leaves, and conjugate gradients
/// start again on the others (as in the gradient projection of Moré & Toraldo 1991): with correlated columns a step
/// that is cut at zero in one coefficient only would be no descent.
pub fn accelerate<S: Space>(space: &mut S, working: &mut Working, goal: f64) -> usize {
    let mut walk = Walk::new(space, working);
    if walk.support.len() < 2 {
        return 0;
    }
    let start = walk.size();
    let mut products = 0;
    while products < MAX_PRODUCTS && walk.size() > goal * goal * start {
        products += 1;
        if !walk.advance(space, working) {
            break;
        }
    }
    let mut step = vec![0.0; working.values.len()];
    for (step, (new, old)) in step.iter_mut().zip(walk.values.iter().zip(&working.values)) {
        *step = new - old;
    }
    let mut change = space.prepare(&step);
    for (k, (new, old)) in walk.values.iter().zip(&working.values).enumerate() {
        change +=
            working.thresholds[k] * (new.abs() - old.abs()) + working.ridge / 2.0 * (new * new - old * old);
    }
    if change < 0.0 {
        space.commit();
        working.values = walk.values;
    }
    products + 1
}

/// Conjugate gradients under way.
struct Walk {
    /// The coefficients that may move.
    support: Vec<usize>,
    /// All coefficients where the walk has come to.
    values: Vec<f64>,
    /// What is left of `slope − threshold·sign` on the support, 0 elsewhere.
    residual: Vec<f64>,
    diagonal: Vec<f64>,
    direction: Vec<f64>,
    image: Vec<f64>,
}

impl Walk {
    fn new<S: Space>(space: &S, working: &Working) -> Self {
        let m = working.values.len();
        let support: Vec<usize> = (0..m).filter(|&k| working.values[k] != 0.0).collect();
        let (mut residual, mut diagonal) = (vec![0.0; m], vec![1.0; m]);
        for &k in &support {
            let b = working.values[k];
            residual[k] = space.slope(k) - working.ridge * b - working.thresholds[k] * b.signum();
            diagonal[k] = space.curvature(k) + working.ridge;
        }
        let mut walk = Self {
            support,
            values: working.values.clone(),
            residual,
            diagonal,
            direction: vec![0.0; m],
            image: vec![0.0; m],
        };
        walk.turn(0.0);
        walk
    }

    /// The squared size of the residual, as the preconditioner measures it.
    fn size(&self) -> f64 {
        self.support.iter().map(|&k| self.residual[k] * self.residual[k] / self.diagonal[k]).sum()
    }

    /// The next direction: the residual, and so much of the last direction.
    fn turn(&mut self, keep: f64) {
        for &k in &self.support {
            self.direction[k] = self.residual[k] / self.diagonal[k] + keep * self.direction[k];
        }
    }

    /// One step; whether it made sense.
    fn advance<S: Space>(&mut self, space: &mut S, working: &Working) -> bool {
        space.multiply(&self.direction, &self.support, &mut self.image);
        let (mut bend, mut along) = (0.0, 0.0);
        for &k in &self.support {
            self.image[k] += working.ridge * self.direction[k];
            bend += self.direction[k] * self.image[k];
            along += self.direction[k] * self.residual[k];
        }
        if bend <= 0.0 || !bend.is_finite() {
            return false;
        }
        let before = self.size();
        let mut length = along / bend;
        let mut crossing = None;
        for &k in &self.support {
            let to_zero = -self.values[k] / self.direction[k];
            if to_zero >= 0.0 && to_zero < length {
                (length, crossing) = (to_zero, Some(k));
            }
        }
        for &k in &self.support {
            self.values[k] += length * self.direction[k];
            self.residual[k] -= length * self.image[k];
        }
        match crossing {
            Some(zero) => {
                self.values[zero] = 0.0;
                self.direction[zero] = 0.0;
                self.support.retain(|&k| k != zero);
                self.turn(0.0);
            }
            None => self.turn(self.size() / before),
        }
        !self.support.is_empty()
    }
}
