//! The whole run: processes, what each hosts, and the order in which things happen, which a seeded generator draws.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use slackline::cluster::captain::Captain;
use slackline::cluster::{Layout, Origin};
use slackline::id::{ShardId, TableId};
use slackline::message::{Snap, Snapshot};
use slackline::scheduler::{Dispatch, Ending, Halted};
use slackline::shard::{Outgoing, Store};
use slackline::worker::Desk;
use slackline::{Clock, Model, Table};

use super::faults::Fault;
use super::mutant::Mutant;
use super::network::{Lane, Life, Network};
use super::plan::Plan;
use super::record::Told;
use super::saved::{Calls, Recorded, Saved};
use super::toy;
use super::words::{Body, Envelope, Place, holder};
use super::world::World;

/// Deliveries after which a run is taken to be without end.
const MOST: u32 = 300_000;

/// All processes of a run and the lanes between them.
pub(crate) struct Ring {
    pub(crate) world: World,
    pub(crate) nodes: Vec<Node>,
    pub(crate) lead: Option<Lead>,
    pub(crate) net: Network,
    pub(crate) tables: Arc<Vec<Table>>,
    /// What the run goes back to; survives the lead.
    pub(crate) saved: Saved,
    /// What will happen some time.
    pub(crate) chores: Vec<Chore>,
    pub(crate) over: Option<Result<(), String>>,
    pub(crate) ending: Option<Ending>,
    pub(crate) model: Option<Model>,
    pub(crate) mutant: Option<Mutant>,
    /// What was done, by the cores' own account.
    pub(crate) record: Told,
    /// Generations that began, and how many of them went back to a saved state.
    pub(crate) generations: (u32, u32),
    pub(crate) rng: Xoshiro256PlusPlus,
    /// Deliveries so far.
    pub(crate) now: u32,
}

/// A process.
#[derive(Default)]
pub(crate) struct Node {
    pub(crate) life: u32,
    pub(crate) alive: bool,
    /// It has read its data and built its job.
    pub(crate) ready: bool,
    pub(crate) cast: Option<Cast>,
    /// The last generation it took part in.
    pub(crate) generation: u32,
    /// It has no lead.
    pub(crate) alone: bool,
    /// Lives of others that it does not reach any more.
    pub(crate) down: Vec<Life>,
    /// Lives that it refuses.
    pub(crate) fenced: BTreeSet<Life>,
}

/// The actors of one generation on one node.
pub(crate) struct Cast {
    pub(crate) layout: Layout,
    pub(crate) desks: BTreeMap<usize, Desk>,
    pub(crate) stores: BTreeMap<(usize, bool), Store>,
    /// Pushes that reached a shard, for the leases they return.
    pub(crate) seen: BTreeSet<(usize, u32, u64)>,
}

/// What only the lead has.
pub(crate) struct Lead {
    /// `None` in a run of one process.
    pub(crate) captain: Option<Captain>,
    pub(crate) dispatch: Dispatch,
    pub(crate) calls: Calls,
    /// Who belongs to the run.
    pub(crate) members: Vec<Life>,
    /// The lives of which the generation is made.
    pub(crate) crew: BTreeSet<Life>,
    pub(crate) next: Option<(Layout, Origin)>,
    /// The members that the scheduler knows, and those of a generation that it has not met yet.
    pub(crate) met: Option<Layout>,
    pub(crate) early: Vec<(u32, usize)>,
    /// Holders whose rows are on their way.
    pub(crate) filling: BTreeSet<(usize, bool)>,
    /// The end of the run, and the tables that were gathered since.
    pub(crate) finished: Option<Ending>,
    pub(crate) gathered: BTreeMap<(usize, u64), Snapshot>,
    pub(crate) stopped: bool,
}

/// Something that happens some time, if it still can.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Chore {
    /// A node has read its data.
    Load(Life),
    /// One process takes another for dead.
    Detect(Life, Life),
    /// A node without a lead finds it.
    Connect(usize),
    /// The lead waits no longer for nodes.
    LosePatience,
}

impl Ring {
    pub(crate) fn new(plan: &Plan, delivery: u64, mutant: Option<Mutant>) -> Self {
        let tables = Arc::new(plan.tables());
        let world = World::new(plan);
        let stores = (0..plan.shards).map(|shard| plan.store(shard, &tables)).collect();
        let saved = Saved { clock: Clock(0), calls: Vec::new(), stores, past: world.past.clone() };
        let mut ring = Self {
            world,
            nodes: Vec::new(),
            lead: None,
            net: Network::losing(plan.cluster.as_ref().map_or(0, |cluster| cluster.loss)),
            tables,
            saved,
            chores: Vec::new(),
            over: None,
            ending: None,
            model: None,
            mutant,
            record: Told::default(),
            generations: (0, 0),
            rng: Xoshiro256PlusPlus::seed_from_u64(delivery),
            now: 0,
        };
        match plan.cluster.clone() {
            Some(cluster) => {
                ring.nodes = cluster.nodes.iter().map(|_| Node::default()).collect();
                let early = (0..cluster.nodes.len()).filter(|node| !cluster.nodes[*node].late);
                early.for_each(|node| ring.start(node));
            }
            None => ring.start_alone(),
        }
        ring
    }

    /// One process with everything: its generation begins at once.
    fn start_alone(&mut self) {
        let layout = Layout::alone(self.world.plan.shards, self.world.plan.workers);
        self.nodes.push(Node { alive: true, ..Node::default() });
        self.lead = Some(self.new_lead(None, layout.workers.len()));
        self.deploy(0, layout.clone(), Origin::Kept, &Halted::default());
        self.meet(layout);
        let workers: Vec<usize> = (0..self.world.plan.workers).collect();
        workers.into_iter().for_each(|worker| self.join(1, worker));
    }

    /// A lead that goes on from what is saved.
    pub(crate) fn new_lead(&self, captain: Option<Captain>, workers: usize) -> Lead {
        let (dispatch, calls) = self.dispatch(workers);
        Lead {
            captain,
            dispatch,
            calls,
            members: Vec::new(),
            crew: BTreeSet::new(),
            next: None,
            met: None,
            early: Vec::new(),
            filling: BTreeSet::new(),
            finished: None,
            gathered: BTreeMap::new(),
            stopped: false,
        }
    }

    /// A dispatch that goes on from what is saved.
    pub(crate) fn dispatch(&self, workers: usize) -> (Dispatch, Calls) {
        let plan = &self.world.plan;
        let (schedule, calls) = Recorded::after(plan.schedule(), &self.saved.calls);
        let dispatch = Dispatch::new(plan.consistency, Box::new(schedule), workers).resumed(self.saved.clock);
        let dispatch = dispatch.witnessed(self.record.witness(0));
        (if plan.cluster.is_some() { dispatch.transactional() } else { dispatch }, calls)
    }

    /// Has things happen until the run is over or nothing can.
    ///
    /// # Panics
    /// When a promise is broken.
    pub(crate) fn run(&mut self) {
        while self.now < MOST {
            if self.world.plan.stop_after == Some(self.now) {
                self.stop();
            }
            let (cluster, now) = (self.world.plan.cluster.clone(), self.now);
            let faults = cluster.map(|cluster| cluster.faults).unwrap_or_default();
            faults.iter().filter(|(when, _)| *when == now).for_each(|(_, fault)| self.strike(*fault));
            let to_come = faults.iter().any(|(when, fault)| *when > now && matches!(fault, Fault::Start(_)));
            self.drain();
            self.let_time_pass();
            let happened = self.step();
            if self.over.is_some() || !happened && !to_come && !self.net.heals() {
                return;
            }
            self.now += 1;
        }
        panic!("the run does not end");
    }

    /// A second passes with every delivery.
    pub(crate) fn time(&self) -> Duration {
        Duration::from_secs(self.now.into())
    }

    /// What waits for its budget goes when its time has come.
    fn let_time_pass(&mut self) {
        let now = self.time();
        if self.world.plan.bandwidth.is_none() {
            return;
        }
        for node in 0..self.nodes.len() {
            let Some(cast) = &mut self.nodes[node].cast else { continue };
            let generation = cast.layout.generation;
            let mut out = Vec::new();
            for ((shard, backup), store) in &mut cast.stores {
                store.tell_time(now);
                if store.wake_at().is_some_and(|at| at <= now) {
                    out.push((holder(ShardId::at(*shard), *backup), store.tick()));
                }
            }
            out.into_iter().for_each(|(place, out)| self.answer((node, generation), place, out));
        }
    }

    /// Now and then nothing may be in flight, for a checkpoint.
    fn drain(&mut self) {
        let every = self.world.plan.drain_every;
        let due = every > 0 && self.now % every == every - 1;
        if let Some(lead) =
            self.lead.as_mut().filter(|lead| due && lead.met.is_some() && lead.finished.is_none())
        {
            let orders = lead.dispatch.drain();
            self.carry_out(orders);
        }
    }

    /// Has one thing happen; returns whether anything could.
    fn step(&mut self) -> bool {
        let lanes = self.net.open(self.now);
        let chores = self.due();
        let chore = !chores.is_empty() && (lanes.is_empty() || self.rng.random_range(0..24) == 0);
        if chore {
            let chore = chores[self.rng.random_range(0..chores.len())];
            self.chores.retain(|other| *other != chore);
            self.attend(chore);
        } else if !lanes.is_empty() {
            let lane = self.pick(&lanes);
            for envelope in self.net.transmit(lane, &mut self.rng) {
                self.deliver(lane, envelope);
            }
        }
        chore || !lanes.is_empty()
    }

    /// A lane drawn at random; uneven lanes are drawn more or less often.
    fn pick(&mut self, lanes: &[Lane]) -> Lane {
        loop {
            let lane = lanes[self.rng.random_range(0..lanes.len())];
            let weight = match self.world.plan.uneven {
                true => 1 + toy::hash(&[self.world.plan.seed, lane.number()]) % 32,
                false => 32,
            };
            if self.rng.random_range(0..32) < weight {
                return lane;
            }
        }
    }

    pub(crate) fn life(&self, node: usize) -> Life {
        (node, self.nodes[node].life)
    }

    /// Sends a message from an actor to another one, if its node is there.
    pub(crate) fn send(&mut self, from: (usize, Place), to: (usize, Place), generation: u32, body: Body) {
        if !self.nodes[to.0].alive || !self.nodes[from.0].alive {
            return;
        }
        let plan = &self.world.plan;
        let lane = if from.0 == to.0 {
            let kind = if plan.split && plan.cluster.is_none() { body.kind() } else { 0 };
            Lane::Local(self.life(from.0), from.1, to.1, kind)
        } else {
            Lane::Remote(self.life(from.0), self.life(to.0), body.class(plan.split))
        };
        self.net.send(lane, Envelope { generation, from: from.1, to: to.1, body });
    }

    /// The tables as the shards of the run, or those that stand by, have them; `None` if one of them is not there.
    pub(crate) fn model_of(&self, backup: bool) -> Option<Model> {
        let layout = self.lead.as_ref()?.captain.as_ref().map(Captain::layout);
        let alone = self.nodes[0].cast.as_ref().map(|cast| &cast.layout);
        let layout = layout.or(alone)?;
        let mut stores = Vec::new();
        for (shard, holders) in layout.shards.iter().enumerate() {
            let node = match backup {
                true => holders.backup.as_ref()?,
                false => &holders.primary,
            };
            let cast = self.nodes[number(node)].cast.as_ref()?;
            stores.push(cast.stores.get(&(shard, backup))?.clone());
        }
        let shares = (0..self.tables.len()).map(|table| {
            let mut whole = Snapshot::default();
            for store in &mut stores {
                let snap = Snap { table: TableId::at(table), need: Clock(0) };
                let Some(Outgoing::Snapshot(_, share)) = store.snapshot(0, snap).pop() else {
                    panic!("blocks are out while nobody is at work")
                };
                whole.pages.extend(share.pages);
                whole.blocks.extend(share.blocks);
            }
            whole
        });
        Some(Model::of(Arc::clone(&self.tables), shares.collect()))
    }
}

/// The name of a node in layouts; a run of one process has a nameless one.
pub(crate) fn name(node: usize) -> String {
    format!("n{node}")
}

/// The node of that name.
pub(crate) fn number(name: &str) -> usize {
    name.strip_prefix('n').and_then(|digits| digits.parse().ok()).unwrap_or(0)
}
