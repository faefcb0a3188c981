//! The inner loops of optimisers: one pass over weights, gradients and what an optimiser keeps of each weight.
//!
//! Written over plain slices and compiled once more for processors with wider registers. What is computed is in
//! [`crate::mlp::optimizer`]. Everywhere `decay · w` is added to the gradient: the gradient of `decay/2 · w²`.
//!
//! # Safety contract
//! A function compiled for instructions that not every processor has is called only after the processor has said that it
//! has them. There is no other unsafe code here.
#![allow(unsafe_code)]

mod lanes;

/// The size of one step: the rate, and the weight decay λ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// α of this step.
    pub rate: f32,
    /// λ: the gradient of `λ/2 · w²` is added.
    pub decay: f32,
}

/// How far Adam's averages reach back, and what they are divided by at this step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Averages {
    /// β₁ of the mean of gradients.
    pub first: f32,
    /// β₂ of the mean of squares.
    pub second: f32,
    /// `1 - β₁ᵗ`.
    pub first_correction: f32,
    /// `1 - β₂ᵗ`.
    pub second_correction: f32,
    /// Keeps the divisor from zero.
    pub epsilon: f32,
}

/// What AdaRevision keeps of each weight.
#[derive(Debug)]
pub struct Revisions<'a> {
    /// z.
    pub sums: &'a mut [f32],
    /// z', the largest z so far.
    pub largest: &'a mut [f32],
}

/// Makes a function that runs its body compiled for the widest registers at hand.
macro_rules! widest {
    ($(#[$doc:meta])* $name:ident($($arg:ident: $kind:ty),*)) => {
        $(#[$doc])*
        pub fn $name($($arg: $kind),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma")]
                fn wide($($arg: $kind),*) {
                    lanes::$name($($arg),*);
                }
                #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx2,fma")]
                fn widest($($arg: $kind),*) {
                    lanes::$name($($arg),*);
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
            lanes::$name($($arg),*);
        }
    };
}

widest!(
    /// Gradient descent: `w ← w - α g`.
    plain(weights: &mut [f32], gradient: &[f32], pace: Pace));

widest!(
    /// With momentum μ: `v ← μ v + g`, `w ← w - α v`.
    momentum(weights: &mut [f32], gradient: &[f32], velocity: &mut [f32], mu: f32, pace: Pace));

widest!(
    /// AdaGrad: `s ← s + g²`, `w ← w - α g / (√s + ε)`.
    adagrad(weights: &mut [f32], gradient: &[f32], squares: &mut [f32], epsilon: f32, pace: Pace));

widest!(
    /// Adam: `m ← β₁ m + (1 - β₁) g`, `v ← β₂ v + (1 - β₂) g²`, `w ← w - α m̂ / (√v̂ + ε)`, m̂ and v̂ being m and v divided by
    /// their corrections.
    adam(weights: &mut [f32], gradient: &[f32], moments: (&mut [f32], &mut [f32]), averages: Averages, pace: Pace));

widest!(
    /// AdaRevision: with `b` the sum of the gradients that were folded in since the weights were read that `g` was computed
    /// from, `η = α / √(1 + z')` before and `η'` after, `z ← z + g² + 2 g b`, `z' ← max(z', z)`, `w ← w - η' g + (η - η') b`.
    adarevision(weights: &mut [f32], gradient: &[f32], since: &[f32], revisions: Revisions<'_>, pace: Pace));

widest!(
    /// `sum ← sum + x`.
    add(sum: &mut [f32], x: &[f32]));
