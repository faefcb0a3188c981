//! What is refused by name: tasks that no shard could ever serve, since a pull for them would wait for ever, and costs
//! that are not finite.

use crate::message::{Assign, Failure, Findings, Phase, Task};
use crate::table::{LeasedBy, Table, Usage};

/// Why a task cannot lease what it asks for, if it cannot.
pub(super) fn refusal(tables: &[Table], task: &Task) -> Option<String> {
    tables.iter().find_map(|table| refused_by(table, task))
}

fn refused_by(table: &Table, task: &Task) -> Option<String> {
    let (part, name) = (task.part, table.name());
    let block = match table.usage() {
        Usage::Shared => None,
        Usage::Leased { by: LeasedBy::Part, .. } => Some(part.0),
        Usage::Leased { by: LeasedBy::Block, .. } if task.phase == Phase::Evaluate => None,
        Usage::Leased { by: LeasedBy::Block, .. } => task.block.map(|block| block.0),
    };
    let (block, n_blocks) = (block?, table.n_blocks());
    (block as usize >= n_blocks)
        .then(|| format!("part {part} leases block {block} of {name}, which has {n_blocks} blocks"))
}

/// A cost that is not finite ends the run.
pub(super) fn checked(result: Result<Findings, String>, assign: &Assign) -> Result<Findings, Failure> {
    let findings = result.map_err(Failure::Fatal)?;
    if findings.cost.is_finite() {
        return Ok(findings);
    }
    let (cost, part, clock) = (findings.cost, assign.task.part, assign.clock);
    Err(Failure::Fatal(format!("the objective of part {part} is {cost} at clock {clock}: the run diverged")))
}
