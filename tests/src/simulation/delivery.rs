//! The ring: a message arrives at a core, and what the core says goes on its lanes.

use slackline::WorkerId;
use slackline::cluster::{Holders, Layout};
use slackline::id::ShardId;
use slackline::message::{Advance, Commit, Got, Push, Rows};
use slackline::scheduler::Order;
use slackline::shard::Outgoing;
use slackline::worker::{Action, Desk, Prepared, Spent};

use super::invariants::{leases, membership};
use super::mutant;
use super::network::Lane;
use super::ring::{Cast, Ring, number};
use super::toy;
use super::words::{Body, Envelope, Place, holder};

impl Ring {
    /// Hands a message to whom it is for; drops it if it is of another generation than he.
    pub(crate) fn deliver(&mut self, lane: Lane, envelope: Envelope) {
        let (node, life) = lane.to();
        if !self.nodes[node].alive || self.nodes[node].life != life {
            return;
        }
        let Envelope { generation, from, to, body } = envelope;
        match to {
            Place::Scheduler => self.at_scheduler(lane, generation, body),
            Place::Crew => self.at_crew(lane, body),
            Place::Node => self.at_node(node, generation, body),
            _ if self.cast_of(node, generation).is_none() => {}
            Place::Worker(worker) => self.at_worker(node, generation, worker, body),
            Place::App(worker) => self.at_app(node, generation, worker, body),
            Place::Shard(shard) => self.at_shard((node, generation), (lane, from), (shard, false), body),
            Place::Backup(shard) => self.at_shard((node, generation), (lane, from), (shard, true), body),
        }
    }

    pub(crate) fn cast_of(&mut self, node: usize, generation: u32) -> Option<&mut Cast> {
        self.nodes[node].cast.as_mut().filter(|cast| cast.layout.generation == generation)
    }

    fn desk(&mut self, node: usize, worker: usize) -> &mut Desk {
        let now = self.time();
        let cast = self.nodes[node].cast.as_mut().expect("the generation is there");
        let desk = cast.desks.get_mut(&worker).expect("a message goes to a worker that is there");
        desk.tell_time(now);
        desk
    }

    fn layout(&self, node: usize) -> &Layout {
        &self.nodes[node].cast.as_ref().expect("the generation is there").layout
    }

    fn at_worker(&mut self, node: usize, generation: u32, worker: usize, body: Body) {
        let actions = match body {
            Body::Assign(assign) => self.desk(node, worker).assign(assign),
            Body::Rows(mut rows) => {
                if generation == self.world.generation {
                    leases::arrive(&mut self.world, worker, &rows);
                }
                self.mutate_rows(worker, &mut rows);
                self.desk(node, worker).rows(rows)
            }
            Body::Applied(applied) => self.desk(node, worker).applied(applied),
            _ => panic!("no such arrow"),
        };
        self.act(node, worker, actions);
    }

    fn mutate_rows(&mut self, worker: usize, rows: &mut Rows) {
        if let Some(mutant) = &mut self.mutant {
            mutant.rows(WorkerId::at(worker), rows);
        }
    }

    fn at_app(&mut self, node: usize, generation: u32, worker: usize, body: Body) {
        let Body::Compute(step) = body else { panic!("no such arrow") };
        let outcome = if generation == self.world.generation {
            membership::one_generation_at_work(self, generation);
            toy::compute(worker, *step, &mut self.world)
        } else {
            Some(toy::compute_in_vain(worker, *step, &self.world))
        };
        let actions = self.desk(node, worker).let_out();
        self.act(node, worker, actions);
        let actions = self.desk(node, worker).computed(outcome, Spent::default());
        self.act(node, worker, actions);
    }

    fn at_shard(
        &mut self,
        (node, generation): (usize, u32),
        (lane, from): (Lane, Place),
        (shard, backup): (usize, bool),
        body: Body,
    ) {
        if let Body::Push(push) = &body {
            self.push_arrives((node, generation), (lane, from), (shard, backup), push);
        }
        let (witness, now) = (self.record.witness(generation), self.time());
        let mut mutant = self.mutant.take();
        let cast = self.nodes[node].cast.as_mut().expect("the generation is there");
        let store = cast.stores.get_mut(&(shard, backup)).expect("a message goes to a shard that is there");
        store.tell_time(now);
        let out = match body {
            Body::Pull(pull) => {
                mutant.iter_mut().for_each(|mutant| mutant.pull(&pull));
                store.pull(pull).into_iter().collect()
            }
            Body::Push(mut push) => {
                mutant.iter_mut().for_each(|mutant| mutant.push(&mut push));
                let (worker, clock) = (push.worker, push.clock);
                let mut out = store.push(push);
                if mutant.as_ref().is_some_and(|mutant| mutant.fault == mutant::Fault::FoldsAtOnce) {
                    out.extend(store.commit(Commit { worker, clock }));
                }
                out
            }
            Body::Got(got) => store.got(got),
            Body::Advance(advance) => store.advance(advance),
            Body::Commit(commit) if mutant.as_mut().is_none_or(mutant::Mutant::hears_commit) => {
                store.commit(commit)
            }
            Body::Commit(_) => Vec::new(),
            Body::Snap(number, snap) => store.snapshot(number, snap),
            Body::Copy => {
                let rows = Body::Restore(Box::new(store.clone()));
                self.mutant = mutant;
                return self.hand_over(node, generation, shard, rows);
            }
            Body::Restore(rows) => {
                *store = *rows;
                store.stand_by(backup);
                store.witnessed(witness);
                self.mutant = mutant;
                let to = (0, Place::Node);
                return self.send(
                    (node, holder(ShardId::at(shard), backup)),
                    to,
                    generation,
                    Body::Restored(shard, backup),
                );
            }
            _ => panic!("no such arrow"),
        };
        self.mutant = mutant;
        self.answer((node, generation), holder(ShardId::at(shard), backup), out);
    }

    /// A shard brings its rows to its backup.
    fn hand_over(&mut self, node: usize, generation: u32, shard: usize, rows: Body) {
        let backup =
            self.layout(node).shards[shard].backup.clone().expect("a shard with a backup brings it rows");
        let to = (number(&backup), Place::Backup(shard));
        self.send((node, Place::Shard(shard)), to, generation, rows);
    }

    /// Puts a push in its lane again now and then, and looks after the leases that it returns.
    fn push_arrives(
        &mut self,
        (node, generation): (usize, u32),
        (lane, from): (Lane, Place),
        (shard, backup): (usize, bool),
        push: &Push,
    ) {
        let sender = lane.from();
        membership::is_of_the_generation(self, generation, sender);
        if self.chance(self.world.plan.duplicates) {
            let to = (node, holder(ShardId::at(shard), backup));
            self.send((sender.0, from), to, generation, Body::Push(push.clone()));
        }
        let seen = &mut self.nodes[node].cast.as_mut().expect("the generation is there").seen;
        if !backup
            && seen.insert((shard, push.worker.0, push.sequence))
            && generation == self.world.generation
        {
            leases::return_home(&mut self.world, push.worker, &push.returns);
        }
    }

    pub(crate) fn chance(&mut self, of_a_hundred: u32) -> bool {
        rand::RngExt::random_range(&mut self.rng, 0..100) < of_a_hundred
    }

    fn act(&mut self, node: usize, worker: usize, actions: Vec<Action>) {
        let generation = self.layout(node).generation;
        let from = (node, Place::Worker(worker));
        for action in actions {
            match action {
                Action::Pull(shard, pull) => {
                    let to = number(&self.layout(node).shards[shard.index()].primary);
                    self.send(from, (to, holder(shard, false)), generation, Body::Pull(pull));
                }
                Action::Push(shard, push) => {
                    let Holders { primary, backup } = self.layout(node).shards[shard.index()].clone();
                    if let Some(backup) = backup {
                        let to = (number(&backup), holder(shard, true));
                        self.send(from, to, generation, Body::Push(push.clone()));
                    }
                    self.send(from, (number(&primary), holder(shard, false)), generation, Body::Push(push));
                }
                Action::Report(report) => {
                    self.send(from, (0, Place::Scheduler), generation, Body::Report(report));
                }
                Action::Got(shard) => {
                    let to = number(&self.layout(node).shards[shard.index()].primary);
                    let got = Got { worker: WorkerId::at(worker) };
                    self.send(from, (to, holder(shard, false)), generation, Body::Got(got));
                }
                Action::Compute(Prepared(step)) => {
                    self.send(from, (node, Place::App(worker)), generation, Body::Compute(Box::new(step)));
                }
            }
        }
    }

    pub(crate) fn answer(&mut self, (node, generation): (usize, u32), from: Place, out: Vec<Outgoing>) {
        for message in out {
            let (worker, body) = match message {
                Outgoing::Rows(worker, rows) => (worker, Body::Rows(rows)),
                Outgoing::Applied(worker, applied) => (worker, Body::Applied(applied)),
                Outgoing::Snapshot(table, rows) => {
                    let Place::Shard(shard) = from else { panic!("a backup is not asked for rows") };
                    self.send((node, from), (0, Place::Node), generation, Body::Snapped(shard, table, rows));
                    continue;
                }
            };
            let to = number(&self.layout(node).workers[&worker]);
            self.send((node, from), (to, Place::Worker(worker.index())), generation, body);
        }
    }

    /// What the scheduler says goes to the members that it has met.
    pub(crate) fn carry_out(&mut self, orders: Vec<Order>) {
        let Some(layout) = self.lead.as_ref().and_then(|lead| lead.met.clone()) else { return };
        for order in orders {
            match order {
                Order::Assign(worker, assign) => {
                    self.world.at_work[worker.index()].push_back(assign.clone());
                    let to = (number(&layout.workers[&worker]), Place::Worker(worker.index()));
                    self.send((0, Place::Scheduler), to, layout.generation, Body::Assign(assign));
                }
                Order::Advance(min) => self.tell_shards(&layout, None, || Body::Advance(Advance { min })),
                Order::Commit(worker, clock, pushed) => {
                    self.tell_shards(&layout, Some(&pushed), || Body::Commit(Commit { worker, clock }));
                }
                Order::End(ending) => self.finish(ending),
                Order::Mark(_) | Order::Enter(_) => {}
                Order::Checkpoint => self.checkpointed(),
            }
        }
    }

    /// Nothing is in flight, and the run goes on at once.
    fn checkpointed(&mut self) {
        let at_work = &self.world.at_work;
        assert!(
            at_work.iter().all(std::collections::VecDeque::is_empty),
            "a checkpoint finds nothing in flight"
        );
        if let Some(lead) = &mut self.lead {
            assert!(!lead.dispatch.must_flush(), "a checkpoint finds nothing kept back");
            let orders = lead.dispatch.resume();
            self.carry_out(orders);
        }
    }

    /// Tells these shards, or all, and those that stand by for them.
    fn tell_shards(&mut self, layout: &Layout, these: Option<&[ShardId]>, body: impl Fn() -> Body) {
        let is_told =
            |(shard, _): &(usize, &Holders)| these.is_none_or(|these| these.contains(&ShardId::at(*shard)));
        for (shard, holders) in layout.shards.iter().enumerate().filter(is_told) {
            for (place, node) in holders.nodes().enumerate() {
                let to = (number(node), holder(ShardId::at(shard), place > 0));
                self.send((0, Place::Scheduler), to, layout.generation, body());
            }
        }
    }

    /// A worker is ready for work.
    pub(crate) fn join(&mut self, generation: u32, worker: usize) {
        let Some(lead) = &mut self.lead else { return };
        let met = lead.met.as_ref().map_or(0, |layout| layout.generation);
        if met != generation {
            if self.mutant.as_ref().is_none_or(|mutant| mutant.fault != mutant::Fault::ForgetsWhoIsEarly) {
                lead.early.push((generation, worker));
            }
            return;
        }
        let orders = lead.dispatch.join(WorkerId::at(worker));
        self.carry_out(orders);
    }
}
