//! Update rules of one's own, and what they keep.

use super::*;
use crate::rule::{Beside, UpdateRule};

/// Doubles, then adds: the order of updates matters.
struct DoubleAndAdd;

impl UpdateRule for DoubleAndAdd {
    fn fold(&self, page: &mut Buffer, delta: &Buffer, _: Beside<'_>) {
        *page = number(2.0 * read(page) + read(delta));
    }
}

#[test]
fn a_custom_rule_is_run_by_the_shard() {
    let mut store = store_with(Consistency::Ssp(1), Rule::Custom(Arc::new(DoubleAndAdd)));
    store.push(add(A, 1, 0, 3.0));
    store.push(add(B, 1, 0, 1.0));
    assert_eq!(value(&mut store), 7.0);
}

#[test]
fn a_worker_reads_a_custom_rule_after_its_own_updates() {
    let mut store = store_with(Consistency::Ssp(1), Rule::Custom(Arc::new(DoubleAndAdd)));
    assert_eq!(rows(store.pull(Pull { after: 1, ..pull(A, 1, 0) })), []);
    assert_eq!(rows(store.push(add(A, 1, 0, 3.0))), [(A, 1, Some(3.0))]);
}

/// Adds, keeps the number of updates, and beside them the sum of those that it looks back on.
struct Counts;

impl UpdateRule for Counts {
    fn n_kept(&self, n: usize) -> usize {
        n + 1
    }
    fn looks_back(&self) -> bool {
        true
    }
    fn fold(&self, page: &mut Buffer, delta: &Buffer, beside: Beside<'_>) {
        page.add(delta);
        let Buffer::F32(kept) = beside.kept else { panic!("as the table") };
        kept.dense_mut()[0] += 1.0;
        kept.dense_mut()[1] += beside.since.iter().map(|update| read(update)).sum::<f32>();
    }
}

fn kept(store: &mut Store) -> Vec<f32> {
    let Some(Outgoing::Snapshot(_, snapshot)) = store.snapshot(0, snap(PAGE.0, 0)).pop() else {
        panic!("at once")
    };
    let Buffer::F32(kept) = &snapshot.kept[0].1 else { panic!("as the table") };
    kept.dense().to_vec()
}

/// An update by somebody who had read so many updates.
fn after(seen: u64, mut push: Push) -> Push {
    push.deltas[0].seen = seen;
    push
}

#[test]
fn a_rule_that_looks_back_sees_what_came_between_the_reading_and_the_update() {
    let mut store = store_with(Consistency::Ssp(9), Rule::Custom(Arc::new(Counts)));
    store.push(after(0, add(A, 1, 0, 1.0)));
    assert_eq!(kept(&mut store), [1.0, 0.0]);
    store.push(after(0, add(B, 1, 0, 10.0)));
    assert_eq!(kept(&mut store), [2.0, 1.0], "B had not seen what A sent");
    store.push(after(2, add(A, 2, 1, 100.0)));
    assert_eq!(kept(&mut store), [3.0, 1.0], "A had seen everything");
    store.push(after(1, add(B, 2, 1, 1000.0)));
    assert_eq!(kept(&mut store), [4.0, 111.0], "B had seen the first update only");
}

#[test]
fn what_a_rule_keeps_is_restored_with_its_page() {
    let mut first = store_with(Consistency::Ssp(9), Rule::Custom(Arc::new(Counts)));
    first.push(add(A, 1, 0, 1.0));
    let mut share = |table| match first.snapshot(0, snap(table, 0)).pop() {
        Some(Outgoing::Snapshot(_, snapshot)) => (table, snapshot),
        other => panic!("at once, not {other:?}"),
    };
    let shares = vec![share(TableId(0)), share(TableId(1))];
    let mut second = store_with(Consistency::Ssp(9), Rule::Custom(Arc::new(Counts)));
    assert!(second.restore(shares.clone(), Clock(1)));
    assert_eq!((value(&mut second), kept(&mut second)), (1.0, vec![1.0, 0.0]));
    let mut torn = shares;
    torn[0].1.kept.clear();
    assert!(!second.restore(torn, Clock(1)), "without the numbers of the rule nothing is changed");
    second.push(add(B, 1, 1, 5.0));
    assert_eq!(kept(&mut second), [2.0, 0.0], "nothing to look back on");
}

#[test]
fn assigned_values_replace_and_under_bsp_the_last_worker_stays() {
    let mut store = store_with(Consistency::Bsp, Rule::Assign);
    store.push(add(B, 1, 0, 8.0));
    store.push(add(A, 1, 0, 3.0));
    store.advance(min(1));
    assert_eq!(value(&mut store), 8.0);
}
