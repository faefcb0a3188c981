//! What a step needs: pages and rows of shared tables, blocks of leased ones.

use std::sync::Arc;

use crate::gathered;
use crate::id::{BlockId, BlockKey, PageId, PageKey, PartId, ShardId, TableId};
use crate::message::{Phase, Task};
use crate::placement::Placement;
use crate::table::{LeasedBy, Reads, Table, Usage};

/// What steps on a part read.
pub(super) struct Needs {
    /// Pages of the tables that are read by page.
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
    /// Of steps on `part`.
    pub(super) fn of(part: PartId, tables: &[Table], placement: Placement) -> Self {
        let mut needs = Self { pages: Vec::new(), rows: Vec::new() };
        let shared = tables.iter().enumerate().filter(|(_, table)| *table.usage() == Usage::Shared);
        for (number, table) in shared {
            let id = TableId::at(number);
            let pages = match table.reads() {
                Reads::All => (0..table.geometry().n_pages()).map(PageId::at).collect(),
                Reads::Rows(rows) if table.is_read_by_row() => {
                    let mut all = rows(part);
                    all.sort_unstable();
                    all.dedup();
                    let by_shard = gathered::by_shard(table, id, &all, placement);
                    needs.rows.push(RowNeeds { table: id, all: Arc::new(all), by_shard });
                    continue;
                }
                Reads::Rows(rows) => table.geometry().covering(&rows(part)),
            };
            needs.pages.extend(pages.into_iter().map(|page| (id, page)));
        }
        needs
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
