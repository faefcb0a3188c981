//! Functions that Dirichlet distributions need.

/// `log Γ(x)` for `x > 0`, to the last few bits.
#[inline]
pub fn ln_gamma(x: f64) -> f64 {
    libm::lgamma(x)
}

/// `ψ(x) = d log Γ(x) / dx` for `x > 0`, to about 14 digits: Abramowitz and Stegun 1964, 6.3.5 upwards to 10, from there the
/// asymptotic series 6.3.18.
pub fn digamma(x: f64) -> f64 {
    let (mut x, mut below) = (x, 0.0);
    while x < 10.0 {
        below += 1.0 / x;
        x += 1.0;
    }
    let s = 1.0 / (x * x);
    let series = s
        * (1.0 / 12.0
            - s * (1.0 / 120.0
                - s * (1.0 / 252.0
                    - s * (1.0 / 240.0 - s * (1.0 / 132.0 - s * (691.0 / 32_760.0 - s / 12.0))))));
    x.ln() - 0.5 / x - series - below
}
