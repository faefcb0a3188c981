//! The actors of one generation on one node: made, joined with those elsewhere, and retired.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use actix::prelude::*;
use actix_rt::ArbiterHandle;

use super::actor::Node;
use super::life::{Care, Retire};
use super::reach::{Post, Reach};
use crate::audit::Witness;
use crate::bridge;
use crate::budget::Budget;
use crate::checkpoint::Saved;
use crate::clock::Consistency;
use crate::cluster::{Layout, Origin};
use crate::id::{ShardId, WorkerId};
use crate::message::{Advance, Applied, Assign, Commit, Got, Join, Pull, Push, Report, Restore, Rows, Snap};
use crate::placement::Placement;
use crate::scheduler::{Halted, Meet, Scheduler, ToShard};
use crate::shard::{HandOver, Introduce, Shard, Store, ToWorker};
use crate::table::Table;
use crate::worker::{Desk, Routes, RowCache, Setting, ToHolders, Worker};

/// What every generation of a run needs.
pub(super) struct Stage {
    pub(super) tables: Arc<Vec<Table>>,
    pub(super) consistency: Consistency,
    pub(super) bandwidth: Option<u64>,
    pub(super) witness: Witness,
    pub(super) seed: u64,
    pub(super) encoded: bool,
    /// This node's name; empty where there is but one.
    pub(super) here: String,
    pub(super) post: Option<Post>,
    /// Where shards run.
    pub(super) threads: Vec<ArbiterHandle>,
    pub(super) care: Care,
    /// On the lead.
    pub(super) scheduler: Option<Addr<Scheduler>>,
}

/// The actors of one generation on this node.
pub(super) struct Cast {
    pub(super) layout: Layout,
    /// Those that others read from (`false`) and those that stand by.
    shards: BTreeMap<(ShardId, bool), Addr<Shard>>,
    workers: BTreeMap<WorkerId, Addr<Worker>>,
    /// Workers that have not begun.
    waiting: Vec<(Context<Worker>, Worker)>,
    /// All shards of the run, shard 0 first.
    pub(super) all_shards: Vec<Recipient<Snap>>,
}

impl Stage {
    fn reach<'a>(&'a self, layout: &'a Layout) -> Reach<'a> {
        Reach { layout, post: self.post.as_ref(), encoded: self.encoded }
    }

    /// Makes the actors of a generation. `stores` are what the shards of the one before had, for those that have it
    /// still.
    pub(super) fn cast(
        &self,
        layout: Layout,
        origin: Origin,
        (mut stores, halted): (BTreeMap<ShardId, Store>, &Halted),
        node: &Addr<Node>,
    ) -> Cast {
        let placement = Placement::over(layout.shards.len());
        let mut shards = BTreeMap::new();
        for (number, (id, backup)) in layout.shards_of(&self.here).enumerate() {
            let kept = stores.remove(&id).filter(|_| origin == Origin::Kept);
            let store = kept.unwrap_or_else(|| self.fresh_store(id, placement));
            let mut store = store.within(self.bandwidth.map(Budget::new));
            store.regroup(halted);
            store.stand_by(backup);
            store.witnessed(self.witness.of(layout.generation));
            shards.insert((id, backup), self.start_shard(store, number));
        }
        let contexts: BTreeMap<WorkerId, Context<Worker>> =
            layout.workers_of(&self.here).map(|worker| (worker, Context::new())).collect();
        let workers = contexts.iter().map(|(worker, context)| (*worker, context.address())).collect();
        let mut cast = Cast { layout, shards, workers, waiting: Vec::new(), all_shards: Vec::new() };
        self.expose(&cast);
        self.introduce(&cast);
        cast.all_shards = self.all_shards(&cast);
        cast.waiting = self.make_workers(&cast, contexts, placement, node);
        cast
    }

    fn fresh_store(&self, id: ShardId, placement: Placement) -> Store {
        let store = Store::new(id, placement, Arc::clone(&self.tables), self.consistency);
        if self.post.is_some() { store.transactional() } else { store }
    }

    fn start_shard(&self, store: Store, number: usize) -> Addr<Shard> {
        let lifeline = self.care.lifeline(format!("shard {}", store.id()));
        let make = move |_: &mut Context<Shard>| Shard::new(store, lifeline);
        Shard::start_in_arbiter(&self.threads[number % self.threads.len()], make)
    }

    fn expose(&self, cast: &Cast) {
        let reach = self.reach(&cast.layout);
        for ((id, backup), shard) in &cast.shards {
            let actor = name_of(*id, *backup);
            reach.expose::<Pull, _>(actor, shard);
            reach.expose::<Push, _>(actor, shard);
            reach.expose::<Advance, _>(actor, shard);
            reach.expose::<Commit, _>(actor, shard);
            reach.expose::<Got, _>(actor, shard);
            reach.expose::<Snap, _>(actor, shard);
            reach.expose::<Restore, _>(actor, shard);
        }
        for (id, worker) in &cast.workers {
            let actor = bridge::Actor::Worker(*id);
            reach.expose::<Assign, _>(actor, worker);
            reach.expose::<Rows, _>(actor, worker);
            reach.expose::<Applied, _>(actor, worker);
        }
        if let Some(scheduler) = &self.scheduler {
            reach.expose::<Join, _>(bridge::Actor::Scheduler, scheduler);
            reach.expose::<Report, _>(bridge::Actor::Scheduler, scheduler);
        }
    }

    /// Tells the shards of this node where all workers are.
    fn introduce(&self, cast: &Cast) {
        let reach = self.reach(&cast.layout);
        let route = |(worker, node): (&WorkerId, &String)| {
            let (actor, local) = (bridge::Actor::Worker(*worker), cast.workers.get(worker));
            (*worker, ToWorker { rows: reach.to(node, actor, local), applied: reach.to(node, actor, local) })
        };
        let routes: BTreeMap<WorkerId, ToWorker> = cast.layout.workers.iter().map(route).collect();
        cast.shards.values().for_each(|shard| shard.do_send(Introduce(routes.clone())));
    }

    fn all_shards(&self, cast: &Cast) -> Vec<Recipient<Snap>> {
        let reach = self.reach(&cast.layout);
        let route = |(number, node): (usize, &String)| {
            let id = ShardId::at(number);
            reach.ask(node, name_of(id, false), cast.shards.get(&(id, false)))
        };
        cast.layout.shards.iter().map(|holders| &holders.primary).enumerate().map(route).collect()
    }

    fn make_workers(
        &self,
        cast: &Cast,
        contexts: BTreeMap<WorkerId, Context<Worker>>,
        placement: Placement,
        node: &Addr<Node>,
    ) -> Vec<(Context<Worker>, Worker)> {
        let layout = &cast.layout;
        let backed = layout.shards.iter().enumerate().filter(|(_, holders)| holders.backup.is_some());
        let setting = Setting {
            tables: Arc::clone(&self.tables),
            placement,
            consistency: self.consistency,
            seed: self.seed,
            generation: layout.generation,
            transactional: self.post.is_some(),
            backed: Arc::new(backed.map(|(number, _)| ShardId::at(number)).collect::<BTreeSet<_>>()),
            away: Arc::new(layout.away_from(&self.here)),
            budget: self.bandwidth.map(Budget::new),
            witness: self.witness.of(layout.generation),
        };
        let cache = Arc::new(RowCache::default());
        let make = |(id, context): (WorkerId, Context<Worker>)| {
            let desk = Desk::new(id, setting.clone(), Arc::clone(&cache));
            let lifeline = self.care.lifeline(format!("worker {id}"));
            (context, Worker::new(id, desk, self.routes(cast, node), lifeline))
        };
        contexts.into_iter().map(make).collect()
    }

    fn routes(&self, cast: &Cast, node: &Addr<Node>) -> Routes {
        let (layout, reach) = (&cast.layout, self.reach(&cast.layout));
        let scheduler = bridge::Actor::Scheduler;
        let holders = |number: usize| {
            let id = ShardId::at(number);
            let holders = &layout.shards[number];
            let local = |backup| cast.shards.get(&(id, backup));
            let standing_by =
                holders.backup.iter().map(|node| reach.to(node, name_of(id, true), local(true)));
            let primary = reach.to(&holders.primary, name_of(id, false), local(false));
            ToHolders {
                pull: reach.to(&holders.primary, name_of(id, false), local(false)),
                got: reach.to(&holders.primary, name_of(id, false), local(false)),
                push: std::iter::once(primary).chain(standing_by).collect(),
            }
        };
        Routes {
            join: reach.to(&layout.lead, scheduler, self.scheduler.as_ref()),
            report: reach.to(&layout.lead, scheduler, self.scheduler.as_ref()),
            shards: (0..layout.shards.len()).map(holders).collect(),
            renew: node.clone().recipient(),
        }
    }

    /// Gives the shards of a run in one process what was saved.
    pub(super) fn restore(&self, cast: &Cast, saved: &Saved) {
        let placement = Placement::over(cast.layout.shards.len());
        for ((id, _), shard) in &cast.shards {
            shard.do_send(Restore { tables: saved.share_of(*id, placement), min: saved.clock });
        }
    }

    /// Where the rows of each shard are to be brought: to the primary, then to its backup.
    pub(super) fn holders(&self, cast: &Cast) -> Vec<(ShardId, Vec<Recipient<Restore>>)> {
        let reach = self.reach(&cast.layout);
        let of = |(number, holders): (usize, &crate::cluster::Holders)| {
            let id = ShardId::at(number);
            let way = |(place, node): (usize, &String)| {
                let backup = place > 0;
                reach.ask(node, name_of(id, backup), cast.shards.get(&(id, backup)))
            };
            (id, holders.nodes().enumerate().map(way).collect())
        };
        cast.layout.shards.iter().enumerate().map(of).collect()
    }

    /// Lets the workers of this node begin, and the scheduler if it is here.
    pub(super) fn begin(&self, cast: &mut Cast) {
        if let Some(scheduler) = &self.scheduler {
            scheduler.do_send(self.meeting(cast));
        }
        for (context, worker) in cast.waiting.drain(..) {
            context.run(worker);
        }
    }

    fn meeting(&self, cast: &Cast) -> Meet {
        let (layout, reach) = (&cast.layout, self.reach(&cast.layout));
        let mut shards = Vec::new();
        for (number, holders) in layout.shards.iter().enumerate() {
            for (place, node) in holders.nodes().enumerate() {
                let (id, backup) = (ShardId::at(number), place > 0);
                let (actor, local) = (name_of(id, backup), cast.shards.get(&(id, backup)));
                shards.push(ToShard {
                    shard: id,
                    advance: reach.to(node, actor, local),
                    commit: reach.to(node, actor, local),
                });
            }
        }
        let worker = |(id, node): (&WorkerId, &String)| {
            let assign = reach.to(node, bridge::Actor::Worker(*id), cast.workers.get(id));
            (*id, (assign, node.clone()))
        };
        Meet {
            generation: layout.generation,
            shards,
            workers: layout.workers.iter().map(worker).collect(),
            homes: layout.homes(),
            snaps: cast.all_shards.clone(),
        }
    }
}

impl Cast {
    /// Ends the actors of this generation; what its shards had is the answer.
    pub(super) fn retire(
        self,
        post: Option<&Post>,
    ) -> impl Future<Output = BTreeMap<ShardId, Store>> + use<> {
        if let Some(post) = post {
            post.directory.withdraw(self.layout.generation);
        }
        self.workers.values().for_each(|worker| worker.do_send(Retire));
        let waiting = self.waiting;
        let shards = self.shards;
        async move {
            for (_, mut worker) in waiting {
                worker.release();
            }
            let mut stores = BTreeMap::new();
            for ((id, _), shard) in shards {
                if let Ok(Some(store)) = shard.send(HandOver).await {
                    stores.insert(id, store);
                }
            }
            stores
        }
    }
}

fn name_of(shard: ShardId, backup: bool) -> bridge::Actor {
    if backup { bridge::Actor::Backup(shard) } else { bridge::Actor::Shard(shard) }
}
