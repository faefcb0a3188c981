//! The bodies of the loops: plain Rust that the compiler turns into vector instructions.

use super::{Averages, Pace, Revisions};

#[inline(always)]
pub(super) fn plain(weights: &mut [f32], gradient: &[f32], Pace { rate, decay }: Pace) {
    for (w, g) in weights.iter_mut().zip(gradient) {
        *w -= rate * (g + decay * *w);
    }
}

#[inline(always)]
pub(super) fn momentum(weights: &mut [f32], gradient: &[f32], velocity: &mut [f32], mu: f32, pace: Pace) {
    for ((w, g), v) in weights.iter_mut().zip(gradient).zip(velocity) {
        *v = mu * *v + (g + pace.decay * *w);
        *w -= pace.rate * *v;
    }
}

#[inline(always)]
pub(super) fn adagrad(weights: &mut [f32], gradient: &[f32], squares: &mut [f32], epsilon: f32, pace: Pace) {
    for ((w, g), s) in weights.iter_mut().zip(gradient).zip(squares) {
        let g = g + pace.decay * *w;
        *s += g * g;
        *w -= pace.rate * g / (s.sqrt() + epsilon);
    }
}

#[inline(always)]
pub(super) fn adam(
    weights: &mut [f32],
    gradient: &[f32],
    (means, squares): (&mut [f32], &mut [f32]),
    averages: Averages,
    Pace { rate, decay }: Pace,
) {
    let Averages { first, second, first_correction, second_correction, epsilon } = averages;
    // α m̂ / (√v̂ + ε) = α √c₂/c₁ · m / (√v + ε √c₂): one square root and one division a weight.
    let root = second_correction.sqrt();
    let (rate, epsilon) = (rate * root / first_correction, epsilon * root);
    for (((w, g), m), v) in weights.iter_mut().zip(gradient).zip(means).zip(squares) {
        let g = g + decay * *w;
        *m = first * *m + (1.0 - first) * g;
        *v = second * *v + (1.0 - second) * g * g;
        *w -= rate * *m / (v.sqrt() + epsilon);
    }
}

#[inline(always)]
pub(super) fn adarevision(
    weights: &mut [f32],
    gradient: &[f32],
    since: &[f32],
    Revisions { sums, largest }: Revisions<'_>,
    Pace { rate, decay }: Pace,
) {
    for ((((w, g), b), z), most) in weights.iter_mut().zip(gradient).zip(since).zip(sums).zip(largest) {
        let g = g + decay * *w;
        let before = rate / (1.0 + *most).sqrt();
        *z += g * (g + 2.0 * b);
        *most = most.max(*z);
        let after = rate / (1.0 + *most).sqrt();
        *w += (before - after) * b - after * g;
    }
}

#[inline(always)]
pub(super) fn add(sum: &mut [f32], x: &[f32]) {
    for (sum, x) in sum.iter_mut().zip(x) {
        *sum += x;
    }
}
