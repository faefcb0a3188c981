//! The inner loops of variational inference for topic models: the mixture of one document, and exponentials of digammas.
//!
//! Written over chunks of [`LANES`] numbers and compiled once more for processors with wider registers and fused
//! multiplication; a row is padded with zeros to whole chunks. What is computed is in [`crate::lda::variational`].
//!
//! # Accuracy
//! [`exp_digamma`] is within 2e-5 of `exp(ψ(x))` relative, for x from 0.05 up; below that the error grows with
//! `|ψ(x)| · 1e-7`, the rounding of a digamma to single precision. Weights more than `e⁻⁴⁰` below the largest exponent are
//! cut to that.
//!
//! # Safety contract
//! A function compiled for instructions that not every processor has is called only after the processor has said that it
//! has them. There is no other unsafe code here.
#![allow(unsafe_code)]

mod lanes;

/// Numbers in a chunk: one AVX-512 register, or two of AVX2.
pub const LANES: usize = 16;

/// The shift of padding: it keeps the padding out of the largest exponent.
pub const FAR_BELOW: f32 = 1e30;

/// The length of a padded row of `n` numbers.
pub fn padded(n: usize) -> usize {
    n.next_multiple_of(LANES)
}

/// When the rounds on a document end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// The sum of changes of γ below which they end.
    pub change: f32,
    /// Most rounds, 1 or more.
    pub rounds: u32,
}

/// Where in rows the numbers of topics are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Numbers in a row.
    pub stride: usize,
    /// The first that is of a topic.
    pub place: usize,
}

/// The mixture of one document: padded padded rows over topics.
#[derive(Debug)]
pub struct Mixture<'a> {
    /// α, and 1 in the padding.
    pub alpha: &'a [f32],
    /// 0, and [`FAR_BELOW`] in the padding.
    pub shift: &'a [f32],
    /// γ: begun with by the caller, found here.
    pub gamma: &'a mut [f32],
    /// `exp(ψ(γ))`, up to a factor.
    pub theta: &'a mut [f32],
    /// Room for sums.
    pub sums: &'a mut [f32],
}

/// Makes a function that runs its body compiled for the widest registers at hand. The bodies take whether
/// multiplications and additions are fused.
macro_rules! widest {
    ($(#[$doc:meta])* $name:ident, $body:ident, ($($arg:ident: $kind:ty),*) $(-> $out:ty)?) => {
        $(#[$doc])*
        pub fn $name($($arg: $kind),*) $(-> $out)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma")]
                fn wide($($arg: $kind),*) $(-> $out)? {
                    lanes::$body::<true>($($arg),*)
                }
                #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx2,fma")]
                fn widest($($arg: $kind),*) $(-> $out)? {
                    lanes::$body::<true>($($arg),*)
                }
                if is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("fma")
                {
                    // SAFETY: the processor has these instructions: the lines above asked it.
                    return unsafe { widest($($arg),*) };
                }
                if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                    // SAFETY: as above.
                    return unsafe { wide($($arg),*) };
                }
            }
            lanes::$body::<false>($($arg),*)
        }
    };
}

widest!(
    /// `out = exp(ψ(x) - shift)` up to one factor for all, so that the largest exponent is near 0.
    ///
    /// # Panics
    /// When the three differ in length or are not padded.
    exp_digamma, exp_digamma, (x: &[f32], shift: &[f32], out: &mut [f32]));

widest!(
    /// Finds γ and θ of a document whose words have the padded `rows` and these `counts`; returns the rounds it took.
    ///
    /// The words are a multiple of four; one that only fills up has a row of ones and count 0.
    ///
    /// # Panics
    /// When a slice has not the length that the others ask for.
    mixture, mixture, (rows: &[f32], counts: &[f32], mixture: &mut Mixture<'_>, limits: Limits) -> u32);

widest!(
    /// Each word's count divided by `Σ_k row_k · θ_k`: what its statistics are scaled with.
    ///
    /// # Panics
    /// As [`mixture`].
    shares, shares, (rows: &[f32], counts: &[f32], theta: &[f32], shares: &mut [f32]));

widest!(
    /// Adds `share · θ` to the row of each of a document's words: to as many numbers as `theta` has, from `place` in rows
    /// of `stride` numbers.
    ///
    /// # Panics
    /// When a row is not there.
    collect, collect,
    (entries: &[u32], shares: &[f32], theta: &[f32], to: &mut [f32], layout: Layout));

#[cfg(test)]
mod tests;
