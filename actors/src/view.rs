//! The rows of a shared table as a step reads them, and the update it makes.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use ndarray::Array2;

use crate::gathered::ReadRows;
use crate::id::{PageId, TableId};
use crate::message::{Page, RowBatch};
use crate::placement::Geometry;
use crate::rule::Rule;
use crate::table::Table;
use crate::values::{Buffer, Content, Element};

/// A page that a step reads, with this worker's updates that it does not contain yet.
#[derive(Debug, Clone)]
pub(crate) struct ReadPage {
    pub(crate) page: PageId,
    /// How many updates its shard had folded in.
    pub(crate) seen: u64,
    pub(crate) rows: Arc<Buffer>,
    pub(crate) mine: Vec<Arc<Buffer>>,
}

impl ReadPage {
    /// The page with the reader's own updates folded in; without any, no copy is made.
    fn own(&self, rule: &Rule) -> Arc<Buffer> {
        let mut rows = Arc::clone(&self.rows);
        for delta in &self.mine {
            rule.fold(Arc::make_mut(&mut rows), delta);
        }
        rows
    }
}

/// A page of dense rows in place: which rows and columns of the table it has, and its numbers, row after row.
#[derive(Debug)]
pub struct Tile<V> {
    /// Rows of the table.
    pub rows: Range<usize>,
    /// Columns of the table: all, but where rows are so wide that they are cut.
    pub columns: Range<usize>,
    /// rows x columns
    pub values: V,
}

/// Rows of a shared table, to read.
#[derive(Debug, Clone)]
pub struct View<T> {
    geometry: Geometry,
    /// Ascending.
    pages: Vec<(PageId, Arc<Buffer>)>,
    /// Where the table is read by row: the rows, ascending, and their values.
    gathered: Option<(Arc<Vec<u32>>, Arc<Buffer>)>,
    element: PhantomData<T>,
}

impl<T: Element> View<T> {
    pub(crate) fn new(table: &Table, pages: &[ReadPage]) -> Self {
        let pages = pages.iter().map(|page| (page.page, page.own(table.update_rule()))).collect();
        Self { geometry: table.geometry().clone(), pages, gathered: None, element: PhantomData }
    }

    pub(crate) fn of_rows(table: &Table, read: &ReadRows) -> Self {
        let gathered = Some((Arc::clone(&read.rows), read.join::<T>(table)));
        Self { geometry: table.geometry().clone(), pages: Vec::new(), gathered, element: PhantomData }
    }

    /// The rows that the table was told to read, ascending, one after the other; no look-ups.
    ///
    /// # Panics
    /// When the table is read whole, or its rows are sparse or cut.
    pub fn gathered(&self) -> &[T] {
        let (_, values) =
            self.gathered.as_ref().expect("the table is told which rows to read, and keeps rows whole");
        T::peek(values).expect("a table is read with its own element type").dense()
    }

    fn page(&self, page: PageId) -> &Content<T> {
        let place = match self.pages.get(page.index()) {
            Some((id, _)) if *id == page => page.index(), // all pages are here
            _ => self.pages.binary_search_by_key(&page, |(id, _)| *id).unwrap_or_else(|_| {
                panic!(
                    "row {} is not among those that the table was told to read",
                    self.geometry.rows(page).start
                )
            }),
        };
        T::peek(&self.pages[place].1).expect("a table is read with its own element type")
    }

    /// The pages of dense rows that the step reads, where they lie: rows ascending, and of the same rows the columns.
    ///
    /// None where the table is told which rows to read and keeps rows whole: those are [`View::gathered`].
    pub fn tiles(&self) -> impl Iterator<Item = Tile<&[T]>> {
        self.pages.iter().map(|(page, _)| Tile {
            rows: self.geometry.rows(*page),
            columns: self.geometry.columns(*page),
            values: self.page(*page).dense(),
        })
    }

    /// Numbers in a row.
    pub fn width(&self) -> usize {
        self.geometry.width()
    }

    /// A dense row that lies in one page: no copy.
    ///
    /// # Panics
    /// When the row is so wide that it was cut; use [`View::copy_row`]. When the step does not read this row.
    pub fn row(&self, row: usize) -> &[T] {
        let pages = self.geometry.pages_of_row(row);
        assert!(pages.len() == 1, "row {row} is cut into {} pages: use copy_row", pages.len());
        let width = self.geometry.width();
        if let Some((rows, _)) = &self.gathered {
            let number = place_of(rows, row);
            return &self.gathered()[number * width..(number + 1) * width];
        }
        let (page, number) = self.geometry.locate(row);
        &self.page(page).dense()[number * width..(number + 1) * width]
    }

    /// Copies a dense row, however wide, to `to`.
    ///
    /// # Panics
    /// When `to` is not as long as the row, or the step does not read this row.
    pub fn copy_row(&self, row: usize, to: &mut [T]) {
        assert_eq!(to.len(), self.geometry.width(), "a copy of a row is as long as the row");
        if self.gathered.is_some() {
            return to.copy_from_slice(self.row(row));
        }
        let number = self.geometry.locate(row).1;
        for page in self.geometry.pages_of_row(row).map(PageId) {
            let columns = self.geometry.columns(page);
            let from = &self.page(page).dense()[number * columns.len()..(number + 1) * columns.len()];
            to[columns].copy_from_slice(from);
        }
    }

    /// The non-zeros of a sparse row, columns ascending.
    pub fn sparse_row(&self, row: usize) -> impl Iterator<Item = (u32, T)> + '_ {
        let number = self.geometry.locate(row).1;
        let pages = self.geometry.pages_of_row(row).map(PageId);
        pages.flat_map(move |page| self.page(page).sparse()[number].iter().copied())
    }

    /// All dense rows as one array, copied.
    pub fn to_array(&self) -> Array2<T> {
        let mut array = Array2::from_elem((self.geometry.n_rows(), self.geometry.width()), T::default());
        for (row, mut values) in array.outer_iter_mut().enumerate() {
            self.copy_row(row, values.as_slice_mut().expect("rows of a new array lie one after the other"));
        }
        array
    }
}

/// An update of a shared table, merged page by page as the step goes on.
#[derive(Debug)]
pub struct Delta<T> {
    table: TableId,
    sparse: bool,
    geometry: Geometry,
    pages: BTreeMap<PageId, Content<T>>,
    /// Where the table is read by row: those rows, ascending, and the update of each.
    gathered: Option<(Arc<Vec<u32>>, Vec<T>)>,
}

impl<T: Element> Delta<T> {
    /// An update that is zero; `rows` are those that the step reads, if it reads by row.
    pub(crate) fn new(id: TableId, table: &Table, rows: Option<Arc<Vec<u32>>>) -> Self {
        Self {
            table: id,
            sparse: table.is_sparse(),
            geometry: table.geometry().clone(),
            pages: BTreeMap::new(),
            gathered: rows.map(|rows| (rows, Vec::new())),
        }
    }

    /// The updates of the rows that the table was told to read, ascending, one after the other.
    ///
    /// # Panics
    /// When the table is read whole, or its rows are sparse or cut.
    pub fn gathered(&mut self) -> &mut [T] {
        let width = self.geometry.width();
        let rows =
            self.gathered.as_mut().expect("the table is told which rows to read, and keeps rows whole");
        if rows.1.is_empty() {
            rows.1 = vec![T::default(); rows.0.len() * width];
        }
        &mut rows.1
    }

    fn page(&mut self, page: PageId) -> &mut Content<T> {
        let (geometry, sparse) = (&self.geometry, self.sparse);
        let fresh = || Content::zero(sparse, geometry.rows(page).len(), geometry.columns(page).len());
        self.pages.entry(page).or_insert_with(fresh)
    }

    /// Makes the update of every dense page where it will travel, in the order of [`View::tiles`]; numbers are zero at first,
    /// or what was added so far.
    ///
    /// # Panics
    /// When the table is told which rows to read, or holds sparse rows.
    pub fn fill(&mut self, mut fill: impl FnMut(Tile<&mut [T]>)) {
        assert!(self.gathered.is_none(), "this table is updated by row: use `gathered` or `row`");
        for page in (0..self.geometry.n_pages()).map(PageId::at) {
            let (rows, columns) = (self.geometry.rows(page), self.geometry.columns(page));
            fill(Tile { rows, columns, values: self.page(page).dense_mut() });
        }
    }

    /// The update of a dense row that lies in one page, to add to.
    ///
    /// # Panics
    /// When the row is so wide that it was cut; use [`Delta::add_row`].
    pub fn row(&mut self, row: usize) -> &mut [T] {
        assert!(self.geometry.pages_of_row(row).len() == 1, "row {row} is cut into pages: use add_row");
        let width = self.geometry.width();
        if let Some((rows, _)) = &self.gathered {
            let number = place_of(rows, row);
            return &mut self.gathered()[number * width..(number + 1) * width];
        }
        let (page, number) = self.geometry.locate(row);
        &mut self.page(page).dense_mut()[number * width..(number + 1) * width]
    }

    /// Adds `values` to a dense row, however wide.
    ///
    /// # Panics
    /// When `values` is not as long as the row.
    pub fn add_row(&mut self, row: usize, values: &[T]) {
        assert_eq!(values.len(), self.geometry.width(), "an update of a row is as long as the row");
        if self.gathered.is_some() {
            return self.row(row).iter_mut().zip(values).for_each(|(to, value)| *to += *value);
        }
        let number = self.geometry.locate(row).1;
        for page in self.geometry.pages_of_row(row).map(PageId) {
            let columns = self.geometry.columns(page);
            let to = &mut self.page(page).dense_mut()[number * columns.len()..(number + 1) * columns.len()];
            to.iter_mut().zip(&values[columns]).for_each(|(to, value)| *to += *value);
        }
    }

    /// Adds `value` at (row, column) of a sparse table; several at one place add up.
    ///
    /// # Panics
    /// When the table has no such row or column.
    pub fn add_at(&mut self, row: usize, column: u32, value: T) {
        let number = self.geometry.locate(row).1;
        let page = self
            .geometry
            .pages_of_row(row)
            .map(PageId)
            .find(|p| self.geometry.columns(*p).contains(&(column as usize)));
        let width = self.geometry.width();
        let page = page.unwrap_or_else(|| panic!("column {column} is outside a table of {width} columns"));
        self.page(page).sparse_mut()[number].push((column, value));
    }

    /// Which table it is of.
    pub(crate) fn table(&self) -> TableId {
        self.table
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty() && self.gathered.as_ref().is_none_or(|(_, values)| values.is_empty())
    }

    pub(crate) fn finish(self) -> (impl Iterator<Item = Page>, Option<RowBatch>) {
        let table = self.table;
        let batch =
            |(rows, values)| RowBatch { table, rows, values: Arc::new(T::erase(Content::Dense(values))) };
        let batch = self.gathered.filter(|(_, values)| !values.is_empty()).map(batch);
        let pages = self.pages.into_iter().map(move |(page, mut content)| {
            if let Content::Sparse(rows) = &mut content {
                rows.iter_mut().for_each(merge);
            }
            Page { table, page, seen: 0, rows: Arc::new(T::erase(content)) }
        });
        (pages, batch)
    }
}

/// The place of a row in the ascending list of rows that a step reads.
fn place_of(rows: &[u32], row: usize) -> usize {
    let place = u32::try_from(row).ok().and_then(|row| rows.binary_search(&row).ok());
    place.unwrap_or_else(|| panic!("row {row} is not among those that the table was told to read"))
}

/// Sorts the entries of a row by column and adds up those of one column.
fn merge<T: Element>(row: &mut Vec<(u32, T)>) {
    row.sort_by_key(|(column, _)| *column);
    row.dedup_by(|later, kept| {
        let same = later.0 == kept.0;
        if same {
            kept.1 += later.1;
        }
        same
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(table: &Table, delta: Delta<f64>) -> View<f64> {
        let mut pages: BTreeMap<PageId, ReadPage> = (0..table.geometry().n_pages())
            .map(PageId::at)
            .map(|page| {
                let rows = table.start(table.geometry().rows(page), table.geometry().columns(page));
                (page, ReadPage { page, seen: 0, rows: Arc::new(rows), mine: Vec::new() })
            })
            .collect();
        for page in delta.finish().0 {
            pages.get_mut(&page.page).unwrap().mine.push(page.rows);
        }
        View::new(table, &pages.into_values().collect::<Vec<_>>())
    }

    #[test]
    fn a_row_that_is_cut_reads_back_what_was_added() {
        let table = Table::dense("wide", 3, 10)
            .of::<f64>()
            .paged(4)
            .starting(|row, v: &mut [f64]| v.fill(row as f64));
        let mut delta = Delta::<f64>::new(TableId(0), &table, None);
        let values: Vec<f64> = (0..10).map(f64::from).collect();
        delta.add_row(1, &values);
        let view = whole(&table, delta);
        let mut row = [0.0; 10];
        view.copy_row(1, &mut row);
        assert_eq!(row.to_vec(), values.iter().map(|v| v + 1.0).collect::<Vec<_>>());
        assert_eq!(view.to_array()[[2, 9]], 2.0);
    }

    #[test]
    fn pages_are_read_and_written_where_they_lie() {
        let table = Table::dense("wide", 3, 10).of::<f64>().paged(4);
        let mut delta = Delta::<f64>::new(TableId(0), &table, None);
        let number = |row: usize, column: usize| (10 * row + column) as f64;
        delta.fill(|Tile { rows, columns, values }| {
            let places = rows.flat_map(|row| columns.clone().map(move |column| (row, column)));
            values.iter_mut().zip(places).for_each(|(value, (row, column))| *value += number(row, column));
        });
        let view = whole(&table, delta);
        assert_eq!(
            view.to_array().indexed_iter().find(|((row, column), x)| **x != number(*row, *column)),
            None
        );
        let tiles: Vec<_> = view.tiles().map(|tile| (tile.rows, tile.columns, tile.values[0])).collect();
        assert_eq!(tiles[1], (0..1, 4..8, 4.0));
        assert_eq!(tiles.iter().map(|(rows, columns, _)| rows.len() * columns.len()).sum::<usize>(), 30);
    }

    #[test]
    #[should_panic(expected = "column 100 is outside a table of 100 columns")]
    fn a_sparse_addition_outside_the_table_is_refused() {
        let table = Table::sparse("counts", 2, 100).paged(60);
        Delta::<f32>::new(TableId(0), &table, None).add_at(1, 100, 1.0);
    }

    #[test]
    fn sparse_additions_at_one_place_add_up() {
        let table = Table::sparse("counts", 2, 100).of::<f64>().paged(60);
        let mut delta = Delta::<f64>::new(TableId(0), &table, None);
        [(7, 1.0), (93, 2.0), (7, 0.5)]
            .into_iter()
            .for_each(|(column, value)| delta.add_at(1, column, value));
        let view = whole(&table, delta);
        assert_eq!(view.sparse_row(1).collect::<Vec<_>>(), [(7, 1.5), (93, 2.0)]);
        assert_eq!(view.sparse_row(0).count(), 0);
    }
}
