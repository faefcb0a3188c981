//! What a node does: it makes the actors of a generation, and on the lead it gathers rows and brings them. As
//! `actors/src/node/`, whose actors only pass on what is decided in the cores.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use slackline::budget::Budget;
use slackline::cluster::{Layout, Origin};
use slackline::id::{ShardId, TableId};
use slackline::message::{Report, Snap};
use slackline::placement::Placement;
use slackline::scheduler::{Ending, Halted};
use slackline::worker::{Desk, RowCache, Setting};
use slackline::{Model, WorkerId};

use super::invariants::membership;
use super::network::Lane;
use super::ring::{Cast, Ring, name, number};
use super::words::{Body, Place, holder};

impl Ring {
    /// Ends the actors of the generation before and makes those of this one.
    pub(crate) fn deploy(&mut self, node: usize, layout: Layout, origin: Origin, halted: &Halted) {
        let before = self.nodes[node].cast.take().map(|cast| cast.stores).unwrap_or_default();
        let mut kept: BTreeMap<usize, _> =
            before.into_iter().map(|((shard, _), store)| (shard, store)).collect();
        let called = if self.world.plan.cluster.is_some() { name(node) } else { String::new() };
        let mut stores = BTreeMap::new();
        for (shard, backup) in layout.shards_of(&called) {
            let kept = kept.remove(&shard.index()).filter(|_| origin == Origin::Kept);
            let mut store = kept.unwrap_or_else(|| self.world.plan.store(shard.index(), &self.tables));
            store.regroup(halted);
            store.stand_by(backup);
            store.witnessed(self.record.witness(layout.generation));
            stores.insert((shard.index(), backup), store);
        }
        let desks = self.desks(&called, &layout);
        self.nodes[node].generation = layout.generation;
        self.nodes[node].cast = Some(Cast { layout, desks, stores, seen: BTreeSet::new() });
    }

    /// Empty desks for the workers of a node, and a cache of their own generation.
    fn desks(&self, node: &str, layout: &Layout) -> BTreeMap<usize, Desk> {
        let plan = &self.world.plan;
        let backed = layout.shards.iter().enumerate().filter(|(_, holders)| holders.backup.is_some());
        let setting = Setting {
            tables: Arc::clone(&self.tables),
            placement: Placement::over(layout.shards.len()),
            consistency: plan.consistency,
            seed: plan.seed,
            generation: layout.generation,
            transactional: plan.cluster.is_some(),
            backed: Arc::new(backed.map(|(shard, _)| ShardId::at(shard)).collect()),
            away: Arc::new(layout.away_from(node)),
            budget: plan.bandwidth.map(Budget::new),
            witness: self.record.witness(layout.generation),
        };
        let cache = Arc::new(RowCache::default());
        let desk =
            |worker: WorkerId| (worker.index(), Desk::new(worker, setting.clone(), Arc::clone(&cache)));
        layout.workers_of(node).map(desk).collect()
    }

    /// The workers of a node begin.
    pub(crate) fn begin(&mut self, node: usize, generation: u32) {
        let Some(cast) = self.cast_of(node, generation) else { return };
        let (layout, workers) = (cast.layout.clone(), cast.desks.keys().copied().collect::<Vec<_>>());
        if node == 0 {
            self.send((0, Place::Node), (0, Place::Scheduler), generation, Body::Meet(layout));
        }
        for worker in workers {
            let from = (node, Place::Worker(worker));
            self.send(from, (0, Place::Scheduler), generation, Body::Join(worker));
        }
        if node == 0 {
            self.gather(); // if the schedule was done when the members changed
        }
    }

    /// The scheduler of the lead hears something.
    pub(crate) fn at_scheduler(&mut self, lane: Lane, generation: u32, body: Body) {
        let Some(lead) = &mut self.lead else { return };
        match body {
            Body::Halt(generation, workers) => {
                let keeps = lead.dispatch.kept_back() > 0;
                let halted = lead.dispatch.regroup(workers);
                lead.met = None;
                self.world.halt();
                if keeps {
                    self.world.doubt();
                }
                self.send((0, Place::Node), (0, Place::Crew), 0, Body::Halted(generation, halted));
            }
            Body::Meet(layout) => self.meet(layout),
            Body::Join(worker) => self.join(generation, worker),
            Body::Report(report) => {
                if lead.met.as_ref().is_some_and(|layout| layout.generation == generation) {
                    let from = lane.from();
                    membership::is_of_the_generation(self, generation, from);
                    self.report(report);
                }
            }
            _ => panic!("no such arrow"),
        }
    }

    fn report(&mut self, report: Report) {
        let lead = self.lead.as_mut().expect("looked at");
        let whole_clock = lead.dispatch.in_flight().count() == 1;
        self.world.note(report.worker, report.clock, whole_clock);
        let orders = lead.dispatch.report(report);
        self.carry_out(orders);
    }

    /// The scheduler meets the members of a generation, some of whom may have spoken already.
    pub(crate) fn meet(&mut self, layout: Layout) {
        let generation = layout.generation;
        let lead = self.lead.as_mut().expect("the scheduler is with the lead");
        lead.dispatch.enter(generation);
        lead.dispatch.settle(&layout.homes());
        lead.met = Some(layout);
        self.world.generation = generation;
        self.generations.0 += 1;
        let early = std::mem::take(&mut lead.early);
        early
            .into_iter()
            .filter(|(of, _)| *of == generation)
            .for_each(|(_, worker)| self.join(generation, worker));
    }

    /// Nothing is in flight and nothing is left to do.
    pub(crate) fn finish(&mut self, ending: Ending) {
        assert!(
            self.world.at_work.iter().all(std::collections::VecDeque::is_empty),
            "nothing is in flight at the end"
        );
        let lead = self.lead.as_mut().expect("the scheduler is with the lead");
        assert_eq!(lead.finished, None, "a run ends once");
        lead.finished = Some(ending.clone());
        let failed = ending.failed.clone();
        self.ending = Some(ending);
        match failed {
            Some(why) => self.end(Err(why)),
            None => self.gather(),
        }
    }

    /// Asks all shards for their rows, once the run has come to its end.
    fn gather(&mut self) {
        let Some(lead) = &mut self.lead else { return };
        let (Some(cast), Some(_)) = (&self.nodes[0].cast, &lead.finished) else { return };
        let (layout, need) = (cast.layout.clone(), lead.dispatch.min());
        lead.gathered.clear();
        for (shard, holders) in layout.shards.iter().enumerate() {
            for table in 0..self.tables.len() {
                let to = (number(&holders.primary), Place::Shard(shard));
                let snap = Body::Snap(table as u64, Snap { table: TableId::at(table), need });
                self.send((0, Place::Node), to, layout.generation, snap);
            }
        }
    }

    /// The node of the lead hears something; other nodes hear from their crew.
    pub(crate) fn at_node(&mut self, node: usize, generation: u32, body: Body) {
        match body {
            Body::Halt(..) => self.send((node, Place::Node), (node, Place::Scheduler), 0, body),
            Body::Deploy(layout, origin, halted) => {
                let generation = layout.generation;
                self.deploy(node, layout, origin, &halted);
                self.send((node, Place::Node), (node, Place::Crew), 0, Body::Deployed(generation));
            }
            Body::Begin(generation) => self.begin(node, generation),
            _ if self.cast_of(node, generation).is_none() => {}
            Body::Restored(shard, backup) => {
                let Some(lead) = &mut self.lead else { return };
                if lead.filling.remove(&(shard, backup)) && lead.filling.is_empty() {
                    self.send((node, Place::Node), (node, Place::Crew), 0, Body::Filled(generation));
                }
            }
            Body::Snapped(shard, table, rows) => {
                let Some(lead) = &mut self.lead else { return };
                lead.gathered.insert((shard, table), rows);
                self.put_together();
            }
            _ => panic!("no such arrow"),
        }
    }

    /// The model, once all shards have told their rows.
    fn put_together(&mut self) {
        let (n_shards, n_tables) = (self.world.plan.shards, self.tables.len());
        let Some(lead) = self.lead.as_mut().filter(|lead| lead.gathered.len() == n_shards * n_tables) else {
            return;
        };
        let mut shares = vec![slackline::message::Snapshot::default(); n_tables];
        for ((_, table), rows) in std::mem::take(&mut lead.gathered) {
            let share = &mut shares[table as usize];
            share.pages.extend(rows.pages);
            share.blocks.extend(rows.blocks);
        }
        self.model = Some(Model::of(Arc::clone(&self.tables), shares));
        self.end(Ok(()));
    }

    /// Rows are brought to all holders from the saved state, or to these backups from their shards.
    pub(crate) fn fill(&mut self, generation: u32, origin: Origin, backups: &[ShardId]) {
        let Some(layout) = self.nodes[0].cast.as_ref().map(|cast| cast.layout.clone()) else { return };
        let places = |(shard, holders): (usize, &slackline::cluster::Holders)| {
            std::iter::once((shard, false))
                .chain(holders.backup.iter().map(move |_| (shard, true)))
                .collect::<Vec<_>>()
        };
        let lacking: BTreeSet<(usize, bool)> = match origin {
            Origin::Saved => layout.shards.iter().enumerate().flat_map(places).collect(),
            Origin::Kept => backups.iter().map(|shard| (shard.index(), true)).collect(),
        };
        if origin == Origin::Saved {
            self.go_back(layout.workers.len());
        }
        self.lead.as_mut().expect("the lead fills").filling.clone_from(&lacking);
        for (shard, backup) in lacking {
            let holders = &layout.shards[shard];
            let (node, place, body) = match origin {
                Origin::Saved => {
                    let rows = Box::new(self.saved.stores[shard].clone());
                    let node =
                        if backup { holders.backup.as_ref().expect("looked at") } else { &holders.primary };
                    (node, holder(ShardId::at(shard), backup), Body::Restore(rows))
                }
                Origin::Kept => (&holders.primary, Place::Shard(shard), Body::Copy),
            };
            self.send((0, Place::Node), (number(node), place), generation, body);
        }
    }

    /// Schedule and clocks go back to the saved state.
    fn go_back(&mut self, workers: usize) {
        let (dispatch, calls) = self.dispatch(workers);
        let lead = self.lead.as_mut().expect("the lead fills");
        (lead.dispatch, lead.calls, lead.finished) = (dispatch, calls, None);
        if lead.stopped {
            lead.dispatch.stop();
        }
        self.generations.1 += 1;
        self.world.go_back(&self.saved.past.clone());
    }
}
