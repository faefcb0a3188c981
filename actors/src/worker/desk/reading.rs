//! What a step reads: rows as they came, with the worker's own updates that they lack, sent or kept back.

use std::sync::Arc;

use super::needs::RowNeeds;
use super::{Computing, Desk, Gathering, Prepared, ReadBatch};
use crate::app::{Exit, Step};
use crate::audit::{Entry, Witnessed};
use crate::clock::{Clock, Consistency};
use crate::gathered::ReadRows;
use crate::id::{PartId, TableId};
use crate::message::Assign;
use crate::view::ReadPage;

impl Desk {
    pub(super) fn prepare(&mut self, gathering: Gathering) -> Prepared {
        let Gathering { assign, pages, batches, leases, copies, .. } = gathering;
        let clock = assign.clock;
        let mins = pages.values().map(|cached| cached.min).chain(batches.iter().map(|read| read.min));
        let oldest_read = mins.min().unwrap_or(clock);
        // Readings that are still to come are newer than these, unless one of them is on its way already.
        let newest = self.consistency == Consistency::Async && self.waiting.iter().all(|g| !g.pulled);
        let mut witnessed = Witnessed::by(&self.witness);
        let rows = self.join_rows(assign.task.part, batches, newest, &mut witnessed);
        let mut reads: Vec<(TableId, Vec<ReadPage>)> = Vec::new();
        for ((table, page), cached) in pages {
            let applied = cached.applied.get(self.worker.index()).copied().unwrap_or(0);
            let mut mine = match self.tables[table.index()].update_rule().is_known_to_workers() {
                true => self.outbox.missing(table, page, applied),
                false => Vec::new(),
            };
            witnessed.page((table, page), &cached, &mine, self.kept.page((table, page)));
            mine.extend(self.kept.page((table, page)).map(|kept| (0, Arc::clone(&kept.update))));
            if newest {
                self.outbox.contained((table, page), applied);
            }
            if reads.last().is_none_or(|(last, _)| *last != table) {
                reads.push((table, Vec::new()));
            }
            let mine = mine.into_iter().map(|(_, update)| update).collect();
            let read = ReadPage { page, seen: cached.folds(), rows: cached.rows, mine };
            reads.last_mut().expect("pushed").1.push(read);
        }
        self.outbox.forget(self.oldest_own(&assign));
        self.witness.tell(|| Entry::Read { worker: self.worker, clock, readings: witnessed.readings });
        let leased = !leases.is_empty();
        let staleness = clock.ahead_of(oldest_read);
        self.computing = Some(Computing { assign: assign.clone(), staleness, leased, early: None });
        Prepared(Step {
            clock,
            seed: self.seed,
            task: assign.task,
            tables: Arc::clone(&self.tables),
            reads,
            rows,
            leases,
            copies,
            deltas: Vec::new(),
            batches: Vec::new(),
            exit: self.exit(leased),
        })
    }

    /// Where updates may leave before the step is done: not where small ones are kept back, nor with leased rows.
    fn exit(&self, leased: bool) -> Option<Exit> {
        let lets_out = self.consistency.keeps_back().is_none() && !leased;
        lets_out.then(|| Exit { to: self.exit.0.clone(), wake: None, sent: Vec::new() })
    }

    /// The rows that a step reads by row, with the updates of this worker that they lack.
    fn join_rows(
        &mut self,
        part: PartId,
        batches: Vec<ReadBatch>,
        newest: bool,
        witnessed: &mut Witnessed,
    ) -> Vec<(TableId, ReadRows)> {
        let needed = self.reads.get(&part).map_or(&[][..], |needs| &needs.rows);
        let read =
            |needs: &RowNeeds| (needs.table, ReadRows { rows: Arc::clone(&needs.all), batches: Vec::new() });
        let mut rows: Vec<(TableId, ReadRows)> = needed.iter().map(read).collect();
        for ReadBatch { batch, shard, applied: all, min } in batches {
            let (key, applied) = ((batch.table, shard), all.get(self.worker.index()).copied().unwrap_or(0));
            let known = self.tables[batch.table.index()].update_rule().is_known_to_workers();
            let mut mine =
                if known { self.outbox.missing_rows(batch.table, shard, applied) } else { Vec::new() };
            witnessed.rows(key, (min, &all), &mine, self.kept.rows(key));
            mine.extend(self.kept.rows(key).map(|kept| (0, kept.update.clone())));
            if self.consistency.keeps_back().is_some() {
                self.largest_read.insert(key, batch.values.largest());
            }
            if newest {
                self.outbox.rows_contained(key, applied);
            }
            let mine = mine.into_iter().map(|(_, update)| update).collect();
            let table = rows.iter_mut().find(|(table, _)| *table == batch.table);
            table.expect("a shard sends rows of tables that were asked for").1.batches.push((batch, mine));
        }
        rows
    }

    /// Updates of clocks before this one are in every row that a step from `assign` on can read.
    fn oldest_own(&self, Assign { clock, min, .. }: &Assign) -> Clock {
        match self.consistency {
            Consistency::Async if self.transactional => *min,
            // A pull under `async` is answered with everything acknowledged; at most two steps are under way.
            Consistency::Async => Clock(clock.0.saturating_sub(2)),
            bounded => bounded.oldest(*clock),
        }
    }
}
