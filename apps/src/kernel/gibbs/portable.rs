//! The sampler in plain loops: the definition of correct, for any processor.

use super::Sampler;
use super::draw::{self, Lanes, Tokens};
use super::lists::{Lists, Packing, Topic};
use super::tree::Line;

struct Plain;

pub(super) fn resample<P: Packing, T: Topic, const SPARSE: bool>(
    sampler: &mut Sampler,
    tokens: Tokens<'_, P, T>,
) -> u64 {
    // SAFETY: plain loops need no instructions that a processor may lack.
    unsafe { draw::resample::<Plain, P, T, SPARSE>(sampler, tokens) }
}

pub(super) fn add<P: Packing, T: Topic>(lists: &mut Lists<P>, docs: &[u32], topics: &[T]) {
    // SAFETY: plain loops need no instructions that a processor may lack.
    unsafe { draw::add::<Plain, P, T>(lists, docs, topics) }
}

impl Lanes for Plain {
    type Floats = [f32; 16];

    #[inline(always)]
    unsafe fn zero() -> [f32; 16] {
        [0.0; 16]
    }

    #[inline(always)]
    unsafe fn sum(a: [f32; 16], b: [f32; 16]) -> [f32; 16] {
        std::array::from_fn(|lane| a[lane] + b[lane])
    }

    #[inline(always)]
    unsafe fn products<P: Packing>(line: &P, phi: &[f32], old: u32, removed: f32) -> ([f32; 16], u16) {
        let (mut products, mut lanes) = ([0.0; 16], 0);
        for (lane, product) in products.iter_mut().enumerate() {
            let (topic, count) = line.get(lane);
            *product = if topic == old && count > 0 {
                lanes |= 1 << lane;
                (count - 1) as f32 * removed
            } else {
                count as f32 * phi[topic as usize]
            };
        }
        (products, lanes)
    }

    #[inline(always)]
    unsafe fn place<P: Packing>(line: &P, topic: u32) -> Option<usize> {
        (0..16).find(|lane| line.get(*lane).0 == topic && line.get(*lane).1 > 0)
    }

    #[inline(always)]
    unsafe fn load(line: &Line) -> [f32; 16] {
        line.0
    }

    #[inline(always)]
    unsafe fn store(floats: [f32; 16], line: &mut Line) {
        line.0 = floats;
    }

    #[inline(always)]
    unsafe fn running(floats: [f32; 16]) -> [f32; 16] {
        let mut sum = 0.0;
        floats.map(|x| {
            sum += x;
            sum
        })
    }

    #[inline(always)]
    unsafe fn last(running: [f32; 16]) -> f32 {
        running[15]
    }

    #[inline(always)]
    unsafe fn first_past(floats: [f32; 16], running: [f32; 16], point: f32) -> (usize, f32) {
        let lane = (0..16).find(|lane| floats[*lane] > 0.0 && running[*lane] > point);
        let lane = lane.or_else(|| floats.iter().rposition(|x| *x > 0.0)).unwrap_or(0);
        (lane, if lane == 0 { 0.0 } else { running[lane - 1] })
    }

    #[inline(always)]
    unsafe fn prefetch<T>(_: *const T) {}
}
