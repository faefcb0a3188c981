//! The logistic loss over the rows: its value, slope and curvature, the best intercept, and its dual.

/// `ln(1 + e^−m)`, without overflow.
#[inline]
pub fn softplus(m: f64) -> f64 {
    if m > 0.0 { (-m).exp().ln_1p() } else { m.exp().ln_1p() - m }
}

/// `1/(1 + e^m)`: the probability of the wrong label at margin `m`.
#[inline]
pub fn wrong(m: f64) -> f64 {
    1.0 / (1.0 + m.exp())
}

/// The mean loss of margins `labels·(scores + intercept)`.
pub fn mean(scores: &[f64], labels: &[f64], intercept: f64) -> f64 {
    let total: f64 = scores.iter().zip(labels).map(|(z, y)| softplus(y * (z + intercept))).sum();
    total / labels.len().max(1) as f64
}

/// The probability of the wrong label for each row.
pub fn wrongs(scores: &[f64], labels: &[f64], intercept: f64) -> Vec<f64> {
    scores.iter().zip(labels).map(|(z, y)| wrong(y * (z + intercept))).collect()
}

/// The intercept that minimises the loss, by Newton's method from `start`, kept within a bracket.
///
/// The labels must not be all the same: the loss then falls for ever.
pub fn best_intercept(scores: &[f64], labels: &[f64], start: f64) -> f64 {
    let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
    let mut at = start;
    for _ in 0..100 {
        let (mut slope, mut bend) = (0.0, 0.0);
        for (z, y) in scores.iter().zip(labels) {
            let p = wrong(y * (z + at));
            slope += y * p;
            bend += p * (1.0 - p);
        }
        // The loss falls towards a larger intercept where the slope is positive.
        if slope > 0.0 {
            low = at;
        } else {
            high = at;
        }
        if slope.abs() <= 1e-14 * labels.len() as f64 {
            break;
        }
        // Far out the curvature says nothing: go at most half of the way back, or a few units.
        let most = 4.0 + at.abs() / 2.0;
        let step = if bend > 0.0 { (slope / bend).clamp(-most, most) } else { most * slope.signum() };
        let mut next = at + step;
        if next <= low || next >= high {
            next = (low + high) / 2.0;
        }
        if next == at || !next.is_finite() {
            break;
        }
        at = next;
    }
    at
}

/// The mean entropy of `scale·p`: the dual objective at the dual point `scale·p`.
pub fn entropy(wrongs: &[f64], scale: f64) -> f64 {
    let part = |q: f64| if q > 0.0 { -q * q.ln() } else { 0.0 };
    let total: f64 = wrongs.iter().map(|p| part(scale * p) + part(1.0 - scale * p)).sum();
    total / wrongs.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_intercept_without_scores_is_the_log_odds() {
        let labels = [1.0, 1.0, 1.0, -1.0];
        let at = best_intercept(&[0.0; 4], &labels, 0.0);
        assert!((at - 3.0f64.ln()).abs() < 1e-12);
        assert!((best_intercept(&[0.0; 4], &labels, 700.0) - 3.0f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn the_loss_does_not_overflow() {
        assert_eq!(softplus(-1000.0), 1000.0);
        assert_eq!(softplus(1000.0), 0.0);
        assert!((softplus(0.0) - 2.0f64.ln()).abs() < 1e-16);
        assert_eq!((wrong(1000.0), wrong(-1000.0)), (0.0, 1.0));
    }

    #[test]
    fn the_entropy_is_the_dual_of_the_loss() {
        // With no columns the optimum is p = 1/2: loss and dual are both ln 2.
        assert!((entropy(&[0.5, 0.5], 1.0) - 2.0f64.ln()).abs() < 1e-15);
        assert_eq!(entropy(&[1.0, 0.0], 1.0), 0.0);
    }
}
