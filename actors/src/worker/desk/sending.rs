//! What becomes of a computed step: updates kept back or sent, and a report once all shards have acknowledged them.

use super::super::kept::Due;
use super::super::outbox::Updates;
use super::{Action, Computing, Desk, Pushed, Sent, Spent, refusal};
use crate::app::Outcome;
use crate::audit::{made, pushed};
use crate::clock::Clock;
use crate::gathered;
use crate::id::{ShardId, TableId};
use crate::message::{Assign, Failure, Findings, Page, Push, Report, RowBatch, Version};
use crate::table::{LeasedBy, Usage};
use crate::traffic::Traffic;

impl Desk {
    /// Takes in what the app computed, or that it died.
    pub fn computed(&mut self, outcome: Option<Outcome>, spent: Spent) -> Vec<Action> {
        let mut actions = self.let_out();
        let Computing { assign, staleness, leased, early } =
            self.computing.take().expect("only a computing step ends");
        let clock = assign.clock;
        let (result, mut updates) = match outcome {
            Some(Outcome { result, deltas, batches, leases }) => {
                let updates = Updates { returns: leases, ..self.updates(deltas, batches) };
                (refusal::checked(result, &assign), updates)
            }
            None => (Err(self.panicked(&assign, leased, early.is_some())), Updates::default()),
        };
        self.witness.tell(|| made(self.worker, clock, &updates));
        self.keep_back(&assign, &mut updates);
        let report = Report {
            worker: self.worker,
            generation: self.generation,
            clock,
            result,
            computed: spent.computed,
            waited: spent.waited,
            staleness,
            keeps: !self.kept.is_empty(),
            pushed: Vec::new(),
            traffic: Traffic::default(),
        };
        actions.extend(self.send(updates, early.unwrap_or_default(), report));
        actions.extend(self.go_on());
        actions
    }

    /// Sends the updates that the step that computes has let out so far; they count with it.
    pub fn let_out(&mut self) -> Vec<Action> {
        let mut actions = Vec::new();
        while let Ok((pages, batch)) = self.exit.1.try_recv() {
            let Some(step) = &self.computing else { break };
            let (clock, updates) = (step.assign.clock, self.updates(pages, batch));
            self.witness.tell(|| made(self.worker, clock, &updates));
            let (pushed, more) = self.push(clock, updates);
            actions.extend(more);
            if let Some(step) = &mut self.computing {
                step.early.get_or_insert_default().join(pushed);
            }
        }
        actions
    }

    /// Updates of pages, and of rows by shard.
    fn updates(&self, pages: Vec<Page>, batches: impl IntoIterator<Item = RowBatch>) -> Updates {
        let cut = |batch: RowBatch| gathered::cut(&self.tables[batch.table.index()], batch, self.placement);
        Updates { pages, rows: batches.into_iter().flat_map(cut).collect(), ..Updates::default() }
    }

    /// Sends the last updates of a step, and its report once all are acknowledged.
    fn send(&mut self, updates: Updates, mut all: Pushed, mut report: Report) -> Vec<Action> {
        let clock = report.clock;
        let (pushed, mut actions) = self.push(clock, updates);
        all.join(pushed);
        report.traffic = std::mem::take(&mut self.traffic);
        if self.transactional {
            report.pushed = all.shards.into_iter().collect();
        }
        self.unacknowledged.push_back(Sent { clock, awaited: all.awaited, report });
        actions.extend(self.reports());
        actions
    }

    /// Sends updates of the step at `clock`.
    fn push(&mut self, clock: Clock, updates: Updates) -> (Pushed, Vec<Action>) {
        let clocks = (updates.page_clocks.clone(), updates.row_clocks.clone());
        let pushes = self.outbox.pack(clock, updates);
        for push in pushes.iter() {
            self.witness.tell(|| pushed(push, &clocks));
        }
        pushes.iter().filter(|(shard, _)| self.away.contains(shard)).for_each(|(_, push)| self.see_off(push));
        let holders = |shard: ShardId| 1 + u64::from(self.backed.contains(&shard));
        self.traffic.push += pushes.iter().map(|(shard, push)| push.n_bytes() * holders(*shard)).sum::<u64>();
        let shards = pushes.keys().copied().collect();
        let awaited = pushes.iter().flat_map(|(shard, push)| self.holders(*shard, push.sequence)).collect();
        let actions = pushes.into_iter().map(|(shard, push)| Action::Push(shard, push)).collect();
        (Pushed { awaited, shards }, actions)
    }

    /// Remembers blocks on their way home to another node, of tables whose blocks wander: the next step here that leases one
    /// need not be sent it, unless it was elsewhere in between.
    fn see_off(&self, push: &Push) {
        let version = Version(Some((push.worker, push.sequence)));
        let wanders = |table: TableId| {
            matches!(self.tables[table.index()].usage(), Usage::Leased { by: LeasedBy::Block, .. })
        };
        let returns = push.returns.iter().filter(|lease| wanders(lease.table));
        returns.for_each(|lease| self.cache.saw(lease.key(), version, &lease.rows));
    }

    /// Where small updates may wait: merges those of a step into what is kept back, and takes out what must leave.
    fn keep_back(&mut self, assign: &Assign, updates: &mut Updates) {
        let Some((error, most)) = self.consistency.keeps_back() else { return };
        self.kept.keep(assign.clock, updates, &self.tables);
        let until = assign.clock.0.checked_sub(most).map(Clock);
        let all = assign.task.fresh || assign.flush;
        let page_value = |page| self.cache.peek(page).map_or(0.0, |rows| rows.largest());
        let rows_value = |rows| self.largest_read.get(&rows).copied().unwrap_or(0.0);
        let within = (self.budget.as_mut(), self.now);
        self.kept.release(Due { all, error, until }, (page_value, rows_value), within, updates);
    }

    /// Sends everything that was kept back, as a step of its own.
    pub(super) fn flush(&mut self, assign: &Assign) -> Vec<Action> {
        let mut updates = Updates::default();
        self.keep_back(assign, &mut updates);
        let report = self.report(assign.clock, Ok(Findings::default()));
        self.send(updates, Pushed::default(), report)
    }

    /// The report of a step that did not compute.
    fn report(&self, clock: Clock, result: Result<Findings, Failure>) -> Report {
        Report {
            worker: self.worker,
            generation: self.generation,
            clock,
            result,
            computed: 0,
            waited: 0,
            staleness: 0,
            keeps: !self.kept.is_empty(),
            pushed: Vec::new(),
            traffic: Traffic::default(),
        }
    }

    /// Who has to acknowledge a push.
    fn holders(&self, shard: ShardId, sequence: u64) -> impl Iterator<Item = (ShardId, u64, bool)> {
        let backup = self.backed.contains(&shard).then_some((shard, sequence, true));
        std::iter::once((shard, sequence, false)).chain(backup)
    }

    fn panicked(&self, assign: &Assign, leased: bool, sent: bool) -> Failure {
        let (worker, part, clock) = (self.worker, assign.task.part, assign.clock);
        let what = format!("worker {worker}: the app panicked on part {part} at clock {clock}");
        match (leased, sent) {
            (true, _) => Failure::Fatal(format!("{what} with leased rows in its hands, which are lost")),
            (_, true) => {
                Failure::Fatal(format!("{what} after it had sent updates, which cannot be taken back"))
            }
            _ => Failure::Again(what),
        }
    }

    /// Reports finished steps in clock order.
    pub(super) fn reports(&mut self) -> Vec<Action> {
        let mut actions = Vec::new();
        while self.unacknowledged.front().is_some_and(|sent| sent.awaited.is_empty()) {
            let sent = self.unacknowledged.pop_front().expect("looked at");
            debug_assert_eq!(sent.clock, sent.report.clock);
            actions.push(Action::Report(sent.report));
        }
        actions
    }

    /// Reports a step that cannot be done, after those before it.
    pub(super) fn refuse(&mut self, clock: Clock, why: String) -> Vec<Action> {
        let report = self.report(clock, Err(Failure::Fatal(why)));
        self.send(Updates::default(), Pushed::default(), report)
    }
}

impl Pushed {
    fn join(&mut self, more: Self) {
        self.awaited.extend(more.awaited);
        self.shards.extend(more.shards);
    }
}
