mod rules;

use super::*;
use crate::id::{PageId, PageKey, TableId};
use crate::message::{Got, Lease, Version};
use crate::rule::Rule;
use crate::values::{Buffer, Content};
use proptest::prelude::*;

const PAGE: PageKey = (TableId(0), PageId(0));
const BLOCK: (TableId, BlockId) = (TableId(1), BlockId(0));
const A: WorkerId = WorkerId(0);
const B: WorkerId = WorkerId(1);

/// One shared row of one number, and two leased blocks of a row each.
fn store(consistency: Consistency) -> Store {
    store_with(consistency, Rule::Add)
}

fn store_with(consistency: Consistency, rule: Rule) -> Store {
    let shared = Table::dense("sum", 1, 1).rule(rule);
    let leased = Table::dense("blocks", 2, 1).leased_by_block(&[0, 1]);
    Store::new(ShardId(0), Placement::over(1), Arc::new(vec![shared, leased]), consistency)
}

fn number(value: f32) -> Buffer {
    Buffer::F32(Content::Dense(vec![value]))
}

fn read(rows: &Buffer) -> f32 {
    let Buffer::F32(Content::Dense(values)) = rows else { panic!("dense f32") };
    values[0]
}

fn add(worker: WorkerId, sequence: u64, clock: u64, value: f32) -> Push {
    let delta = Page { table: PAGE.0, page: PAGE.1, seen: 0, rows: Arc::new(number(value)) };
    Push {
        worker,
        sequence,
        clock: Clock(clock),
        deltas: vec![delta],
        batches: Vec::new(),
        returns: Vec::new(),
    }
}

fn give_back(worker: WorkerId, sequence: u64, value: f32) -> Push {
    let lease =
        Lease { table: BLOCK.0, block: BLOCK.1, version: Version::default(), rows: Arc::new(number(value)) };
    Push { worker, sequence, clock: Clock(0), deltas: Vec::new(), batches: Vec::new(), returns: vec![lease] }
}

fn pull(worker: WorkerId, ticket: u64, need: u64) -> Pull {
    Pull {
        worker,
        ticket,
        need: Clock(need),
        after: 0,
        commits: 0,
        pages: vec![PAGE],
        rows: Vec::new(),
        leases: Vec::new(),
        copies: Vec::new(),
        known: Vec::new(),
        subscribe: false,
    }
}

fn lease(worker: WorkerId, ticket: u64) -> Pull {
    Pull { pages: Vec::new(), leases: vec![BLOCK], ..pull(worker, ticket, 0) }
}

fn min(clock: u64) -> Advance {
    Advance { min: Clock(clock) }
}

/// The rows among what a shard sends: to whom, under which ticket, and the shared number if it is there.
fn rows(out: impl IntoIterator<Item = Outgoing>) -> Vec<(WorkerId, u64, Option<f32>)> {
    let row = |out| match out {
        Outgoing::Rows(worker, rows) => {
            Some((worker, rows.ticket, rows.pages.first().map(|page| read(&page.rows))))
        }
        _ => None,
    };
    out.into_iter().filter_map(row).collect()
}

fn snap(table: TableId, need: u64) -> Snap {
    Snap { table, need: Clock(need) }
}

/// The shared number as a snapshot shows it.
fn value(store: &mut Store) -> f32 {
    match store.snapshot(0, snap(PAGE.0, 0)).pop() {
        Some(Outgoing::Snapshot(0, snapshot)) => read(&snapshot.pages[0].1),
        other => panic!("nothing is out, so the snapshot is there at once, not {other:?}"),
    }
}

#[test]
fn a_pull_waits_until_everyone_finished_the_clocks_it_needs() {
    let mut store = store(Consistency::Ssp(1));
    assert_eq!(rows(store.pull(pull(A, 1, 2))), []);
    store.push(add(B, 1, 0, 5.0));
    assert_eq!(rows(store.advance(min(1))), []);
    assert_eq!(rows(store.advance(min(2))), [(A, 1, Some(5.0))]);
    assert_eq!(rows(store.advance(min(3))), [], "a pull is answered once");
}

#[test]
fn parked_pulls_are_answered_the_oldest_first() {
    let mut store = store(Consistency::Ssp(1));
    for (worker, ticket) in [(B, 9), (A, 1), (B, 10)] {
        store.pull(pull(worker, ticket, 1));
    }
    let answered: Vec<_> = rows(store.advance(min(1))).iter().map(|(w, t, _)| (*w, *t)).collect();
    assert_eq!(answered, [(B, 9), (A, 1), (B, 10)]);
}

#[test]
fn a_push_that_arrives_twice_is_acknowledged_twice_and_applied_once() {
    let mut store = store(Consistency::Ssp(1));
    let push = add(A, 1, 0, 2.0);
    for _ in 0..2 {
        let out = store.push(push.clone());
        assert!(matches!(out[..], [Outgoing::Applied(A, Applied { sequence: 1, .. })]));
    }
    assert_eq!(value(&mut store), 2.0);
}

#[test]
#[should_panic(expected = "arrive in order")]
fn a_push_that_skips_a_number_is_a_broken_invariant() {
    store(Consistency::Ssp(1)).push(add(A, 2, 0, 1.0));
}

#[test]
fn an_old_advance_changes_nothing() {
    let mut store = store(Consistency::Bsp);
    store.advance(min(3));
    store.advance(min(1));
    assert_eq!(rows(store.pull(pull(A, 1, 3))).len(), 1);
}

#[test]
fn under_bsp_an_update_is_invisible_until_its_clock_is_over() {
    let mut store = store(Consistency::Bsp);
    store.push(add(A, 1, 0, 1.0));
    assert_eq!(rows(store.pull(pull(B, 1, 0))), [(B, 1, Some(0.0))]);
    store.advance(min(1));
    assert_eq!(rows(store.pull(pull(B, 2, 1))), [(B, 2, Some(1.0))]);
}

#[test]
fn a_reader_keeps_the_row_it_read_while_the_shard_goes_on() {
    let mut store = store(Consistency::Ssp(0));
    let Some(Outgoing::Rows(_, before)) = store.pull(pull(A, 1, 0)) else { panic!("nothing to wait for") };
    store.push(add(B, 1, 0, 1.0));
    assert_eq!(read(&before.pages[0].rows), 0.0);
    assert_eq!(value(&mut store), 1.0);
}

#[test]
fn under_essp_a_reader_is_sent_what_changed_when_min_advances() {
    let mut store = store(Consistency::Essp(2));
    store.pull(Pull { subscribe: true, ..pull(A, 1, 0) });
    store.push(add(B, 1, 0, 4.0));
    assert_eq!(rows(store.advance(min(1))), [(A, 0, Some(4.0))]);
    assert_eq!(rows(store.got(Got { worker: A })), []);
    assert_eq!(rows(store.advance(min(2))), [(A, 0, None)], "nothing changed: only the clock is sent");
}

#[test]
fn one_eager_message_at_a_time_is_under_way_and_the_next_one_has_all_that_changed_meanwhile() {
    let mut store = store(Consistency::Essp(2));
    store.pull(Pull { subscribe: true, ..pull(A, 1, 0) });
    assert_eq!(rows(store.advance(min(1))), [(A, 0, None)]);
    store.push(add(B, 1, 1, 4.0));
    assert_eq!(rows(store.advance(min(2))), [], "the one before has not arrived");
    store.push(add(B, 2, 2, 3.0));
    assert_eq!(rows(store.advance(min(3))), []);
    assert_eq!(rows(store.got(Got { worker: A })), [(A, 0, Some(7.0))]);
    assert_eq!(rows(store.got(Got { worker: A })), [], "min has not risen since");
}

#[test]
fn under_bounded_error_a_small_change_is_withheld_until_it_is_large_or_old() {
    let mut store = store(Consistency::BoundedError { error: 0.5, s: 4 });
    store.push(add(B, 1, 0, 10.0));
    store.pull(Pull { subscribe: true, ..pull(A, 1, 0) });
    store.push(add(B, 2, 0, 1.0));
    let Some(Outgoing::Rows(_, eager)) = store.advance(min(1)).pop() else { panic!("A reads") };
    assert_eq!((eager.pages.len(), &eager.withheld[..]), (0, &[PAGE][..]));
    store.push(add(B, 3, 1, 12.0));
    store.got(Got { worker: A });
    assert_eq!(
        rows(store.advance(min(2))),
        [(A, 0, Some(23.0))],
        "together they are over half of what is there"
    );
    store.push(add(B, 4, 2, 1.0));
    store.got(Got { worker: A });
    assert_eq!(rows(store.advance(min(3))), [(A, 0, None)]);
    store.got(Got { worker: A });
    assert_eq!(rows(store.advance(min(4))), [(A, 0, Some(24.0))], "half of s clocks old");
}

#[test]
fn what_is_over_the_budget_waits_and_a_pull_does_not() {
    let mut store = store(Consistency::Essp(2)).within(Some(Budget::new(1)));
    store.pull(Pull { subscribe: true, ..pull(A, 1, 0) });
    store.push(add(B, 1, 0, 4.0));
    assert_eq!(rows(store.advance(min(1))), [], "the answer to the pull has used it up");
    let at = store.wake_at().expect("something waits");
    assert_eq!(rows(store.pull(pull(B, 2, 0))), [(B, 2, Some(4.0))]);
    assert!(store.wake_at().expect("it waits still") > at, "the pull is charged");
    store.tell_time(Duration::from_secs(10_000));
    assert_eq!(rows(store.tick()), [(A, 0, Some(4.0))]);
    assert_eq!(store.wake_at(), None);
}

#[test]
fn a_change_before_the_subscription_is_not_lost() {
    let mut store = store(Consistency::Essp(2));
    store.push(add(B, 1, 0, 4.0));
    assert_eq!(rows(store.pull(Pull { subscribe: true, ..pull(A, 1, 0) })), [(A, 1, Some(4.0))]);
    store.push(add(B, 2, 0, 3.0));
    assert_eq!(rows(store.advance(min(1))), [(A, 0, Some(7.0))]);
}

#[test]
fn a_lease_waits_until_the_block_is_home() {
    let mut store = store(Consistency::Async);
    assert_eq!(rows(store.pull(lease(A, 1))), [(A, 1, None)]);
    assert_eq!(rows(store.pull(lease(B, 1))), []);
    let out = store.push(give_back(A, 1, 7.0));
    let Some(Outgoing::Rows(B, rows)) = out.into_iter().nth(1) else { panic!("B waited for it") };
    assert_eq!(read(&rows.leases[0].rows), 7.0);
}

#[test]
#[should_panic(expected = "only its holder returns a block")]
fn a_block_that_its_holder_did_not_return_is_a_broken_invariant() {
    let mut store = store(Consistency::Async);
    store.pull(lease(A, 1));
    store.push(give_back(B, 1, 7.0));
}

/// What a shard answers to a pull of somebody who knows the block in a version: whether it comes without rows.
fn comes_without_rows(store: &mut Store, pull: Pull, version: Version) -> bool {
    let out = store.pull(Pull { known: vec![(BLOCK, version)], ..pull });
    let Some(Outgoing::Rows(_, rows)) = out else { panic!("the block is home") };
    let known = rows.known_leases.len() + rows.known_copies.len();
    assert_eq!(known + rows.leases.len() + rows.copies.len(), 1);
    known == 1
}

#[test]
fn a_block_that_is_as_its_asker_knows_it_comes_without_rows() {
    let mut store = store(Consistency::Async).transactional();
    let begin = Version::default();
    let by_a = Version(Some((A, 1)));
    let look = |worker| Pull { pages: Vec::new(), copies: vec![BLOCK], ..pull(worker, 9, 0) };
    assert!(comes_without_rows(&mut store, look(B), begin));
    assert!(comes_without_rows(&mut store, lease(A, 1), begin));
    store.push(give_back(A, 1, 7.0));
    store.commit(Commit { worker: A, clock: Clock(0) });
    assert!(!comes_without_rows(&mut store, look(B), begin), "A has changed it");
    assert!(comes_without_rows(&mut store, look(B), by_a));
    assert!(!comes_without_rows(&mut store, lease(B, 1), Version(Some((B, 1)))));
}

#[test]
fn a_known_block_whose_borrower_dies_is_home_as_it_was() {
    let mut store = store(Consistency::Async).transactional();
    assert!(comes_without_rows(&mut store, lease(A, 1), Version::default()));
    store.push(give_back(A, 1, 7.0));
    store.commit(Commit { worker: A, clock: Clock(0) });
    assert!(comes_without_rows(&mut store, lease(A, 2), Version(Some((A, 1)))));
    store.regroup(&Halted::default());
    assert!(!comes_without_rows(&mut store, lease(A, 3), Version(Some((A, 1)))), "numbers begin anew");
    store.regroup(&Halted::default());
    let Some(Outgoing::Rows(_, rows)) = store.pull(lease(B, 1)) else { panic!("it is home") };
    assert_eq!(read(&rows.leases[0].rows), 7.0);
}

#[test]
fn a_copy_waits_for_the_block_and_leaves_it_home() {
    let mut store = store(Consistency::Async);
    store.pull(lease(A, 1));
    let copy = Pull { copies: vec![BLOCK], ..pull(B, 1, 0) };
    assert_eq!(rows(store.pull(copy)), []);
    assert_eq!(rows(store.push(give_back(A, 1, 7.0))).len(), 1);
    assert_eq!(rows(store.pull(lease(A, 2))).len(), 1, "the copy did not take it away");
}

#[test]
fn a_snapshot_waits_for_the_blocks_that_are_out_and_for_them_only() {
    let mut store = store(Consistency::Async);
    store.pull(lease(A, 1));
    assert!(store.snapshot(5, snap(BLOCK.0, 0)).is_empty());
    assert_eq!(rows(store.pull(lease(B, 1))), [], "someone else already waits for the block");
    let out = store.push(give_back(A, 1, 7.0));
    let snapshot = out.iter().find_map(|out| match out {
        Outgoing::Snapshot(5, snapshot) => Some(snapshot),
        _ => None,
    });
    let mut blocks: Vec<_> =
        snapshot.unwrap().blocks.iter().map(|(block, rows)| (block.0, read(rows))).collect();
    blocks.sort_by_key(|(block, _)| *block);
    assert_eq!(blocks, [(0, 7.0), (1, 0.0)], "taken before B got the block");
    assert_eq!(rows(out).len(), 1, "B has it now");
}

#[test]
fn a_snapshot_of_the_end_waits_for_the_updates_of_the_last_clock() {
    let mut store = store(Consistency::Bsp);
    store.push(add(A, 1, 0, 2.0));
    assert!(store.snapshot(5, snap(PAGE.0, 1)).is_empty(), "the last advance is still on its way");
    let out = store.advance(min(1));
    let [Outgoing::Snapshot(5, snapshot)] = &out[..] else { panic!("now it is complete, not {out:?}") };
    assert_eq!(read(&snapshot.pages[0].1), 2.0);
}

proptest! {
    /// Floating-point addition does not associate, so only a fixed order gives the same bits.
    #[test]
    fn under_bsp_the_order_of_arrival_leaves_no_trace(
        values in proptest::collection::vec(proptest::collection::vec(-1e6f32..1e6, 5), 1..5),
        keys in proptest::collection::vec(any::<u64>(), 20),
    ) {
        // values[clock][worker]; each worker's pushes stay in order, workers interleave as `keys` say.
        let arrive = |keys: &[u64]| {
            let mut store = store(Consistency::Bsp);
            for (clock, values) in values.iter().enumerate() {
                let mut order: Vec<usize> = (0..values.len()).collect();
                order.sort_by_key(|worker| keys[(clock * 5 + worker) % keys.len()]);
                for worker in order {
                    store.push(add(WorkerId::at(worker), clock as u64 + 1, clock as u64, values[worker]));
                }
                store.advance(min(clock as u64 + 1));
            }
            value(&mut store).to_bits()
        };
        let in_turn = values.iter().flatten().fold(0.0f32, |sum, value| sum + value);
        prop_assert_eq!(arrive(&keys), in_turn.to_bits());
    }

    /// Whatever is sent again, in whatever amount, every update counts once.
    #[test]
    fn repeated_pushes_count_once(repeats in proptest::collection::vec((0u32..3, 1usize..4), 1..60)) {
        let mut store = store(Consistency::Ssp(3));
        let mut last = [0u64; 3];
        for (worker, times) in &repeats {
            let sequence = &mut last[*worker as usize];
            *sequence += 1;
            for _ in 0..*times {
                store.push(add(WorkerId(*worker), *sequence, 0, 1.0));
            }
            let earlier = (*sequence).max(2) - 1;
            store.push(add(WorkerId(*worker), earlier.min(*sequence), 0, 1.0));
        }
        prop_assert_eq!(value(&mut store), repeats.len() as f32);
    }
}
