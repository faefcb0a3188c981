//! Every message reads as it was written.

use std::fmt::Debug;
use std::sync::Arc;

use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use slackline::id::{BlockId, PageId, ShardId, TableId, VariableId, WorkerId};
use slackline::message::*;
use slackline::values::{Buffer, Content};
use slackline::{Clock, PartId};

/// Through MessagePack and back, compared by what debug says: NaN and all.
fn same<M: Serialize + DeserializeOwned + Debug>(message: &M) {
    for bytes in [rmp_serde::to_vec_named(message), rmp_serde::to_vec(message)] {
        let back: M = rmp_serde::from_slice(&bytes.expect("it is written")).expect("it is read");
        assert_eq!(format!("{back:?}"), format!("{message:?}"));
    }
}

fn buffer() -> impl Strategy<Value = Buffer> {
    let sparse =
        || proptest::collection::vec(proptest::collection::vec((any::<u32>(), any::<f32>()), 0..4), 0..4);
    prop_oneof![
        proptest::collection::vec(any::<f32>(), 0..9).prop_map(|v| Buffer::F32(Content::Dense(v))),
        proptest::collection::vec(any::<f64>(), 0..9).prop_map(|v| Buffer::F64(Content::Dense(v))),
        proptest::collection::vec(any::<i32>(), 0..9).prop_map(|v| Buffer::I32(Content::Dense(v))),
        sparse().prop_map(|rows| Buffer::F32(Content::Sparse(rows))),
    ]
}

proptest! {
    #[test]
    fn what_carries_rows_reads_as_it_was_written(rows in buffer(), n: u32, clock: u64, sequence: u64) {
        let (worker, shard, clock, table) = (WorkerId(n), ShardId(n), Clock(clock), TableId(n as u16));
        let page = Page { table, page: PageId(n), rows: Arc::new(rows.clone()) };
        let batch = RowBatch { table, rows: Arc::new(vec![n]), values: Arc::new(rows.clone()) };
        let batches = vec![batch.clone()];
        let lease = Lease { table, block: BlockId(n), rows };
        same(&Push { worker, sequence, clock, deltas: vec![page.clone()], batches: vec![batch.clone()], returns: vec![lease.clone()] });
        let applied = Arc::new(vec![sequence, 0]);
        let (pages, leases, copies) = (vec![page.clone(), page], vec![lease.clone()], vec![lease.clone()]);
        same(&Rows { shard, ticket: sequence, min: clock, applied, pages, batches, leases, copies });
        same(&Snapshot { pages: vec![(PageId(n), Arc::new(lease.rows.clone()))], blocks: vec![(BlockId(n), lease.rows)] });
    }

    #[test]
    fn what_steers_reads_as_it_was_written(
        n: u32, clock: u64, some: bool, orders in proptest::collection::vec(any::<f64>(), 0..4), why: String
    ) {
        let (worker, clock) = (WorkerId(n), Clock(clock));
        let task = Task {
            block: some.then_some(BlockId(n)), variables: vec![VariableId(n)], orders: orders.clone(),
            ..if some { Task::train(PartId(n)) } else { Task::evaluate(PartId(n)) }
        };
        same(&Assign { clock, min: clock, task });
        let key = (TableId(1), PageId(n));
        let block = (TableId(2), BlockId(n));
        same(&Pull {
            worker, ticket: clock.0, need: clock, after: clock.0, pages: vec![key], rows: vec![(TableId(1), Arc::new(vec![n]))], leases: vec![block],
            copies: vec![block], subscribe: some,
        });
        let findings = Findings {
            cost: -0.5, sums: orders, priorities: vec![(VariableId(n), f32::NAN)], values: vec![(VariableId(n), 1.0)],
        };
        for result in [Ok(findings), Err(Failure::Again(why.clone())), Err(Failure::Fatal(why))] {
            same(&Report { worker, generation: n, clock, result, computed: clock.0, waited: 0, staleness: clock.0 });
        }
        same(&Applied { shard: ShardId(n), sequence: clock.0, backup: n % 2 == 0 });
        same(&Commit { worker, clock });
        same(&Advance { min: clock });
        same(&Join { worker, generation: n });
    }

    #[test]
    fn messages_that_hold_no_rows_read_too(n: u16) {
        same(&Stop);
        same(&Snap { table: TableId(n), need: Clock(u64::from(n)) });
    }
}
