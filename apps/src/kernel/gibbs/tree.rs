//! Sums of sixteen sums of sixteen weights: a change costs one addition a level, a draw one comparison of sixteen.

use super::draw::Lanes;

/// Weights and their sums, level by level (the F+tree of Yu et al. 2015 with a fan-out of 16).
#[derive(Debug)]
pub(super) struct Tree {
    /// Level 0 is the weights, each further level the sums of sixteen of the one before; the last is one line.
    levels: Vec<Vec<Line>>,
    total: f32,
}

/// Sixteen numbers: one register, one line of the cache.
#[repr(align(64))]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Line(pub(super) [f32; 16]);

impl Tree {
    /// A tree of `n` zeros.
    pub(super) fn new(n: usize) -> Self {
        let mut levels = Vec::new();
        let mut lines = n.div_ceil(16).max(1);
        loop {
            levels.push(vec![Line::default(); lines]);
            if lines == 1 {
                return Self { levels, total: 0.0 };
            }
            lines = lines.div_ceil(16);
        }
    }

    /// Weights `alpha_k phi_k`.
    pub(super) fn build(&mut self, alpha: &[f32], phi: &[f32]) {
        let weights = self.levels[0].iter_mut().zip(alpha.chunks(16).zip(phi.chunks(16)));
        for (line, (alpha, phi)) in weights {
            for (weight, (alpha, phi)) in line.0.iter_mut().zip(alpha.iter().zip(phi)) {
                *weight = alpha * phi;
            }
        }
        for level in 1..self.levels.len() {
            let (below, above) = self.levels.split_at_mut(level);
            let sums = above[0].iter_mut().zip(below[level - 1].chunks(16));
            for (line, lines) in sums {
                for (sum, line) in line.0.iter_mut().zip(lines) {
                    *sum = line.0.iter().sum();
                }
            }
        }
        self.total = self.levels.last().expect("there is a level")[0].0.iter().sum();
    }

    /// The sum of all weights.
    #[inline(always)]
    pub(super) fn total(&self) -> f32 {
        self.total
    }

    /// Adds to the weight of `k`.
    ///
    /// # Panics
    /// If there is no `k`.
    #[inline(always)]
    pub(super) fn add(&mut self, k: usize, change: f32) {
        let mut place = k;
        for level in &mut self.levels {
            level[place / 16].0[place % 16] += change;
            place /= 16;
        }
        self.total += change;
    }

    /// The first `k` of which the sum of the weights up to it passes `point`, which lies below the total.
    ///
    /// # Safety
    /// See [`Lanes`].
    #[inline(always)]
    pub(super) unsafe fn find<L: Lanes>(&self, point: f32) -> usize {
        let (mut place, mut rest) = (0, point);
        let mut level = self.levels.len();
        while level > 0 {
            level -= 1;
            // SAFETY: what the caller promises.
            let (lane, before) = unsafe {
                let floats = L::load(&self.levels[level][place]);
                L::first_past(floats, L::running(floats), rest)
            };
            (place, rest) = (place * 16 + lane, rest - before);
        }
        place
    }
}
