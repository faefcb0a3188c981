//! Which penalties to solve for, one after the other.

use serde::{Deserialize, Serialize};

/// The penalties to solve for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Penalties {
    /// These, one after the other.
    Given(Vec<f64>),
    /// These shares of the largest useful penalty.
    Shares(Vec<f64>),
    /// So many from the largest useful penalty down to this one, evenly spaced on a logarithmic scale.
    DownTo(f64, usize),
}

impl Penalties {
    /// The penalties as numbers, given the largest that has any coefficient.
    pub(super) fn below(&self, largest: f64) -> Vec<f64> {
        match self {
            Self::Given(lambdas) => lambdas.clone(),
            Self::Shares(shares) => shares.iter().map(|share| share * largest).collect(),
            Self::DownTo(last, n) if *n > 1 && *last < largest => {
                let share = |i: usize| (last / largest).powf(i as f64 / (n - 1) as f64);
                (0..*n).map(|i| if i + 1 == *n { *last } else { largest * share(i) }).collect()
            }
            Self::DownTo(last, _) => vec![*last],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_goes_from_the_largest_penalty_to_the_last() {
        let path = Penalties::DownTo(0.25, 3).below(4.0);
        assert!(path.iter().zip([4.0, 1.0, 0.25]).all(|(a, b)| (a - b).abs() < 1e-12));
        assert_eq!(Penalties::DownTo(5.0, 3).below(4.0), vec![5.0]);
        assert_eq!(Penalties::Shares(vec![0.5]).below(4.0), vec![2.0]);
    }
}
