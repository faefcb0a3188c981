//! Dense kernels: written over fixed-size chunks with independent sums, so that the compiler can use whole
//! vector registers; compiled a second time for processors with wider ones and picked at the call.

/// Numbers per chunk: two AVX-512 or four AVX2 registers.
const LANES: usize = 16;

/// `Σ x · v`.
#[inline(always)]
fn dot_body(x: &[f64], v: &[f64]) -> f64 {
    let n = x.len().min(v.len());
    let (x, x_rest) = x[..n].as_chunks::<LANES>();
    let (v, v_rest) = v[..n].as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for (x, v) in x.iter().zip(v) {
        for k in 0..LANES {
            sums[k] += x[k] * v[k];
        }
    }
    let tail: f64 = x_rest.iter().zip(v_rest).map(|(x, v)| x * v).sum();
    sums.iter().sum::<f64>() + tail
}

/// `v += a · x`.
#[inline(always)]
fn axpy_body(a: f64, x: &[f64], v: &mut [f64]) {
    for (v, x) in v.iter_mut().zip(x) {
        *v += a * x;
    }
}

/// `v += a · x`, `x` in single precision.
#[inline(always)]
fn axpy_single_body(a: f64, x: &[f32], v: &mut [f64]) {
    for (v, x) in v.iter_mut().zip(x) {
        *v += a * f64::from(*x);
    }
}

/// `Σ x · v`, `x` in single precision.
#[inline(always)]
fn dot_single_body(x: &[f32], v: &[f64]) -> f64 {
    let n = x.len().min(v.len());
    let (x, x_rest) = x[..n].as_chunks::<LANES>();
    let (v, v_rest) = v[..n].as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for (x, v) in x.iter().zip(v) {
        for k in 0..LANES {
            sums[k] += f64::from(x[k]) * v[k];
        }
    }
    let tail: f64 = x_rest.iter().zip(v_rest).map(|(x, v)| f64::from(*x) * v).sum();
    sums.iter().sum::<f64>() + tail
}

/// `Σ (x − v)²`.
#[inline(always)]
fn distance_square_body(x: &[f64], v: &[f64]) -> f64 {
    let n = x.len().min(v.len());
    let (x, x_rest) = x[..n].as_chunks::<LANES>();
    let (v, v_rest) = v[..n].as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for (x, v) in x.iter().zip(v) {
        for k in 0..LANES {
            sums[k] += (x[k] - v[k]) * (x[k] - v[k]);
        }
    }
    let tail: f64 = x_rest.iter().zip(v_rest).map(|(x, v)| (x - v) * (x - v)).sum();
    sums.iter().sum::<f64>() + tail
}

/// `Σ v` and `Σ v²`.
pub fn sum_and_square(v: &[f64]) -> (f64, f64) {
    let (chunks, rest) = v.as_chunks::<LANES>();
    let (mut sums, mut squares) = ([0.0; LANES], [0.0; LANES]);
    for c in chunks {
        for k in 0..LANES {
            sums[k] += c[k];
            squares[k] += c[k] * c[k];
        }
    }
    let tail: f64 = rest.iter().sum();
    let tail_square: f64 = rest.iter().map(|v| v * v).sum();
    (sums.iter().sum::<f64>() + tail, squares.iter().sum::<f64>() + tail_square)
}

/// Makes a function that runs `$body` compiled for the widest registers at hand.
macro_rules! widest {
    ($(#[$doc:meta])* $name:ident, $body:ident, ($($arg:ident: $kind:ty),*) $(-> $out:ty)?) => {
        $(#[$doc])*
        #[inline]
        #[allow(unsafe_code)]
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
    dot, dot_body, (x: &[f64], v: &[f64]) -> f64);
widest!(
    /// `Σ x · v` over the shorter of the two, `x` in single precision.
    dot_single, dot_single_body, (x: &[f32], v: &[f64]) -> f64);
widest!(
    /// `Σ (x − v)²` over the shorter of the two.
    distance_square, distance_square_body, (x: &[f64], v: &[f64]) -> f64);
widest!(
    /// `v += a · x` over the shorter of the two.
    axpy, axpy_body, (a: f64, x: &[f64], v: &mut [f64]));
widest!(
    /// `v += a · x` over the shorter of the two, `x` in single precision.
    axpy_single, axpy_single_body, (a: f64, x: &[f32], v: &mut [f64]));

#[cfg(test)]
mod tests {
    use super::super::scalar;
    use super::*;
    use proptest::prelude::*;

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
            prop_assert!((dot_single(&single, &v) - scalar::dot(&exact, &v)).abs() < 1e-9);
            axpy_single(a, &single, &mut v);
            prop_assert!(v.iter().zip(&expected).all(|(v, e)| (v - e).abs() < 1e-12));
        }
    }
}
