//! Updates that a worker keeps back (`bounded_error`): small ones are merged until they are worth a message.
//!
//! An update is kept per page, or per shard for the rows that steps read one by one, until
//! `max |δ| > error · max |value|`, with the values that the worker read last, and for `s` clocks at most.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::outbox::Updates;
use crate::budget::Budget;
use crate::clock::Clock;
use crate::gathered;
use crate::id::{PageKey, ShardId, TableId};
use crate::message::{Page, RowBatch};
use crate::table::Table;
use crate::values::Buffer;

/// What is kept of one page, or of the rows of one shard.
#[derive(Debug, Clone)]
pub(crate) struct Kept<T> {
    /// The updates as one.
    pub(crate) update: T,
    /// The clocks of the steps that made them, ascending.
    pub(crate) clocks: Vec<Clock>,
}

/// What a worker keeps back.
#[derive(Debug, Default)]
pub(super) struct KeptBack {
    pages: BTreeMap<PageKey, Kept<Arc<Buffer>>>,
    rows: BTreeMap<(TableId, ShardId), Kept<RowBatch>>,
}

/// What must leave.
#[derive(Debug, Clone, Copy)]
pub(super) struct Due {
    /// Everything.
    pub(super) all: bool,
    /// Relative changes above this.
    pub(super) error: f64,
    /// Everything that has updates of this clock or before.
    pub(super) until: Option<Clock>,
}

#[derive(Clone, Copy)]
enum Key {
    Page(PageKey),
    Rows((TableId, ShardId)),
}

impl KeptBack {
    /// Whether nothing is kept.
    pub(super) fn is_empty(&self) -> bool {
        self.pages.is_empty() && self.rows.is_empty()
    }

    /// What is kept of a page.
    pub(super) fn page(&self, page: PageKey) -> Option<&Kept<Arc<Buffer>>> {
        self.pages.get(&page)
    }

    /// What is kept of the rows of a shard.
    pub(super) fn rows(&self, rows: (TableId, ShardId)) -> Option<&Kept<RowBatch>> {
        self.rows.get(&rows)
    }

    /// Keeps the updates of a step that may be kept; the others are left in `updates`.
    pub(super) fn keep(&mut self, clock: Clock, updates: &mut Updates, tables: &[Table]) {
        let may_wait = |table: TableId| tables[table.index()].update_rule().is_additive();
        for page in std::mem::take(&mut updates.pages) {
            match may_wait(page.table) {
                true => self.keep_page(clock, page),
                false => updates.pages.push(page),
            }
        }
        for (shard, batch) in std::mem::take(&mut updates.rows) {
            match may_wait(batch.table) {
                true => self.keep_rows(clock, shard, batch, tables),
                false => updates.rows.push((shard, batch)),
            }
        }
    }

    fn keep_page(&mut self, clock: Clock, Page { table, page, rows, .. }: Page) {
        let Some(kept) = self.pages.get_mut(&(table, page)) else {
            self.pages.insert((table, page), Kept { update: rows, clocks: vec![clock] });
            return;
        };
        Arc::make_mut(&mut kept.update).add(&rows);
        note(&mut kept.clocks, clock);
    }

    fn keep_rows(&mut self, clock: Clock, shard: ShardId, batch: RowBatch, tables: &[Table]) {
        let Some(kept) = self.rows.get_mut(&(batch.table, shard)) else {
            self.rows.insert((batch.table, shard), Kept { update: batch, clocks: vec![clock] });
            return;
        };
        kept.update = gathered::merge(&tables[batch.table.index()], &kept.update, &batch);
        note(&mut kept.clocks, clock);
    }

    /// Moves what must leave to `updates`, and of what should as much as the budget allows, largest relative change first.
    /// The two functions tell the largest value that was read of a page, and of the rows of a shard.
    pub(super) fn release(
        &mut self,
        due: Due,
        (page_value, rows_value): (impl Fn(PageKey) -> f64, impl Fn((TableId, ShardId)) -> f64),
        (budget, now): (Option<&mut Budget>, Duration),
        updates: &mut Updates,
    ) {
        let must = |clocks: &[Clock]| due.all || due.until.is_some_and(|until| clocks[0] <= until);
        let mut leaving: Vec<(f64, Key, u64)> = Vec::new();
        for (key, kept) in &self.pages {
            let relative = match must(&kept.clocks) {
                true => f64::INFINITY,
                false => relative(kept.update.largest(), page_value(*key)),
            };
            leaving.push((relative, Key::Page(*key), kept.update.n_bytes()));
        }
        for (key, kept) in &self.rows {
            let relative = match must(&kept.clocks) {
                true => f64::INFINITY,
                false => relative(kept.update.values.largest(), rows_value(*key)),
            };
            leaving.push((relative, Key::Rows(*key), kept.update.values.n_bytes()));
        }
        leaving.retain(|(relative, ..)| *relative > due.error);
        leaving.sort_by(|left, right| right.0.total_cmp(&left.0));
        let mut budget = budget;
        for (relative, key, bytes) in leaving {
            if let Some(budget) = &mut budget {
                if relative.is_finite() && !budget.is_open(now) {
                    break;
                }
                budget.spend(bytes, now);
            }
            self.take(key, updates);
        }
    }

    fn take(&mut self, key: Key, updates: &mut Updates) {
        match key {
            Key::Page(key) => {
                if let Some(Kept { update, clocks }) = self.pages.remove(&key) {
                    let rows = update; // added whatever was read
                    updates.pages.push(Page { table: key.0, page: key.1, seen: 0, rows });
                    updates.page_clocks.insert(key, clocks);
                }
            }
            Key::Rows(key) => {
                if let Some(Kept { update, clocks }) = self.rows.remove(&key) {
                    updates.rows.push((key.1, update));
                    updates.row_clocks.insert(key, clocks);
                }
            }
        }
    }
}

fn note(clocks: &mut Vec<Clock>, clock: Clock) {
    if clocks.last() != Some(&clock) {
        clocks.push(clock);
    }
}

/// A change against a value; any change of nothing is large.
fn relative(change: f64, value: f64) -> f64 {
    match change {
        0.0 => 0.0,
        change if value > 0.0 => change / value,
        _ => f64::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::PageId;
    use crate::values::Content;

    fn updates(values: &[(u32, f32)]) -> Updates {
        let page = |(page, value): &(u32, f32)| Page {
            table: TableId(0),
            page: PageId(*page),
            seen: 0,
            rows: Arc::new(Buffer::F32(Content::Dense(vec![*value]))),
        };
        Updates { pages: values.iter().map(page).collect(), ..Updates::default() }
    }

    fn keep(kept: &mut KeptBack, clock: u64, values: &[(u32, f32)]) {
        let mut updates = updates(values);
        kept.keep(Clock(clock), &mut updates, &[Table::dense("t", 9, 1).paged(1)]);
        assert!(updates.pages.is_empty());
    }

    fn release(kept: &mut KeptBack, due: Due, budget: Option<&mut Budget>) -> Vec<(u32, Vec<u64>)> {
        let mut updates = Updates::default();
        kept.release(due, (|_| 100.0, |_| 100.0), (budget, Duration::ZERO), &mut updates);
        let clocks =
            |page: &Page| updates.page_clocks[&(page.table, page.page)].iter().map(|c| c.0).collect();
        updates.pages.iter().map(|page| (page.page.0, clocks(page))).collect()
    }

    const ONE_PERCENT: Due = Due { all: false, error: 0.01, until: None };

    #[test]
    fn small_updates_are_merged_until_together_they_pass_the_error() {
        let mut kept = KeptBack::default();
        keep(&mut kept, 3, &[(0, 0.6), (1, 0.1)]);
        assert_eq!(release(&mut kept, ONE_PERCENT, None), []);
        keep(&mut kept, 4, &[(0, 0.6)]);
        assert_eq!(release(&mut kept, ONE_PERCENT, None), [(0, vec![3, 4])]);
        assert!(kept.page((TableId(0), PageId(1))).is_some());
    }

    #[test]
    fn an_old_update_leaves_however_small() {
        let mut kept = KeptBack::default();
        keep(&mut kept, 3, &[(0, 0.1)]);
        keep(&mut kept, 4, &[(1, 0.1)]);
        let due = Due { until: Some(Clock(3)), ..ONE_PERCENT };
        assert_eq!(release(&mut kept, due, None), [(0, vec![3])]);
    }

    #[test]
    fn within_a_budget_the_largest_relative_change_is_first_and_old_ones_do_not_wait() {
        let mut kept = KeptBack::default();
        keep(&mut kept, 1, &[(7, 0.1)]);
        keep(&mut kept, 3, &[(0, 2.0), (1, 9.0), (2, 3.0)]);
        let due = Due { until: Some(Clock(1)), ..ONE_PERCENT };
        let mut budget = Budget::new(1);
        budget.spend(1, Duration::ZERO);
        assert_eq!(release(&mut kept, due, Some(&mut budget)), [(7, vec![1])]);
        assert_eq!(release(&mut kept, ONE_PERCENT, Some(&mut Budget::new(1))), [(1, vec![3])]);
        let all = Due { all: true, ..ONE_PERCENT };
        assert_eq!(release(&mut kept, all, Some(&mut budget)).len(), 2);
        assert!(kept.is_empty());
    }
}
