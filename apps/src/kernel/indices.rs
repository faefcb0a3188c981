//! Row numbers that are known to be below a bound, so that loops over them need no check per element.

use std::ops::Range;

/// Row numbers, each of them below [`Indices::bound`]. Cannot be changed once built.
#[derive(Debug, Clone, Default)]
pub struct Indices {
    rows: Vec<u32>,
    bound: usize,
}

impl Indices {
    /// Takes the indices if each is below `bound`; gives them back if not.
    ///
    /// # Errors
    /// The vector itself, when an index reaches the bound.
    pub fn new(rows: Vec<u32>, bound: usize) -> Result<Self, Vec<u32>> {
        match rows.iter().max() {
            Some(&largest) if largest as usize >= bound => Err(rows),
            _ => Ok(Self { rows, bound }),
        }
    }

    /// How many indices there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The bound that every index is below.
    pub fn bound(&self) -> usize {
        self.bound
    }

    /// The indices at these positions.
    ///
    /// # Panics
    /// If the range is not within the indices.
    #[inline]
    pub fn slice(&self, range: Range<usize>) -> IndexSlice<'_> {
        IndexSlice { rows: &self.rows[range], bound: self.bound }
    }
}

/// Some of the [`Indices`], with the same promise: each is below the bound.
#[derive(Debug, Clone, Copy)]
pub struct IndexSlice<'a> {
    rows: &'a [u32],
    bound: usize,
}

impl<'a> IndexSlice<'a> {
    /// The indices as plain numbers.
    #[inline]
    pub fn as_slice(self) -> &'a [u32] {
        self.rows
    }

    /// The bound that every index is below.
    #[inline]
    pub fn bound(self) -> usize {
        self.bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_at_the_bound_is_refused() {
        assert!(Indices::new(vec![0, 4], 5).is_ok());
        assert_eq!(Indices::new(vec![0, 5], 5).unwrap_err(), vec![0, 5]);
        assert!(Indices::new(Vec::new(), 0).is_ok());
    }
}
