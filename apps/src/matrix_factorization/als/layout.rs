//! Where the rows of a part lie: all of them are one row of a table, so that a step replaces a part as a whole.
//!
//! ```text
//! factors        n rows of `width` numbers: `rank` factors; with biases a 1, which multiplies the other side's bias; zeros
//! biases         n numbers, where there are biases
//! Gram matrix    width x width: the sum of y yᵀ over the factors of the part, where feedback is implicit
//! ```

use std::ops::Range;

use crate::kernel::normal::LANES;

/// The shape of the parts of a side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Rows of a part; a part with fewer has zeros behind them.
    pub n_rows: usize,
    /// Factors of a row.
    pub rank: usize,
    /// Numbers of a row: the rank, and 1 where there are biases, up to a multiple of [`LANES`].
    pub width: usize,
    /// Whether rows have biases; otherwise parts have Gram matrices.
    pub has_biases: bool,
}

impl Layout {
    /// For parts of at most `n_rows` rows.
    pub fn new(n_rows: usize, rank: usize, has_biases: bool) -> Self {
        let width = (rank + usize::from(has_biases)).next_multiple_of(LANES);
        Self { n_rows, rank, width, has_biases }
    }

    /// Numbers of a part.
    pub fn len(&self) -> usize {
        self.rest().end
    }

    /// Whether there is nothing in a part: never.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The factors of all rows.
    pub fn factors(&self) -> Range<usize> {
        0..self.n_rows * self.width
    }

    /// What follows them: the biases, or the Gram matrix.
    pub fn rest(&self) -> Range<usize> {
        let start = self.n_rows * self.width;
        start..start + if self.has_biases { self.n_rows } else { self.width * self.width }
    }

    /// The numbers of a row.
    pub fn row(&self, row: usize) -> Range<usize> {
        row * self.width..(row + 1) * self.width
    }

    /// The bias of a row of a part; 0 where there are none.
    pub fn bias(&self, part: &[f32], row: usize) -> f32 {
        if self.has_biases { part[self.n_rows * self.width + row] } else { 0.0 }
    }

    /// Where a bias stands in a row that is being solved, if it has one.
    pub fn slot(&self) -> Option<usize> {
        self.has_biases.then_some(self.rank)
    }
}
