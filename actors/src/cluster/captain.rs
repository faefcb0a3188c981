//! What the lead decides: who belongs to the run, when a generation begins, and what follows when a node dies.
//!
//! ```text
//!   gathering ──all ready──▶ deploying ──all deployed──▶ filling ──filled──▶ running
//!                               ▲                                              │
//!                               └────────────── a member comes or goes ────────┘
//! ```
//!
//! *Deploying*: every node makes the actors of the next generation. *Filling*: rows that a new holder lacks are brought
//! to it, from the shard that has them or from a saved state.

use std::collections::{BTreeMap, BTreeSet};

use super::layout::{Host, Layout, NodeName};
use super::{Expected, MemberNews, NodeStatus};
use crate::id::{ShardId, WorkerId};

/// Where the rows of a generation come from, the weakest demand first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub enum Origin {
    /// The shards have them.
    Kept,
    /// A saved state, or the start of the run: nobody's rows are good.
    Saved,
}

/// What the lead does next.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Tell all members, the lead's own node too, to make the actors of this generation.
    Deploy(Layout, Origin),
    /// Bring rows to those that lack them: to these backups from their shards, or to all from the saved state.
    Fill {
        /// The generation.
        generation: u32,
        /// From where.
        origin: Origin,
        /// The backups that lack rows.
        backups: Vec<ShardId>,
    },
    /// Tell all members that the workers may begin.
    Begin(u32),
    /// Refuse this life of a node from now on, everywhere.
    Fence(NodeName, u64, String),
    /// Tell the users.
    News(MemberNews),
    /// The run is over everywhere: well, or because of this.
    End(Result<(), String>),
}

/// A node that has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// Its name.
    pub name: NodeName,
    /// Which life of it this is.
    pub incarnation: u64,
    /// Where it listens.
    pub address: String,
    /// Its workers.
    pub workers: usize,
    /// The shards it is to have.
    pub shards: usize,
    /// Whether it may come at any time.
    pub late: bool,
    /// The last generation it took part in.
    pub generation: u32,
}

#[derive(Debug, Clone)]
struct Member {
    arrival: Arrival,
    workers: Vec<WorkerId>,
    ready: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum Stage {
    Gathering,
    Deploying { missing: BTreeSet<NodeName> },
    Filling,
    Running,
    Over,
}

/// The lead's knowledge of the members.
pub struct Captain {
    name: NodeName,
    expected: Vec<Expected>,
    replicas: usize,
    /// Whether the lead was started again: rows come from the saved state, and those begin who are there.
    again: bool,
    /// Whether there is a checkpoint to go back to.
    saved: bool,
    members: BTreeMap<NodeName, Member>,
    /// The nodes that are gone, for who asks.
    gone: BTreeMap<NodeName, String>,
    next_worker: usize,
    stage: Stage,
    generation: u32,
    /// The last layout whose holders all had their rows.
    whole: Layout,
    /// The layout of the generation that is being made or runs.
    layout: Layout,
    origin: Origin,
}

impl Captain {
    /// The lead of a run, which waits for `expected`, its own node among them, first.
    pub fn new(expected: Vec<Expected>, replicas: usize, again: bool) -> Self {
        Self {
            name: expected.first().map(|lead| lead.name.clone()).unwrap_or_default(),
            expected,
            replicas,
            again,
            saved: false,
            members: BTreeMap::new(),
            gone: BTreeMap::new(),
            next_worker: 0,
            stage: Stage::Gathering,
            generation: 0,
            whole: Layout::default(),
            layout: Layout::default(),
            origin: Origin::Saved,
        }
    }

    /// Whether a node may come in.
    ///
    /// # Errors
    /// Why not.
    pub fn admit(&self, arrival: &Arrival) -> Result<(), String> {
        let name = &arrival.name;
        if self.stage == Stage::Over {
            return Err("the run is over".to_owned());
        }
        if self.members.get(name).is_some_and(|member| member.arrival.incarnation != arrival.incarnation) {
            return Err(format!("a node called {name} is in the run already"));
        }
        if !arrival.late && !self.expected.iter().any(|expected| expected.name == *name) {
            let names: Vec<_> = self.expected.iter().map(|expected| expected.name.as_str()).collect();
            return Err(format!("{name} is not in the topology, which has {}", names.join(", ")));
        }
        Ok(())
    }

    /// Takes a node in that was admitted.
    pub fn came(&mut self, arrival: Arrival) -> Vec<Command> {
        if self.members.contains_key(&arrival.name) {
            return Vec::new(); // the same life of the node, after a pause
        }
        let name = arrival.name.clone();
        self.gone.remove(&name);
        self.generation = self.generation.max(arrival.generation);
        let first = match self.expected.iter().position(|expected| expected.name == name) {
            // The topology numbers its workers node by node, whoever comes first.
            Some(place) if self.stage == Stage::Gathering => {
                self.expected[..place].iter().map(|expected| expected.workers).sum()
            }
            _ => self.next_worker.max(self.expected.iter().map(|expected| expected.workers).sum()),
        };
        let workers: Vec<WorkerId> = (first..first + arrival.workers).map(WorkerId::at).collect();
        self.next_worker = self.next_worker.max(first + arrival.workers);
        self.members.insert(name.clone(), Member { arrival, workers, ready: false });
        vec![Command::News(MemberNews::Came(name))]
    }

    /// Learns that a node has read its data and built its job.
    pub fn ready(&mut self, name: &str) -> Vec<Command> {
        let Some(member) = self.members.get_mut(name) else { return Vec::new() };
        if std::mem::replace(&mut member.ready, true) {
            return Vec::new();
        }
        match self.stage {
            Stage::Gathering => self.begin_if_complete(false),
            Stage::Over => Vec::new(),
            _ => self.regroup(),
        }
    }

    /// The nodes that have not come.
    pub fn missing(&self) -> Vec<NodeName> {
        let missing = self.expected.iter().filter(|expected| !self.members.contains_key(&expected.name));
        missing.map(|expected| expected.name.clone()).collect()
    }

    /// The time to wait for nodes is over.
    pub fn lose_patience(&mut self, waited: std::time::Duration) -> Vec<Command> {
        let missing = self.missing();
        if self.stage != Stage::Gathering || missing.is_empty() {
            return Vec::new();
        }
        if self.again {
            return self.begin_if_complete(true);
        }
        let (names, seconds) = (missing.join(", "), waited.as_secs());
        self.end(Err(format!(
            "{names} did not come within {seconds} s; is it started, and can it reach the lead?"
        )))
    }

    /// Learns that a node is gone, and why: dead, cut off, or left in good order.
    pub fn lost(&mut self, name: &str, why: &str, in_good_order: bool) -> Vec<Command> {
        if self.stage == Stage::Over {
            return Vec::new();
        }
        let Some(member) = self.members.remove(name) else { return Vec::new() };
        self.gone.insert(name.to_owned(), why.to_owned());
        self.whole.forget(name);
        let reason = format!("{name} was taken to be dead ({why}); start it again to join anew");
        let fence = Command::Fence(name.to_owned(), member.arrival.incarnation, reason);
        if self.stage == Stage::Gathering {
            let why = format!("{name} was lost before training began: {why}");
            return std::iter::once(fence).chain(self.end(Err(why))).collect();
        }
        let took_part = self.layout.nodes().iter().any(|node| node == name);
        let mut commands = vec![fence];
        // Whoever hosts nothing may still be waited for.
        let next = if took_part { self.regroup() } else { self.deployed(name, self.layout.generation) };
        let remedy = match self.origin {
            Origin::Saved if took_part && self.saved => "the run goes back to its last checkpoint",
            Origin::Saved if took_part => "the run begins again from its start",
            _ if member.workers.is_empty() => "its rows come from their replicas",
            _ => "its parts are handed out again",
        };
        let node = name.to_owned();
        commands.push(Command::News(match in_good_order {
            true => MemberNews::Left(node),
            false => MemberNews::Lost { node, why: why.to_owned(), remedy: remedy.to_owned() },
        }));
        commands.extend(next);
        commands
    }

    /// Learns that a node has made the actors of a generation.
    pub fn deployed(&mut self, name: &str, generation: u32) -> Vec<Command> {
        let Stage::Deploying { missing } = &mut self.stage else { return Vec::new() };
        if generation != self.layout.generation {
            return Vec::new();
        }
        missing.remove(name);
        if !missing.is_empty() {
            return Vec::new();
        }
        let backups = self.layout.empty_backups(&self.whole);
        if self.origin == Origin::Kept && backups.is_empty() {
            return self.run();
        }
        self.stage = Stage::Filling;
        vec![Command::Fill { generation, origin: self.origin, backups }]
    }

    /// Learns that everyone has his rows.
    pub fn filled(&mut self, generation: u32) -> Vec<Command> {
        match self.stage {
            Stage::Filling if generation == self.layout.generation => self.run(),
            _ => Vec::new(),
        }
    }

    /// Learns that there is a checkpoint to go back to.
    pub fn saved(&mut self) {
        self.saved = true;
    }

    /// The run is over.
    pub fn end(&mut self, how: Result<(), String>) -> Vec<Command> {
        if std::mem::replace(&mut self.stage, Stage::Over) == Stage::Over {
            return Vec::new();
        }
        vec![Command::End(how)]
    }

    /// The layout of the generation that is being made or runs.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Whether the run goes on.
    pub fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    /// Everyone, for who asks; `heard` tells the milliseconds since a node was last heard.
    pub fn nodes(&self, heard: impl Fn(&str) -> u64) -> Vec<NodeStatus> {
        let row = |name: &NodeName, address: &str, state: &str, workers: usize| NodeStatus {
            name: name.clone(),
            address: address.to_owned(),
            state: state.to_owned(),
            workers,
            shards: self.layout.shards_of(name).count(),
            heard: heard(name),
        };
        let member = |(name, member): (&NodeName, &Member)| {
            let training = self.stage == Stage::Running && self.layout.nodes().contains(name);
            let state = if training {
                "training"
            } else if member.ready {
                "ready"
            } else {
                "loading"
            };
            row(name, &member.arrival.address, state, member.workers.len())
        };
        let mut nodes: Vec<NodeStatus> = self.members.iter().map(member).collect();
        nodes.sort_by_key(|node| node.name != self.name);
        let missing = self
            .expected
            .iter()
            .filter(|e| !self.members.contains_key(&e.name) && !self.gone.contains_key(&e.name));
        nodes.extend(missing.map(|expected| row(&expected.name, "", "expected", expected.workers)));
        nodes.extend(self.gone.keys().map(|name| row(name, "", "lost", 0)));
        nodes
    }

    fn begin_if_complete(&mut self, whoever_is_there: bool) -> Vec<Command> {
        let all_there = whoever_is_there || self.missing().is_empty();
        if !all_there || self.members.values().any(|member| !member.ready) {
            return Vec::new();
        }
        self.layout = Layout { lead: self.name.clone(), ..Layout::default() };
        let hosts = self.hosts();
        self.layout = if whoever_is_there {
            // As many shards as the topology has, over those that are there.
            let n_shards = self.expected.iter().map(|expected| expected.shards).sum();
            let nobody = super::layout::Holders::default();
            let empty =
                Layout { shards: vec![nobody; n_shards], generation: self.generation, ..self.layout.clone() };
            empty.rebuilt(&hosts, self.replicas)
        } else {
            Layout::first(self.generation + 1, &self.name, &hosts, self.replicas)
        };
        self.deploy()
    }

    /// The next generation, of the members that are ready.
    fn regroup(&mut self) -> Vec<Command> {
        let hosts = self.hosts();
        let generation = self.layout.generation.max(self.generation); // of members that were in later ones, too
        let unfinished =
            matches!(self.stage, Stage::Deploying { .. } | Stage::Filling) && self.origin == Origin::Saved;
        let next = if unfinished { Err(ShardId(0)) } else { self.whole.next(&hosts, self.replicas) };
        self.origin = if next.is_ok() { Origin::Kept } else { Origin::Saved };
        self.layout = next.unwrap_or_else(|_| self.layout.rebuilt(&hosts, self.replicas));
        self.layout.generation = generation + 1;
        self.deploy()
    }

    fn deploy(&mut self) -> Vec<Command> {
        self.generation = self.layout.generation;
        if self.layout.workers.is_empty() {
            return self.end(Err("no worker is left".to_owned()));
        }
        // Nodes that host nothing (their workers are gone, say) still belong to the run.
        let missing = self.members.iter().filter(|(_, member)| member.ready).map(|(name, _)| name.clone());
        self.stage = Stage::Deploying { missing: missing.collect() };
        vec![Command::Deploy(self.layout.clone(), self.origin)]
    }

    fn run(&mut self) -> Vec<Command> {
        self.stage = Stage::Running;
        self.whole = self.layout.clone();
        self.origin = Origin::Kept;
        vec![Command::Begin(self.layout.generation)]
    }

    /// The members that are ready, in the order of the topology, those who joined later behind them.
    fn hosts(&self) -> Vec<Host> {
        let place = |name: &str| self.expected.iter().position(|expected| expected.name == name);
        let mut ready: Vec<(&NodeName, &Member)> =
            self.members.iter().filter(|(_, member)| member.ready).collect();
        ready.sort_by_key(|(name, _)| place(name).unwrap_or(usize::MAX));
        let host = |(name, member): (&NodeName, &Member)| Host {
            name: name.clone(),
            workers: member.workers.clone(),
            shards: member.arrival.shards,
        };
        ready.into_iter().map(host).collect()
    }
}

#[cfg(test)]
mod tests;
