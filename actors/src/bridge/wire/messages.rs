//! The messages of the ring, as they cross.
//!
//! What must keep its order travels in one lane: a clock's `Advance` after its pushes matters only to shards, which
//! wait for acknowledged pushes anyway, so control is free to overtake bulk.

use std::sync::Arc;

use super::{Lane, form, wire};
use crate::clock::Clock;
use crate::id::{BlockId, BlockKey, PageId, PageKey, PartId, ShardId, TableId, VariableId, WorkerId};
use crate::message::{
    Advance, Applied, Assign, Commit, Failure, Findings, Got, Join, Lease, Page, Phase, Pull, Push, Report,
    Restore, RowBatch, Rows, Snap, Snapshot, Stop, Task, Version,
};
use crate::traffic::Traffic;
use crate::values::Buffer;

form!(Task,
    plain { part: PartId, with: Vec<PartId>, block: Option<BlockId>, phase: Phase, fresh: bool },
    bulk { variables: Vec<VariableId>, orders: Vec<f64> });
form!(Findings,
    plain { cost: f64 },
    bulk { sums: Vec<f64>, priorities: Vec<(VariableId, f32)>, values: Vec<(VariableId, f64)> });
form!(Page, plain { table: TableId, page: PageId, seen: u64 }, bulk { rows: Arc<Buffer> });
form!(RowBatch, plain { table: TableId }, bulk { rows: Arc<Vec<u32>>, values: Arc<Buffer> });
form!(Lease, plain { table: TableId, block: BlockId, version: Version }, bulk { rows: Arc<Buffer> });
form!(Snapshot, plain {},
    bulk { pages: Vec<(PageId, Arc<Buffer>)>, kept: Vec<(PageId, Buffer)>, blocks: Vec<(BlockId, Buffer)> });

wire!(Assign, "assign/1", Lane::Control,
    plain { clock: Clock, min: Clock, staleness: Option<u64>, commits: Vec<(ShardId, u64)>, flush: bool },
    bulk { task: Task });
wire!(Report, "report/1", Lane::Control,
    plain {
        worker: WorkerId, generation: u32, clock: Clock, computed: u64, waited: u64, staleness: u64, keeps: bool,
        pushed: Vec<ShardId>, traffic: Traffic,
    },
    bulk { result: Result<Findings, Failure> });
wire!(Join, "join/1", Lane::Control);
wire!(Advance, "advance/1", Lane::Control);
wire!(Commit, "commit/1", Lane::Control);
wire!(Stop, "stop/1", Lane::Control);

wire!(Pull, "pull/1", Lane::Bulk,
    plain {
        worker: WorkerId, ticket: u64, need: Clock, after: u64, commits: u64, pages: Vec<PageKey>, leases: Vec<BlockKey>,
        copies: Vec<BlockKey>, known: Vec<(BlockKey, Version)>, subscribe: bool,
    },
    bulk { rows: Vec<(TableId, Arc<Vec<u32>>)> });
wire!(Rows, "rows/1", Lane::Bulk,
plain {
    shard: ShardId, ticket: u64, min: Clock, withheld: Vec<PageKey>, known_leases: Vec<BlockKey>,
    known_copies: Vec<BlockKey>,
},
bulk {
    applied: Arc<Vec<u64>>, pages: Vec<Page>, batches: Vec<RowBatch>, leases: Vec<Lease>, copies: Vec<Lease>,
});
wire!(Push, "push/1", Lane::Bulk,
    plain { worker: WorkerId, sequence: u64, clock: Clock },
    bulk { deltas: Vec<Page>, batches: Vec<RowBatch>, returns: Vec<Lease> });
wire!(Applied, "applied/1", Lane::Bulk);
wire!(Got, "got/1", Lane::Bulk);
wire!(Snap, "snap/1", Lane::Bulk);
wire!(Restore, "restore/1", Lane::Bulk, plain { min: Clock }, bulk { tables: Vec<(TableId, Snapshot)> });
