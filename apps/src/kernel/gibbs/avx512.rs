//! The sampler in registers of 512 bits.

use std::arch::x86_64::*;

use super::Sampler;
use super::draw::{self, Lanes, Tokens};
use super::lists::{Lists, Packing, Topic};
use super::tree::Line;

struct Wide512;

/// # Safety
/// The processor has these instructions.
#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,bmi1,popcnt,fma")]
pub(super) unsafe fn resample<P: Packing, T: Topic, const SPARSE: bool>(
    sampler: &mut Sampler,
    tokens: Tokens<'_, P, T>,
) -> u64 {
    // SAFETY: as this function.
    unsafe { draw::resample::<Wide512, P, T, SPARSE>(sampler, tokens) }
}

/// # Safety
/// The processor has these instructions.
#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,bmi1,popcnt,fma")]
pub(super) unsafe fn add<P: Packing, T: Topic>(lists: &mut Lists<P>, docs: &[u32], topics: &[T]) {
    // SAFETY: as this function.
    unsafe { draw::add::<Wide512, P, T>(lists, docs, topics) }
}

/// Topics and counts of a line.
#[inline(always)]
unsafe fn entries<P: Packing>(line: &P) -> (__m512i, __m512i) {
    let (first, second) = line.words();
    // SAFETY: a line is sixteen words, aligned.
    unsafe {
        let first = _mm512_load_si512(first.as_ptr().cast());
        match second {
            None => (_mm512_srli_epi32::<16>(first), _mm512_and_si512(first, _mm512_set1_epi32(0xFFFF))),
            Some(counts) => (first, _mm512_load_si512(counts.as_ptr().cast())),
        }
    }
}

/// The floats `N` lanes further up, zeros below.
macro_rules! up {
    ($floats:expr, $n:literal) => {
        _mm512_castsi512_ps(_mm512_alignr_epi32::<{ 16 - $n }>(
            _mm512_castps_si512($floats),
            _mm512_setzero_si512(),
        ))
    };
}

impl Lanes for Wide512 {
    type Floats = __m512;

    #[inline(always)]
    unsafe fn zero() -> __m512 {
        // SAFETY: registers only.
        unsafe { _mm512_setzero_ps() }
    }

    #[inline(always)]
    unsafe fn sum(a: __m512, b: __m512) -> __m512 {
        // SAFETY: registers only.
        unsafe { _mm512_add_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn products<P: Packing>(line: &P, phi: &[f32], old: u32, removed: f32) -> (__m512, u16) {
        // SAFETY: topics of a list are below the length of `phi`.
        unsafe {
            let (topics, counts) = entries(line);
            let used = _mm512_test_epi32_mask(counts, counts);
            let of_old = _mm512_mask_cmpeq_epi32_mask(used, topics, _mm512_set1_epi32(old.cast_signed()));
            let phi = _mm512_i32gather_ps::<4>(topics, phi.as_ptr());
            let phi = _mm512_mask_mov_ps(phi, of_old, _mm512_set1_ps(removed));
            let counts = _mm512_mask_sub_epi32(counts, of_old, counts, _mm512_set1_epi32(1));
            (_mm512_mul_ps(phi, _mm512_cvtepi32_ps(counts)), of_old)
        }
    }

    #[inline(always)]
    unsafe fn place<P: Packing>(line: &P, topic: u32) -> Option<usize> {
        // SAFETY: a line is all there.
        let lanes = unsafe {
            let (topics, counts) = entries(line);
            let used = _mm512_test_epi32_mask(counts, counts);
            _mm512_mask_cmpeq_epi32_mask(used, topics, _mm512_set1_epi32(topic.cast_signed()))
        };
        (lanes != 0).then(|| lanes.trailing_zeros() as usize)
    }

    #[inline(always)]
    unsafe fn load(line: &Line) -> __m512 {
        // SAFETY: a line is sixteen floats, aligned.
        unsafe { _mm512_load_ps(line.0.as_ptr()) }
    }

    #[inline(always)]
    unsafe fn store(floats: __m512, line: &mut Line) {
        // SAFETY: a line is sixteen floats, aligned.
        unsafe { _mm512_store_ps(line.0.as_mut_ptr(), floats) }
    }

    #[inline(always)]
    unsafe fn running(floats: __m512) -> __m512 {
        // SAFETY: registers only.
        unsafe {
            let sums = _mm512_add_ps(floats, up!(floats, 1));
            let sums = _mm512_add_ps(sums, up!(sums, 2));
            let sums = _mm512_add_ps(sums, up!(sums, 4));
            _mm512_add_ps(sums, up!(sums, 8))
        }
    }

    #[inline(always)]
    unsafe fn last(running: __m512) -> f32 {
        // SAFETY: registers only.
        unsafe {
            let top = _mm512_castsi512_ps(_mm512_alignr_epi32::<15>(
                _mm512_setzero_si512(),
                _mm512_castps_si512(running),
            ));
            _mm512_cvtss_f32(top)
        }
    }

    #[inline(always)]
    unsafe fn first_past(floats: __m512, running: __m512, point: f32) -> (usize, f32) {
        // SAFETY: registers only.
        unsafe {
            let some = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(floats, _mm512_setzero_ps());
            let past = _mm512_mask_cmp_ps_mask::<_CMP_GT_OQ>(some, running, _mm512_set1_ps(point));
            let lane = if past != 0 { past.trailing_zeros() } else { 15 - (some | 1).leading_zeros() };
            let before = _mm512_maskz_compress_ps(1 << lane, up!(running, 1));
            (lane as usize, _mm512_cvtss_f32(before))
        }
    }

    #[inline(always)]
    unsafe fn prefetch<T>(place: *const T) {
        // SAFETY: prefetching reads nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(place.cast()) }
    }
}
