//! What the reports of a sweep prove: the objective, and how far above the optimum it can be.

use serde::{Deserialize, Serialize};

use super::task::{Orders, SweepReport};

/// What a sweep proves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// The objective at the snapshot.
    pub objective: f64,
    /// The objective is at most this much above the optimum.
    pub gap: f64,
    /// Columns with a coefficient.
    pub nonzero: usize,
    /// The intercept.
    pub intercept: f64,
}

/// Primal, dual and gap from the reports of all parts at one snapshot.
pub fn certify(reports: &[SweepReport], orders: &Orders) -> Certificate {
    let Some(first) = reports.first() else { return Certificate::default() };
    let l1: f64 = reports.iter().map(|r| r.l1).sum();
    let square: f64 = reports.iter().map(|r| r.square).sum();
    let objective = first.loss + orders.lambda * l1 + orders.ridge / 2.0 * square;
    // The part that allows the least decides the scale; its own dual value is the one at that scale.
    let tightest = reports.iter().fold(first, |a, b| if b.scale < a.scale { b } else { a });
    let dual = tightest.dual - reports.iter().map(|r| r.excess).sum::<f64>();
    Certificate {
        objective,
        gap: (objective - dual).max(0.0),
        nonzero: reports.iter().map(|r| r.nonzero).sum(),
        intercept: first.intercept,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_part_that_allows_least_decides_the_dual_point() {
        let a = SweepReport { loss: 1.0, l1: 0.5, scale: 0.5, dual: 0.7, ..Default::default() };
        let b = SweepReport { part: 1, loss: 1.0, l1: 0.25, scale: 0.25, dual: 0.6, ..Default::default() };
        let orders = Orders {
            lambda: 1.0,
            ridge: 0.0,
            intercept: 0.0,
            quota: 1,
            tolerance: 0.1,
            max_epochs: 1,
            sigma: 1.0,
        };
        let proof = certify(&[a, b], &orders);
        assert_eq!(proof.objective, 1.75);
        assert!((proof.gap - 1.15).abs() < 1e-15);
    }
}
