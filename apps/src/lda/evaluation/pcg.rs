//! The random numbers of NumPy, so that the split of documents is the one that anybody can make again in Python.

/// PCG64 with XSL-RR output (O'Neill 2014), as `numpy.random.PCG64` has it.
#[derive(Debug, Clone)]
pub(super) struct Pcg64 {
    state: u128,
    increment: u128,
}

impl Pcg64 {
    const MULTIPLIER: u128 = 0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645;

    /// The generator of `numpy.random.default_rng(12345)`: what `numpy.random.PCG64(12345).state` shows (NumPy 2.4; the
    /// way from seed to state is the same since 1.17, by NumPy's promise for bit generators).
    pub(super) fn seeded_12345() -> Self {
        Self {
            state: 0x1905_e033_5aae_9634_9199_b0d0_9775_add5,
            increment: 0xc9c7_353e_6e2b_1f28_7d76_1f2d_4027_fae7,
        }
    }

    fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_mul(Self::MULTIPLIER).wrapping_add(self.increment);
        let folded = (self.state >> 64) as u64 ^ self.state as u64; // both halves
        folded.rotate_right((self.state >> 122) as u32)
    }

    /// The next number of `Generator.random()`: from 0 up to 1, 53 bits.
    pub(super) fn next_f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `numpy.random.default_rng(12345).random(100001)` of NumPy 2.4.6, at 0 to 4, 999, 1000 and 100000.
    #[test]
    fn the_numbers_are_those_of_numpy() {
        let mut random = Pcg64::seeded_12345();
        let numbers: Vec<f64> = (0..100_001).map(|_| random.next_f64()).collect();
        let first = [
            0.22733602246716966,
            0.31675833970975287,
            0.7973654573327341,
            0.6762546707509746,
            0.391109550601909,
        ];
        assert_eq!(numbers[..5], first);
        assert_eq!(numbers[999], 0.4323233524051402);
        assert_eq!([numbers[1000], numbers[100_000]], [0.1890045706378769, 0.8885619718758504]);
    }
}
