//! The tables of a run, put together from the shards.

use std::sync::Arc;

use actix::prelude::*;
use ndarray::Array2;

use crate::clock::Clock;
use crate::id::TableId;
use crate::job::RunError;
use crate::message::{Snap, Snapshot};
use crate::table::{Table, Usage};
use crate::values::{Content, Element, SparseRow};

/// All tables at one moment.
#[derive(Debug, Clone)]
pub struct Model {
    tables: Arc<Vec<Table>>,
    /// One per table: the shares of all shards.
    shares: Vec<Snapshot>,
}

/// Asks every shard for its share of every table, once everyone has finished the clocks before `need`.
pub(crate) async fn gather(
    shards: &[Recipient<Snap>],
    tables: &Arc<Vec<Table>>,
    need: Clock,
) -> Result<Model, RunError> {
    let mut shares = Vec::new();
    for table in 0..tables.len() {
        let mut whole = Snapshot::default();
        for shard in shards {
            let share = shard.send(Snap { table: TableId::at(table), need }).await;
            let share = share.ok().flatten().ok_or_else(|| RunError::Died("a shard".to_owned()))?;
            whole.pages.extend(share.pages);
            whole.blocks.extend(share.blocks);
        }
        shares.push(whole);
    }
    Ok(Model::of(Arc::clone(tables), shares))
}

impl Model {
    /// Puts tables together from the shares of all shards, one [`Snapshot`] a table.
    pub fn of(tables: Arc<Vec<Table>>, shares: Vec<Snapshot>) -> Self {
        Self { tables, shares }
    }

    fn find(&self, name: &str) -> (&Table, &Snapshot) {
        let place = self.tables.iter().position(|table| table.name() == name);
        let place = place.unwrap_or_else(|| panic!("the job has no table {name}"));
        (&self.tables[place], &self.shares[place])
    }

    /// A dense table as one array, rows × width.
    ///
    /// # Panics
    /// When there is no such table, it is sparse, or it holds another element type: a mistake of the caller.
    pub fn dense<T: Element>(&self, name: &str) -> Array2<T> {
        let (table, share) = self.find(name);
        let mut array = Array2::from_elem((table.n_rows(), table.width()), T::default());
        let right = "a table is read with its own element type";
        if *table.usage() == Usage::Shared {
            for (page, rows) in &share.pages {
                let (rows_of, columns) = (table.geometry().rows(*page), table.geometry().columns(*page));
                let values = T::peek(rows).expect(right).dense();
                let values = ndarray::ArrayView2::from_shape((rows_of.len(), columns.len()), values);
                array.slice_mut(ndarray::s![rows_of, columns]).assign(&values.expect("a page has its rows"));
            }
        } else {
            for (block, rows) in &share.blocks {
                let rows_of = table.rows_of(*block);
                let values = T::peek(rows).expect(right).dense();
                let values = ndarray::ArrayView2::from_shape((rows_of.len(), table.width()), values);
                array.slice_mut(ndarray::s![rows_of, ..]).assign(&values.expect("a block has its rows"));
            }
        }
        array
    }

    /// A sparse table, row by row.
    ///
    /// # Panics
    /// As [`Model::dense`], for a dense table.
    pub fn sparse<T: Element>(&self, name: &str) -> Vec<SparseRow<T>> {
        let (table, share) = self.find(name);
        let mut rows = vec![SparseRow::new(); table.n_rows()];
        let mut put = |first: usize, content: &Content<T>| {
            for (number, entries) in content.sparse().iter().enumerate() {
                rows[first + number].extend_from_slice(entries);
            }
        };
        let right = "a table is read with its own element type";
        let mut pages: Vec<_> = share.pages.iter().collect();
        pages.sort_by_key(|(page, _)| *page); // pages of a row in column order
        pages
            .iter()
            .for_each(|(p, content)| put(table.geometry().rows(*p).start, T::peek(content).expect(right)));
        share
            .blocks
            .iter()
            .for_each(|(b, content)| put(table.rows_of(*b).start, T::peek(content).expect(right)));
        rows
    }
}
