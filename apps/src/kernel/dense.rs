//! Dense kernels: written over fixed-size chunks with independent sums, so that the compiler can use whole
//! vector registers. `fast` compiles them again for processors with wider ones and picks at the call.

/// Numbers per chunk: two AVX-512 or four AVX2 registers.
const LANES: usize = 16;

/// `Σ x · v`.
#[inline(always)]
pub(super) fn dot(x: &[f64], v: &[f64]) -> f64 {
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
pub(super) fn axpy(a: f64, x: &[f64], v: &mut [f64]) {
    for (v, x) in v.iter_mut().zip(x) {
        *v += a * x;
    }
}

/// `v += a · x`, `x` in single precision.
#[inline(always)]
pub(super) fn axpy_single(a: f64, x: &[f32], v: &mut [f64]) {
    for (v, x) in v.iter_mut().zip(x) {
        *v += a * f64::from(*x);
    }
}

/// `Σ (x − v)²`.
#[inline(always)]
pub(super) fn distance_square(x: &[f64], v: &[f64]) -> f64 {
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

/// `out += a · x` and `Σ x · v` in one reading of `x`, which is in single precision.
#[inline(always)]
pub(super) fn dot_and_axpy(x: &[f32], v: &[f64], a: f64, out: &mut [f64]) -> f64 {
    let n = x.len().min(v.len()).min(out.len());
    let (x, x_rest) = x[..n].as_chunks::<LANES>();
    let (v, v_rest) = v[..n].as_chunks::<LANES>();
    let (out, out_rest) = out[..n].as_chunks_mut::<LANES>();
    let mut sums = [0.0; LANES];
    for ((x, v), out) in x.iter().zip(v).zip(out) {
        for k in 0..LANES {
            let x = f64::from(x[k]);
            sums[k] += x * v[k];
            out[k] += a * x;
        }
    }
    let mut tail = 0.0;
    for ((x, v), out) in x_rest.iter().zip(v_rest).zip(out_rest) {
        tail += f64::from(*x) * v;
        *out += a * f64::from(*x);
    }
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
