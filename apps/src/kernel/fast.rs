//! Sparse kernels without bounds checks, and with several sums so that the additions of one need not wait for
//! the loads of another; dense ones compiled for the widest registers. The only unsafe code of the crate.
//!
//! # Safety contract
//! Two unsafe operations. A function compiled for instructions that not every processor has is called only after the
//! processor has said that it has them. And `get_unchecked` on `vector` at an index of an [`IndexSlice`] is sound
//! because every index of the slice is below its bound (checked when its [`Indices`](super::Indices) was built,
//! and nothing can change them), and `within` has compared that bound with the length of the vector.
#![allow(unsafe_code)]

use super::{IndexSlice, dense};

/// Checks the whole column at once: its bound against the vector.
#[inline]
fn within(rows: IndexSlice<'_>, length: usize) {
    assert!(rows.bound() <= length, "indices below {} into a vector of {length}", rows.bound());
}

/// `Σ v[i]` over the indices: the product of a column of ones with a vector.
///
/// # Panics
/// If the vector is shorter than the bound of the indices.
#[inline]
pub fn gather_sum(rows: IndexSlice<'_>, vector: &[f64]) -> f64 {
    within(rows, vector.len());
    // SAFETY: the contract at the head of this file.
    let at = |i: u32| unsafe { *vector.get_unchecked(i as usize) };
    let (chunks, rest) = rows.as_slice().as_chunks::<8>();
    let mut sums = [0.0; 8];
    for c in chunks {
        for k in 0..8 {
            sums[k] += at(c[k]);
        }
    }
    fold(sums) + rest.iter().map(|&i| at(i)).sum::<f64>()
}

/// `Σ x · v[i]` over a sparse column.
///
/// # Panics
/// If the vector is shorter than the bound of the indices, or there are not as many values as indices.
#[inline]
pub fn gather_dot(rows: IndexSlice<'_>, values: &[f64], vector: &[f64]) -> f64 {
    within(rows, vector.len());
    assert_eq!(rows.as_slice().len(), values.len(), "as many values as indices");
    // SAFETY: the contract at the head of this file.
    let at = |i: u32| unsafe { *vector.get_unchecked(i as usize) };
    let (chunks, rest) = rows.as_slice().as_chunks::<4>();
    let (values, values_rest) = values.as_chunks::<4>();
    let mut sums = [0.0; 4];
    for (c, x) in chunks.iter().zip(values) {
        for k in 0..4 {
            sums[k] += x[k] * at(c[k]);
        }
    }
    let tail: f64 = rest.iter().zip(values_rest).map(|(&i, x)| x * at(i)).sum();
    (sums[0] + sums[2]) + (sums[1] + sums[3]) + tail
}

/// `v[i] += a` for every index.
///
/// # Panics
/// If the vector is shorter than the bound of the indices.
#[inline]
pub fn scatter_add(a: f64, rows: IndexSlice<'_>, vector: &mut [f64]) {
    within(rows, vector.len());
    for &i in rows.as_slice() {
        // SAFETY: the contract at the head of this file.
        unsafe { *vector.get_unchecked_mut(i as usize) += a };
    }
}

/// `v[i] += a · x` over a sparse column.
///
/// # Panics
/// If the vector is shorter than the bound of the indices, or there are not as many values as indices.
#[inline]
pub fn scatter_axpy(a: f64, rows: IndexSlice<'_>, values: &[f64], vector: &mut [f64]) {
    within(rows, vector.len());
    assert_eq!(rows.as_slice().len(), values.len(), "as many values as indices");
    for (&i, x) in rows.as_slice().iter().zip(values) {
        // SAFETY: the contract at the head of this file.
        unsafe { *vector.get_unchecked_mut(i as usize) += a * x };
    }
}

/// `v[i] += a · w[i]` for every index.
///
/// # Panics
/// If a vector is shorter than the bound of the indices.
#[inline]
pub fn scatter_weighted(a: f64, rows: IndexSlice<'_>, weights: &[f64], vector: &mut [f64]) {
    within(rows, vector.len().min(weights.len()));
    for &i in rows.as_slice() {
        // SAFETY: the contract at the head of this file, for both vectors.
        unsafe { *vector.get_unchecked_mut(i as usize) += a * weights.get_unchecked(i as usize) };
    }
}

/// `v[i] += a · x · w[i]` over a sparse column.
///
/// # Panics
/// If a vector is shorter than the bound of the indices, or there are not as many values as indices.
#[inline]
pub fn scatter_axpy_weighted(
    a: f64,
    (rows, values): (IndexSlice<'_>, &[f64]),
    weights: &[f64],
    vector: &mut [f64],
) {
    within(rows, vector.len().min(weights.len()));
    assert_eq!(rows.as_slice().len(), values.len(), "as many values as indices");
    for (&i, x) in rows.as_slice().iter().zip(values) {
        // SAFETY: the contract at the head of this file, for both vectors.
        unsafe { *vector.get_unchecked_mut(i as usize) += a * x * weights.get_unchecked(i as usize) };
    }
}

/// `Σ x² · w[i]` over a sparse column.
///
/// # Panics
/// If the vector is shorter than the bound of the indices, or there are not as many values as indices.
#[inline]
pub fn gather_square(rows: IndexSlice<'_>, values: &[f64], weights: &[f64]) -> f64 {
    within(rows, weights.len());
    assert_eq!(rows.as_slice().len(), values.len(), "as many values as indices");
    // SAFETY: the contract at the head of this file.
    let at = |i: u32| unsafe { *weights.get_unchecked(i as usize) };
    rows.as_slice().iter().zip(values).map(|(&i, x)| x * x * at(i)).sum()
}

/// Makes a function that runs `$body` compiled for the widest registers at hand.
macro_rules! widest {
    ($(#[$doc:meta])* $name:ident, $body:path, ($($arg:ident: $kind:ty),*) $(-> $out:ty)?) => {
        $(#[$doc])*
        #[inline]
        pub fn $name($($arg: $kind),*) $(-> $out)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma")]
                fn wide($($arg: $kind),*) $(-> $out)? {
                    $body($($arg),*)
                }
                #[target_feature(enable = "avx512f,avx512vl,fma")]
                fn widest($($arg: $kind),*) $(-> $out)? {
                    $body($($arg),*)
                }
                if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl") {
                    // SAFETY: the processor has these instructions: the line above asked it.
                    return unsafe { widest($($arg),*) };
                }
                if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                    // SAFETY: as above.
                    return unsafe { wide($($arg),*) };
                }
            }
            $body($($arg),*)
        }
    };
}

widest!(
    /// `Σ x · v` over the shorter of the two.
    dot, dense::dot, (x: &[f64], v: &[f64]) -> f64);
widest!(
    /// `out += a · x` and `Σ x · v` in one reading of `x`, over the shortest of the three.
    dot_and_axpy, dense::dot_and_axpy, (x: &[f32], v: &[f64], a: f64, out: &mut [f64]) -> f64);
widest!(
    /// `Σ (x − v)²` over the shorter of the two.
    distance_square, dense::distance_square, (x: &[f64], v: &[f64]) -> f64);
widest!(
    /// `v += a · x` over the shorter of the two.
    axpy, dense::axpy, (a: f64, x: &[f64], v: &mut [f64]));
widest!(
    /// `v += a · x` over the shorter of the two, `x` in single precision.
    axpy_single, dense::axpy_single, (a: f64, x: &[f32], v: &mut [f64]));

/// The sum of eight partial sums, pairwise.
#[inline]
fn fold(s: [f64; 8]) -> f64 {
    ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
}

#[cfg(test)]
mod tests {
    use super::super::{Indices, dense::sum_and_square, scalar};
    use super::*;
    use proptest::prelude::*;

    fn column() -> impl Strategy<Value = (Vec<u32>, Vec<f64>, Vec<f64>)> {
        (1usize..80).prop_flat_map(|n| {
            let entry = (0..n as u32, -10.0..10.0f64);
            (proptest::collection::vec(entry, 0..60), proptest::collection::vec(-10.0..10.0f64, n)).prop_map(
                |(entries, v)| {
                    (entries.iter().map(|e| e.0).collect(), entries.iter().map(|e| e.1).collect(), v)
                },
            )
        })
    }

    proptest! {
        #[test]
        fn the_fast_loops_agree_with_the_plain_ones((rows, values, mut vector) in column(), a in -3.0..3.0f64) {
            let indices = Indices::new(rows.clone(), vector.len()).unwrap();
            let slice = indices.slice(0..rows.len());
            prop_assert!((gather_sum(slice, &vector) - scalar::gather_sum(&rows, &vector)).abs() < 1e-10);
            prop_assert!((gather_dot(slice, &values, &vector) - scalar::gather_dot(&rows, &values, &vector)).abs() < 1e-9);
            let mut expected = vector.clone();
            scalar::scatter_add(a, &rows, &mut expected);
            scatter_add(a, slice, &mut vector);
            prop_assert_eq!(&vector, &expected);
            scalar::scatter_axpy(a, &rows, &values, &mut expected);
            scatter_axpy(a, slice, &values, &mut vector);
            prop_assert_eq!(&vector, &expected);
            let weights: Vec<f64> = vector.iter().map(|v| v.sin()).collect();
            scalar::scatter_weighted(a, &rows, &weights, &mut expected);
            scatter_weighted(a, slice, &weights, &mut vector);
            scalar::scatter_axpy_weighted(a, (&rows, &values), &weights, &mut expected);
            scatter_axpy_weighted(a, (slice, &values), &weights, &mut vector);
            prop_assert_eq!(&vector, &expected);
            let square = scalar::gather_square(&rows, &values, &weights);
            prop_assert!((gather_square(slice, &values, &weights) - square).abs() < 1e-9);
        }
    }

    #[test]
    #[should_panic(expected = "indices below 5 into a vector of 4")]
    fn a_vector_shorter_than_the_bound_is_refused() {
        let indices = Indices::new(vec![4], 5).unwrap();
        gather_sum(indices.slice(0..1), &[0.0; 4]);
    }

    proptest! {
        #[test]
        fn the_wide_loops_agree_with_the_plain_ones(
            pairs in proptest::collection::vec((-10.0..10.0f64, -10.0..10.0f64), 0..100), a in -3.0..3.0f64,
        ) {
            let x: Vec<f64> = pairs.iter().map(|p| p.0).collect();
            let mut v: Vec<f64> = pairs.iter().map(|p| p.1).collect();
            prop_assert!((dot(&x, &v) - scalar::dot(&x, &v)).abs() < 1e-9);
            let (sum, square) = sum_and_square(&v);
            prop_assert!((sum - v.iter().sum::<f64>()).abs() < 1e-9);
            prop_assert!((square - scalar::dot(&v, &v)).abs() < 1e-9);
            let apart: f64 = x.iter().zip(&v).map(|(x, v)| (x - v).powi(2)).sum();
            prop_assert!((distance_square(&x, &v) - apart).abs() < 1e-9);
            let mut expected = v.clone();
            scalar::axpy(a, &x, &mut expected);
            axpy(a, &x, &mut v);
            prop_assert!(v.iter().zip(&expected).all(|(v, e)| (v - e).abs() < 1e-12));
            let single: Vec<f32> = x.iter().map(|x| *x as f32).collect();
            let exact: Vec<f64> = single.iter().map(|x| f64::from(*x)).collect();
            scalar::axpy(a, &exact, &mut expected);
            let mut both = v.clone();
            let product = dot_and_axpy(&single, &x, a, &mut both);
            prop_assert!((product - scalar::dot(&exact, &x)).abs() < 1e-9);
            prop_assert!(both.iter().zip(&expected).all(|(v, e)| (v - e).abs() < 1e-12));
            axpy_single(a, &single, &mut v);
            prop_assert!(v.iter().zip(&expected).all(|(v, e)| (v - e).abs() < 1e-12));
        }
    }
}
