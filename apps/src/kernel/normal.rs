//! Normal equations of least squares in single precision: Gram matrices, products with them, and sums over rows.
//!
//! Rows have `width` numbers, a multiple of [`LANES`]. The loops are plain ones over fixed-size chunks; the compiler
//! makes whole vector registers of them, once for each set of instructions, and the call picks.
#![allow(unsafe_code)] // the calls after the run-time check

/// The width of a row is a multiple of this.
pub const LANES: usize = 16;

/// Rows that a product takes at a time.
pub const TILE: usize = 8;

/// Rows that go through the first-level cache together when a Gram matrix is added up.
const STRIP: usize = 64;

/// Makes a function that runs `$body`, compiled for the widest registers at hand.
macro_rules! widest {
    ($(#[$doc:meta])* $name:ident, $body:ident, ($($arg:ident: $kind:ty),*)) => {
        $(#[$doc])*
        pub fn $name($($arg: $kind),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma")]
                fn wide($($arg: $kind),*) {
                    $body::<true>($($arg),*);
                }
                #[target_feature(enable = "avx512f,avx512vl,fma")]
                fn widest($($arg: $kind),*) {
                    $body::<true>($($arg),*);
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
            $body::<false>($($arg),*);
        }
    };
}

widest!(
    /// `out += rows · matrix`: `rows` (n × width, n a multiple of [`TILE`]), `matrix` (width × columns), `out` (n × columns);
    /// `columns` is a multiple of [`LANES`].
    ///
    /// # Panics
    /// If a slice is shorter than that.
    add_product, product_of, (width: usize, rows: &[f32], columns: usize, matrix: &[f32], out: &mut [f32]));
widest!(
    /// `out += Σ w_n y_n y_nᵀ` over the rows `y_n`, both halves of the symmetric matrix (width × width).
    ///
    /// # Panics
    /// If there are fewer weights than rows, or `out` is shorter than that.
    add_gram, gram_of, (width: usize, rows: &[f32], weights: &[f32], out: &mut [f32]));
widest!(
    /// `out += Σ (t_n + w_n y_n·x) y_n` over the rows `y_n`: the gradient of a weighted sum of squares where `t_n` is
    /// the target times its weight, negated.
    ///
    /// # Panics
    /// If there are fewer targets or weights than rows, or `out` is shorter than `x`, which is as long as a row.
    add_gradient, gradient_of,
    (rows: &[f32], targets: &[f32], weights: &[f32], x: &[f32], out: &mut [f32]));

widest!(
    /// `out_n = s_n ridge ∘ p_n` over rows: a penalty's product with each.
    ///
    /// # Panics
    /// If there are fewer scales than rows, or `ridge` or `out` is shorter than that.
    penalise, penalise_of, (ridge: &[f32], scales: &[f32], rows: &[f32], out: &mut [f32]));
widest!(
    /// `out += more`, over the shorter of the two.
    add, add_all, (more: &[f32], out: &mut [f32]));
widest!(
    /// A step of conjugate gradients for each row by itself (Hestenes and Stiefel 1952): `q = A p` is given, `squares` are
    /// `|r|²`. A row that is solved, or whose `p·q` is not above 0, stays.
    ///
    /// # Panics
    /// If there are no squares, one for each row, or the rows of the four are not as many.
    step, step_of,
    (x: &mut [f32], r: &mut [f32], p: &mut [f32], q: &[f32], squares: &mut [f32]));

/// `a · b + c`, in one rounding where the processor can.
#[inline(always)]
fn fused<const FUSED: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

#[inline(always)]
fn product_of<const FUSED: bool>(
    width: usize,
    rows: &[f32],
    columns: usize,
    matrix: &[f32],
    out: &mut [f32],
) {
    let (lines, per_line) = (matrix.as_chunks::<LANES>().0, columns / LANES);
    for (tile, out) in rows.chunks_exact(TILE * width).zip(out.chunks_exact_mut(TILE * columns)) {
        let tile: [&[f32]; TILE] = std::array::from_fn(|row| &tile[row * width..][..width]);
        for column in 0..per_line {
            let mut sums = [[0.0f32; LANES]; TILE];
            for i in 0..width {
                let line = &lines[i * per_line + column];
                for row in 0..TILE {
                    for lane in 0..LANES {
                        sums[row][lane] = fused::<FUSED>(tile[row][i], line[lane], sums[row][lane]);
                    }
                }
            }
            for (row, sums) in sums.iter().enumerate() {
                let out = &mut out[row * columns + column * LANES..][..LANES];
                out.iter_mut().zip(sums).for_each(|(out, sum)| *out += sum);
            }
        }
    }
}

#[inline(always)]
fn gram_of<const FUSED: bool>(width: usize, rows: &[f32], weights: &[f32], out: &mut [f32]) {
    let per_line = width / LANES;
    let mut across = vec![0.0f32; width * STRIP]; // the strip on its side, each row times its weight
    for (strip, weights) in rows.chunks(STRIP * width).zip(weights.chunks(STRIP)) {
        for (n, (row, weight)) in strip.chunks_exact(width).zip(weights).enumerate() {
            row.iter().enumerate().for_each(|(i, value)| across[i * STRIP + n] = weight * value);
        }
        let lines = strip.as_chunks::<LANES>().0;
        let n_rows = (strip.len() / width).min(STRIP);
        for top in (0..width).step_by(TILE) {
            let tile: [&[f32]; TILE] = std::array::from_fn(|row| &across[(top + row) * STRIP..][..n_rows]);
            for column in top / LANES..per_line {
                let mut sums = [[0.0f32; LANES]; TILE];
                for n in 0..n_rows {
                    let line = &lines[n * per_line + column];
                    for row in 0..TILE {
                        for lane in 0..LANES {
                            sums[row][lane] = fused::<FUSED>(tile[row][n], line[lane], sums[row][lane]);
                        }
                    }
                }
                for (row, sums) in sums.iter().enumerate() {
                    let out = &mut out[(top + row) * width + column * LANES..][..LANES];
                    out.iter_mut().zip(sums).for_each(|(out, sum)| *out += sum);
                }
            }
        }
    }
    for row in 1..width {
        for column in 0..row {
            out[row * width + column] = out[column * width + row];
        }
    }
}

/// A register or two of numbers.
type Lanes = [f32; LANES];

#[inline(always)]
fn gradient_of<const FUSED: bool>(
    rows: &[f32],
    targets: &[f32],
    weights: &[f32],
    x: &[f32],
    out: &mut [f32],
) {
    let width = x.len();
    let n = rows.len() / width;
    let (targets, weights) = (&targets[..n], &weights[..n]);
    let (x, out) = (x[..width].as_chunks().0, out[..width].as_chunks_mut().0);
    let row = |row: usize| rows[row * width..][..width].as_chunks().0;
    let factor = |row: usize, sums| fused::<FUSED>(weights[row], folded(sums), targets[row]);
    let fours = n / 4 * 4;
    for first in (0..fours).step_by(4) {
        let four = [row(first), row(first + 1), row(first + 2), row(first + 3)];
        let [a, b, c, d] = dots::<FUSED>(four, x);
        let factors = [factor(first, a), factor(first + 1, b), factor(first + 2, c), factor(first + 3, d)];
        add_rows::<FUSED>(four, factors, out);
    }
    for first in fours..n {
        let mut sums = [0.0; LANES];
        x.iter().zip(row(first)).for_each(|(x, y)| multiply::<FUSED>(&mut sums, y, x));
        let factor = factor(first, sums);
        for (out, y) in out.iter_mut().zip(row(first)) {
            add_times::<FUSED>(out, factor, y);
        }
    }
}

/// `sums += y ∘ x`, lane by lane.
#[inline(always)]
fn multiply<const FUSED: bool>(sums: &mut Lanes, y: &Lanes, x: &Lanes) {
    for lane in 0..LANES {
        sums[lane] = fused::<FUSED>(y[lane], x[lane], sums[lane]);
    }
}

/// `out += factor · y`.
#[inline(always)]
fn add_times<const FUSED: bool>(out: &mut Lanes, factor: f32, y: &Lanes) {
    for lane in 0..LANES {
        out[lane] = fused::<FUSED>(factor, y[lane], out[lane]);
    }
}

/// The products of four rows with `x`, each as a sum for every lane.
#[inline(always)]
fn dots<const FUSED: bool>(rows: [&[Lanes]; 4], x: &[Lanes]) -> [Lanes; 4] {
    let [a, b, c, d] = rows;
    let mut sums = [[0.0; LANES]; 4];
    for ((((x, a), b), c), d) in x.iter().zip(a).zip(b).zip(c).zip(d) {
        multiply::<FUSED>(&mut sums[0], a, x);
        multiply::<FUSED>(&mut sums[1], b, x);
        multiply::<FUSED>(&mut sums[2], c, x);
        multiply::<FUSED>(&mut sums[3], d, x);
    }
    sums
}

/// `out += Σ factor · row` over four rows.
#[inline(always)]
fn add_rows<const FUSED: bool>(rows: [&[Lanes]; 4], factors: [f32; 4], out: &mut [Lanes]) {
    let [a, b, c, d] = rows;
    for ((((out, a), b), c), d) in out.iter_mut().zip(a).zip(b).zip(c).zip(d) {
        add_times::<FUSED>(out, factors[0], a);
        add_times::<FUSED>(out, factors[1], b);
        add_times::<FUSED>(out, factors[2], c);
        add_times::<FUSED>(out, factors[3], d);
    }
}

#[inline(always)]
fn penalise_of<const FUSED: bool>(ridge: &[f32], scales: &[f32], rows: &[f32], out: &mut [f32]) {
    let width = ridge.len();
    for ((row, out), scale) in rows.chunks_exact(width).zip(out.chunks_exact_mut(width)).zip(scales) {
        for ((out, value), ridge) in out.iter_mut().zip(row).zip(ridge) {
            *out = scale * ridge * value;
        }
    }
}

#[inline(always)]
fn add_all<const FUSED: bool>(more: &[f32], out: &mut [f32]) {
    out.iter_mut().zip(more).for_each(|(out, more)| *out += more);
}

#[inline(always)]
fn step_of<const FUSED: bool>(x: &mut [f32], r: &mut [f32], p: &mut [f32], q: &[f32], squares: &mut [f32]) {
    let width = x.len() / squares.len();
    for (row, square) in squares.iter_mut().enumerate() {
        let at = row * width..(row + 1) * width;
        let (x, r) = (x[at.clone()].as_chunks_mut().0, r[at.clone()].as_chunks_mut().0);
        let (p, q) = (p[at.clone()].as_chunks_mut().0, q[at].as_chunks().0);
        let curvature = dot_of::<FUSED>(p, q);
        if !(curvature > 0.0 && *square > f32::MIN_POSITIVE) {
            continue;
        }
        let length = *square / curvature;
        let mut sums = [0.0; LANES];
        for (((x, r), p), q) in x.iter_mut().zip(r.iter_mut()).zip(p.iter()).zip(q) {
            add_times::<FUSED>(x, length, p);
            add_times::<FUSED>(r, -length, q);
            let now = *r;
            multiply::<FUSED>(&mut sums, &now, &now);
        }
        let left = folded(sums);
        let keep = left / *square;
        for (p, r) in p.iter_mut().zip(r.iter()) {
            for lane in 0..LANES {
                p[lane] = fused::<FUSED>(keep, p[lane], r[lane]);
            }
        }
        *square = left;
    }
}

#[inline(always)]
fn dot_of<const FUSED: bool>(x: &[Lanes], y: &[Lanes]) -> f32 {
    let mut sums = [0.0; LANES];
    x.iter().zip(y).for_each(|(x, y)| multiply::<FUSED>(&mut sums, x, y));
    folded(sums)
}

/// The product of two rows.
pub fn dot(x: &[f32], y: &[f32]) -> f32 {
    dot_of::<false>(x.as_chunks().0, y.as_chunks().0)
}

/// The sum of a register, by halves.
#[inline(always)]
fn folded(lanes: Lanes) -> f32 {
    let eight: [f32; 8] = std::array::from_fn(|lane| lanes[lane] + lanes[lane + 8]);
    let four: [f32; 4] = std::array::from_fn(|lane| eight[lane] + eight[lane + 4]);
    (four[0] + four[2]) + (four[1] + four[3])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers from -1 to 1 without a pattern.
    fn numbers(n: usize, seed: u32) -> Vec<f32> {
        let number = |k: usize| ((k as f64 + 1.0) * 12.9898 + f64::from(seed) * 78.233).sin() * 43758.5453;
        (0..n).map(|k| (number(k).fract() * 2.0 - 1.0) as f32).collect()
    }

    fn assert_near(found: &[f32], expected: impl Fn(usize) -> f64) {
        for (place, &value) in found.iter().enumerate() {
            let wanted = expected(place);
            assert!(
                (f64::from(value) - wanted).abs() < 1e-5 * wanted.abs().max(10.0),
                "{place}: {value} for {wanted}"
            );
        }
    }

    #[test]
    fn conjugate_gradients_solve_each_row_by_itself() {
        let width = LANES;
        let ridge: Vec<f32> = (1..=16).map(|k| k as f32).collect();
        let wanted = numbers(TILE * width, 9);
        let scales = numbers(TILE, 10).iter().map(|s| s.abs() + 0.5).collect::<Vec<_>>();
        let (mut x, mut r) = (vec![0.0; TILE * width], vec![0.0; TILE * width]);
        penalise(&ridge, &scales, &wanted, &mut r);
        let (mut p, mut q) = (r.clone(), vec![0.0; TILE * width]);
        let mut squares: Vec<f32> = r.chunks(width).map(|row| dot(row, row)).collect();
        for _ in 0..2 * width {
            penalise(&ridge, &scales, &p, &mut q);
            step(&mut x, &mut r, &mut p, &q, &mut squares);
        }
        assert_near(&x, |place| f64::from(wanted[place]));
    }

    #[test]
    fn a_product_is_that_of_three_plain_loops() {
        let (n, width, columns) = (16, 32, 48);
        let (rows, matrix) = (numbers(n * width, 1), numbers(width * columns, 2));
        let mut out = vec![0.5; n * columns];
        add_product(width, &rows, columns, &matrix, &mut out);
        assert_near(&out, |place| {
            let (row, column) = (place / columns, place % columns);
            let term = |i: usize| f64::from(rows[row * width + i]) * f64::from(matrix[i * columns + column]);
            0.5 + (0..width).map(term).sum::<f64>()
        });
    }

    #[test]
    fn a_gram_matrix_is_a_sum_of_outer_products_on_top_of_what_was_there() {
        let (n, width) = (STRIP + 5, 48);
        let (rows, weights) = (numbers(n * width, 3), numbers(n, 4));
        let mut out = vec![0.25; width * width];
        add_gram(width, &rows, &weights, &mut out);
        assert_near(&out, |place| {
            let (i, j) = (place / width, place % width);
            let outer = |k: usize| f64::from(rows[k * width + i]) * f64::from(rows[k * width + j]);
            0.25 + (0..n).map(|k| f64::from(weights[k]) * outer(k)).sum::<f64>()
        });
    }

    #[test]
    fn a_gradient_adds_every_row_times_its_error() {
        for n in [0, 1, 4, 11] {
            let width = 32;
            let (rows, x) = (numbers(n * width, 5), numbers(width, 6));
            let (targets, weights) = (numbers(n, 7), numbers(n, 8));
            let mut out = vec![0.5; width];
            add_gradient(&rows, &targets, &weights, &x, &mut out);
            let dot =
                |k: usize| (0..width).map(|i| f64::from(rows[k * width + i]) * f64::from(x[i])).sum::<f64>();
            assert_near(&out, |place| {
                let error = |k: usize| f64::from(targets[k]) + f64::from(weights[k]) * dot(k);
                0.5 + (0..n).map(|k| error(k) * f64::from(rows[k * width + place])).sum::<f64>()
            });
        }
    }
}
