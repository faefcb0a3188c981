//! Where things are: how the rows of a table are cut into pages, and which shard owns a page or a block.
//!
//! A *page* is the unit in which shared rows are placed, pulled, cached and folded. Narrow rows share a page; a wide
//! row is cut into several, which go to different shards, so that one row is never a hot spot.

use std::collections::BTreeSet;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::id::{BlockId, PageId, PartId, ShardId, TableId};

/// How the rows of a table are cut into pages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Geometry {
    n_rows: usize,
    width: usize,
    /// Rows in a page; 1 where a row is cut.
    rows_per_page: usize,
    /// Pages of a row; 1 where rows share a page.
    pages_per_row: usize,
    /// Columns that a page covers.
    columns_per_page: usize,
}

impl Geometry {
    /// Pages of about `page` elements for `n_rows` rows of `width` elements.
    pub fn new(n_rows: usize, width: usize, page: usize) -> Self {
        let (page, columns) = (page.max(1), width.max(1));
        let rows_per_page = (page / columns).max(1);
        let pages_per_row = columns.div_ceil(page);
        let columns_per_page = columns.div_ceil(pages_per_row);
        Self { n_rows, width, rows_per_page, pages_per_row, columns_per_page }
    }

    /// Rows.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Elements of a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Pages.
    pub fn n_pages(&self) -> usize {
        self.n_rows.div_ceil(self.rows_per_page) * self.pages_per_row
    }

    /// The first page of a row and, in that page, the row's number.
    pub fn locate(&self, row: usize) -> (PageId, usize) {
        (PageId::at(row / self.rows_per_page * self.pages_per_row), row % self.rows_per_page)
    }

    /// The pages of a row, in column order.
    pub fn pages_of_row(&self, row: usize) -> Range<u32> {
        let first = self.locate(row).0.0;
        first..first + u32::try_from(self.pages_per_row).expect("a row has fewer than 2³² pages")
    }

    /// The rows that a page covers.
    pub fn rows(&self, page: PageId) -> Range<usize> {
        let first = page.index() / self.pages_per_row * self.rows_per_page;
        first..(first + self.rows_per_page).min(self.n_rows)
    }

    /// The columns that a page covers.
    pub fn columns(&self, page: PageId) -> Range<usize> {
        let first = page.index() % self.pages_per_row * self.columns_per_page;
        first.min(self.width)..(first + self.columns_per_page).min(self.width)
    }

    /// Whether every row lies in one page.
    pub fn keeps_rows_whole(&self) -> bool {
        self.pages_per_row == 1
    }

    /// The pages that hold these rows, ascending.
    pub fn covering(&self, rows: &[u32]) -> Vec<PageId> {
        let pages: BTreeSet<u32> = rows.iter().flat_map(|row| self.pages_of_row(*row as usize)).collect();
        pages.into_iter().map(PageId).collect()
    }
}

/// Which shard owns what: pages and blocks are dealt out in turn, the pages of each table beginning with another shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    n_shards: u32,
}

impl Default for Placement {
    fn default() -> Self {
        Self::over(1)
    }
}

impl Placement {
    /// Over so many shards, at least one.
    pub fn over(n_shards: usize) -> Self {
        Self { n_shards: u32::try_from(n_shards.max(1)).expect("fewer than 2³² shards") }
    }

    /// Shards.
    pub fn n_shards(self) -> usize {
        self.n_shards as usize
    }

    /// The shard of a page.
    pub fn of_page(self, table: TableId, page: PageId) -> ShardId {
        ShardId((page.0 % self.n_shards + u32::from(table.0) % self.n_shards) % self.n_shards)
    }

    /// The shard of a block, the same for all tables: what belongs to a part lies together.
    pub fn of_block(self, block: BlockId) -> ShardId {
        ShardId(block.0 % self.n_shards)
    }

    /// The shard where a part is at home: it has the part's blocks.
    pub fn of_part(self, part: PartId) -> ShardId {
        self.of_block(BlockId(part.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Every element of a table lies in exactly one page, at the place that `locate` says.
        #[test]
        fn pages_cover_every_element_once(n_rows in 0usize..40, width in 0usize..40, page in 1usize..60) {
            let geometry = Geometry::new(n_rows, width, page);
            let mut seen = vec![0u8; n_rows * width];
            for page in (0..geometry.n_pages()).map(PageId::at) {
                for row in geometry.rows(page) {
                    for column in geometry.columns(page) {
                        seen[row * width + column] += 1;
                        let (first, number) = geometry.locate(row);
                        prop_assert_eq!(first.index() + column / geometry.columns_per_page, page.index());
                        prop_assert_eq!(number, row - geometry.rows(page).start);
                    }
                }
            }
            prop_assert!(seen.iter().all(|times| *times == 1));
        }
    }

    #[test]
    fn one_wide_row_is_spread_evenly_over_shards() {
        let geometry = Geometry::new(1, 1_000_000, 16 * 1024);
        let placement = Placement::over(4);
        let mut load = [0usize; 4];
        for page in (0..geometry.n_pages()).map(PageId::at) {
            load[placement.of_page(TableId(0), page).index()] += geometry.columns(page).len();
        }
        assert!(load.iter().max().unwrap() - load.iter().min().unwrap() <= 2 * 16 * 1024, "{load:?}");
    }
}
