//! Reading and updating just the rows that a step needs, gathered into one run of numbers.
//!
//! Pages suit steps that read whole tables. A step on sparse data touches a few thousand scattered rows: for those a
//! shard gathers the rows themselves, and folds updates into them in place.

use std::sync::Arc;

use crate::id::ShardId;
use crate::message::RowBatch;
use crate::placement::Placement;
use crate::rule::Rule;
use crate::table::Table;
use crate::values::{Buffer, Content, Element};

/// The rows that a step reads of one table.
#[derive(Debug, Clone)]
pub(crate) struct ReadRows {
    /// All of them, ascending.
    pub(crate) rows: Arc<Vec<u32>>,
    /// What each shard sent, with this worker's updates that it does not contain yet.
    pub(crate) batches: Vec<(RowBatch, Vec<RowBatch>)>,
}

impl ReadRows {
    /// The rows one after the other, in ascending order, the reader's own updates folded in. If one shard has them all
    /// and nothing is to be folded in, no copy is made.
    pub(crate) fn join<T: Element>(&self, table: &Table) -> Arc<Buffer> {
        if let [(batch, mine)] = &self.batches[..]
            && mine.is_empty()
        {
            return Arc::clone(&batch.values);
        }
        let width = table.width();
        let mut joined = vec![T::default(); self.rows.len() * width];
        for (batch, mine) in &self.batches {
            each_pair(&self.rows, &batch.rows, |to, from| {
                joined[to * width..(to + 1) * width].copy_from_slice(row(batch, from, width));
            });
            for update in mine {
                each_pair(&self.rows, &update.rows, |to, from| {
                    fold_row(
                        table.update_rule(),
                        &mut joined[to * width..(to + 1) * width],
                        row(update, from, width),
                    );
                });
            }
        }
        Arc::new(T::erase(Content::Dense(joined)))
    }
}

fn row<T: Element>(batch: &RowBatch, number: usize, width: usize) -> &[T] {
    let content = T::peek(&batch.values).expect("a batch holds its table's element type");
    &content.dense()[number * width..(number + 1) * width]
}

/// Folds one row of an update into one row, by a rule that workers know.
fn fold_row<T: Element>(rule: &Rule, row: &mut [T], update: &[T]) {
    match rule {
        Rule::Assign => row.copy_from_slice(update),
        Rule::Add | Rule::Custom(_) => row.iter_mut().zip(update).for_each(|(value, more)| *value += *more),
    }
}

/// Two updates of rows of one table as one: of the rows that either has.
pub(crate) fn merge(table: &Table, left: &RowBatch, right: &RowBatch) -> RowBatch {
    match &*left.values {
        Buffer::F32(_) => merge_of::<f32>(table, left, right),
        Buffer::F64(_) => merge_of::<f64>(table, left, right),
        Buffer::I32(_) => merge_of::<i32>(table, left, right),
    }
}

fn merge_of<T: Element>(table: &Table, left: &RowBatch, right: &RowBatch) -> RowBatch {
    let width = table.width();
    let mut rows: Vec<u32> = left.rows.iter().chain(right.rows.iter()).copied().collect();
    rows.sort_unstable();
    rows.dedup();
    let mut values = vec![T::default(); rows.len() * width];
    for batch in [left, right] {
        each_pair(&rows, &batch.rows, |to, from| {
            let to = &mut values[to * width..(to + 1) * width];
            to.iter_mut().zip(row::<T>(batch, from, width)).for_each(|(value, more)| *value += *more);
        });
    }
    RowBatch { table: left.table, rows: Arc::new(rows), values: Arc::new(T::erase(Content::Dense(values))) }
}

/// Calls `each` with the places of every row that both ascending lists have.
fn each_pair(left: &[u32], right: &[u32], mut each: impl FnMut(usize, usize)) {
    let (mut l, mut r) = (0, 0);
    while l < left.len() && r < right.len() {
        match left[l].cmp(&right[r]) {
            std::cmp::Ordering::Less => l += 1,
            std::cmp::Ordering::Greater => r += 1,
            std::cmp::Ordering::Equal => {
                each(l, r);
                (l, r) = (l + 1, r + 1);
            }
        }
    }
}

/// Sorts rows by the shard that owns them, each list ascending.
pub(crate) fn by_shard(
    table: &Table,
    id: crate::id::TableId,
    rows: &[u32],
    placement: Placement,
) -> Vec<(ShardId, Arc<Vec<u32>>)> {
    if placement.n_shards() == 1 {
        let all = (!rows.is_empty()).then(|| (ShardId(0), Arc::new(rows.to_vec())));
        return all.into_iter().collect();
    }
    let mut lists = vec![Vec::new(); placement.n_shards()];
    for row in rows {
        let page = table.geometry().locate(*row as usize).0;
        lists[placement.of_page(id, page).index()].push(*row);
    }
    let lists = lists.into_iter().enumerate().filter(|(_, list)| !list.is_empty());
    lists.map(|(shard, list)| (ShardId::at(shard), Arc::new(list))).collect()
}

/// Cuts a batch into one for each shard; with one shard nothing is copied.
pub(crate) fn cut(table: &Table, batch: RowBatch, placement: Placement) -> Vec<(ShardId, RowBatch)> {
    if placement.n_shards() == 1 {
        return vec![(ShardId(0), batch)];
    }
    let lists = by_shard(table, batch.table, &batch.rows, placement);
    let cut = |rows: Arc<Vec<u32>>| RowBatch {
        values: Arc::new(pick(table, &batch, &rows)),
        table: batch.table,
        rows,
    };
    lists.into_iter().map(|(shard, rows)| (shard, cut(rows))).collect()
}

/// The rows of a batch that `rows` names.
fn pick(table: &Table, batch: &RowBatch, rows: &[u32]) -> Buffer {
    match &*batch.values {
        Buffer::F32(_) => pick_of::<f32>(table, batch, rows),
        Buffer::F64(_) => pick_of::<f64>(table, batch, rows),
        Buffer::I32(_) => pick_of::<i32>(table, batch, rows),
    }
}

fn pick_of<T: Element>(table: &Table, batch: &RowBatch, rows: &[u32]) -> Buffer {
    let width = table.width();
    let mut picked = Vec::with_capacity(rows.len() * width);
    each_pair(&batch.rows, rows, |from, _| picked.extend_from_slice(row::<T>(batch, from, width)));
    T::erase(Content::Dense(picked))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::TableId;

    fn batch(rows: &[u32], values: &[f32]) -> RowBatch {
        let values = Arc::new(Buffer::F32(Content::Dense(values.to_vec())));
        RowBatch { table: TableId(0), rows: Arc::new(rows.to_vec()), values }
    }

    fn values(buffer: &Buffer) -> &[f32] {
        f32::peek(buffer).unwrap().dense()
    }

    #[test]
    fn rows_of_two_shards_are_joined_in_order_with_the_readers_own_updates() {
        let table = Table::dense("t", 10, 1);
        let read = ReadRows {
            rows: Arc::new(vec![1, 4, 7, 9]),
            batches: vec![
                (batch(&[1, 7], &[10.0, 70.0]), vec![batch(&[0, 7], &[0.5, 0.25])]),
                (batch(&[4, 9], &[40.0, 90.0]), vec![]),
            ],
        };
        assert_eq!(values(&read.join::<f32>(&table)), [10.0, 40.0, 70.25, 90.0]);
    }

    #[test]
    fn two_updates_become_one_of_the_rows_of_both() {
        let table = Table::dense("t", 10, 1);
        let merged = merge(&table, &batch(&[1, 4], &[1.0, 4.0]), &batch(&[0, 4, 9], &[0.5, 0.25, 9.0]));
        assert_eq!(*merged.rows, [0, 1, 4, 9]);
        assert_eq!(values(&merged.values), [0.5, 1.0, 4.25, 9.0]);
    }

    #[test]
    fn a_batch_is_cut_so_that_every_row_goes_to_its_shard() {
        let table = Table::dense("t", 10, 1).paged(2);
        let whole = batch(&[0, 1, 2, 3, 5], &[0.0, 1.0, 2.0, 3.0, 5.0]);
        let cut = cut(&table, whole, Placement::over(2));
        let lists: Vec<_> = cut.iter().map(|(shard, batch)| (shard.0, batch.rows.to_vec())).collect();
        assert_eq!(lists, [(0, vec![0, 1, 5]), (1, vec![2, 3])]);
        assert_eq!(values(&cut[0].1.values), [0.0, 1.0, 5.0]);
    }
}
