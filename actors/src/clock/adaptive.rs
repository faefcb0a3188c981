//! A staleness that moves between bounds, by what it costs and what it buys.
//!
//! A wider bound lets workers wait less and makes each step worth less. Neither is known beforehand, so both are
//! measured: the share of time that workers spend waiting, and how far the objective falls per step. Waiting widens;
//! steps that have become worth much less than they were before the last widening narrow (they are worth less by
//! themselves as a run converges, so they are compared with a forecast, not with a constant).

use super::Consistency;

/// Steps between two decisions, for each worker.
const WINDOW: u64 = 8;
/// A share of waiting above this widens.
const LONG_WAIT: f64 = 0.15;
/// Progress a step below this share of what was forecast narrows.
const SLOW: f64 = 0.5;
/// Marks to wait after narrowing before it may widen again.
const REST: u32 = 2;

/// The controller: told of steps and marks, it says how far apart workers may be.
#[derive(Debug, Clone)]
pub struct Adaptive {
    least: u64,
    most: u64,
    now: u64,
    /// Microseconds and steps since the last decision.
    waited: u64,
    computed: u64,
    steps: u64,
    /// Steps since the last mark, the objective then, and the relative progress a step before it.
    since_mark: u64,
    objective: Option<f64>,
    forecast: Option<f64>,
    /// Whether it has widened since the last mark.
    widened: bool,
    rest: u32,
}

impl Adaptive {
    /// The controller of a consistency, if its staleness moves; it starts at the smallest.
    pub fn of(consistency: Consistency) -> Option<Self> {
        let Consistency::Adaptive { least, most } = consistency else { return None };
        Some(Self {
            least,
            most,
            now: least,
            waited: 0,
            computed: 0,
            steps: 0,
            since_mark: 0,
            objective: None,
            forecast: None,
            widened: false,
            rest: 0,
        })
    }

    /// The staleness in force.
    pub fn staleness(&self) -> u64 {
        self.now
    }

    /// Learns of a step of one of `n_workers`: microseconds that it computed and that its worker waited before it.
    pub fn step(&mut self, computed: u64, waited: u64, n_workers: usize) {
        self.computed += computed;
        self.waited += waited;
        self.steps += 1;
        self.since_mark += 1;
        if self.steps < WINDOW * n_workers as u64 {
            return;
        }
        let share = self.waited as f64 / (self.waited + self.computed).max(1) as f64;
        if share > LONG_WAIT && self.rest == 0 && self.now < self.most {
            self.now += 1;
            self.widened = true;
        }
        (self.waited, self.computed, self.steps) = (0, 0, 0);
    }

    /// Learns of a measured objective, which is minimised. Narrows where steps got worth much less after widening, and
    /// to the smallest staleness where the objective rose.
    pub fn mark(&mut self, objective: f64) {
        let steps = std::mem::take(&mut self.since_mark).max(1) as f64;
        let Some(before) = self.objective.replace(objective) else { return };
        let progress = (before - objective) / before.abs().max(f64::MIN_POSITIVE) / steps;
        self.rest = self.rest.saturating_sub(1);
        if progress < 0.0 {
            self.narrow(self.least);
        } else if self.widened && self.forecast.is_some_and(|forecast| progress < SLOW * forecast) {
            self.narrow(self.least.max(self.now / 2));
        }
        self.widened = false;
        // Converging geometrically, a step is worth as much as the one before; the forecast follows slower runs.
        self.forecast = Some(self.forecast.map_or(progress, |old| 0.5 * (old + progress)).max(0.0));
    }

    fn narrow(&mut self, to: u64) {
        self.now = to.min(self.now);
        self.rest = REST;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn controller() -> Adaptive {
        Adaptive::of(Consistency::Adaptive { least: 1, most: 4 }).unwrap()
    }

    /// Two workers, so many windows of steps that waited this share of the time.
    fn steps(adaptive: &mut Adaptive, windows: u64, share: f64) {
        let waited = (share * 1000.0) as u64;
        (0..windows * WINDOW * 2).for_each(|_| adaptive.step(1000 - waited, waited, 2));
    }

    #[test]
    fn long_waits_widen_up_to_the_largest_bound() {
        let mut adaptive = controller();
        steps(&mut adaptive, 1, 0.5);
        assert_eq!(adaptive.staleness(), 2);
        steps(&mut adaptive, 9, 0.5);
        assert_eq!(adaptive.staleness(), 4);
    }

    #[test]
    fn nobody_waits_and_nothing_moves() {
        let mut adaptive = controller();
        steps(&mut adaptive, 9, 0.05);
        assert_eq!(adaptive.staleness(), 1);
    }

    #[test]
    fn steps_that_are_worth_less_after_widening_narrow_it() {
        let mut adaptive = controller();
        adaptive.mark(100.0);
        steps(&mut adaptive, 1, 0.0);
        adaptive.mark(50.0);
        steps(&mut adaptive, 3, 0.5);
        assert_eq!(adaptive.staleness(), 4);
        adaptive.mark(49.0);
        assert_eq!(adaptive.staleness(), 2);
        steps(&mut adaptive, 3, 0.5);
        assert_eq!(adaptive.staleness(), 2, "it rests before it widens again");
    }

    #[test]
    fn a_rising_objective_narrows_it_to_the_smallest_bound() {
        let mut adaptive = controller();
        adaptive.mark(1.0);
        steps(&mut adaptive, 3, 0.5);
        adaptive.mark(2.0);
        assert_eq!(adaptive.staleness(), 1);
    }

    #[test]
    fn other_consistencies_stay_as_they_are() {
        assert!(Adaptive::of(Consistency::Essp(2)).is_none());
    }
}
