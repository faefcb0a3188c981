//! The steps of [`super`] in AVX2 and FMA. Loads and stores are the only unsafe code.

use std::arch::x86_64::*;

use super::{HEADER, Rates, Rating};

/// [`super::visit`] for rows of `width` floats.
#[target_feature(enable = "avx2,fma")]
pub(super) fn visit(
    width: usize,
    ratings: &[Rating],
    users: &mut [f32],
    items: &mut [f32],
    rates: &Rates,
) -> f64 {
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
        floor: _mm256_set1_ps(rates.floor),
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
struct Constants {
    /// `[-, -, l2 of a bias, l2 of a factor]`
    l2: __m128,
    /// `[-, step of a bias, step of a factor, -]`
    bases: __m128,
    /// How much of `[bias change, squared gradient of the bias, of the factors, -]` goes into the header.
    shares: __m128,
    /// No factor goes below it.
    floor: __m256,
}

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
        floor: constants.floor,
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
struct Head {
    old: __m128,
    /// `[-, of the bias, of the factors, -]`
    steps: __m128,
    /// `[-, -, of the bias, of the factors]`
    l2: __m128,
}

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
struct Factor {
    error: __m256,
    /// Penalty of the user's row and of the item's.
    l2: [__m256; 2],
    /// Step of the user's row and of the item's.
    steps: [__m256; 2],
    /// No factor goes below it.
    floor: __m256,
}

impl Factor {
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn eight(&self, p: &mut [f32; 8], q: &mut [f32; 8], squares: [__m256; 2]) -> [__m256; 2] {
        let (old_p, old_q) = (load(p), load(q));
        let of_p = _mm256_fmsub_ps(self.error, old_q, _mm256_mul_ps(self.l2[0], old_p));
        let of_q = _mm256_fmsub_ps(self.error, old_p, _mm256_mul_ps(self.l2[1], old_q));
        // A number that is none (NaN) stays one: it is the second operand.
        store(p, _mm256_max_ps(self.floor, _mm256_fmadd_ps(self.steps[0], of_p, old_p)));
        store(q, _mm256_max_ps(self.floor, _mm256_fmadd_ps(self.steps[1], of_q, old_q)));
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
        let floor = _mm256_castps256_ps128(self.floor);
        store4(p, _mm_max_ps(floor, _mm_fmadd_ps(of_user, of_p, old_p)));
        store4(q, _mm_max_ps(floor, _mm_fmadd_ps(of_item, of_q, old_q)));
        [_mm_fmadd_ps(of_p, of_p, squares[0]), _mm_fmadd_ps(of_q, of_q, squares[1])]
    }
}

/// How many ratings ahead an item's row is asked for: blocks may be larger than the second-level cache.
const AHEAD: usize = 8;

/// Asks for the cache lines of a row; a row that is not there is nothing.
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
#[inline]
#[target_feature(enable = "avx2,fma")]
fn lane<const LANE: i32>(lanes: __m128) -> __m256 {
    match LANE {
        2 => _mm256_broadcastss_ps(_mm_movehl_ps(lanes, lanes)),
        _ => _mm256_broadcastss_ps(_mm_shuffle_ps::<0b11_11_11_11>(lanes, lanes)),
    }
}

/// The sum of both halves.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn fold(lanes: __m256) -> __m128 {
    _mm_add_ps(_mm256_castps256_ps128(lanes), _mm256_extractf128_ps::<1>(lanes))
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn load(lanes: &[f32; 8]) -> __m256 {
    // SAFETY: eight floats are there to read.
    unsafe { _mm256_loadu_ps(lanes.as_ptr()) }
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn load4(lanes: &[f32; 4]) -> __m128 {
    // SAFETY: four floats are there to read.
    unsafe { _mm_loadu_ps(lanes.as_ptr()) }
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn store(lanes: &mut [f32; 8], value: __m256) {
    // SAFETY: eight floats are there to write.
    unsafe { _mm256_storeu_ps(lanes.as_mut_ptr(), value) }
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn store4(lanes: &mut [f32; 4], value: __m128) {
    // SAFETY: four floats are there to write.
    unsafe { _mm_storeu_ps(lanes.as_mut_ptr(), value) }
}
