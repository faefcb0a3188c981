//! Rows of numbers, dense or sparse.

use ndarray::Array2;

use crate::Error;

/// Sparse rows in single precision: rows x columns, columns ascending in each row.
pub type Sparse = sprs::CsMatI<f32, u32, usize>;

/// The share of values that are there from which sparse rows are kept dense.
const DENSE_FROM: f64 = 0.25;

/// Rows of numbers.
#[derive(Debug, Clone, PartialEq)]
pub enum Features {
    /// Every number, row after row.
    Dense(Array2<f32>),
    /// The numbers that are not zero.
    Sparse(Sparse),
}

impl Features {
    /// Sparse rows, made dense where most of each is there.
    pub(super) fn of(sparse: Sparse) -> Self {
        let size = sparse.rows() as f64 * sparse.cols() as f64;
        let features = Self::Sparse(sparse);
        let Self::Sparse(sparse) = &features else { return features };
        if sparse.nnz() as f64 >= DENSE_FROM * size { Self::Dense(features.to_dense()) } else { features }
    }

    /// Rows.
    pub fn n_rows(&self) -> usize {
        match self {
            Self::Dense(rows) => rows.nrows(),
            Self::Sparse(rows) => rows.rows(),
        }
    }

    /// Columns.
    pub fn n_columns(&self) -> usize {
        match self {
            Self::Dense(rows) => rows.ncols(),
            Self::Sparse(rows) => rows.cols(),
        }
    }

    /// Copies rows, dense, one after the other, to `into`.
    ///
    /// # Panics
    /// When `into` is not `rows.len() x n_columns()` long, or there is no such row.
    pub fn gather(&self, rows: &[u32], into: &mut [f32]) {
        let width = self.n_columns();
        assert_eq!(into.len(), rows.len() * width, "room for every row");
        for (row, to) in rows.iter().zip(into.chunks_exact_mut(width.max(1))) {
            self.copy_row(*row as usize, to);
        }
    }

    /// Copies one row, dense, to `to`.
    ///
    /// # Panics
    /// When `to` is not `n_columns()` long, or there is no such row.
    pub fn copy_row(&self, row: usize, to: &mut [f32]) {
        match self {
            Self::Dense(rows) => {
                let from = rows.row(row);
                to.copy_from_slice(from.as_slice().expect("rows lie one after the other"));
            }
            Self::Sparse(rows) => {
                to.fill(0.0);
                let row = rows.outer_view(row).expect("the row is there");
                row.iter().for_each(|(column, value)| to[column] = *value);
            }
        }
    }

    /// All rows, dense.
    pub fn to_dense(&self) -> Array2<f32> {
        match self {
            Self::Dense(rows) => rows.clone(),
            Self::Sparse(_) => {
                let mut all = Array2::zeros((self.n_rows(), self.n_columns()));
                for (row, mut to) in all.outer_iter_mut().enumerate() {
                    self.copy_row(
                        row,
                        to.as_slice_mut().expect("rows of a new array lie one after the other"),
                    );
                }
                all
            }
        }
    }

    /// Calls `each` with the place and the value of every number that may differ from zero: (row, column, value).
    pub fn for_each(&self, mut each: impl FnMut(usize, usize, f32)) {
        match self {
            Self::Dense(rows) => {
                rows.indexed_iter().for_each(|((row, column), value)| each(row, column, *value));
            }
            Self::Sparse(rows) => {
                for (row, values) in rows.outer_iterator().enumerate() {
                    values.iter().for_each(|(column, value)| each(row, column, *value));
                }
            }
        }
    }
}

/// Dense rows of a file, with a number that is none refused by its row and column.
pub(super) fn dense(
    (n_rows, n_columns): (usize, usize),
    values: Vec<f32>,
    refuse: impl Fn(String) -> Error,
) -> Result<Features, Error> {
    if let Some(at) = values.iter().position(|value| !value.is_finite()) {
        let (row, column) = (at / n_columns.max(1) + 1, at % n_columns.max(1) + 1);
        return Err(refuse(format!(
            "row {row}, column {column} is {}, expected a finite number of single precision; drop the row or put a number \
             in its place",
            values[at]
        )));
    }
    let found = values.len();
    let rows = Array2::from_shape_vec((n_rows, n_columns), values);
    rows.map(Features::Dense).map_err(|_| refuse(format!("{found} numbers, expected {n_rows} x {n_columns}")))
}
