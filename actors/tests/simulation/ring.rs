//! The ring: who sends what to whom, over lanes that a seeded generator empties.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use slackline::id::{ShardId, TableId};
use slackline::message::{Advance, Applied, Assign, Pull, Push, Report, Rows, Snap, Snapshot};
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
    /// Who wrote a leased block, in order.
    pub(crate) visits: BTreeMap<BlockId, Vec<i32>>,
    /// Who has a leased block, from the moment it arrives until its shard has it back.
    pub(crate) holders: BTreeMap<BlockId, WorkerId>,
    /// Steps assigned to each worker and not yet reported.
    pub(crate) at_work: Vec<VecDeque<Assign>>,
}

/// An arrow of the ring.
enum Message {
    Assign(Assign),
    Advance(Advance),
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
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Scheduler,
    Worker(usize),
    Shard(usize),
    App(usize),
}

/// From, to, and the kind of message where kinds have lanes of their own.
type Lane = (Place, Place, u8);

/// All parts of a run and the messages between them.
pub(crate) struct Ring {
    pub(crate) world: World,
    dispatch: Dispatch,
    desks: Vec<Desk>,
    stores: Vec<Store>,
    tables: Arc<Vec<Table>>,
    lanes: BTreeMap<Lane, VecDeque<Message>>,
    rng: Xoshiro256PlusPlus,
    /// Pushes that reached their shard.
    seen: BTreeSet<(usize, WorkerId, u64)>,
    ending: Option<Ending>,
    /// Whether nothing may be in flight, for a checkpoint.
    drained: bool,
}

impl Ring {
    pub(crate) fn new(plan: &Plan, delivery: u64) -> Self {
        let tables = Arc::new(plan.tables());
        let placement = Placement::over(plan.shards);
        let consistency = plan.consistency;
        let setting = Setting { tables: Arc::clone(&tables), placement, consistency, seed: plan.seed };
        let cache = Arc::new(RowCache::default());
        let desk = |worker| Desk::new(WorkerId::at(worker), setting.clone(), Arc::clone(&cache));
        let store = |shard| Store::new(ShardId::at(shard), placement, Arc::clone(&tables), consistency);
        let world = World {
            made: vec![Vec::new(); plan.workers],
            visits: BTreeMap::new(),
            holders: BTreeMap::new(),
            at_work: vec![VecDeque::new(); plan.workers],
            plan: plan.clone(),
        };
        Self {
            world,
            dispatch: Dispatch::new(consistency, plan.schedule(), plan.workers),
            desks: (0..plan.workers).map(desk).collect(),
            stores: (0..plan.shards).map(store).collect(),
            tables,
            lanes: BTreeMap::new(),
            rng: Xoshiro256PlusPlus::seed_from_u64(delivery),
            seen: BTreeSet::new(),
            ending: None,
            drained: false,
        }
    }

    /// Delivers until nothing is left to deliver.
    ///
    /// # Panics
    /// When a promise is broken.
    pub(crate) fn run(&mut self) -> Ending {
        for worker in 0..self.desks.len() {
            let orders = self.dispatch.join(WorkerId::at(worker));
            self.carry_out(orders);
        }
        for delivered in 0..MOST {
            if self.world.plan.stop_after == Some(delivered) {
                self.drained = false;
                let orders = self.dispatch.stop();
                self.carry_out(orders);
            }
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

    fn deliver(&mut self, lane: Lane, message: Message) {
        let (from, to, _) = lane;
        match (to, message) {
            (Place::Worker(w), Message::Assign(assign)) => {
                let actions = self.desks[w].assign(assign);
                self.act(w, actions);
            }
            (Place::Worker(w), Message::Rows(rows)) => {
                invariants::leased_to_one(&mut self.world, w, &rows.leases);
                let actions = self.desks[w].rows(rows);
                self.act(w, actions);
            }
            (Place::Worker(w), Message::Applied(applied)) => {
                let actions = self.desks[w].applied(applied);
                self.act(w, actions);
            }
            (Place::App(w), Message::Compute(step)) => {
                let outcome = toy::compute(w, *step, &mut self.world);
                let actions = self.desks[w].computed(outcome, Spent::default());
                self.act(w, actions);
            }
            (Place::Shard(s), Message::Pull(pull)) => {
                let out = self.stores[s].pull(pull);
                self.answer(s, out);
            }
            (Place::Shard(s), Message::Push(push)) => self.push(s, from, push),
            (Place::Shard(s), Message::Advance(advance)) => {
                let out = self.stores[s].advance(advance);
                self.answer(s, out);
            }
            (Place::Scheduler, Message::Report(report)) => {
                self.world.at_work[report.worker.index()].pop_front();
                let orders = self.dispatch.report(report);
                self.carry_out(orders);
            }
            _ => panic!("no such arrow"),
        }
    }

    /// Delivers a push, and now and then puts it in its lane again.
    fn push(&mut self, shard: usize, from: Place, push: Push) {
        if self.rng.random_range(0..100) < self.world.plan.duplicates {
            self.send(from, Place::Shard(shard), Message::Push(push.clone()));
        }
        if self.seen.insert((shard, push.worker, push.sequence)) {
            invariants::given_back(&mut self.world, push.worker, &push.returns);
        }
        let out = self.stores[shard].push(push);
        self.answer(shard, out);
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
                    for shard in 0..self.stores.len() {
                        let message = Message::Advance(Advance { min });
                        self.send(Place::Scheduler, Place::Shard(shard), message);
                    }
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

    fn act(&mut self, worker: usize, actions: Vec<Action>) {
        for action in actions {
            let (to, message) = match action {
                Action::Pull(shard, pull) => (Place::Shard(shard.index()), Message::Pull(pull)),
                Action::Push(shard, push) => (Place::Shard(shard.index()), Message::Push(push)),
                Action::Report(report) => (Place::Scheduler, Message::Report(report)),
                Action::Compute(Prepared(step)) => (Place::App(worker), Message::Compute(Box::new(step))),
            };
            self.send(Place::Worker(worker), to, message);
        }
    }

    fn answer(&mut self, shard: usize, out: impl IntoIterator<Item = Outgoing>) {
        for message in out {
            let (worker, message) = match message {
                Outgoing::Rows(worker, rows) => (worker, Message::Rows(rows)),
                Outgoing::Applied(worker, applied) => (worker, Message::Applied(applied)),
                Outgoing::Snapshot(..) => panic!("nobody asked for a snapshot"),
            };
            self.send(Place::Shard(shard), Place::Worker(worker.index()), message);
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
    };
    number(lane.0) * 10_000 + number(lane.1) * 10 + u64::from(lane.2)
}
