//! The columns of one part of the data, stored for walking down one column at a time.
//!
//! Three ways of storing, chosen per part: a sparse column as row numbers and values; as row numbers alone when
//! every value is 1 (a third of the memory to read per pass, which is what a pass costs); and dense when most
//! entries are there.

use rayon::prelude::*;
use sprs::CsMatI;

use crate::kernel::{self, IndexSlice, Indices};

/// The share of non-zeros from which a part is stored dense: a dense entry costs 8 bytes and no gather, a sparse
/// one 12 bytes and a gather.
const DENSE_FROM: f64 = 0.4;

/// Data as the readers give it: one sparse row per sample.
pub type Rows = CsMatI<f64, u32, usize>;

/// The columns of one part.
#[derive(Debug, Clone)]
pub struct Columns {
    n_rows: usize,
    names: Vec<u32>,
    store: Store,
    sums: Vec<f64>,
    squares: Vec<f64>,
}

/// How the entries are kept; `starts[j]..starts[j + 1]` is column `j`.
#[derive(Debug, Clone)]
enum Store {
    Ones { starts: Vec<usize>, rows: Indices },
    Valued { starts: Vec<usize>, rows: Indices, values: Vec<f64> },
    Dense { values: Vec<f64> },
}

/// One column.
#[derive(Debug, Clone, Copy)]
pub enum Column<'a> {
    /// 1 at these rows, 0 elsewhere.
    Ones(IndexSlice<'a>),
    /// These values at these rows, 0 elsewhere.
    Valued(IndexSlice<'a>, &'a [f64]),
    /// A value for every row.
    Dense(&'a [f64]),
}

impl Column<'_> {
    /// The product with a vector over the rows.
    #[inline]
    pub fn dot(self, vector: &[f64]) -> f64 {
        match self {
            Self::Ones(rows) => kernel::gather_sum(rows, vector),
            Self::Valued(rows, values) => kernel::gather_dot(rows, values, vector),
            Self::Dense(values) => kernel::dot(values, vector),
        }
    }

    /// Adds `a` times the column to a vector over the rows.
    #[inline]
    pub fn add_to(self, a: f64, vector: &mut [f64]) {
        match self {
            Self::Ones(rows) => kernel::scatter_add(a, rows, vector),
            Self::Valued(rows, values) => kernel::scatter_axpy(a, rows, values, vector),
            Self::Dense(values) => kernel::axpy(a, values, vector),
        }
    }

    /// Adds `a` times the column, each row weighted, to a vector over the rows.
    #[inline]
    pub fn add_weighted_to(self, a: f64, weights: &[f64], vector: &mut [f64]) {
        match self {
            Self::Ones(rows) => kernel::scatter_weighted(a, rows, weights, vector),
            Self::Valued(rows, values) => kernel::scatter_axpy_weighted(a, (rows, values), weights, vector),
            Self::Dense(values) => {
                for ((v, x), w) in vector.iter_mut().zip(values).zip(weights) {
                    *v += a * x * w;
                }
            }
        }
    }

    /// The sum of the squared entries, each row weighted.
    #[inline]
    pub fn weighted_square(self, weights: &[f64]) -> f64 {
        match self {
            Self::Ones(rows) => kernel::gather_sum(rows, weights),
            Self::Valued(rows, values) => kernel::gather_square(rows, values, weights),
            Self::Dense(values) => values.iter().zip(weights).map(|(x, w)| x * x * w).sum(),
        }
    }

    /// Calls for every stored entry: its row and value.
    #[inline]
    pub fn each(self, mut f: impl FnMut(usize, f64)) {
        match self {
            Self::Ones(rows) => rows.as_slice().iter().for_each(|&i| f(i as usize, 1.0)),
            Self::Valued(rows, values) => {
                rows.as_slice().iter().zip(values).for_each(|(&i, &x)| f(i as usize, x));
            }
            Self::Dense(values) => values.iter().enumerate().for_each(|(i, &x)| f(i, x)),
        }
    }

    /// How many entries a walk down the column touches.
    #[inline]
    pub fn len(self) -> usize {
        match self {
            Self::Ones(rows) | Self::Valued(rows, _) => rows.as_slice().len(),
            Self::Dense(values) => values.len(),
        }
    }

    /// Whether the column has no entries.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }
}

impl Columns {
    /// All columns of `rows` in one part.
    pub fn whole(rows: Rows) -> Self {
        let mut parts = split(rows, 1);
        parts.pop().expect("one part was asked for")
    }

    /// How many rows (samples) there are.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// How many columns this part has.
    pub fn n_columns(&self) -> usize {
        self.names.len()
    }

    /// What the columns are called in the whole data: `names()[j]` is the global number of column `j`.
    pub fn names(&self) -> &[u32] {
        &self.names
    }

    /// The sum of the entries of each column.
    pub fn sums(&self) -> &[f64] {
        &self.sums
    }

    /// The sum of the squared entries of each column.
    pub fn squares(&self) -> &[f64] {
        &self.squares
    }

    /// Whether products of two columns are small whole numbers, exact in single precision.
    pub fn all_ones(&self) -> bool {
        matches!(self.store, Store::Ones { .. })
    }

    /// Column `j` of this part.
    #[inline]
    pub fn column(&self, j: usize) -> Column<'_> {
        match &self.store {
            Store::Ones { starts, rows } => Column::Ones(rows.slice(starts[j]..starts[j + 1])),
            Store::Valued { starts, rows, values } => {
                let range = starts[j]..starts[j + 1];
                Column::Valued(rows.slice(range.clone()), &values[range])
            }
            Store::Dense { values } => Column::Dense(&values[j * self.n_rows..(j + 1) * self.n_rows]),
        }
    }

    fn new(n_rows: usize, names: Vec<u32>, store: Store) -> Self {
        let mut columns = Self { n_rows, names, store, sums: Vec::new(), squares: Vec::new() };
        (columns.sums, columns.squares) = (0..columns.n_columns())
            .map(|j| match columns.column(j) {
                Column::Ones(rows) => (rows.as_slice().len() as f64, rows.as_slice().len() as f64),
                Column::Valued(_, values) | Column::Dense(values) => kernel::sum_and_square(values),
            })
            .unzip();
        columns
    }
}

/// Cuts the columns into parts, column `j` to part `j mod parts`, and turns each from rows to columns. Neighbours go to
/// different parts: files often list related or frequent columns together, and this spreads their work evenly. Holds
/// the rows and one copy of the entries at the same time; the rows are dropped on return.
///
/// # Panics
/// If no parts are asked for.
pub fn split(rows: Rows, parts: usize) -> Vec<Columns> {
    assert!(parts > 0, "at least one part");
    let owner: Vec<u32> = (0..rows.cols()).map(|j| (j % parts) as u32).collect();
    let all_ones = rows.data().iter().all(|&v| v == 1.0);
    let built =
        (0..parts).into_par_iter().map(|part| gather_part(&rows, &owner, part as u32, all_ones)).collect();
    drop(rows);
    built
}

/// The columns of one part, by counting: how many entries each column has, then each entry to its place.
fn gather_part(data: &Rows, owner: &[u32], part: u32, all_ones: bool) -> Columns {
    let names: Vec<u32> = (0..data.cols() as u32).filter(|&j| owner[j as usize] == part).collect();
    let mut local = vec![u32::MAX; data.cols()];
    for (at, &name) in names.iter().enumerate() {
        local[name as usize] = at as u32;
    }
    let mut starts = vec![0usize; names.len() + 1];
    for &j in data.indices() {
        if local[j as usize] != u32::MAX {
            starts[local[j as usize] as usize + 1] += 1;
        }
    }
    for j in 0..names.len() {
        starts[j + 1] += starts[j];
    }
    let n_entries = starts[names.len()];
    if n_entries as f64 >= DENSE_FROM * data.rows() as f64 * names.len() as f64 && n_entries > 0 {
        return Columns::new(data.rows(), names, Store::Dense { values: fill_dense(data, &local) });
    }
    let mut next = starts.clone();
    let mut at = vec![0u32; n_entries];
    let mut values = vec![0.0; if all_ones { 0 } else { n_entries }];
    for (i, row) in data.outer_iterator().enumerate() {
        for (j, &value) in row.iter() {
            let Some(place) = next.get_mut(local[j] as usize) else { continue };
            at[*place] = i as u32;
            if !all_ones {
                values[*place] = value;
            }
            *place += 1;
        }
    }
    let rows = Indices::new(at, data.rows()).expect("row numbers of the matrix itself");
    let store = if all_ones { Store::Ones { starts, rows } } else { Store::Valued { starts, rows, values } };
    Columns::new(data.rows(), names, store)
}

/// The entries of the columns that have a local number, zeros written out, column after column.
fn fill_dense(data: &Rows, local: &[u32]) -> Vec<f64> {
    let n_columns = local.iter().filter(|&&l| l != u32::MAX).count();
    let mut values = vec![0.0; data.rows() * n_columns];
    for (i, row) in data.outer_iterator().enumerate() {
        for (j, &value) in row.iter() {
            if local[j] != u32::MAX {
                values[local[j] as usize * data.rows() + i] = value;
            }
        }
    }
    values
}
