//! Distances of rows to centres, many rows at once.

use std::ops::Range;

use ndarray::{Array2, ArrayView2, ArrayViewMut2, s};

use crate::data::points::Features;
use crate::kernel::gemm;

/// Rows of a block: their distances, and the rows themselves where they are copied, stay in the nearer caches.
pub const BLOCK: usize = 256;

/// The rows to be put to centres.
#[derive(Debug, Clone)]
pub struct Rows {
    /// The rows; of dense ones the mean was taken off.
    pub features: Features,
    /// |x|² of each row.
    pub squares: Vec<f32>,
    /// What was taken off dense rows; zeros for sparse ones.
    pub mean: Vec<f32>,
}

impl Rows {
    /// Takes the mean off dense rows.
    pub fn new(mut features: Features) -> Self {
        let mut mean = vec![0.0f32; features.n_columns()];
        if let Features::Dense(rows) = &mut features {
            let mut sums = vec![0.0f64; mean.len()];
            for row in rows.outer_iter() {
                sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += f64::from(*x));
            }
            let n = rows.nrows().max(1) as f64;
            mean.iter_mut().zip(&sums).for_each(|(mean, sum)| *mean = (sum / n) as f32);
        }
        Self::off(features, mean)
    }

    /// The same with a mean that is known: that of training rows.
    pub fn off(mut features: Features, mean: Vec<f32>) -> Self {
        if mean.iter().any(|mean| *mean != 0.0) {
            if matches!(features, Features::Sparse(_)) {
                features = Features::Dense(features.to_dense());
            }
            if let Features::Dense(rows) = &mut features {
                let take_off = |row: &mut f32, mean: &f32| *row -= mean;
                rows.outer_iter_mut()
                    .for_each(|mut row| row.iter_mut().zip(&mean).for_each(|(x, m)| take_off(x, m)));
            }
        }
        let mut squares = vec![0.0f32; features.n_rows()];
        features.for_each(|row, _, x| squares[row] += x * x);
        Self { features, squares, mean }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.squares.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.squares.is_empty()
    }

    /// The mean of the variances of the columns.
    pub fn mean_variance(&self) -> f64 {
        let n = self.len().max(1) as f64;
        let mut sums = vec![0.0f64; self.features.n_columns()];
        self.features.for_each(|_, column, x| sums[column] += f64::from(x));
        let squares: f64 = self.squares.iter().map(|square| f64::from(*square)).sum();
        let of_means: f64 = sums.iter().map(|sum| (sum / n).powi(2)).sum();
        (squares / n - of_means).max(0.0) / sums.len().max(1) as f64
    }

    /// Adds `sign` times a row to `sum`.
    pub fn add(&self, row: usize, sign: f64, sum: &mut [f64]) {
        match &self.features {
            Features::Dense(rows) => {
                let row = rows.row(row);
                crate::kernel::axpy_single(sign, row.as_slice().expect("rows lie one after the other"), sum);
            }
            Features::Sparse(rows) => {
                let row = rows.outer_view(row).expect("the row is there");
                row.iter().for_each(|(column, x)| sum[column] += sign * f64::from(*x));
            }
        }
    }

    /// |x - c|² of a row, in double precision and without cancellation.
    pub fn distance(&self, row: usize, centre: &[f32], centre_square: f64) -> f64 {
        match &self.features {
            Features::Dense(rows) => {
                rows.row(row).iter().zip(centre).map(|(x, c)| f64::from(x - c) * f64::from(x - c)).sum()
            }
            Features::Sparse(rows) => {
                let row = rows.outer_view(row).expect("the row is there");
                let seen = row.iter().map(|(column, x)| {
                    let (x, c) = (f64::from(*x), f64::from(centre[column]));
                    (x - c) * (x - c) - c * c
                });
                (centre_square + seen.sum::<f64>()).max(0.0)
            }
        }
    }
}

/// Centres, ready to measure distances to.
#[derive(Debug, Clone)]
pub struct Centres {
    /// k x columns
    pub rows: Array2<f32>,
    /// |c|² of each.
    squares: Vec<f32>,
    /// columns x k, for sparse rows.
    across: Option<Array2<f32>>,
}

impl Centres {
    /// `across` for sparse rows.
    pub fn new(rows: Array2<f32>, for_sparse: bool) -> Self {
        let squares = rows.outer_iter().map(|row| row.iter().map(|c| c * c).sum()).collect();
        let across = for_sparse.then(|| rows.t().as_standard_layout().into_owned());
        Self { rows, squares, across }
    }

    /// How many there are.
    pub fn n(&self) -> usize {
        self.squares.len()
    }

    /// |x - c|² of the rows of `which`, at most [`BLOCK`], to all centres: `to` has a row for each of `which`. `copy` is room
    /// for [`BLOCK`] dense rows.
    pub fn distances(
        &self,
        rows: &Rows,
        which: &[u32],
        copy: &mut Array2<f32>,
        mut to: ArrayViewMut2<'_, f32>,
    ) {
        match &rows.features {
            Features::Dense(all) => {
                let block: ArrayView2<'_, f32> = match as_range(which) {
                    Some(range) => all.slice(s![range, ..]),
                    None => {
                        let mut copied = copy.slice_mut(s![..which.len(), ..]);
                        let lanes = copied.as_slice_mut().expect("rows lie one after the other");
                        rows.features.gather(which, lanes);
                        copy.slice(s![..which.len(), ..])
                    }
                };
                gemm(-2.0, block, self.rows.t(), 0.0, to.view_mut());
            }
            Features::Sparse(all) => {
                let across = self.across.as_ref().expect("centres for sparse rows lie across");
                for (row, mut to) in which.iter().zip(to.outer_iter_mut()) {
                    to.fill(0.0);
                    let lanes = to.as_slice_mut().expect("distances of a row lie one after the other");
                    for (column, x) in all.outer_view(*row as usize).expect("the row is there").iter() {
                        let of_column = across.row(column);
                        let weights = of_column.as_slice().expect("rows lie one after the other");
                        lanes.iter_mut().zip(weights).for_each(|(to, c)| *to -= 2.0 * x * c);
                    }
                }
            }
        }
        for (row, mut to) in which.iter().zip(to.outer_iter_mut()) {
            let own = rows.squares[*row as usize];
            to.iter_mut().zip(&self.squares).for_each(|(to, square)| *to = (*to + own + square).max(0.0));
        }
    }

    /// Half the distance of each centre to the nearest other one; infinite for the only one.
    pub fn half_gaps(&self) -> Vec<f32> {
        let k = self.n();
        let mut products = Array2::zeros((k, k));
        gemm(-2.0, self.rows.view(), self.rows.t(), 0.0, products.view_mut());
        let gap = |j: usize| {
            let others = (0..k).filter(|other| *other != j);
            let square = |other: usize| products[[j, other]] + self.squares[j] + self.squares[other];
            others.map(square).fold(f32::INFINITY, f32::min).max(0.0).sqrt() / 2.0
        };
        (0..k).map(gap).collect()
    }

    /// How far each centre is from where it was.
    pub fn drifts(&self, before: &Array2<f32>) -> Vec<f32> {
        let lanes = self.rows.outer_iter().zip(before.outer_iter());
        lanes
            .map(|(now, before)| now.iter().zip(before).map(|(a, b)| (a - b) * (a - b)).sum::<f32>().sqrt())
            .collect()
    }
}

/// The range that consecutive rows are.
fn as_range(which: &[u32]) -> Option<Range<usize>> {
    let first = *which.first()?;
    let consecutive = which.iter().zip(first..).all(|(row, expected)| *row == expected);
    consecutive.then_some(first as usize..first as usize + which.len())
}

/// The nearest centre, its squared distance, and that of the second nearest (infinite without one).
pub fn nearest_two(distances: &[f32]) -> (usize, f32, f32) {
    let (mut nearest, mut least, mut second) = (0, f32::INFINITY, f32::INFINITY);
    for (centre, distance) in distances.iter().enumerate() {
        if *distance < least {
            (nearest, second, least) = (centre, least, *distance);
        } else if *distance < second {
            second = *distance;
        }
    }
    (nearest, least, second)
}
