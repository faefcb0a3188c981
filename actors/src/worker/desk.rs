//! What a worker decides: what to pull for a step, when it can be computed, when it is finished.
//!
//! The scheduler may assign step *t+1* while *t* computes: its rows and leases are then already on their way, and
//! the updates of *t−1* on theirs. Steps are computed and reported in the order of their clocks.

mod needs;
mod refusal;
mod setting;

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use needs::{Needs, RowNeeds};
pub use setting::{Prepared, Setting, Spent};

use super::cache::{Cached, RowCache};
use super::outbox::{Outbox, Updates};
use crate::app::{Outcome, Step};
use crate::clock::{Clock, Consistency};
use crate::gathered::{self, ReadRows};
use crate::id::{PageKey, PartId, ShardId, TableId, WorkerId};
use crate::message::{Applied, Assign, Failure, Lease, Pull, Push, Report, RowBatch, Rows};
use crate::placement::Placement;
use crate::table::{Table, Usage};
use crate::view::ReadPage;

/// What a worker does next.
#[derive(Debug)]
pub enum Action {
    /// Ask a shard.
    Pull(ShardId, Pull),
    /// Send updates to a shard.
    Push(ShardId, Push),
    /// Have the app compute a step.
    Compute(Prepared),
    /// Tell the scheduler.
    Report(Report),
}

/// The work on one worker's desk.
pub struct Desk {
    worker: WorkerId,
    tables: Arc<Vec<Table>>,
    placement: Placement,
    consistency: Consistency,
    seed: u64,
    generation: u32,
    transactional: bool,
    backed: Arc<BTreeSet<ShardId>>,
    cache: Arc<RowCache>,
    outbox: Outbox,
    tickets: u64,
    /// Assigned and not yet computing, in clock order.
    waiting: VecDeque<Gathering>,
    computing: Option<Computing>,
    /// Computed, updates not yet acknowledged by all shards, in clock order.
    unacknowledged: VecDeque<Sent>,
    /// The pages that every step reads, and what steps on a part read besides.
    whole: Arc<Vec<PageKey>>,
    reads: HashMap<PartId, Arc<Needs>>,
}

/// A step whose rows are on their way.
struct Gathering {
    assign: Assign,
    ticket: u64,
    /// Why it cannot be done.
    refused: Option<String>,
    pulled: bool,
    awaited: BTreeSet<ShardId>,
    pages: BTreeMap<PageKey, Cached>,
    /// Rows by table, with the shard's last update of this worker that they contain and its `min`.
    batches: Vec<(RowBatch, ShardId, u64, Clock)>,
    leases: Vec<Lease>,
    copies: Vec<Lease>,
}

struct Computing {
    assign: Assign,
    staleness: u64,
    leased: bool,
}

struct Sent {
    clock: Clock,
    /// Who has not acknowledged what; `true` for a shard's backup.
    awaited: BTreeSet<(ShardId, u64, bool)>,
    report: Report,
}

impl Desk {
    /// An empty desk.
    pub fn new(worker: WorkerId, setting: Setting, cache: Arc<RowCache>) -> Self {
        let Setting { tables, placement, consistency, seed, generation, transactional, backed } = setting;
        Self {
            worker,
            whole: needs::whole(&tables),
            tables,
            placement,
            consistency,
            seed,
            generation,
            transactional,
            backed,
            cache,
            outbox: Outbox::new(worker, placement),
            tickets: 0,
            waiting: VecDeque::new(),
            computing: None,
            unacknowledged: VecDeque::new(),
            reads: HashMap::new(),
        }
    }

    /// The generation of the run's members that it belongs to.
    pub fn generation(&self) -> u32 {
        self.generation
    }

    /// Takes a step on: pulls what it needs and the cache does not have.
    pub fn assign(&mut self, assign: Assign) -> Vec<Action> {
        self.tickets += 1;
        let reads = self.learn_reads(assign.task.part);
        let refused = reads.err().or_else(|| refusal::refusal(&self.tables, &assign.task));
        self.waiting.push_back(Gathering {
            assign,
            ticket: self.tickets,
            pulled: refused.is_some(),
            refused,
            awaited: BTreeSet::new(),
            pages: BTreeMap::new(),
            batches: Vec::new(),
            leases: Vec::new(),
            copies: Vec::new(),
        });
        self.go_on()
    }

    /// Takes rows in.
    pub fn rows(&mut self, rows: Rows) -> Vec<Action> {
        if self.consistency != Consistency::Async {
            self.cache.take_in(self.worker, &rows); // without a bound every step pulls
        }
        let Some(gathering) = self.waiting.iter_mut().find(|g| g.pulled && g.ticket == rows.ticket) else {
            return Vec::new(); // pushed by the shard: the cache has them
        };
        gathering.awaited.remove(&rows.shard);
        for page in &rows.pages {
            gathering.pages.insert((page.table, page.page), Cached::of(page, &rows, self.worker));
        }
        let applied = rows.applied.get(self.worker.index()).copied().unwrap_or(0);
        let known = |batch| (batch, rows.shard, applied, rows.min);
        gathering.batches.extend(rows.batches.into_iter().map(known));
        gathering.leases.extend(rows.leases);
        gathering.copies.extend(rows.copies);
        self.go_on()
    }

    /// Takes an acknowledgement in.
    pub fn applied(&mut self, applied: Applied) -> Vec<Action> {
        for sent in &mut self.unacknowledged {
            sent.awaited.remove(&(applied.shard, applied.sequence, applied.backup));
        }
        self.reports()
    }

    /// Takes in what the app computed, or that it died.
    pub fn computed(&mut self, outcome: Option<Outcome>, spent: Spent) -> Vec<Action> {
        let Computing { assign, staleness, leased } =
            self.computing.take().expect("only a computing step ends");
        let clock = assign.clock;
        let (result, updates) = match outcome {
            Some(Outcome { result, deltas, batches, leases }) => {
                let cut =
                    |batch: RowBatch| gathered::cut(&self.tables[batch.table.index()], batch, self.placement);
                let rows = batches.into_iter().flat_map(cut).collect();
                (refusal::checked(result, &assign), Updates { pages: deltas, rows, returns: leases })
            }
            None => (Err(self.panicked(&assign, leased)), Updates::default()),
        };
        let pushes = self.outbox.pack(clock, updates);
        let awaited = pushes.iter().flat_map(|(shard, push)| self.holders(*shard, push.sequence)).collect();
        let report = Report {
            worker: self.worker,
            generation: self.generation,
            clock,
            result,
            computed: spent.computed,
            waited: spent.waited,
            staleness,
        };
        self.unacknowledged.push_back(Sent { clock, awaited, report });
        let mut actions: Vec<_> = pushes.into_iter().map(|(shard, push)| Action::Push(shard, push)).collect();
        actions.extend(self.reports());
        actions.extend(self.go_on());
        actions
    }

    /// Who has to acknowledge a push.
    fn holders(&self, shard: ShardId, sequence: u64) -> impl Iterator<Item = (ShardId, u64, bool)> {
        let backup = self.backed.contains(&shard).then_some((shard, sequence, true));
        std::iter::once((shard, sequence, false)).chain(backup)
    }

    fn panicked(&self, assign: &Assign, leased: bool) -> Failure {
        let (worker, part, clock) = (self.worker, assign.task.part, assign.clock);
        let what = format!("worker {worker}: the app panicked on part {part} at clock {clock}");
        match leased {
            true => Failure::Fatal(format!("{what} with leased rows in its hands, which are lost")),
            false => Failure::Again(what),
        }
    }

    /// Reports finished steps in clock order.
    fn reports(&mut self) -> Vec<Action> {
        let mut actions = Vec::new();
        while self.unacknowledged.front().is_some_and(|sent| sent.awaited.is_empty()) {
            let sent = self.unacknowledged.pop_front().expect("looked at");
            debug_assert_eq!(sent.clock, sent.report.clock);
            actions.push(Action::Report(sent.report));
        }
        actions
    }

    /// Pulls for steps that have not, and computes the first if it has everything.
    fn go_on(&mut self) -> Vec<Action> {
        let mut actions = Vec::new();
        for place in 0..self.waiting.len() {
            let may_pull = place == 0 && self.computing.is_none() || !self.reads_custom_rules();
            if !self.waiting[place].pulled && may_pull {
                actions.extend(self.pull(place));
            }
        }
        while self.computing.is_none()
            && self.waiting.front().is_some_and(|g| g.pulled && g.awaited.is_empty())
        {
            let mut gathering = self.waiting.pop_front().expect("looked at");
            match gathering.refused.take() {
                None => actions.push(Action::Compute(self.prepare(gathering))),
                Some(why) => actions.extend(self.refuse(gathering.assign.clock, why)),
            }
        }
        actions
    }

    /// Reports a step that cannot be done, after those before it.
    fn refuse(&mut self, clock: Clock, why: String) -> Vec<Action> {
        let result = Err(Failure::Fatal(why));
        let (worker, generation) = (self.worker, self.generation);
        let report = Report { worker, generation, clock, result, computed: 0, waited: 0, staleness: 0 };
        self.unacknowledged.push_back(Sent { clock, awaited: BTreeSet::new(), report });
        self.reports()
    }

    /// Where a shard runs a rule of its own, a worker cannot complete a reading by itself: it reads after it wrote.
    fn reads_custom_rules(&self) -> bool {
        self.tables
            .iter()
            .any(|table| *table.usage() == Usage::Shared && !table.update_rule().is_known_to_workers())
    }

    /// Asks the app once for each part what its steps read.
    fn learn_reads(&mut self, part: PartId) -> Result<(), String> {
        if let Entry::Vacant(unknown) = self.reads.entry(part) {
            unknown.insert(Arc::new(Needs::of(part, &self.whole, &self.tables, self.placement)?));
        }
        Ok(())
    }

    fn pull(&mut self, place: usize) -> Vec<Action> {
        let assign = &self.waiting[place].assign;
        let fresh = assign.task.fresh || self.consistency == Consistency::Async;
        let need = if fresh { assign.min } else { self.consistency.oldest(assign.clock) };
        let custom = self.reads_custom_rules();
        let [leases, copies] = needs::blocks(&assign.task, &self.tables);
        let (placement, needed) = (self.placement, Arc::clone(&self.reads[&assign.task.part]));
        let empty = Pull {
            worker: self.worker,
            ticket: self.waiting[place].ticket,
            need,
            after: 0,
            pages: Vec::new(),
            rows: Vec::new(),
            leases: Vec::new(),
            copies: Vec::new(),
            subscribe: matches!(self.consistency, Consistency::Essp(_)),
        };
        let mut pulls: BTreeMap<ShardId, Pull> = BTreeMap::new();
        for (table, page) in needed.whole.iter().chain(&needed.pages).copied() {
            let cached = if fresh || custom { None } else { self.cache.get(table, page, need) };
            match cached {
                Some(cached) => drop(self.waiting[place].pages.insert((table, page), cached)),
                None => to(&mut pulls, &empty, placement.of_page(table, page)).pages.push((table, page)),
            }
        }
        for RowNeeds { table, by_shard, .. } in &needed.rows {
            for (shard, rows) in by_shard {
                to(&mut pulls, &empty, *shard).rows.push((*table, Arc::clone(rows)));
            }
        }
        for (table, block) in leases {
            to(&mut pulls, &empty, placement.of_block(block)).leases.push((table, block));
        }
        for (table, block) in copies {
            to(&mut pulls, &empty, placement.of_block(block)).copies.push((table, block));
        }
        if custom {
            pulls.iter_mut().for_each(|(shard, pull)| pull.after = self.outbox.last(*shard));
        }
        let gathering = &mut self.waiting[place];
        gathering.pulled = true;
        gathering.awaited = pulls.keys().copied().collect();
        pulls.into_iter().map(|(shard, pull)| Action::Pull(shard, pull)).collect()
    }

    fn prepare(&mut self, gathering: Gathering) -> Prepared {
        let Gathering { assign, pages, batches, leases, copies, .. } = gathering;
        let clock = assign.clock;
        let mins = pages.values().map(|cached| cached.min).chain(batches.iter().map(|(.., min)| *min));
        let oldest_read = mins.min().unwrap_or(clock);
        // Readings that are still to come are newer than these, unless one of them is on its way already.
        let newest = self.consistency == Consistency::Async && self.waiting.iter().all(|g| !g.pulled);
        let rows = self.join_rows(assign.task.part, batches, newest);
        let mut reads: Vec<(TableId, Vec<ReadPage>)> = Vec::new();
        for ((table, page), cached) in pages {
            let applied = cached.applied.get(self.worker.index()).copied().unwrap_or(0);
            let mine = match self.tables[table.index()].update_rule().is_known_to_workers() {
                true => self.outbox.missing(table, page, applied),
                false => Vec::new(),
            };
            if newest {
                self.outbox.contained((table, page), applied);
            }
            if reads.last().is_none_or(|(last, _)| *last != table) {
                reads.push((table, Vec::new()));
            }
            let read = ReadPage { page, rows: cached.rows, mine };
            reads.last_mut().expect("pushed").1.push(read);
        }
        self.outbox.forget(self.oldest_own(&assign));
        let leased = !leases.is_empty();
        let staleness = clock.ahead_of(oldest_read);
        self.computing = Some(Computing { assign: assign.clone(), staleness, leased });
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
        })
    }

    /// The rows that a step reads by row, with the updates of this worker that they lack.
    fn join_rows(
        &mut self,
        part: PartId,
        batches: Vec<(RowBatch, ShardId, u64, Clock)>,
        newest: bool,
    ) -> Vec<(TableId, ReadRows)> {
        let needed = self.reads.get(&part).map_or(&[][..], |needs| &needs.rows);
        let read =
            |needs: &RowNeeds| (needs.table, ReadRows { rows: Arc::clone(&needs.all), batches: Vec::new() });
        let mut rows: Vec<(TableId, ReadRows)> = needed.iter().map(read).collect();
        for (batch, shard, applied, _) in batches {
            let known = self.tables[batch.table.index()].update_rule().is_known_to_workers();
            let mine = if known { self.outbox.missing_rows(batch.table, shard, applied) } else { Vec::new() };
            if newest {
                self.outbox.rows_contained((batch.table, shard), applied);
            }
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

/// The pull to a shard, begun if there is none.
fn to<'a>(pulls: &'a mut BTreeMap<ShardId, Pull>, empty: &Pull, shard: ShardId) -> &'a mut Pull {
    pulls.entry(shard).or_insert_with(|| empty.clone())
}

#[cfg(test)]
mod tests;
