use std::fmt::Debug;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::clock::Clock;
use crate::id::{BlockId, PageId, PartId, ShardId, TableId, VariableId, WorkerId};
use crate::message::*;
use crate::traffic::Traffic;
use crate::values::{Buffer, Content};

/// Across and back, compared by what debug says: NaN and all.
fn same<T: Form + Clone + Debug>(value: &T) {
    let back: T = Parts::of(value.clone()).received().read().expect("it reads as it was written");
    assert_eq!(format!("{back:?}"), format!("{value:?}"));
}

fn buffer() -> impl Strategy<Value = Buffer> {
    use proptest::collection::vec;
    prop_oneof![
        vec(any::<f32>(), 0..9).prop_map(|v| Buffer::F32(Content::Dense(v))),
        vec(any::<f64>(), 0..9).prop_map(|v| Buffer::F64(Content::Dense(v))),
        vec(any::<i32>(), 0..9).prop_map(|v| Buffer::I32(Content::Dense(v))),
        vec(vec((any::<u32>(), any::<f32>()), 0..4), 0..4).prop_map(|v| Buffer::F32(Content::Sparse(v))),
        vec(vec((any::<u32>(), any::<i32>()), 0..4), 0..4).prop_map(|v| Buffer::I32(Content::Sparse(v))),
    ]
}

fn push(rows: &Buffer, n: u32) -> Push {
    let (table, shared) = (TableId(n as u16), Arc::new(rows.clone()));
    Push {
        worker: WorkerId(n),
        sequence: u64::from(n),
        clock: Clock(3),
        deltas: vec![Page { table, page: PageId(n), seen: 0, rows: Arc::clone(&shared) }],
        batches: vec![RowBatch { table, rows: Arc::new(vec![n, 7]), values: Arc::clone(&shared) }],
        returns: vec![Lease {
            table,
            block: BlockId(n),
            version: Version(Some((WorkerId(n), 3))),
            rows: shared,
        }],
    }
}

proptest! {
    #[test]
    fn what_carries_rows_comes_back(rows in buffer(), n: u32, ticket: u64) {
        let Push { deltas: pages, batches, returns: leases, .. } = push(&rows, n);
        same(&push(&rows, n));
        let (applied, copies) = (Arc::new(vec![ticket, 0]), leases.clone());
        let withheld = pages.iter().map(|page| (page.table, page.page)).collect();
        let (shard, min) = (ShardId(n), Clock(ticket));
        let (known_leases, known_copies) = (vec![(TableId(2), BlockId(n))], vec![(TableId(3), BlockId(n))]);
        same(&Rows {
            shard, ticket, min, applied, pages, withheld, batches, leases, copies, known_leases, known_copies,
        });
        let snapshot = Snapshot { pages: vec![(PageId(n), Arc::new(rows.clone()))], kept: vec![(PageId(n), rows.clone())], blocks: vec![(BlockId(n), rows)] };
        same(&Some(snapshot));
        same(&None::<Snapshot>);
    }

    #[test]
    fn what_steers_comes_back(
        n: u32, clock: u64, some: bool, orders in proptest::collection::vec(any::<f64>(), 0..4), why: String
    ) {
        let (worker, clock, variables) = (WorkerId(n), Clock(clock), vec![VariableId(n); orders.len()]);
        let task = Task { block: some.then_some(BlockId(n)), variables, orders: orders.clone(), ..Task::train(PartId(n)) };
        let commits = vec![(ShardId(n), clock.0)];
        same(&Assign { clock, min: clock, staleness: some.then_some(clock.0), commits, flush: some, task });
        same(&Pull {
            worker, ticket: clock.0, need: clock, after: clock.0, commits: clock.0,
            pages: vec![(TableId(1), PageId(n))],
            rows: vec![(TableId(1), Arc::new(vec![n]))], leases: vec![(TableId(2), BlockId(n))], copies: vec![],
            known: vec![((TableId(2), BlockId(n)), Version(some.then_some((worker, clock.0))))], subscribe: some,
        });
        let (priorities, values) = (vec![(VariableId(n), f32::NAN)], vec![(VariableId(n), 1.0)]);
        let findings = Findings { cost: -0.5, sums: orders, priorities, values };
        for result in [Ok(findings), Err(Failure::Again(why.clone())), Err(Failure::Fatal(why))] {
            let (computed, staleness) = (clock.0, clock.0);
            let traffic = Traffic { pull: 1, push: 2, rows: 3, eager: n.into() };
            let (waited, pushed) = (0, vec![ShardId(n)]);
            same(&Report { worker, generation: n, clock, result, computed, waited, staleness, keeps: some, pushed, traffic });
        }
        same(&Applied { shard: ShardId(n), sequence: clock.0, backup: some });
        same(&Commit { worker, clock });
        same(&Got { worker });
        same(&Advance { min: clock });
        same(&Join { worker, generation: n });
        same(&Stop);
        same(&Snap { table: TableId(n as u16), need: clock });
    }

    /// Heads and segments that do not belong together are refused, never a panic.
    #[test]
    fn a_changed_message_is_refused_or_another(rows in buffer(), at: proptest::sample::Index, byte: u8, lost: bool) {
        let mut parts = Parts::of(push(&rows, 5));
        let at = at.index(parts.head.len());
        parts.head[at] = byte;
        if lost {
            parts.segments.pop();
        }
        let read = parts.received().read::<Push>();
        prop_assert!(!lost || read.is_err());
    }

    #[test]
    fn garbage_is_refused(head: Vec<u8>, segments in proptest::collection::vec(any::<Vec<u32>>(), 0..3)) {
        let filled = || segments.iter().cloned().map(Filled::U32).collect();
        Received::new(head.clone(), filled()).read::<Rows>().ok();
        Received::new(head.clone(), filled()).read::<Report>().ok();
        Received::new(head, filled()).read::<Option<Snapshot>>().ok();
    }
}

#[test]
fn bulk_stays_out_of_the_head() {
    let rows = Buffer::F32(Content::Dense(vec![0.5; 1 << 18]));
    let parts = Parts::of(push(&rows, 1));
    assert!(parts.head.len() < 200, "{}", parts.head.len());
    assert_eq!(parts.bulk_bytes(), (3 << 20) + 8);
}

#[test]
fn what_is_left_over_is_an_error() {
    let mut parts = Parts::of(Advance { min: Clock(1) });
    parts.segments.push(Segment::U32(Arc::new(vec![1])));
    assert_eq!(parts.received().read::<Advance>().unwrap_err().to_string(), "1 segments are left over");
    parts.segments.clear();
    parts.head.push(0);
    assert_eq!(parts.received().read::<Advance>().unwrap_err().to_string(), "its head has 1 bytes too many");
}

#[test]
fn names_have_different_numbers() {
    let names = [
        Assign::NAME,
        Report::NAME,
        Join::NAME,
        Advance::NAME,
        Stop::NAME,
        Pull::NAME,
        Rows::NAME,
        Push::NAME,
        Got::NAME,
    ];
    let ids: std::collections::BTreeSet<_> = names.into_iter().map(name_id).collect();
    assert_eq!(ids.len(), names.len());
}
