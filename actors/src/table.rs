//! What a table is: its rows, how they are used, how updates are folded in, and how rows start.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use crate::id::{BlockId, PageId, PartId};
use crate::placement::Geometry;
use crate::rule::Rule;
use crate::values::{Buffer, Content, Element, Kind, SparseRow};

/// Elements of a dense page: 128 KiB of `f64`, small enough to spread a wide row over shards and to stay in L2.
const DENSE_PAGE: usize = 16 * 1024;
/// Row elements, zeros included, that a sparse page covers.
const SPARSE_PAGE: usize = 256 * 1024;

/// A table of the model: `n_rows` rows of `width` numbers.
///
/// ```
/// use slackline::Table;
/// let centroids = Table::dense("centroids", 8, 64);                        // shared, f32, updates added
/// let factors = Table::dense("items", 1000, 32).leased_by_block(&[0, 400, 700]); // three exclusive blocks
/// assert_eq!(factors.n_blocks(), 3);
/// # let _ = centroids;
/// ```
#[derive(Clone)]
pub struct Table {
    name: String,
    kind: Kind,
    sparse: bool,
    geometry: Geometry,
    /// Elements asked for a page.
    page: usize,
    usage: Usage,
    rule: Rule,
    reads: Reads,
    start: Start,
}

/// How the rows of a table are used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Usage {
    /// Any worker reads them, at most `s` clocks old, and adds to them.
    Shared,
    /// One worker at a time holds a block of them and writes it in place. Holds the first row of each block.
    Leased {
        /// First row of each block, ascending, from 0.
        starts: Vec<u32>,
        /// What names the block that a task leases.
        by: LeasedBy,
    },
}

/// What names the block that a task leases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeasedBy {
    /// Block `i` goes with data part `i`.
    Part,
    /// The schedule picks the block (rotation).
    Block,
}

/// Which rows of a shared table a step reads.
#[derive(Clone)]
pub(crate) enum Reads {
    All,
    Rows(Arc<dyn Fn(PartId) -> Vec<u32> + Send + Sync>),
}

type DenseStart<T> = Arc<dyn Fn(usize, &mut [T]) + Send + Sync>;

/// How rows start.
#[derive(Clone)]
enum Start {
    Zero,
    F32(DenseStart<f32>),
    F64(DenseStart<f64>),
    I32(DenseStart<i32>),
}

/// An [`Element`] whose rows can be started by a function.
pub trait Startable: Element {
    #[doc(hidden)]
    fn start(fill: DenseStart<Self>) -> StartOf;
}

#[doc(hidden)]
pub struct StartOf(Start);

macro_rules! startable {
    ($type:ty, $kind:ident) => {
        impl Startable for $type {
            fn start(fill: DenseStart<Self>) -> StartOf {
                StartOf(Start::$kind(fill))
            }
        }
    };
}
startable!(f32, F32);
startable!(f64, F64);
startable!(i32, I32);

impl Table {
    /// A shared table of dense `f32` rows, all zero, updates added.
    pub fn dense(name: impl Into<String>, n_rows: usize, width: usize) -> Self {
        Self::new(name.into(), n_rows, width, false)
    }

    /// A shared table of sparse `f32` rows, all zero, updates added.
    pub fn sparse(name: impl Into<String>, n_rows: usize, width: usize) -> Self {
        Self::new(name.into(), n_rows, width, true)
    }

    fn new(name: String, n_rows: usize, width: usize, sparse: bool) -> Self {
        let page = if sparse { SPARSE_PAGE } else { DENSE_PAGE };
        Self {
            name,
            kind: Kind::F32,
            sparse,
            geometry: Geometry::new(n_rows, width, page),
            page,
            usage: Usage::Shared,
            rule: Rule::Add,
            reads: Reads::All,
            start: Start::Zero,
        }
    }

    /// Holds numbers of type `T` instead of `f32`.
    ///
    /// # Panics
    /// When [`Table::starting`] was called before it.
    #[must_use]
    pub fn of<T: Element>(mut self) -> Self {
        assert!(matches!(self.start, Start::Zero), "say what {} holds before how it starts", self.name);
        self.kind = T::KIND;
        self
    }

    /// Cuts the table into pages of about `elements` elements. Smaller pages read more exactly what a step needs
    /// over a network; larger ones cost fewer look-ups.
    #[must_use]
    pub fn paged(mut self, elements: usize) -> Self {
        self.page = elements;
        self.cut()
    }

    /// Cuts the table into pages. Where updates replace rows a page has one row, so that none is replaced by chance.
    fn cut(mut self) -> Self {
        let page = if matches!(self.rule, Rule::Assign) { self.page.min(self.width()) } else { self.page };
        self.geometry = Geometry::new(self.n_rows(), self.width(), page);
        self
    }

    /// Leases the rows in blocks; block `i` begins at row `starts[i]` and goes with data part `i`.
    ///
    /// # Panics
    /// When `starts` does not ascend from 0 or passes the last row.
    #[must_use]
    pub fn leased_by_part(self, starts: &[u32]) -> Self {
        self.leased(starts, LeasedBy::Part)
    }

    /// Leases the rows in blocks; block `i` begins at row `starts[i]`, and the schedule says who gets it.
    ///
    /// # Panics
    /// When `starts` does not ascend from 0 or passes the last row.
    #[must_use]
    pub fn leased_by_block(self, starts: &[u32]) -> Self {
        self.leased(starts, LeasedBy::Block)
    }

    fn leased(mut self, starts: &[u32], by: LeasedBy) -> Self {
        assert!(starts.first() == Some(&0), "blocks of {} begin at row 0", self.name);
        assert!(starts.is_sorted() && starts.last().is_some_and(|last| *last as usize <= self.n_rows()));
        self.usage = Usage::Leased { starts: starts.to_vec(), by };
        self
    }

    /// Folds updates in by `rule`.
    #[must_use]
    pub fn rule(mut self, rule: Rule) -> Self {
        self.rule = rule;
        self.cut()
    }

    /// Reads only these rows in a step on a part, in any order; all rows otherwise.
    ///
    /// Each worker asks once for each part that it gets. Dense rows that lie each in one page are then read and
    /// updated one by one instead of page by page, and never cached: [`View::gathered`](crate::View::gathered) has
    /// them one after the other. A row that the table does not have, or a panic in `rows`, ends the run by name.
    #[must_use]
    pub fn reading(mut self, rows: impl Fn(PartId) -> Vec<u32> + Send + Sync + 'static) -> Self {
        self.reads = Reads::Rows(Arc::new(rows));
        self
    }

    /// Starts dense rows with `fill(row, values)`, called with the whole row; zero otherwise.
    #[must_use]
    pub fn starting<T: Startable>(mut self, fill: impl Fn(usize, &mut [T]) + Send + Sync + 'static) -> Self {
        assert!(!self.sparse, "sparse rows start empty");
        assert_eq!(self.kind, T::KIND, "{} starts with numbers of its own type", self.name);
        self.start = T::start(Arc::new(fill)).0;
        self
    }

    /// The name that steps know it by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Rows.
    pub fn n_rows(&self) -> usize {
        self.geometry.n_rows()
    }

    /// Numbers in a row, zeros included.
    pub fn width(&self) -> usize {
        self.geometry.width()
    }

    /// Whether its rows are lists of non-zeros.
    pub fn is_sparse(&self) -> bool {
        self.sparse
    }

    /// How its rows are used.
    pub fn usage(&self) -> &Usage {
        &self.usage
    }

    /// Blocks of a leased table; 0 of a shared one.
    pub fn n_blocks(&self) -> usize {
        match &self.usage {
            Usage::Leased { starts, .. } => starts.len(),
            Usage::Shared => 0,
        }
    }

    /// The rows of a block of a leased table.
    ///
    /// # Panics
    /// When the table is shared or has no such block.
    pub fn rows_of(&self, block: BlockId) -> Range<usize> {
        let Usage::Leased { starts, .. } = &self.usage else { panic!("{} is not leased", self.name) };
        let end = starts.get(block.index() + 1).map_or(self.n_rows(), |next| *next as usize);
        starts[block.index()] as usize..end
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    pub(crate) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    pub(crate) fn update_rule(&self) -> &Rule {
        &self.rule
    }

    /// Whether steps read and update single rows instead of pages.
    pub(crate) fn is_read_by_row(&self) -> bool {
        matches!(self.reads, Reads::Rows(_)) && !self.sparse && self.geometry.keeps_rows_whole()
    }

    pub(crate) fn reads(&self) -> &Reads {
        &self.reads
    }

    /// A zero buffer for `n_rows` rows of `width` numbers.
    pub(crate) fn zero(&self, n_rows: usize, width: usize) -> Buffer {
        Buffer::zero(self.kind, self.sparse, n_rows, width)
    }

    /// How many numbers the update rule keeps beside a page, where the shard has to remember something for it.
    pub(crate) fn n_kept(&self, page: PageId) -> Option<usize> {
        let n = self.geometry.rows(page).len() * self.geometry.columns(page).len();
        match &self.rule {
            Rule::Custom(rule) if self.rule.remembers() => Some(rule.n_kept(n)),
            _ => None,
        }
    }

    /// So many dense numbers of the table's element type, all zero.
    pub(crate) fn numbers(&self, n: usize) -> Buffer {
        Buffer::zero(self.kind, false, 1, n)
    }

    /// The starting values of whole rows, cut to `columns`.
    pub(crate) fn start(&self, rows: Range<usize>, columns: Range<usize>) -> Buffer {
        match &self.start {
            Start::Zero => self.zero(rows.len(), columns.len()),
            Start::F32(fill) => filled(fill, rows, columns, self.width()),
            Start::F64(fill) => filled(fill, rows, columns, self.width()),
            Start::I32(fill) => filled(fill, rows, columns, self.width()),
        }
    }
}

fn filled<T: Element>(
    fill: &DenseStart<T>,
    rows: Range<usize>,
    columns: Range<usize>,
    width: usize,
) -> Buffer {
    let mut values = Vec::with_capacity(rows.len() * columns.len());
    let mut whole = vec![T::default(); width];
    for row in rows {
        whole.fill(T::default());
        fill(row, &mut whole);
        values.extend_from_slice(&whole[columns.clone()]);
    }
    T::erase(Content::Dense(values))
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let layout = if self.sparse { "sparse" } else { "dense" };
        write!(f, "{} ({} x {} {layout} {:?})", self.name, self.n_rows(), self.width(), self.kind)
    }
}

/// The rows of a leased block, to look at in an evaluation.
#[derive(Debug)]
pub struct Block<T> {
    pub(crate) rows: Range<usize>,
    pub(crate) width: usize,
    pub(crate) content: Arc<Buffer>,
    pub(crate) of: PhantomData<T>,
}

impl<T: Element> Block<T> {
    fn content(&self) -> &Content<T> {
        T::peek(&self.content).expect("its element type was looked at when it was made")
    }

    /// The rows of the table that the block covers.
    pub fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }

    /// Dense rows, one after the other: `rows().len() × width` numbers.
    pub fn values(&self) -> &[T] {
        self.content().dense()
    }

    /// One dense row, by its number in the block.
    pub fn row(&self, row: usize) -> &[T] {
        &self.content().dense()[row * self.width..(row + 1) * self.width]
    }

    /// One sparse row, by its number in the block.
    pub fn sparse_row(&self, row: usize) -> &SparseRow<T> {
        &self.content().sparse()[row]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "say what t holds before how it starts")]
    fn a_table_does_not_change_its_type_once_it_has_a_start() {
        let _ = Table::dense("t", 1, 1).starting(|_, row: &mut [f32]| row.fill(1.0)).of::<f64>();
    }
}
