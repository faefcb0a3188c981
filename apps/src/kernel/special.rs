//! Special functions in double precision, for positive arguments.

/// Coefficients of the asymptotic series are good from here on.
const FAR: f64 = 10.0;

/// `ψ(x)`, the derivative of `ln Γ(x)`, within 1e-13 relative to the larger of 1 and |ψ|; x above 0.
///
/// Up to 10 by the recurrence, from there by the asymptotic series (DLMF 5.5.2 and 5.11.2).
pub fn digamma(x: f64) -> f64 {
    let (mut x, mut steps) = (x, 0.0);
    while x < FAR {
        steps += 1.0 / x;
        x += 1.0;
    }
    let i = 1.0 / (x * x);
    let series = i
        * (1.0 / 12.0
            - i * (1.0 / 120.0
                - i * (1.0 / 252.0
                    - i * (1.0 / 240.0 - i * (1.0 / 132.0 - i * (691.0 / 32760.0 - i / 12.0))))));
    x.ln() - 0.5 / x - series - steps
}

/// `ln Γ(x)`, within 1e-13 relative to the larger of 1 and its value; x above 0.
///
/// Up to 10 by the recurrence, from there by Stirling's series (DLMF 5.5.1 and 5.11.1).
pub fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut product) = (x, 1.0);
    while x < FAR {
        product *= x;
        x += 1.0;
    }
    let i = 1.0 / (x * x);
    let series = (1.0 / 12.0
        - i * (1.0 / 360.0
            - i * (1.0 / 1260.0 - i * (1.0 / 1680.0 - i * (1.0 / 1188.0 - i * 691.0 / 360_360.0)))))
        / x;
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series - product.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    const EULER: f64 = 0.577_215_664_901_532_9;

    #[test]
    fn digammas_of_known_places() {
        let ln2 = std::f64::consts::LN_2;
        let pi = std::f64::consts::PI;
        let known = [
            (1.0, -EULER),
            (0.5, -EULER - 2.0 * ln2),
            (2.0, 1.0 - EULER),
            (0.25, -EULER - pi / 2.0 - 3.0 * ln2),
            (11.0, -EULER + (1..=10).map(|k| 1.0 / f64::from(k)).sum::<f64>()),
            (1e9, (1e9f64).ln() - 0.5e-9),
        ];
        for (x, expected) in known {
            assert!((digamma(x) - expected).abs() < 1e-13 * expected.abs().max(1.0), "{x}");
        }
        // ψ(x) = -1/x - γ + π²/6 x for small x
        assert!((digamma(1e-5) + 1e5 + EULER - pi * pi / 6.0 * 1e-5).abs() < 1e-8);
    }

    #[test]
    fn log_gammas_of_known_places() {
        let pi = std::f64::consts::PI;
        let known =
            [(1.0, 0.0), (2.0, 0.0), (0.5, 0.5 * pi.ln()), (5.0, 24f64.ln()), (1.5, (pi.sqrt() / 2.0).ln())];
        for (x, expected) in known {
            assert!((ln_gamma(x) - expected).abs() < 1e-13, "{x}: {}", ln_gamma(x));
        }
        let factorial: f64 = (1..=99).map(|k| f64::from(k).ln()).sum();
        assert!((ln_gamma(100.0) / factorial - 1.0).abs() < 1e-14);
    }

    #[test]
    fn the_digamma_is_the_slope_of_the_log_gamma() {
        for x in [0.01, 0.3, 2.7, 9.99, 10.01, 321.5] {
            let h = 1e-5 * x;
            let slope = (ln_gamma(x + h) - ln_gamma(x - h)) / (2.0 * h);
            assert!((slope / digamma(x) - 1.0).abs() < 1e-7, "{x}");
        }
    }

    /// Values of SciPy 1.17: `scipy.special.digamma` and `gammaln`.
    #[test]
    fn the_functions_are_those_of_scipy() {
        let near = |ours: f64, expected: f64| (ours - expected).abs() < 1e-13 * expected.abs().max(1.0);
        let cases = [
            (1e-3, -1000.5755719318103, 6.907178885383853),
            (0.01, -100.56088545786868, 4.599479878042022),
            (0.1, -10.423754940411076, 2.252712651734206),
            (0.5, -1.9635100260214235, 0.5723649429247),
            (2.5, 0.7031566406452432, 0.2846828704729192),
            (6.0, 1.7061176684318005, 4.787491742782046),
            (10.25, 2.277704790686724, 13.368023671476045),
            (1234.5, 7.1180162318279985, 7550.550901077894),
            (1e8, 18.420680738952367, 1742068066.1038349),
        ];
        for (x, expected, log) in cases {
            assert!(near(digamma(x), expected), "{x}: {}", digamma(x));
            assert!(near(ln_gamma(x), log), "{x}: {}", ln_gamma(x));
        }
        assert!(digamma(1.461_632_144_968_362_3).abs() < 1e-13, "where log gamma is least");
    }
}
