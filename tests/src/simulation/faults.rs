//! What happens to a simulated cluster: drawn with its plan.

use rand::RngExt;
use rand::seq::IndexedRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

/// The nodes of a cluster and their fate.
#[derive(Debug, Clone)]
pub(crate) struct Cluster {
    /// The first one leads.
    pub(crate) nodes: Vec<Host>,
    /// Copies of each shard on other nodes.
    pub(crate) replicas: usize,
    /// How many of a hundred frames are lost.
    pub(crate) loss: u32,
    /// What happens, after so many deliveries.
    pub(crate) faults: Vec<(u32, Fault)>,
}

/// A node as its topology has it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Host {
    pub(crate) workers: usize,
    pub(crate) shards: usize,
    /// Whether it joins a run that is under way.
    pub(crate) late: bool,
}

/// Something that happens to a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It dies.
    Kill(usize),
    /// It is started again, if it is dead or was refused; or for the first time, if it is late.
    Start(usize),
    /// It would like to leave.
    Leave(usize),
    /// It and another one do not reach each other for so many deliveries; whether that is long enough for them to take
    /// each other for dead.
    Cut(usize, usize, u32, bool),
}

impl Cluster {
    pub(crate) fn random(rng: &mut Xoshiro256PlusPlus) -> Self {
        let n = rng.random_range(1..5);
        let mut host = |late| Host {
            workers: *[0, 1, 1, 2].choose(rng).expect("not empty"),
            shards: if late { 0 } else { *[0, 1, 1, 2].choose(rng).expect("not empty") },
            late,
        };
        let mut nodes: Vec<Host> = (0..n).map(|_| host(false)).collect();
        nodes[0].shards = nodes[0].shards.max(1);
        nodes[n - 1].workers = nodes[n - 1].workers.max(1);
        let late = rng.random_range(0..3);
        nodes.extend((0..late).map(|_| Host { workers: rng.random_range(1..3), shards: 0, late: true }));
        let mut cluster = Self { nodes, replicas: rng.random_range(0..2), loss: 0, faults: Vec::new() };
        cluster.loss = *[0, 0, 5, 30].choose(rng).expect("not empty");
        let far = *[100, 400, 1500].choose(rng).expect("not empty");
        for node in n..n + late {
            cluster.faults.push((rng.random_range(0..far), Fault::Start(node)));
        }
        for _ in 0..*[0, 1, 1, 2, 3, 5].choose(rng).expect("not empty") {
            cluster.strike(rng, far);
        }
        cluster.faults.sort_by_key(|(when, _)| *when);
        cluster
    }

    fn strike(&mut self, rng: &mut Xoshiro256PlusPlus, far: u32) {
        let (node, other) = (rng.random_range(0..self.nodes.len()), rng.random_range(0..self.nodes.len()));
        let when = rng.random_range(0..far);
        match rng.random_range(0..10) {
            0..6 => {
                self.faults.push((when, Fault::Kill(node)));
                if rng.random() {
                    // While the generation that follows is being made.
                    let soon = when + rng.random_range(1..80);
                    self.faults.push((soon, Fault::Kill(other)));
                    self.faults.push((soon + rng.random_range(1..80), Fault::Start(other)));
                }
                if rng.random_range(0..3) > 0 {
                    self.faults.push((when + rng.random_range(1..200), Fault::Start(node)));
                }
            }
            6 => self.faults.push((when, Fault::Leave(node))),
            _ if node == other => self.faults.push((when, Fault::Kill(node))),
            _ => {
                self.faults.push((when, Fault::Cut(node, other, rng.random_range(1..300), rng.random())));
                self.faults.push((when + 300, Fault::Start(other)));
            }
        }
    }

    /// How many numbers workers may get, over all lives of all nodes.
    pub(crate) fn numbers(&self) -> usize {
        let workers: usize = self.nodes.iter().map(|host| host.workers).sum();
        let starts = self.faults.iter().filter(|(_, fault)| matches!(fault, Fault::Start(_))).count();
        workers + 2 * starts * (1 + self.nodes.iter().filter(|host| host.late).count())
    }

    /// The shards of the topology.
    pub(crate) fn shards(&self) -> usize {
        self.nodes.iter().map(|host| host.shards).sum()
    }
}
