//! Whole runs without actors, threads, sockets or time: one `Dispatch`, `Desk`s, `Store`s and the lead's `Captain`, in
//! simulated processes joined by a simulated network, while a seeded generator decides what happens next.
//!
//! A toy app adds 1 to its worker's column of a shared table and appends to a leased block, so that what every read must
//! contain, and what must be there at the end, is known exactly. A run is a number: the same seed is the same run.
//!
//! In reading order: `plan` and `faults` (what is drawn), `world` (what is known from outside), `network`, `ring` (what
//! happens next), `delivery` (the arrows of the ring), `node` and `crew` (generations of members), `saved` (what a run goes
//! back to), `record` (what the cores tell of themselves), `invariants` (what is promised), `mutant` (faults that must be found).

mod crew;
mod delivery;
mod faults;
mod invariants;
mod mutant;
mod network;
mod node;
mod plan;
mod record;
mod ring;
mod saved;
mod toy;
mod words;
mod world;

use invariants::{audit, bits, exactly_once, membership, passes};
use slackline::Consistency;

pub use mutant::Fault as Mutation;
pub use network::Frames;

use mutant::Mutant;
use plan::Plan;
use ring::Ring;

/// What happened in a run, or in many.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tale {
    /// Runs.
    pub runs: u64,
    /// Runs that came to their end; the others ended with a reason, such as that no worker was left.
    pub completed: u64,
    /// Deliveries.
    pub deliveries: u64,
    /// Generations of members that began work.
    pub generations: u64,
    /// Generations that went back to a saved state.
    pub rollbacks: u64,
    /// What the network did.
    pub frames: Frames,
}

impl Tale {
    /// Adds what happened in other runs.
    pub fn add(&mut self, other: &Self) {
        self.runs += other.runs;
        self.completed += other.completed;
        self.deliveries += other.deliveries;
        self.generations += other.generations;
        self.rollbacks += other.rollbacks;
        self.frames.sent += other.frames.sent;
        self.frames.lost += other.frames.lost;
        self.frames.doubled += other.frames.doubled;
        self.frames.early += other.frames.early;
    }
}

/// Kinds of runs; a seed is one of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Circumstances {
    /// One process.
    Alone,
    /// Several, to which things happen.
    Cluster,
    /// One process with four workers, one of whose lanes is slow.
    Uneven,
    /// `bsp` twice, with two orders of delivery.
    Twice,
}

impl Circumstances {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Cluster, Self::Alone, Self::Uneven, Self::Twice];

    fn plan(self, seed: u64) -> Plan {
        match self {
            Self::Alone => Plan::random(seed),
            Self::Cluster => Plan::of_cluster(seed),
            Self::Uneven => {
                let s = seed / 4 % 5;
                let consistency = match seed % 4 {
                    0 => Consistency::Ssp(s),
                    1 => Consistency::Essp(s),
                    2 => Consistency::BoundedError { error: 0.2, s },
                    _ => Consistency::Adaptive { least: s / 2, most: s },
                };
                Plan { consistency, uneven: true, workers: 4, parts: 8, ..Plan::random(seed) }
            }
            Self::Twice => Plan { consistency: Consistency::Bsp, stop_after: None, ..Plan::random(seed) },
        }
    }

    /// One run.
    ///
    /// # Panics
    /// When a promise is broken.
    pub fn run(self, seed: u64) -> Tale {
        let plan = self.plan(seed);
        let (mut tale, of_first) = run(&plan, seed, None);
        if self == Self::Twice {
            let (again, of_second) = run(&plan, seed + 1_000_000, None);
            assert_eq!(of_first, of_second, "two orders of delivery, one result");
            tale.add(&again);
        }
        tale
    }

    /// One run of a runtime with a fault.
    ///
    /// # Panics
    /// When a promise is broken, as it should be for some seeds.
    pub fn run_mutated(self, seed: u64, fault: Mutation) -> Tale {
        run(&self.plan(seed), seed, Some(Mutant::of(fault))).0
    }

    /// The circumstances of a run in words.
    pub fn describe(self, seed: u64) -> String {
        format!("{self:?}, seed {seed}: {:#?}", self.plan(seed))
    }
}

/// One run of a plan: what happened, and the bits of its result.
fn run(plan: &Plan, delivery: u64, mutant: Option<Mutant>) -> (Tale, Option<Vec<u32>>) {
    let mut ring = Ring::new(plan, delivery, mutant);
    ring.run();
    let completed = membership::ends_for_a_reason(&ring, ring.ending.as_ref());
    if completed {
        let model = ring.model.as_ref().expect("a run that ends well has a model");
        exactly_once::holds(plan, &ring.world.past, model);
        audit::holds(&ring);
        passes::are_complete(&ring.world, ring.ending.as_ref().expect("a run that ends well has ended"));
    }
    let tale = Tale {
        runs: 1,
        completed: u64::from(completed),
        deliveries: u64::from(ring.now),
        generations: u64::from(ring.generations.0),
        rollbacks: u64::from(ring.generations.1),
        frames: ring.net.frames,
    };
    (tale, ring.model.as_ref().map(bits::of))
}
