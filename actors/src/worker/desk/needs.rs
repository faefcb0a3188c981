//! What a step needs: pages and rows of shared tables, blocks of leased ones.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::gathered;
use crate::id::{BlockId, BlockKey, PageId, PageKey, PartId, ShardId, TableId};
use crate::message::{Phase, Task};
use crate::placement::Placement;
use crate::table::{LeasedBy, Reads, Table, Usage};

/// What steps on a part read.
pub(super) struct Needs {
    /// Pages of the tables that every step reads whole: one list for all parts.
    pub(super) whole: Arc<Vec<PageKey>>,
    /// Pages of the other tables that are read by page.
    pub(super) pages: Vec<PageKey>,
    /// The rows of each table that is read by row.
    pub(super) rows: Vec<RowNeeds>,
}

/// The rows of one table, ascending.
pub(super) struct RowNeeds {
    pub(super) table: TableId,
    pub(super) all: Arc<Vec<u32>>,
    /// Those of each shard that has some.
    pub(super) by_shard: Vec<(ShardId, Arc<Vec<u32>>)>,
}

impl Needs {
    /// Of steps on `part`; `whole` is [`whole`] of the same tables.
    ///
    /// # Errors
    /// When the app names rows that there are not, or cannot say which.
    pub(super) fn of(
        part: PartId,
        whole: &Arc<Vec<PageKey>>,
        tables: &[Table],
        placement: Placement,
    ) -> Result<Self, String> {
        let mut needs = Self { whole: Arc::clone(whole), pages: Vec::new(), rows: Vec::new() };
        for (id, table) in shared(tables) {
            let Some(mut rows) = rows_read(table, part)? else { continue };
            if table.is_read_by_row() {
                rows.sort_unstable();
                rows.dedup();
                let by_shard = gathered::by_shard(table, id, &rows, placement);
                needs.rows.push(RowNeeds { table: id, all: Arc::new(rows), by_shard });
            } else {
                let pages = table.geometry().covering(&rows);
                needs.pages.extend(pages.into_iter().map(|page| (id, page)));
            }
        }
        Ok(needs)
    }
}

/// The pages of the tables that every step reads whole.
pub(super) fn whole(tables: &[Table]) -> Arc<Vec<PageKey>> {
    let whole = shared(tables).filter(|(_, table)| matches!(table.reads(), Reads::All));
    let pages = |(id, table): (TableId, &Table)| {
        (0..table.geometry().n_pages()).map(move |page| (id, PageId::at(page)))
    };
    Arc::new(whole.flat_map(pages).collect())
}

fn shared(tables: &[Table]) -> impl Iterator<Item = (TableId, &Table)> {
    let tables = tables.iter().enumerate().map(|(number, table)| (TableId::at(number), table));
    tables.filter(|(_, table)| *table.usage() == Usage::Shared)
}

/// The rows of a table that steps on a part read, as the app says; `None` for all.
fn rows_read(table: &Table, part: PartId) -> Result<Option<Vec<u32>>, String> {
    let Reads::Rows(rows) = table.reads() else { return Ok(None) };
    let (name, n_rows) = (table.name(), table.n_rows());
    let rows = catch_unwind(AssertUnwindSafe(|| rows(part)))
        .map_err(|_| format!("the app panicked when asked which rows of {name} part {part} reads"))?;
    match rows.iter().find(|row| **row as usize >= n_rows) {
        Some(outside) => Err(format!("part {part} reads row {outside} of {name}, which has {n_rows} rows")),
        None => Ok(Some(rows)),
    }
}

/// The blocks that a task leases, and those that it looks at.
pub(super) fn blocks(task: &Task, tables: &[Table]) -> [Vec<BlockKey>; 2] {
    let (mut leases, mut copies) = (Vec::new(), Vec::new());
    for (number, table) in tables.iter().enumerate() {
        let id = TableId::at(number);
        match table.usage() {
            Usage::Leased { by: LeasedBy::Part, .. } => {
                leases.extend(task.parts().map(|part| (id, BlockId(part.0))));
            }
            Usage::Leased { by: LeasedBy::Block, .. } if task.phase == Phase::Evaluate => {
                copies.extend((0..table.n_blocks()).map(|block| (id, BlockId::at(block))));
            }
            Usage::Leased { by: LeasedBy::Block, .. } => leases.extend(task.block.map(|block| (id, block))),
            Usage::Shared => {}
        }
    }
    [leases, copies]
}
