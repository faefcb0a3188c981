//! How much each step counts: `ρ_t = (τ0 + t - 1)^-κ` for the steps t = 1, 2, …, and what remains of earlier steps after it.

/// The weight of every step of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Rates {
    /// `ρ_t` of each step from 1; 0 stands for the start.
    rates: Vec<f64>,
    /// `Σ ln(1 - ρ_i)` over the steps up to each one, those with `ρ_i = 1` left out.
    logs: Vec<f64>,
    /// The last step up to each one with `ρ_i = 1`, which nothing before outlives; 0 where there is none.
    fresh: Vec<u32>,
}

impl Rates {
    /// `ρ_t = (τ0 + t - 1)^-κ`, at most 1 (Hoffman et al. 2013, equation 26).
    pub fn new(tau0: f64, kappa: f64, n_steps: usize) -> Self {
        Self::of(n_steps, |step| (tau0 + step as f64 - 1.0).powf(-kappa).min(1.0))
    }

    /// Every step takes the place of the one before: batch inference.
    pub fn replacing(n_steps: usize) -> Self {
        Self::of(n_steps, |_| 1.0)
    }

    fn of(n_steps: usize, rate: impl Fn(usize) -> f64) -> Self {
        let (mut rates, mut logs, mut fresh) = (vec![0.0], vec![0.0], vec![0]);
        let (mut log, mut last) = (0.0, 0);
        for step in 1..=n_steps {
            let rate = rate(step);
            if rate >= 1.0 {
                last = step as u32;
            } else {
                log += (-rate).ln_1p();
            }
            rates.push(rate);
            logs.push(log);
            fresh.push(last);
        }
        Self { rates, logs, fresh }
    }

    /// Steps.
    pub fn n_steps(&self) -> usize {
        self.rates.len() - 1
    }

    /// `ρ_t`.
    pub fn rate(&self, step: usize) -> f64 {
        self.rates[step]
    }

    /// `Π (1 - ρ_i)` over the steps after `from` up to `to`; 1 where there are none.
    pub fn remains(&self, from: usize, to: usize) -> f64 {
        if from >= to {
            return 1.0;
        }
        if self.fresh[to] as usize > from {
            return 0.0;
        }
        (self.logs[to] - self.logs[from]).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_remains_is_the_product_of_all_steps_between() {
        for (tau0, kappa) in [(1.0, 0.7), (64.0, 0.5), (1.0, 1.0), (1024.0, 0.9)] {
            let rates = Rates::new(tau0, kappa, 50);
            for from in 0..=50 {
                let mut product = 1.0;
                for to in from..=50 {
                    product *= if to > from { 1.0 - rates.rate(to) } else { 1.0 };
                    assert!((rates.remains(from, to) - product).abs() < 1e-12, "{tau0} {kappa} {from} {to}");
                }
            }
        }
    }

    #[test]
    fn the_first_step_with_an_offset_of_one_forgets_the_start() {
        let rates = Rates::new(1.0, 0.7, 9);
        assert_eq!((rates.rate(1), rates.remains(0, 9)), (1.0, 0.0));
        assert!(rates.remains(1, 9) > 0.0);
        assert_eq!((Rates::replacing(3).remains(1, 2), Rates::replacing(3).remains(2, 2)), (0.0, 1.0));
    }
}
