//! The state of a run between two steps, as a value.

use std::collections::{BTreeMap, BTreeSet};

use crate::clock::Clock;
use crate::id::{BlockId, PageId, ShardId, TableId, WorkerId};
use crate::message::Snapshot;
use crate::monitor::Progress;
use crate::placement::Placement;
use crate::scheduler::WorkerRecord;
use crate::table::{Table, Usage};
use crate::values::{Buffer, Content, Element};

/// All that a run needs to go on: taken when nothing is in flight. Pages share memory with the shards they came from.
#[derive(Debug, Clone, Default)]
pub struct Saved {
    /// All rows of every table, in the order of declaration.
    pub tables: Vec<Snapshot>,
    /// The state of the schedule, as it gave it.
    pub schedule: Vec<u8>,
    /// The clocks that everyone has finished: where every worker goes on.
    pub clock: Clock,
    /// Training time so far in seconds.
    pub seconds: f64,
    /// The oldest read since the last line of history, in clocks.
    pub staleness: u64,
    /// The passes and evaluations so far.
    pub history: Vec<Progress>,
    /// What each worker did so far.
    pub records: BTreeMap<WorkerId, WorkerRecord>,
}

impl Saved {
    /// The pages and blocks that `placement` gives to `shard`.
    pub fn share_of(&self, shard: ShardId, placement: Placement) -> Vec<(TableId, Snapshot)> {
        let share = |(number, table): (usize, &Snapshot)| {
            let id = TableId::at(number);
            let pages = table.pages.iter().filter(|(page, _)| placement.of_page(id, *page) == shard);
            let blocks = table.blocks.iter().filter(|(block, _)| placement.of_block(*block) == shard);
            let kept = table.kept.iter().filter(|(page, _)| placement.of_page(id, *page) == shard);
            let (pages, kept) = (pages.cloned().collect(), kept.cloned().collect());
            (id, Snapshot { pages, kept, blocks: blocks.cloned().collect() })
        };
        self.tables.iter().enumerate().map(share).collect()
    }

    /// Checks that it has the rows of these tables, each once and of the right size.
    ///
    /// # Errors
    /// A sentence about the first table that is not as declared.
    pub fn check(&self, tables: &[Table]) -> Result<(), String> {
        if self.tables.len() != tables.len() {
            return Err(format!("it has {} tables, the job has {}", self.tables.len(), tables.len()));
        }
        let pairs = || self.tables.iter().zip(tables);
        match pairs().find(|(saved, table)| !is_whole(saved, table)) {
            Some((_, table)) => Err(format!("the rows of table {} are not all there", table.name())),
            None => Ok(()),
        }
    }

    /// The first table with a number that is none (NaN), if there is one: nobody wants to go on from there.
    pub fn damaged(&self) -> Option<usize> {
        let damaged = |table: &Snapshot| {
            table.pages.iter().any(|(_, rows)| rows.has_nan())
                || table.kept.iter().any(|(_, numbers)| numbers.has_nan())
                || table.blocks.iter().any(|(_, rows)| rows.has_nan())
        };
        self.tables.iter().position(damaged)
    }
}

fn is_whole(saved: &Snapshot, table: &Table) -> bool {
    let geometry = table.geometry();
    let n_pages = if *table.usage() == Usage::Shared { geometry.n_pages() } else { 0 };
    let pages: BTreeSet<PageId> = saved.pages.iter().map(|(page, _)| *page).collect();
    let blocks: BTreeSet<BlockId> = saved.blocks.iter().map(|(block, _)| *block).collect();
    let all = (saved.pages.len(), saved.blocks.len()) == (n_pages, table.n_blocks())
        && pages.iter().copied().eq((0..n_pages).map(PageId::at))
        && blocks.iter().copied().eq((0..table.n_blocks()).map(BlockId::at));
    all && is_kept(saved, table)
        && saved
            .pages
            .iter()
            .all(|(page, rows)| fits(rows, table, geometry.rows(*page).len(), geometry.columns(*page).len()))
        && saved
            .blocks
            .iter()
            .all(|(block, rows)| fits(rows, table, table.rows_of(*block).len(), table.width()))
}

/// Whether the numbers beside pages are those that the table's update rule keeps.
fn is_kept(saved: &Snapshot, table: &Table) -> bool {
    let pages: BTreeSet<PageId> = saved.kept.iter().map(|(page, _)| *page).collect();
    let n_having = if table.update_rule().remembers() { saved.pages.len() } else { 0 };
    let fit =
        |(page, numbers): &(PageId, Buffer)| table.n_kept(*page).is_some_and(|n| fits(numbers, table, 1, n));
    (pages.len(), saved.kept.len()) == (n_having, n_having) && saved.kept.iter().all(fit)
}

/// Whether a buffer holds so many rows of a table, cut to `width` columns.
fn fits(rows: &Buffer, table: &Table, n_rows: usize, width: usize) -> bool {
    rows.kind() == table.kind()
        && match rows {
            Buffer::F32(content) => content_fits(content, table.is_sparse(), n_rows, width),
            Buffer::F64(content) => content_fits(content, table.is_sparse(), n_rows, width),
            Buffer::I32(content) => content_fits(content, table.is_sparse(), n_rows, width),
        }
}

fn content_fits<T: Element>(content: &Content<T>, sparse: bool, n_rows: usize, width: usize) -> bool {
    match content {
        Content::Dense(values) => !sparse && values.len() == n_rows * width,
        Content::Sparse(rows) => sparse && rows.len() == n_rows,
    }
}
