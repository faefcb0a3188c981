//! Rows as the solvers want them: columns ascending, each once, no zeros.

/// What had to be done to the rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Rows that were sorted.
    pub(super) unsorted_rows: u64,
    /// Values added to an earlier one of the same column.
    pub(super) duplicates: u64,
    /// Zeros dropped.
    pub(super) zeros: u64,
}

impl Counts {
    pub(super) fn add(&mut self, other: &Self) {
        self.unsorted_rows += other.unsorted_rows;
        self.duplicates += other.duplicates;
        self.zeros += other.zeros;
    }
}

/// Sorts one row in place, sums duplicates and drops zeros; returns how many values are left at the front.
///
/// # Errors
/// A sum of duplicates is beyond the largest number.
pub(super) fn tidy(columns: &mut [u32], values: &mut [f64], counts: &mut Counts) -> Result<usize, String> {
    if !columns.is_sorted() {
        counts.unsorted_rows += 1;
        let mut pairs: Vec<(u32, f64)> = columns.iter().copied().zip(values.iter().copied()).collect();
        pairs.sort_by_key(|&(column, _)| column); // stable, so that sums do not depend on chance
        for (at, (column, value)) in pairs.into_iter().enumerate() {
            (columns[at], values[at]) = (column, value);
        }
    }
    let (mut kept, mut at) = (0, 0);
    while at < columns.len() {
        let (column, mut value) = (columns[at], values[at]);
        at += 1;
        while at < columns.len() && columns[at] == column {
            value += values[at];
            counts.duplicates += 1;
            at += 1;
        }
        if !value.is_finite() {
            return Err("the values of a repeated column add up to more than a number can hold".to_string());
        }
        if value == 0.0 {
            counts.zeros += 1;
            continue;
        }
        (columns[kept], values[kept]) = (column, value);
        kept += 1;
    }
    Ok(kept)
}

/// Drops the values of all rows whose column is `n_columns` or more; returns how many.
pub(super) fn drop_beyond(
    starts: &mut [usize],
    columns: &mut Vec<u32>,
    values: &mut Vec<f64>,
    n_columns: usize,
) -> u64 {
    let (mut kept, mut start) = (0, 0);
    for next in &mut starts[1..] {
        let end = *next;
        for at in start..end {
            if (columns[at] as usize) < n_columns {
                (columns[kept], values[kept]) = (columns[at], values[at]);
                kept += 1;
            }
        }
        (start, *next) = (end, kept);
    }
    let dropped = columns.len() - kept;
    columns.truncate(kept);
    values.truncate(kept);
    dropped as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_sorted_summed_and_freed_of_zeros() {
        let (mut columns, mut values) = ([7, 2, 5, 2, 9], [1.0, 2.0, 0.0, 0.5, -1.0]);
        let mut counts = Counts::default();
        assert_eq!(tidy(&mut columns, &mut values, &mut counts), Ok(3));
        assert_eq!((&columns[..3], &values[..3]), (&[2, 7, 9][..], &[2.5, 1.0, -1.0][..]));
        assert_eq!(counts, Counts { unsorted_rows: 1, duplicates: 1, zeros: 1 });
    }

    #[test]
    fn a_sum_beyond_the_largest_number_is_refused() {
        assert!(tidy(&mut [1, 1], &mut [1e308, 1e308], &mut Counts::default()).is_err());
    }

    #[test]
    fn unknown_columns_go_and_rows_stay() {
        let mut starts = vec![0, 2, 2, 4];
        let (mut columns, mut values) = (vec![0, 8, 8, 9], vec![1.0, 2.0, 3.0, 4.0]);
        assert_eq!(drop_beyond(&mut starts, &mut columns, &mut values, 8), 3);
        assert_eq!((starts, columns, values), (vec![0, 1, 1, 1], vec![0], vec![1.0]));
    }
}
