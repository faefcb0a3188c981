//! Tasks that no shard could ever serve: refused by name, since a pull for them would wait for ever.

use crate::message::{Phase, Task};
use crate::table::{LeasedBy, Reads, Table, Usage};

/// Why a task cannot be done with these tables, if it cannot. The rows that a part reads are looked at if it `is_new`.
pub(super) fn refusal(tables: &[Table], task: &Task, is_new: bool) -> Option<String> {
    tables.iter().find_map(|table| refused_by(table, task, is_new))
}

fn refused_by(table: &Table, task: &Task, is_new: bool) -> Option<String> {
    let (part, name) = (task.part, table.name());
    let block = match table.usage() {
        Usage::Shared if is_new => return row_outside(table, task),
        Usage::Shared => None,
        Usage::Leased { by: LeasedBy::Part, .. } => Some(part.0),
        Usage::Leased { by: LeasedBy::Block, .. } if task.phase == Phase::Evaluate => None,
        Usage::Leased { by: LeasedBy::Block, .. } => task.block.map(|block| block.0),
    };
    let (block, n_blocks) = (block?, table.n_blocks());
    (block as usize >= n_blocks)
        .then(|| format!("part {part} leases block {block} of {name}, which has {n_blocks} blocks"))
}

fn row_outside(table: &Table, task: &Task) -> Option<String> {
    let Reads::Rows(rows) = table.reads() else { return None };
    let (part, name, n_rows) = (task.part, table.name(), table.n_rows());
    let outside = rows(part).into_iter().find(|row| *row as usize >= n_rows)?;
    Some(format!("part {part} reads row {outside} of {name}, which has {n_rows} rows"))
}
