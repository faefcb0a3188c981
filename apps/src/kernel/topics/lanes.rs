//! The loops of [`super`], over chunks of lanes: plain code that a compiler turns into whole registers.

use super::{LANES, Layout, Limits, Mixture};

/// Exponents more than this below the largest are cut.
const DEEPEST: f32 = -40.0;

type Chunk = [f32; LANES];

#[inline(always)]
fn fused<const FMA: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

#[inline(always)]
fn chunks(row: &[f32]) -> &[Chunk] {
    let (chunks, rest) = row.as_chunks();
    assert!(rest.is_empty(), "rows are padded to whole chunks");
    chunks
}

#[inline(always)]
fn chunks_mut(row: &mut [f32]) -> &mut [Chunk] {
    let (chunks, rest) = row.as_chunks_mut();
    assert!(rest.is_empty(), "rows are padded to whole chunks");
    chunks
}

/// The sum of the lanes, pairwise.
#[inline(always)]
fn total(lanes: &Chunk) -> f32 {
    let mut eight = [0.0f32; 8];
    for k in 0..8 {
        eight[k] = lanes[k] + lanes[k + 8];
    }
    let mut four = [0.0f32; 4];
    for k in 0..4 {
        four[k] = eight[k] + eight[k + 4];
    }
    (four[0] + four[2]) + (four[1] + four[3])
}

/// What `ψ(x)` lacks of `ln(x + 4)`, for x from 1e-30 up: the recurrence over four steps (DLMF 5.5.2) and the
/// asymptotic series (DLMF 5.11.2), with one division. Beyond 1e7 it is that of 1e7, which is less than 1e-6.
#[inline(always)]
fn lack<const FMA: bool>(x: f32) -> f32 {
    let x = if x > 1e-30 { x } else { 1e-30 };
    let x = if x < 1e7 { x } else { 1e7 };
    let y = x + 4.0;
    let a = x * (x + 3.0);
    let product = a * (a + 2.0); // x (x+1) (x+2) (x+3)
    let inverse = 1.0 / (y * product);
    // 1/x + 1/(x+1) + 1/(x+2) + 1/(x+3)
    let steps = fused::<FMA>(2.0, x, 3.0) * fused::<FMA>(2.0, a, 2.0) * y * inverse;
    let i = product * inverse;
    let i2 = i * i;
    let series = fused::<FMA>(-i2, fused::<FMA>(-i2, 1.0 / 252.0, 1.0 / 120.0), 1.0 / 12.0);
    steps + fused::<FMA>(i2, series, 0.5 * i)
}

/// `eˣ` for x from -87 to 88, within 3e-7 relative: a power of two times a polynomial (Taylor, degree 6, on ±ln 2 / 2).
#[inline(always)]
fn exp<const FMA: bool>(x: f32) -> f32 {
    const ROUND: f32 = 12_582_912.0; // 1.5 · 2²³: adding it leaves the nearest whole number in the low bits
    let shifted = fused::<FMA>(x, std::f32::consts::LOG2_E, ROUND);
    let whole = shifted - ROUND;
    let rest = fused::<FMA>(whole, -0.693_359_4, x);
    let rest = fused::<FMA>(whole, 2.121_944_4e-4, rest);
    let mut power = 1.0 / 720.0;
    power = fused::<FMA>(power, rest, 1.0 / 120.0);
    power = fused::<FMA>(power, rest, 1.0 / 24.0);
    power = fused::<FMA>(power, rest, 1.0 / 6.0);
    power = fused::<FMA>(power, rest, 0.5);
    power = fused::<FMA>(power, rest, 1.0);
    power = fused::<FMA>(power, rest, 1.0);
    power * f32::from_bits((shifted.to_bits() << 23).wrapping_add(127 << 23))
}

#[inline(always)]
pub(super) fn exp_digamma<const FMA: bool>(x: &[f32], shift: &[f32], out: &mut [f32]) {
    assert!(x.len() == shift.len() && x.len() == out.len(), "three rows of one length");
    let (x, shift, out) = (chunks(x), chunks(shift), chunks_mut(out));
    let mut largest = [f32::MIN; LANES];
    for ((x, shift), out) in x.iter().zip(shift).zip(&mut *out) {
        let mut exponent = [0.0f32; LANES];
        for k in 0..LANES {
            exponent[k] = -lack::<FMA>(x[k]) - shift[k];
        }
        for k in 0..LANES {
            largest[k] = if exponent[k] > largest[k] { exponent[k] } else { largest[k] };
        }
        *out = exponent;
    }
    let largest = largest.iter().fold(f32::MIN, |largest, of| if *of > largest { *of } else { largest });
    for (x, out) in x.iter().zip(out) {
        let mut weight = *out;
        for k in 0..LANES {
            let below = weight[k] - largest;
            let below = if below > DEEPEST { below } else { DEEPEST };
            weight[k] = (x[k] + 4.0) * exp::<FMA>(below);
        }
        *out = weight;
    }
}

/// The products of four rows with θ.
#[inline(always)]
fn products<const FMA: bool>(rows: [&[Chunk]; 4], theta: &[Chunk]) -> [f32; 4] {
    let (mut of_a, mut of_b, mut of_c, mut of_d) = ([0.0; LANES], [0.0; LANES], [0.0; LANES], [0.0; LANES]);
    let [a, b, c, d] = rows;
    for ((((theta, a), b), c), d) in theta.iter().zip(a).zip(b).zip(c).zip(d) {
        for k in 0..LANES {
            of_a[k] = fused::<FMA>(a[k], theta[k], of_a[k]);
            of_b[k] = fused::<FMA>(b[k], theta[k], of_b[k]);
            of_c[k] = fused::<FMA>(c[k], theta[k], of_c[k]);
            of_d[k] = fused::<FMA>(d[k], theta[k], of_d[k]);
        }
    }
    [total(&of_a), total(&of_b), total(&of_c), total(&of_d)]
}

/// `sums += Σ share · row` over four rows. A chunk is computed apart and then stored, so that the compiler need not fear
/// that sums and rows overlap.
#[inline(always)]
fn add_four<const FMA: bool>(share: [f32; 4], rows: [&[Chunk]; 4], sums: &mut [Chunk]) {
    let [a, b, c, d] = rows;
    for ((((sums, a), b), c), d) in sums.iter_mut().zip(a).zip(b).zip(c).zip(d) {
        let mut sum = *sums;
        for k in 0..LANES {
            sum[k] = fused::<FMA>(share[0], a[k], sum[k]);
            sum[k] = fused::<FMA>(share[1], b[k], sum[k]);
            sum[k] = fused::<FMA>(share[2], c[k], sum[k]);
            sum[k] = fused::<FMA>(share[3], d[k], sum[k]);
        }
        *sums = sum;
    }
}

/// Four rows of `n` chunks each.
#[inline(always)]
fn four(rows: &[Chunk], n: usize) -> [&[Chunk]; 4] {
    let (ab, cd) = rows.split_at(2 * n);
    let ((a, b), (c, d)) = (ab.split_at(n), cd.split_at(n));
    [a, b, c, d]
}

#[inline(always)]
pub(super) fn mixture<const FMA: bool>(
    rows: &[f32],
    counts: &[f32],
    mixture: &mut Mixture<'_>,
    limits: Limits,
) -> u32 {
    let width = mixture.gamma.len();
    assert!(mixture.alpha.len() == width && mixture.theta.len() == width && mixture.sums.len() == width);
    assert!(rows.len() == counts.len() * width && counts.len().is_multiple_of(4) && width > 0);
    let (rows, n) = (chunks(rows), width / LANES);
    let counts = counts.as_chunks::<4>().0;
    for round in 1..=limits.rounds {
        exp_digamma::<FMA>(mixture.gamma, mixture.shift, mixture.theta);
        mixture.sums.fill(0.0);
        let (theta, sums) = (chunks(mixture.theta), chunks_mut(mixture.sums));
        for (rows, counts) in rows.chunks_exact(4 * n).zip(counts) {
            let rows = four(rows, n);
            let products = products::<FMA>(rows, theta);
            let mut share = [0.0f32; 4];
            for j in 0..4 {
                share[j] = counts[j] / products[j];
            }
            add_four::<FMA>(share, rows, sums);
        }
        let mut change = [0.0f32; LANES];
        let (alpha, gamma) = (chunks(mixture.alpha), chunks_mut(mixture.gamma));
        for (((alpha, gamma), theta), sums) in alpha.iter().zip(gamma).zip(theta).zip(&*sums) {
            let mut new = [0.0f32; LANES];
            for k in 0..LANES {
                new[k] = fused::<FMA>(theta[k], sums[k], alpha[k]);
                change[k] += (new[k] - gamma[k]).abs();
            }
            *gamma = new;
        }
        let change = total(&change);
        if change < limits.change || round == limits.rounds {
            exp_digamma::<FMA>(mixture.gamma, mixture.shift, mixture.theta);
            return round;
        }
    }
    0
}

#[inline(always)]
pub(super) fn shares<const FMA: bool>(rows: &[f32], counts: &[f32], theta: &[f32], shares: &mut [f32]) {
    assert!(rows.len() == counts.len() * theta.len() && counts.len() == shares.len());
    let (rows, theta) = (chunks(rows), chunks(theta));
    let (counts, shares) = (counts.as_chunks::<4>().0, shares.as_chunks_mut::<4>().0);
    for ((rows, counts), shares) in rows.chunks_exact(4 * theta.len()).zip(counts).zip(shares) {
        let products = products::<FMA>(four(rows, theta.len()), theta);
        for j in 0..4 {
            shares[j] = counts[j] / products[j];
        }
    }
}

#[inline(always)]
pub(super) fn collect<const FMA: bool>(
    entries: &[u32],
    shares: &[f32],
    theta: &[f32],
    to: &mut [f32],
    layout: Layout,
) {
    let (chunks, rest) = theta.as_chunks::<LANES>();
    for (entry, share) in entries.iter().zip(shares) {
        let row = &mut to[*entry as usize * layout.stride + layout.place..][..theta.len()];
        let (to_chunks, to_rest) = row.as_chunks_mut::<LANES>();
        for (to, theta) in to_chunks.iter_mut().zip(chunks) {
            let mut sum = *to;
            for k in 0..LANES {
                sum[k] = fused::<FMA>(*share, theta[k], sum[k]);
            }
            *to = sum;
        }
        for (to, theta) in to_rest.iter_mut().zip(rest) {
            *to = fused::<FMA>(*share, *theta, *to);
        }
    }
}
