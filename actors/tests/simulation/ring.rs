//! The ring: who sends what to whom, over lanes that a seeded generator empties.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use slackline::id::{ShardId, TableId};
use slackline::message::{Advance, Applied, Assign, Commit, Pull, Push, Report, Rows, Snap, Snapshot};
use slackline::placement::Placement;
use slackline::scheduler::{Dispatch, Ending, Order};
use slackline::shard::{Outgoing, Store};
use slackline::worker::{Action, Desk, Prepared, RowCache, Setting, Spent};
use slackline::{BlockId, Clock, Model, PartId, Step, Table, WorkerId};

use crate::invariants;
use crate::plan::Plan;
use crate::toy;

/// Deliveries after which a run is taken to be without end.
const MOST: u32 = 200_000;

/// What is known of a run from outside: what every worker made, who holds what, who is at work.
pub(crate) struct World {
    pub(crate) plan: Plan,
    /// The updates of each worker, in the order in which it made them.
    pub(crate) made: Vec<Vec<(Clock, PartId)>>,
    /// Who wrote a leased block and when, in order.
    pub(crate) visits: BTreeMap<BlockId, Vec<(i32, Clock)>>,
    /// How many of the updates of each worker are of steps that count, whatever happens to it.
    pub(crate) counted: Vec<usize>,
    /// How many visits of a block are of steps that count.
    pub(crate) sealed: BTreeMap<BlockId, usize>,
    /// Who has a leased block, from the moment it arrives until its shard has it back.
    pub(crate) holders: BTreeMap<BlockId, WorkerId>,
    /// Steps assigned to each worker and not yet reported.
    pub(crate) at_work: Vec<VecDeque<Assign>>,
}

/// An arrow of the ring.
pub(crate) enum Message {
    Assign(Assign),
    Advance(Advance),
    Commit(Commit),
    Pull(Pull),
    Push(Push),
    Rows(Rows),
    Applied(Applied),
    Report(Report),
    Compute(Box<Step>),
}

impl Message {
    fn kind(&self) -> u8 {
        match self {
            Self::Assign(_) => 0,
            Self::Advance(_) => 1,
            Self::Pull(_) => 2,
            Self::Push(_) => 3,
            Self::Rows(_) => 4,
            Self::Applied(_) => 5,
            Self::Report(_) => 6,
            Self::Compute(_) => 7,
            Self::Commit(_) => 1, // in order with the advances
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    Scheduler,
    Worker(usize),
    Shard(usize),
    Backup(usize),
    App(usize),
}

/// From, to, and the kind of message where kinds have lanes of their own.
pub(crate) type Lane = (Place, Place, u8);

/// All parts of a run and the messages between them.
pub(crate) struct Ring {
    pub(crate) world: World,
    pub(crate) dispatch: Dispatch,
    /// The desks of the workers that are there.
    pub(crate) desks: BTreeMap<usize, Desk>,
    pub(crate) stores: Vec<Store>,
    pub(crate) backups: Vec<Option<Store>>,
    pub(crate) generation: u32,
    pub(crate) tables: Arc<Vec<Table>>,
    pub(crate) lanes: BTreeMap<Lane, VecDeque<Message>>,
    rng: Xoshiro256PlusPlus,
    /// Pushes that reached their shard.
    pub(crate) seen: BTreeSet<(usize, WorkerId, u64)>,
    /// Steps that were reported and may still be void.
    pub(crate) reported: Vec<(WorkerId, Clock)>,
    ending: Option<Ending>,
    /// Whether nothing may be in flight, for a checkpoint.
    pub(crate) drained: bool,
}

impl Ring {
    pub(crate) fn new(plan: &Plan, delivery: u64) -> Self {
        let tables = Arc::new(plan.tables());
        let placement = Placement::over(plan.shards);
        let consistency = plan.consistency;
        let store = |shard| {
            let store = Store::new(ShardId::at(shard), placement, Arc::clone(&tables), consistency);
            if plan.cluster { store.transactional() } else { store }
        };
        let backup = |shard| {
            plan.backed.then(|| {
                let mut store = store(shard);
                store.stand_by(true);
                store
            })
        };
        let world = World {
            made: vec![Vec::new(); plan.workers],
            visits: BTreeMap::new(),
            counted: vec![0; plan.workers],
            sealed: BTreeMap::new(),
            holders: BTreeMap::new(),
            at_work: vec![VecDeque::new(); plan.workers],
            plan: plan.clone(),
        };
        let at_start = plan.workers_at_start();
        let dispatch = Dispatch::new(consistency, plan.schedule(), at_start);
        let stores: Vec<Store> = (0..plan.shards).map(store).collect();
        let backups = (0..plan.shards).map(backup).collect();
        let mut ring = Self {
            world,
            dispatch: if plan.cluster { dispatch.transactional() } else { dispatch },
            desks: BTreeMap::new(),
            stores,
            backups,
            generation: 1,
            tables,
            lanes: BTreeMap::new(),
            rng: Xoshiro256PlusPlus::seed_from_u64(delivery),
            seen: BTreeSet::new(),
            reported: Vec::new(),
            ending: None,
            drained: false,
        };
        ring.seat((0..at_start).collect());
        ring
    }

    /// Gives these workers empty desks and a cache of their own generation.
    pub(crate) fn seat(&mut self, workers: Vec<usize>) {
        let backed = (0..self.backups.len()).filter(|shard| self.backups[*shard].is_some()).map(ShardId::at);
        let setting = Setting {
            tables: Arc::clone(&self.tables),
            placement: Placement::over(self.stores.len()),
            consistency: self.world.plan.consistency,
            seed: self.world.plan.seed,
            generation: self.generation,
            transactional: self.world.plan.cluster,
            backed: Arc::new(backed.collect()),
        };
        let cache = Arc::new(RowCache::default());
        let desk = |worker| (worker, Desk::new(WorkerId::at(worker), setting.clone(), Arc::clone(&cache)));
        self.desks = workers.into_iter().map(desk).collect();
    }

    /// Everyone with a desk tells the scheduler that he is ready.
    pub(crate) fn join(&mut self) {
        for worker in self.desks.keys().copied().collect::<Vec<_>>() {
            let orders = self.dispatch.join(WorkerId::at(worker));
            self.carry_out(orders);
        }
    }

    /// Delivers until nothing is left to deliver.
    ///
    /// # Panics
    /// When a promise is broken.
    pub(crate) fn run(&mut self) -> Ending {
        self.join();
        for delivered in 0..MOST {
            if self.world.plan.stop_after == Some(delivered) {
                self.drained = false;
                let orders = self.dispatch.stop();
                self.carry_out(orders);
            }
            self.change_members(delivered);
            let every = self.world.plan.drain_every;
            if every > 0 && delivered % every == every - 1 && self.ending.is_none() {
                let orders = self.dispatch.drain();
                self.carry_out(orders);
            }
            let Some((lane, message)) = self.pick() else {
                if std::mem::take(&mut self.drained) {
                    self.model(); // every row can be had at once
                    let orders = self.dispatch.resume();
                    self.carry_out(orders);
                    continue;
                }
                return self
                    .ending
                    .clone()
                    .expect("nothing is under way and the run has not ended: a deadlock");
            };
            self.deliver(lane, message);
        }
        panic!("the run does not end");
    }

    /// The tables, put together from all shards.
    pub(crate) fn model(&mut self) -> Model {
        let need = self.dispatch.min();
        let share = |store: &mut Store, table| match store
            .snapshot(1, Snap { table: TableId::at(table), need })
            .pop()
        {
            Some(Outgoing::Snapshot(1, snapshot)) => snapshot,
            _ => panic!("blocks are out after the end"),
        };
        let shares = (0..self.tables.len()).map(|table| {
            let mut whole = Snapshot::default();
            for store in &mut self.stores {
                let share = share(store, table);
                whole.pages.extend(share.pages);
                whole.blocks.extend(share.blocks);
            }
            whole
        });
        Model::of(Arc::clone(&self.tables), shares.collect())
    }

    /// The next message of a lane drawn at random; uneven lanes are drawn more or less often.
    fn pick(&mut self) -> Option<(Lane, Message)> {
        self.lanes.retain(|_, queue| !queue.is_empty());
        let lanes: Vec<Lane> = self.lanes.keys().copied().collect();
        if lanes.is_empty() {
            return None;
        }
        let lane = loop {
            let number = self.rng.random_range(0..lanes.len());
            let weight = match self.world.plan.uneven {
                true => 1 + toy::hash(&[self.world.plan.seed, place(lanes[number])]) % 32,
                false => 32,
            };
            if self.rng.random_range(0..32) < weight {
                break lanes[number];
            }
        };
        let message = self.lanes.get_mut(&lane).and_then(VecDeque::pop_front);
        message.map(|message| (lane, message))
    }

    fn send(&mut self, from: Place, to: Place, message: Message) {
        let kind = if self.world.plan.split { message.kind() } else { 0 };
        self.lanes.entry((from, to, kind)).or_default().push_back(message);
    }

    pub(crate) fn deliver(&mut self, lane: Lane, message: Message) {
        let (from, to, _) = lane;
        match (to, message) {
            (Place::Worker(w), Message::Assign(assign)) => {
                let actions = self.desk(w).assign(assign);
                self.act(w, actions);
            }
            (Place::Worker(w), Message::Rows(rows)) => {
                invariants::leased_to_one(&mut self.world, w, &rows.leases);
                let actions = self.desk(w).rows(rows);
                self.act(w, actions);
            }
            (Place::Worker(w), Message::Applied(applied)) => {
                let actions = self.desk(w).applied(applied);
                self.act(w, actions);
            }
            (Place::App(w), Message::Compute(step)) => {
                let outcome = toy::compute(w, *step, &mut self.world);
                let actions = self.desk(w).computed(outcome, Spent::default());
                self.act(w, actions);
            }
            (Place::Shard(s), Message::Pull(pull)) => {
                let out = self.stores[s].pull(pull);
                self.answer(Place::Shard(s), out);
            }
            (Place::Shard(s), Message::Push(push)) => self.push(s, from, push),
            (Place::Shard(s), Message::Advance(advance)) => {
                let out = self.stores[s].advance(advance);
                self.answer(Place::Shard(s), out);
            }
            (Place::Shard(s), Message::Commit(commit)) => {
                let out = self.stores[s].commit(commit);
                self.answer(Place::Shard(s), out);
            }
            (Place::Backup(s), message) => self.stand_by(s, message),
            (Place::Scheduler, Message::Report(report)) => {
                self.world.at_work[report.worker.index()].pop_front();
                self.note(report.worker, report.clock);
                let orders = self.dispatch.report(report);
                self.carry_out(orders);
            }
            _ => panic!("no such arrow"),
        }
    }

    /// Delivers a push, and now and then puts it in its lane again.
    /// A shard that stands by takes in what its shard does.
    fn stand_by(&mut self, shard: usize, message: Message) {
        let store = self.backups[shard].as_mut().expect("the backup is there");
        let out = match message {
            Message::Push(push) => store.push(push),
            Message::Advance(advance) => store.advance(advance),
            Message::Commit(commit) => store.commit(commit),
            _ => panic!("no such arrow"),
        };
        self.answer(Place::Backup(shard), out);
    }

    fn push(&mut self, shard: usize, from: Place, push: Push) {
        if self.rng.random_range(0..100) < self.world.plan.duplicates {
            self.send(from, Place::Shard(shard), Message::Push(push.clone()));
        }
        if self.seen.insert((shard, push.worker, push.sequence)) {
            invariants::given_back(&mut self.world, push.worker, &push.returns);
        }
        let out = self.stores[shard].push(push);
        self.answer(Place::Shard(shard), out);
    }

    fn desk(&mut self, worker: usize) -> &mut Desk {
        self.desks.get_mut(&worker).expect("a message goes to a worker that is there")
    }

    fn carry_out(&mut self, orders: Vec<Order>) {
        for order in orders {
            match order {
                Order::Assign(worker, assign) => {
                    assert!(!self.drained, "nothing begins before a checkpoint is taken");
                    self.world.at_work[worker.index()].push_back(assign.clone());
                    self.send(Place::Scheduler, Place::Worker(worker.index()), Message::Assign(assign));
                }
                Order::Advance(min) => {
                    self.tell_shards(|| Message::Advance(Advance { min }));
                }
                Order::Commit(worker, clock) => {
                    self.tell_shards(|| Message::Commit(Commit { worker, clock }));
                }
                Order::End(ending) => {
                    assert!(self.ending.is_none(), "a run ends once");
                    assert!(
                        self.world.at_work.iter().all(VecDeque::is_empty),
                        "nothing is in flight at the end"
                    );
                    self.ending = Some(ending);
                }
                Order::Checkpoint => {
                    assert!(!self.drained, "a checkpoint is said once");
                    assert!(self.world.at_work.iter().all(VecDeque::is_empty), "nothing is in flight");
                    self.drained = true;
                }
                Order::Mark(_) | Order::Enter(_) => {}
            }
        }
    }

    fn tell_shards(&mut self, message: impl Fn() -> Message) {
        for shard in 0..self.stores.len() {
            self.send(Place::Scheduler, Place::Shard(shard), message());
            if self.backups[shard].is_some() {
                self.send(Place::Scheduler, Place::Backup(shard), message());
            }
        }
    }

    fn act(&mut self, worker: usize, actions: Vec<Action>) {
        for action in actions {
            if let Action::Push(shard, push) = &action
                && self.backups[shard.index()].is_some()
            {
                let to = Place::Backup(shard.index());
                self.send(Place::Worker(worker), to, Message::Push(push.clone()));
            }
            let (to, message) = match action {
                Action::Pull(shard, pull) => (Place::Shard(shard.index()), Message::Pull(pull)),
                Action::Push(shard, push) => (Place::Shard(shard.index()), Message::Push(push)),
                Action::Report(report) => (Place::Scheduler, Message::Report(report)),
                Action::Compute(Prepared(step)) => (Place::App(worker), Message::Compute(Box::new(step))),
            };
            self.send(Place::Worker(worker), to, message);
        }
    }

    pub(crate) fn answer(&mut self, from: Place, out: impl IntoIterator<Item = Outgoing>) {
        for message in out {
            let (worker, message) = match message {
                Outgoing::Rows(worker, rows) => (worker, Message::Rows(rows)),
                Outgoing::Applied(worker, applied) => (worker, Message::Applied(applied)),
                Outgoing::Snapshot(..) => panic!("nobody asked for a snapshot"),
            };
            self.send(from, Place::Worker(worker.index()), message);
        }
    }
}

/// A lane as a number.
fn place(lane: Lane) -> u64 {
    let number = |place| match place {
        Place::Scheduler => 0,
        Place::Worker(n) => 100 + n as u64,
        Place::Shard(n) => 200 + n as u64,
        Place::App(n) => 300 + n as u64,
        Place::Backup(n) => 400 + n as u64,
    };
    number(lane.0) * 10_000 + number(lane.1) * 10 + u64::from(lane.2)
}
