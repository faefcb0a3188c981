//! One rating's step of stochastic gradient descent on a matrix factorisation, over all ratings of a cell.
//!
//! A row of either side is one run of `f32`: a header of four, then the factors. The header is
//! `[bias, A_b, A_p, w]`: the `A` are sums of squared gradients that set the step, one for a whole row of factors
//! in place of one for each (Chin et al. 2015, "A learning-rate schedule for stochastic gradient methods to
//! matrix factorization"), and `w` weighs the row's penalty. So a rating touches one contiguous run of memory on
//! each side.
//!
//! For a rating `v`, with `e = v - b - c - p·q` clipped to `±clip`, and every `A` as it was *before* the step:
//!
//! ```text
//! g_b = e - l2_bias w b            b += bias   / sqrt(A_b) g_b      A_b += keep_bias   g_b²
//! g_p = e q - l2_factor w p        p += factor / sqrt(A_p) g_p      A_p += keep_factor |g_p|²
//! ```
//!
//! and the same for the item's side with the user's row as it was before; a factor that comes out below `floor` is put
//! there. [`scalar`] is that definition in plain
//! loops; [`visit`] picks the AVX2 version where the processor has it.
#![allow(unsafe_code)] // the call after the run-time check

#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(test)]
mod tests;

/// Floats at the head of a row: bias and three accumulators.
pub const HEADER: usize = 4;

/// A rating inside a cell: local rows of its user and item, and the centred, scaled value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rating {
    /// Row of the user within its part.
    pub user: u32,
    /// Row of the item within its block.
    pub item: u32,
    /// `(r - mean) / scale`.
    pub value: f32,
}

/// What a step is made with, in the scaled units of [`Rating::value`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// Step of the factors before it is divided by the root of their accumulator.
    pub factor: f32,
    /// Step of the biases before it is divided by the root of their accumulator.
    pub bias: f32,
    /// Penalty of a factor, per rating.
    pub l2_factor: f32,
    /// Penalty of a bias, per rating.
    pub l2_bias: f32,
    /// Share of the sum of the factors' squared gradients that is added to their accumulator: 1/rank for adaptive
    /// steps, 0 for plain ones.
    pub keep_factor: f32,
    /// The same for the bias: 1 or 0.
    pub keep_bias: f32,
    /// The error used in a gradient is clipped to this size.
    pub clip: f32,
    /// No factor goes below it: 0 for factors that are not negative, else minus infinity.
    pub floor: f32,
}

/// Floats of a row with `rank` factors: header, then the factors in eights and at most one four.
pub fn width(rank: usize) -> usize {
    HEADER + rank.next_multiple_of(4)
}

/// Steps through the ratings in order; returns the sum of squared errors, each as it was before its step.
///
/// `users` and `items` hold whole rows of `width(rank)` floats.
///
/// # Panics
/// If a rating names a row that is not there.
pub fn visit(rank: usize, ratings: &[Rating], users: &mut [f32], items: &mut [f32], rates: &Rates) -> f64 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        // SAFETY: the processor has both features.
        return unsafe { x86::visit(width(rank), ratings, users, items, rates) };
    }
    scalar(width(rank), ratings, users, items, rates)
}

/// [`visit`] in plain loops: the definition of correct.
pub fn scalar(width: usize, ratings: &[Rating], users: &mut [f32], items: &mut [f32], rates: &Rates) -> f64 {
    let mut total = 0.0;
    for rating in ratings {
        let user = &mut users[rating.user as usize * width..][..width];
        let item = &mut items[rating.item as usize * width..][..width];
        let dot: f32 = user[HEADER..].iter().zip(&item[HEADER..]).map(|(p, q)| p * q).sum();
        let error = rating.value - user[0] - item[0] - dot;
        total += f64::from(error) * f64::from(error);
        step(user, item, error.clamp(-rates.clip, rates.clip), rates);
    }
    total
}

/// The step of both rows for a clipped error.
fn step(user: &mut [f32], item: &mut [f32], error: f32, rates: &Rates) {
    let [of_user, of_item] = [&*user, &*item].map(|row| rates.factor / row[2].sqrt());
    let [l2_user, l2_item] = [&*user, &*item].map(|row| rates.l2_factor * row[3]);
    let mut squares = [0.0f32; 2];
    for (p, q) in user[HEADER..].iter_mut().zip(&mut item[HEADER..]) {
        let (of_p, of_q) = (error * *q - l2_user * *p, error * *p - l2_item * *q);
        *p = (*p + of_user * of_p).max(rates.floor);
        *q = (*q + of_item * of_q).max(rates.floor);
        squares[0] += of_p * of_p;
        squares[1] += of_q * of_q;
    }
    for (row, squares) in [(user, squares[0]), (item, squares[1])] {
        let of_bias = error - rates.l2_bias * row[3] * row[0];
        row[0] += rates.bias / row[1].sqrt() * of_bias;
        row[1] += rates.keep_bias * of_bias * of_bias;
        row[2] += rates.keep_factor * squares;
    }
}
