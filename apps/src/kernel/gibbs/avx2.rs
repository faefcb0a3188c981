//! The sampler in pairs of registers of 256 bits: the same sums in the same order as in one of 512.

use std::arch::x86_64::*;

use super::Sampler;
use super::draw::{self, Lanes, Tokens};
use super::lists::{Lists, Packing, Topic};
use super::tree::Line;

struct Wide256;

/// Lanes 0 to 7, and 8 to 15.
type Pair = (__m256, __m256);

/// # Safety
/// The processor has these instructions.
#[target_feature(enable = "avx2,bmi1,popcnt,fma")]
pub(super) unsafe fn resample<P: Packing, T: Topic, const SPARSE: bool>(
    sampler: &mut Sampler,
    tokens: Tokens<'_, P, T>,
) -> u64 {
    // SAFETY: as this function.
    unsafe { draw::resample::<Wide256, P, T, SPARSE>(sampler, tokens) }
}

/// # Safety
/// The processor has these instructions.
#[target_feature(enable = "avx2,bmi1,popcnt,fma")]
pub(super) unsafe fn add<P: Packing, T: Topic>(lists: &mut Lists<P>, docs: &[u32], topics: &[T]) {
    // SAFETY: as this function.
    unsafe { draw::add::<Wide256, P, T>(lists, docs, topics) }
}

/// Topics and counts of half a line.
#[inline(always)]
unsafe fn entries<P: Packing>(line: &P, half: usize) -> (__m256i, __m256i) {
    let (first, second) = line.words();
    // SAFETY: a line is sixteen words, aligned, and a half is 0 or 1.
    unsafe {
        let first = _mm256_load_si256(first.as_ptr().add(8 * half).cast());
        match second {
            None => (_mm256_srli_epi32::<16>(first), _mm256_and_si256(first, _mm256_set1_epi32(0xFFFF))),
            Some(counts) => (first, _mm256_load_si256(counts.as_ptr().add(8 * half).cast())),
        }
    }
}

/// All ones in the lanes that have a topic and it is this one.
#[inline(always)]
unsafe fn that_are((topics, counts): (__m256i, __m256i), topic: u32) -> __m256i {
    // SAFETY: registers only.
    unsafe {
        let unused = _mm256_cmpeq_epi32(counts, _mm256_setzero_si256());
        _mm256_andnot_si256(unused, _mm256_cmpeq_epi32(topics, _mm256_set1_epi32(topic.cast_signed())))
    }
}

/// One bit a lane.
#[inline(always)]
unsafe fn bits(lanes: __m256i) -> u16 {
    // SAFETY: registers only.
    unsafe { _mm256_movemask_ps(_mm256_castsi256_ps(lanes)) as u16 }
}

/// The products of half a line, and the lanes that are `old`.
#[inline(always)]
unsafe fn half<P: Packing>(line: &P, half: usize, phi: &[f32], old: u32, removed: f32) -> (__m256, u16) {
    // SAFETY: topics of a list are below the length of `phi`.
    unsafe {
        let (topics, counts) = entries(line, half);
        let of_old = that_are((topics, counts), old);
        let phi = _mm256_i32gather_ps::<4>(phi.as_ptr(), topics);
        let phi = _mm256_blendv_ps(phi, _mm256_set1_ps(removed), _mm256_castsi256_ps(of_old));
        let counts = _mm256_add_epi32(counts, of_old); // all ones are −1
        (_mm256_mul_ps(phi, _mm256_cvtepi32_ps(counts)), bits(of_old))
    }
}

/// The floats `N` lanes further up, zeros below; `N` is 1, 2 or 4 and `LOW` its lowest bits.
#[inline(always)]
unsafe fn up<const N: i32, const LOW: i32>((low, high): Pair) -> Pair {
    // SAFETY: registers only.
    unsafe {
        let from = _mm256_setr_epi32(-N, 1 - N, 2 - N, 3 - N, 4 - N, 5 - N, 6 - N, 7 - N);
        let (low, high) = (_mm256_permutevar8x32_ps(low, from), _mm256_permutevar8x32_ps(high, from));
        (_mm256_blend_ps::<LOW>(low, _mm256_setzero_ps()), _mm256_blend_ps::<LOW>(high, low))
    }
}

impl Lanes for Wide256 {
    type Floats = Pair;

    #[inline(always)]
    unsafe fn zero() -> Pair {
        // SAFETY: registers only.
        unsafe { (_mm256_setzero_ps(), _mm256_setzero_ps()) }
    }

    #[inline(always)]
    unsafe fn sum(a: Pair, b: Pair) -> Pair {
        // SAFETY: registers only.
        unsafe { (_mm256_add_ps(a.0, b.0), _mm256_add_ps(a.1, b.1)) }
    }

    #[inline(always)]
    unsafe fn products<P: Packing>(line: &P, phi: &[f32], old: u32, removed: f32) -> (Pair, u16) {
        // SAFETY: as this function.
        let (low, high) = unsafe { (half(line, 0, phi, old, removed), half(line, 1, phi, old, removed)) };
        ((low.0, high.0), low.1 | high.1 << 8)
    }

    #[inline(always)]
    unsafe fn place<P: Packing>(line: &P, topic: u32) -> Option<usize> {
        // SAFETY: a line is all there.
        let lanes = unsafe {
            let (low, high) = (that_are(entries(line, 0), topic), that_are(entries(line, 1), topic));
            bits(low) | bits(high) << 8
        };
        (lanes != 0).then(|| lanes.trailing_zeros() as usize)
    }

    #[inline(always)]
    unsafe fn load(line: &Line) -> Pair {
        // SAFETY: a line is sixteen floats, aligned.
        unsafe { (_mm256_load_ps(line.0.as_ptr()), _mm256_load_ps(line.0.as_ptr().add(8))) }
    }

    #[inline(always)]
    unsafe fn store(floats: Pair, line: &mut Line) {
        // SAFETY: a line is sixteen floats, aligned.
        unsafe {
            _mm256_store_ps(line.0.as_mut_ptr(), floats.0);
            _mm256_store_ps(line.0.as_mut_ptr().add(8), floats.1);
        }
    }

    #[inline(always)]
    unsafe fn running(floats: Pair) -> Pair {
        // SAFETY: registers only.
        unsafe {
            let sums = Self::sum(floats, up::<1, 0b1>(floats));
            let sums = Self::sum(sums, up::<2, 0b11>(sums));
            let sums = Self::sum(sums, up::<4, 0b1111>(sums));
            (sums.0, _mm256_add_ps(sums.1, sums.0))
        }
    }

    #[inline(always)]
    unsafe fn last(running: Pair) -> f32 {
        // SAFETY: registers only.
        unsafe { _mm256_cvtss_f32(_mm256_permutevar8x32_ps(running.1, _mm256_set1_epi32(7))) }
    }

    #[inline(always)]
    unsafe fn first_past(floats: Pair, running: Pair, point: f32) -> (usize, f32) {
        // SAFETY: registers only, and a lane is one of sixteen.
        unsafe {
            let above = |floats: Pair, than: __m256| {
                let low = _mm256_cmp_ps::<_CMP_GT_OQ>(floats.0, than);
                let high = _mm256_cmp_ps::<_CMP_GT_OQ>(floats.1, than);
                _mm256_movemask_ps(low) as u32 | (_mm256_movemask_ps(high) as u32) << 8
            };
            let some = above(floats, _mm256_setzero_ps());
            let past = some & above(running, _mm256_set1_ps(point));
            let lane = if past != 0 { past.trailing_zeros() } else { 31 - (some | 1).leading_zeros() };
            let mut sums = [0.0f32; 17];
            _mm256_storeu_ps(sums.as_mut_ptr().add(1), running.0);
            _mm256_storeu_ps(sums.as_mut_ptr().add(9), running.1);
            (lane as usize, *sums.get_unchecked(lane as usize))
        }
    }

    #[inline(always)]
    unsafe fn prefetch<T>(place: *const T) {
        // SAFETY: prefetching reads nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(place.cast()) }
    }
}
