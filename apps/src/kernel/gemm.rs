//! Products of dense matrices in single precision, on one thread: workers are the threads here.
//!
//! The `gemm` crate does the work. Measured on the products of a 784-512-512-10 net with batches of 64 to 256 rows, two
//! processes at once, AVX-512 (µs a row, all products of a training step, weights taken 128 rows at a time / whole):
//!
//! | batch | `gemm` 0.19 | `matrixmultiply` 0.3 | `private-gemm-x86` 0.1 (of `faer`) | `rten-gemm` 0.27 |
//! |---|---|---|---|---|
//! | 64 | 22.2 / 22.4 | 22.8 / 22.2 | 21.1 / 21.6 | 25.2 / 25.1 |
//! | 128 | 20.3 / 20.2 | 21.5 / 21.0 | 20.3 / 20.5 | 23.9 / 23.5 |
//! | 256 | 18.9 / 18.6 | 21.8 / 20.7 | 20.3 / 19.9 | 23.3 / 22.3 |
//!
//! `private-gemm-x86` is for one processor family and takes twice the level-3 cache in memory for each thread;
//! `matrixmultiply` is behind where matrices are narrow (10 classes: half the speed; 32 rows of weights: 0.8).
//!
//! # Safety contract
//! Pointers and strides come from `ndarray` views, which answer for it that every element is theirs and that those of a
//! mutable view lie apart; the shapes are compared here before any of them is used. There is no other unsafe code here.
#![allow(unsafe_code)]

use ndarray::{ArrayView2, ArrayViewMut2};

/// `c = alpha · a · b + beta · c`, for views of any strides. With `beta` 0 the old values of `c` are not looked at.
///
/// # Panics
/// When the shapes do not fit: `a` is m x k, `b` k x n, `c` m x n.
#[allow(clippy::needless_pass_by_value)] // a view is as good as a reference
pub fn gemm(
    alpha: f32,
    a: ArrayView2<'_, f32>,
    b: ArrayView2<'_, f32>,
    beta: f32,
    mut c: ArrayViewMut2<'_, f32>,
) {
    let ((m, k), n) = (a.dim(), b.ncols());
    assert!(b.nrows() == k && c.dim() == (m, n), "{:?} x {:?} is not {:?}", a.dim(), b.dim(), c.dim());
    if k == 0 {
        return if beta == 0.0 { c.fill(0.0) } else { c.mapv_inplace(|value| beta * value) };
    }
    let (a_strides, b_strides, c_strides) = (a.strides(), b.strides(), [c.strides()[0], c.strides()[1]]);
    // SAFETY: the shapes fit, as was just seen, and strides are those of the views that the pointers are of.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            c.as_mut_ptr(),
            c_strides[1],
            c_strides[0],
            beta != 0.0,
            a.as_ptr(),
            a_strides[1],
            a_strides[0],
            b.as_ptr(),
            b_strides[1],
            b_strides[0],
            beta,
            alpha,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, s};
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    fn random(rows: usize, columns: usize, seed: u64) -> Array2<f32> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        Array2::from_shape_simple_fn((rows, columns), || rng.random_range(-1.0..1.0))
    }

    /// A view of `values` in one of the layouts that occur: by row, by column, every other column, backwards.
    fn laid_out(values: &Array2<f32>, layout: u8) -> Array2<f32> {
        let (rows, columns) = values.dim();
        match layout {
            0 => values.clone(),
            1 => values.t().as_standard_layout().to_owned().reversed_axes(),
            2 => {
                let mut wide = Array2::from_elem((rows, 2 * columns), f32::NAN);
                wide.slice_mut(s![.., ..;2]).assign(values);
                wide.slice_move(s![.., ..;2])
            }
            _ => {
                let backwards = values.slice(s![..;-1, ..;-1]).as_standard_layout().to_owned();
                backwards.slice_move(s![..;-1, ..;-1])
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn products_are_those_of_the_definition_in_every_layout(
            (m, n, k) in (1usize..40, 1usize..40, 0usize..70),
            (of_a, of_b, of_c) in (0u8..4, 0u8..4, 0u8..4),
            (alpha, beta) in (prop_oneof![Just(1.0f32), Just(-0.5)], prop_oneof![Just(0.0f32), Just(1.0), Just(0.75)]),
            seed in any::<u64>(),
        ) {
            let (a, b, c) = (random(m, k, seed), random(k, n, seed ^ 1), random(m, n, seed ^ 2));
            let mut found = laid_out(&c, of_c);
            let (left, right) = (laid_out(&a, of_a), laid_out(&b, of_b));
            gemm(alpha, left.view(), right.view(), beta, found.view_mut());
            for ((row, column), found) in found.indexed_iter() {
                let pairs = a.row(row).into_iter().zip(b.column(column));
                let sum: f64 = pairs.map(|(x, y)| f64::from(*x) * f64::from(*y)).sum();
                let expected = f64::from(alpha) * sum + f64::from(beta) * f64::from(c[[row, column]]);
                prop_assert!((f64::from(*found) - expected).abs() < 1e-5, "{found} is not {expected}");
            }
        }
    }

    #[test]
    fn what_was_there_is_not_looked_at_with_beta_zero() {
        let mut c = Array2::from_elem((2, 3), f32::NAN);
        gemm(2.0, random(2, 5, 1).view(), Array2::ones((5, 3)).view(), 0.0, c.view_mut());
        assert!(c.iter().all(|value| value.is_finite()));
        let empty = Array2::zeros((2, 0));
        gemm(1.0, empty.view(), Array2::zeros((0, 3)).view(), 0.0, c.view_mut());
        assert!(c.iter().all(|value| *value == 0.0));
    }

    #[test]
    #[should_panic(expected = "(2, 3) x (4, 1) is not (2, 1)")]
    fn shapes_that_do_not_fit_are_refused() {
        gemm(1.0, random(2, 3, 1).view(), random(4, 1, 1).view(), 0.0, Array2::zeros((2, 1)).view_mut());
    }
}
