//! Classical scaling, also called principal coordinates: points in the plane whose distances are as near as can be to given
//! ones (Torgerson 1952; Gower 1966).
//!
//! With D² the squared distances and J = I − 11ᵀ/n, the coordinates are the two leading eigenvectors of B = −½ J D² J, each
//! times the root of its eigenvalue. They are found by orthogonal iteration on a block of ten vectors with a
//! Rayleigh-Ritz step at its end (Golub and Van Loan, *Matrix Computations*, section 8.2), at n² a vector and round.

use ndarray::{Array1, Array2, Axis};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Vectors iterated: the spare ones make the two wanted converge faster.
const BLOCK: usize = 10;
/// Rounds at most. A map does not change to the eye much earlier.
const ROUNDS: usize = 300;
/// The two leading eigenvalues have settled when a round changes them by less than this, relatively.
const SETTLED: f64 = 1e-12;

/// A point for each row of `squared` (squared distances, n x n, symmetric), centred on the origin. The first axis is that of
/// the greatest spread; the sign of an axis is such that its outermost point is on the positive side.
pub fn plane(squared: &Array2<f64>) -> Vec<[f64; 2]> {
    let n = squared.nrows();
    let centred = centred(squared);
    let mut basis = start(n, BLOCK.min(n));
    let (mut last, mut round) = ([f64::INFINITY; 2], 0);
    let (values, vectors) = loop {
        let image = centred.dot(&basis);
        let (values, turn) = symmetric_eigen(basis.t().dot(&image));
        let leading = [0, 1].map(|axis| values.get(axis).copied().unwrap_or(0.0));
        let moved = leading.iter().zip(&last).map(|(new, old)| (new - old).abs()).fold(0.0, f64::max);
        round += 1;
        if basis.ncols() == n || round == ROUNDS || moved <= SETTLED * leading[0].abs() {
            break (leading, basis.dot(&turn));
        }
        last = leading;
        basis = orthonormal(image.dot(&turn));
    };
    let axis = |axis: usize| -> Array1<f64> {
        if axis >= vectors.ncols() || values[axis] <= 0.0 {
            return Array1::zeros(n);
        }
        let vector = vectors.column(axis);
        let outermost =
            vector.iter().fold(0.0_f64, |most, x| if x.abs() > most.abs() + 1e-9 { *x } else { most });
        vector.mapv(|x| x * values[axis].sqrt() * outermost.signum())
    };
    let (x, y) = (axis(0), axis(1));
    x.into_iter().zip(y).map(|(x, y)| [x, y]).collect()
}

/// −½ J D² J.
fn centred(squared: &Array2<f64>) -> Array2<f64> {
    let n = squared.nrows().max(1) as f64;
    let means = squared.sum_axis(Axis(0)) / n;
    let mean = means.sum() / n;
    Array2::from_shape_fn(squared.dim(), |(i, j)| -0.5 * (squared[[i, j]] - means[i] - means[j] + mean))
}

/// The same start for every run of the same size.
fn start(n: usize, width: usize) -> Array2<f64> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(0);
    orthonormal(Array2::from_shape_fn((n, width), |_| random.random::<f64>() - 0.5))
}

/// The columns made orthonormal, by Gram-Schmidt twice; a column that depends on others becomes zero.
fn orthonormal(mut columns: Array2<f64>) -> Array2<f64> {
    for k in 0..columns.ncols() {
        let before = columns.column(k).dot(&columns.column(k)).sqrt();
        for _ in 0..2 {
            for earlier in 0..k {
                let along = columns.column(earlier).dot(&columns.column(k));
                let step = columns.column(earlier).to_owned() * along;
                columns.column_mut(k).scaled_add(-1.0, &step);
            }
        }
        let length = columns.column(k).dot(&columns.column(k)).sqrt();
        let depends = length <= 1e-12 * before;
        columns.column_mut(k).mapv_inplace(|x| if depends { 0.0 } else { x / length });
    }
    columns
}

/// Eigenvalues, descending, and eigenvectors (columns) of a small symmetric matrix, by Jacobi's rotations.
fn symmetric_eigen(mut matrix: Array2<f64>) -> (Vec<f64>, Array2<f64>) {
    let n = matrix.nrows();
    let mut vectors = Array2::eye(n);
    for _sweep in 0..30 {
        let off: f64 = (0..n).flat_map(|i| (0..i).map(move |j| (i, j))).map(|at| matrix[at].powi(2)).sum();
        if off <= 1e-30 * matrix.diag().dot(&matrix.diag()) {
            break;
        }
        for i in 0..n {
            for j in i + 1..n {
                rotate(&mut matrix, &mut vectors, (i, j));
            }
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&a, &b| matrix[[b, b]].total_cmp(&matrix[[a, a]]));
    (order.iter().map(|&k| matrix[[k, k]]).collect(), vectors.select(Axis(1), &order))
}

/// Makes the elements (i, j) and (j, i) zero.
fn rotate(matrix: &mut Array2<f64>, vectors: &mut Array2<f64>, (i, j): (usize, usize)) {
    if matrix[[i, j]] == 0.0 {
        return;
    }
    let theta = (matrix[[j, j]] - matrix[[i, i]]) / (2.0 * matrix[[i, j]]);
    let tangent = theta.signum() / (theta.abs() + theta.hypot(1.0));
    let cosine = 1.0 / tangent.hypot(1.0);
    let sine = tangent * cosine;
    for k in 0..matrix.nrows() {
        let (a, b) = (matrix[[k, i]], matrix[[k, j]]);
        (matrix[[k, i]], matrix[[k, j]]) = (cosine * a - sine * b, sine * a + cosine * b);
        let (a, b) = (vectors[[k, i]], vectors[[k, j]]);
        (vectors[[k, i]], vectors[[k, j]]) = (cosine * a - sine * b, sine * a + cosine * b);
    }
    for k in 0..matrix.nrows() {
        let (a, b) = (matrix[[i, k]], matrix[[j, k]]);
        (matrix[[i, k]], matrix[[j, k]]) = (cosine * a - sine * b, sine * a + cosine * b);
    }
}
