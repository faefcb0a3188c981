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
//! and the same for the item's side with the user's row as it was before. [`scalar`] is that definition in plain
//! loops; [`visit`] picks the AVX2 version where the processor has it.
#![allow(unsafe_code)] // loads, stores and the call after the run-time check

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

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
        return unsafe { visit_avx2(width(rank), ratings, users, items, rates) };
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
        *p += of_user * of_p;
        *q += of_item * of_q;
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

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn visit_avx2(width: usize, ratings: &[Rating], users: &mut [f32], items: &mut [f32], rates: &Rates) -> f64 {
    /// One compiled copy for each common row width, so that the loops over its lanes are straight lines.
    macro_rules! pick {
        ($($width:literal)*) => {
            match width {
                $($width => visit_rows::<$width>(width, ratings, users, items, rates),)*
                _ => visit_rows::<0>(width, ratings, users, items, rates),
            }
        };
    }
    pick!(8 12 16 20 24 28 32 36 40 44 52 68)
}

/// `WIDTH` is the row's width, or 0 where only `width` says it.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn visit_rows<const WIDTH: usize>(
    width: usize,
    ratings: &[Rating],
    users: &mut [f32],
    items: &mut [f32],
    rates: &Rates,
) -> f64 {
    let width = if WIDTH == 0 { width } else { WIDTH };
    let constants = Constants {
        l2: _mm_setr_ps(0.0, 0.0, rates.l2_bias, rates.l2_factor),
        bases: _mm_setr_ps(0.0, rates.bias, rates.factor, 0.0),
        shares: _mm_setr_ps(1.0, rates.keep_bias, rates.keep_factor, 0.0),
    };
    let mut total = 0.0f64;
    for (k, rating) in ratings.iter().enumerate() {
        if let Some(ahead) = ratings.get(k + AHEAD) {
            prefetch(items, ahead.item as usize * width, width);
        }
        let user = &mut users[rating.user as usize * width..][..width];
        let item = &mut items[rating.item as usize * width..][..width];
        let error = rating.value - user[0] - item[0] - dot(&user[HEADER..], &item[HEADER..]);
        total = f64::from(error).mul_add(f64::from(error), total);
        let error = error.clamp(-rates.clip, rates.clip);
        step_avx2(user, item, error, &constants);
    }
    total
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2,fma")]
fn dot(user: &[f32], item: &[f32]) -> f32 {
    let (eights, four) = user.as_chunks::<8>();
    let (item_eights, item_four) = item.as_chunks::<8>();
    let mut sum = _mm256_setzero_ps();
    for (p, q) in eights.iter().zip(item_eights) {
        sum = _mm256_fmadd_ps(load(p), load(q), sum);
    }
    let mut sum = fold(sum);
    if let (Some(p), Some(q)) = (four.first_chunk(), item_four.first_chunk()) {
        sum = _mm_fmadd_ps(load4(p), load4(q), sum);
    }
    let sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
    _mm_cvtss_f32(_mm_add_ss(sum, _mm_movehdup_ps(sum)))
}

/// What does not change from rating to rating, by lane of the header.
#[cfg(target_arch = "x86_64")]
struct Constants {
    /// `[-, -, l2 of a bias, l2 of a factor]`
    l2: __m128,
    /// `[-, step of a bias, step of a factor, -]`
    bases: __m128,
    /// How much of `[bias change, squared gradient of the bias, of the factors, -]` goes into the header.
    shares: __m128,
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2,fma")]
fn step_avx2(user: &mut [f32], item: &mut [f32], error: f32, constants: &Constants) {
    let (Some((user_head, user)), Some((item_head, item))) =
        (user.split_first_chunk_mut::<HEADER>(), item.split_first_chunk_mut::<HEADER>())
    else {
        return;
    };
    let [of_user, of_item] = [Head::new(user_head, constants), Head::new(item_head, constants)];
    let factor = Factor {
        error: _mm256_set1_ps(error),
        l2: [lane::<3>(of_user.l2), lane::<3>(of_item.l2)],
        steps: [lane::<2>(of_user.steps), lane::<2>(of_item.steps)],
    };
    let (eights, four) = user.as_chunks_mut::<8>();
    let (item_eights, item_four) = item.as_chunks_mut::<8>();
    let mut sums = [_mm256_setzero_ps(); 2];
    for (p, q) in eights.iter_mut().zip(item_eights) {
        sums = factor.eight(p, q, sums);
    }
    let mut squares = [fold(sums[0]), fold(sums[1])];
    if let (Some(p), Some(q)) = (four.first_chunk_mut(), item_four.first_chunk_mut()) {
        squares = factor.four(p, q, squares);
    }
    // Sums of [user, item, user, item].
    let pairs = _mm_add_ps(_mm_unpacklo_ps(squares[0], squares[1]), _mm_unpackhi_ps(squares[0], squares[1]));
    let squares = _mm_add_ps(pairs, _mm_movehl_ps(pairs, pairs));
    of_user.store(user_head, error, squares, constants);
    of_item.store(item_head, error, _mm_movehdup_ps(squares), constants);
}

/// A header before its step.
#[cfg(target_arch = "x86_64")]
struct Head {
    old: __m128,
    /// `[-, of the bias, of the factors, -]`
    steps: __m128,
    /// `[-, -, of the bias, of the factors]`
    l2: __m128,
}

#[cfg(target_arch = "x86_64")]
impl Head {
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn new(head: &[f32; HEADER], constants: &Constants) -> Self {
        let old = load4(head);
        let weight = _mm_shuffle_ps::<0b11_11_11_11>(old, old);
        Self {
            old,
            steps: _mm_mul_ps(constants.bases, _mm_rsqrt_ps(old)),
            l2: _mm_mul_ps(constants.l2, weight),
        }
    }

    /// Writes the header after the step; `squares` has the sum of the factors' squared gradients first.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn store(&self, head: &mut [f32; HEADER], error: f32, squares: __m128, constants: &Constants) {
        let l2 = _mm_movehl_ps(self.l2, self.l2);
        let gradient = _mm_fnmadd_ss(l2, self.old, _mm_set_ss(error));
        let change = _mm_mul_ss(gradient, _mm_movehdup_ps(self.steps));
        let bias = _mm_unpacklo_ps(change, _mm_mul_ss(gradient, gradient));
        store4(head, _mm_fmadd_ps(_mm_movelh_ps(bias, squares), constants.shares, self.old));
    }
}

/// The step of factors.
#[cfg(target_arch = "x86_64")]
struct Factor {
    error: __m256,
    /// Penalty of the user's row and of the item's.
    l2: [__m256; 2],
    /// Step of the user's row and of the item's.
    steps: [__m256; 2],
}

#[cfg(target_arch = "x86_64")]
impl Factor {
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn eight(&self, p: &mut [f32; 8], q: &mut [f32; 8], squares: [__m256; 2]) -> [__m256; 2] {
        let (old_p, old_q) = (load(p), load(q));
        let of_p = _mm256_fmsub_ps(self.error, old_q, _mm256_mul_ps(self.l2[0], old_p));
        let of_q = _mm256_fmsub_ps(self.error, old_p, _mm256_mul_ps(self.l2[1], old_q));
        store(p, _mm256_fmadd_ps(self.steps[0], of_p, old_p));
        store(q, _mm256_fmadd_ps(self.steps[1], of_q, old_q));
        [_mm256_fmadd_ps(of_p, of_p, squares[0]), _mm256_fmadd_ps(of_q, of_q, squares[1])]
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn four(&self, p: &mut [f32; 4], q: &mut [f32; 4], squares: [__m128; 2]) -> [__m128; 2] {
        let (old_p, old_q) = (load4(p), load4(q));
        let error = _mm256_castps256_ps128(self.error);
        let [l2_user, l2_item] = self.l2.map(|lanes| _mm256_castps256_ps128(lanes));
        let [of_user, of_item] = self.steps.map(|lanes| _mm256_castps256_ps128(lanes));
        let of_p = _mm_fmsub_ps(error, old_q, _mm_mul_ps(l2_user, old_p));
        let of_q = _mm_fmsub_ps(error, old_p, _mm_mul_ps(l2_item, old_q));
        store4(p, _mm_fmadd_ps(of_user, of_p, old_p));
        store4(q, _mm_fmadd_ps(of_item, of_q, old_q));
        [_mm_fmadd_ps(of_p, of_p, squares[0]), _mm_fmadd_ps(of_q, of_q, squares[1])]
    }
}

/// How many ratings ahead an item's row is asked for: blocks may be larger than the second-level cache.
#[cfg(target_arch = "x86_64")]
const AHEAD: usize = 8;

/// Asks for the cache lines of a row; a row that is not there is nothing.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2,fma")]
fn prefetch(rows: &[f32], start: usize, width: usize) {
    if let Some(row) = rows.get(start..start + width) {
        for line in row.chunks(16) {
            _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast());
        }
    }
}

/// One lane in all eight.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2,fma")]
fn lane<const LANE: i32>(lanes: __m128) -> __m256 {
    match LANE {
        2 => _mm256_broadcastss_ps(_mm_movehl_ps(lanes, lanes)),
        _ => _mm256_broadcastss_ps(_mm_shuffle_ps::<0b11_11_11_11>(lanes, lanes)),
    }
}

/// The sum of both halves.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2,fma")]
fn fold(lanes: __m256) -> __m128 {
    _mm_add_ps(_mm256_castps256_ps128(lanes), _mm256_extractf128_ps::<1>(lanes))
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2,fma")]
fn load(lanes: &[f32; 8]) -> __m256 {
    // SAFETY: eight floats are there to read.
    unsafe { _mm256_loadu_ps(lanes.as_ptr()) }
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2,fma")]
fn load4(lanes: &[f32; 4]) -> __m128 {
    // SAFETY: four floats are there to read.
    unsafe { _mm_loadu_ps(lanes.as_ptr()) }
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2,fma")]
fn store(lanes: &mut [f32; 8], value: __m256) {
    // SAFETY: eight floats are there to write.
    unsafe { _mm256_storeu_ps(lanes.as_mut_ptr(), value) }
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2,fma")]
fn store4(lanes: &mut [f32; 4], value: __m128) {
    // SAFETY: four floats are there to write.
    unsafe { _mm_storeu_ps(lanes.as_mut_ptr(), value) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RATES: Rates = Rates {
        factor: 0.1,
        bias: 0.05,
        l2_factor: 0.02,
        l2_bias: 0.03,
        keep_factor: 0.25,
        keep_bias: 1.0,
        clip: 10.0,
    };

    /// Two users and two items with rows that differ.
    fn rows(rank: usize, salt: f32) -> Vec<f32> {
        let width = width(rank);
        let mut rows = vec![0.0; 2 * width];
        for (r, row) in rows.chunks_exact_mut(width).enumerate() {
            row[..HEADER].copy_from_slice(&[0.1 * salt, 1.5, 2.0 + salt, 1.25]);
            for k in 0..rank {
                row[HEADER + k] = ((k + 3 * r) as f32 * 0.7 + salt).sin() * 0.5;
            }
        }
        rows
    }

    /// What the gradient of one rating follows, halved: `(v - b - c - p·q)²/2` and the row's own penalty.
    fn half_loss(value: f32, user: &[f64], item: &[f64]) -> f64 {
        let dot: f64 = user[HEADER..].iter().zip(&item[HEADER..]).map(|(p, q)| p * q).sum();
        let error = f64::from(value) - user[0] - item[0] - dot;
        let size: f64 = user[HEADER..].iter().map(|p| p * p).sum();
        let penalty = f64::from(RATES.l2_factor) * size + f64::from(RATES.l2_bias) * user[0] * user[0];
        0.5 * (error * error + user[3] * penalty)
    }

    #[test]
    fn a_step_follows_the_gradient_by_finite_differences() {
        let rank = 6;
        let (before, items) = (rows(rank, 0.3), rows(rank, 0.8));
        let mut after = before.clone();
        let rating = Rating { user: 0, item: 0, value: 1.7 };
        scalar(width(rank), &[rating], &mut after, &mut items.clone(), &RATES);

        let wide = |row: &[f32]| row[..width(rank)].iter().map(|&x| f64::from(x)).collect::<Vec<_>>();
        let (user, item) = (wide(&before), wide(&items));
        for k in std::iter::once(0).chain(HEADER..HEADER + rank) {
            let mut shifted = [user.clone(), user.clone()];
            shifted[0][k] += 1e-5;
            shifted[1][k] -= 1e-5;
            let [up, down] = shifted.map(|user| half_loss(rating.value, &user, &item));
            let step = if k == 0 { f64::from(RATES.bias) / 1.5f64.sqrt() } else { 0.1 / 2.3f64.sqrt() };
            let expected = user[k] - step * (up - down) / 2e-5;
            assert!((f64::from(after[k]) - expected).abs() < 1e-5, "lane {k}: {} not {expected}", after[k]);
        }
    }

    #[test]
    fn a_wild_rating_moves_a_row_no_further_than_the_clip() {
        let mut users = rows(4, 0.0);
        let bias = users[0];
        visit(4, &[Rating { user: 0, item: 0, value: 1e30 }], &mut users, &mut rows(4, 0.1), &RATES);
        assert!((users[0] - bias).abs() <= 0.05 * 10.0);
        assert!(users.iter().all(|value| value.is_finite()));
    }

    #[test]
    fn lanes_beyond_the_rank_stay_zero() {
        let mut users = rows(5, 0.2);
        let ratings = [Rating { user: 1, item: 0, value: 2.0 }; 20];
        visit(5, &ratings, &mut users, &mut rows(5, 0.9), &RATES);
        assert_eq!(users[width(5) + HEADER + 5..], [0.0; 3]);
    }

    proptest! {
        #[test]
        fn the_fast_kernel_agrees_with_plain_loops(
            rank in 1usize..100,
            ratings in prop::collection::vec((0u32..2, 0u32..2, -3.0f32..3.0), 0..20),
        ) {
            let ratings: Vec<_> =
                ratings.into_iter().map(|(user, item, value)| Rating { user, item, value }).collect();
            let (mut users, mut items) = (rows(rank, 0.3), rows(rank, 0.8));
            let (mut plain_users, mut plain_items) = (users.clone(), items.clone());
            let seen = visit(rank, &ratings, &mut users, &mut items, &RATES);
            let plain = scalar(width(rank), &ratings, &mut plain_users, &mut plain_items, &RATES);
            prop_assert!((seen - plain).abs() <= 1e-2 * (1.0 + plain));
            for (fast, plain) in users.iter().chain(&items).zip(plain_users.iter().chain(&plain_items)) {
                prop_assert!((fast - plain).abs() <= 5e-3 * (1.0 + plain.abs()), "{fast} not {plain}");
            }
        }
    }
}
