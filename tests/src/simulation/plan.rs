//! What one simulated run is: drawn from a seed.

use std::sync::Arc;

use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use slackline::budget::Budget;
use slackline::id::ShardId;
use slackline::placement::Placement;
use slackline::scheduler::policy::{Dependency, Evaluated, Fixed, Priority, Rotation, Schedule, Shuffled};
use slackline::shard::Store;
use slackline::values::Buffer;
use slackline::{Beside, Consistency, Rule, Table, UpdateRule, VariableId};

use super::faults::Cluster;
use super::toy::Rounds;

/// The circumstances of a run.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) workers: usize,
    pub(crate) shards: usize,
    pub(crate) parts: usize,
    pub(crate) blocks: usize,
    pub(crate) passes: u64,
    pub(crate) consistency: Consistency,
    pub(crate) schedule: Kind,
    /// Elements of a page.
    pub(crate) page: usize,
    /// Whether the counts are folded by a rule that only shards know.
    pub(crate) custom: bool,
    /// Whether steps lease blocks; without, the app panics now and then.
    pub(crate) leases: bool,
    /// Bytes a tick that may wait.
    pub(crate) bandwidth: Option<u64>,
    /// How many of a hundred pushes arrive twice.
    pub(crate) duplicates: u32,
    /// Whether every kind of message has a lane of its own, as behind bridges.
    pub(crate) split: bool,
    /// Whether some lanes are much slower than others.
    pub(crate) uneven: bool,
    /// The nodes, and what happens to them, if it is a cluster, where steps count once they are committed.
    pub(crate) cluster: Option<Cluster>,
    /// After how many deliveries the run is told to stop.
    pub(crate) stop_after: Option<u32>,
    /// After how many deliveries each the run is drained for a checkpoint; 0 for never.
    pub(crate) drain_every: u32,
    pub(crate) seed: u64,
}

/// Which schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Fixed,
    Shuffled,
    Rotation,
    Evaluated,
    EvaluatedRotation,
    Priority,
    Dependency,
}

impl Plan {
    pub(crate) fn random(seed: u64) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let kinds = [
            Kind::Fixed,
            Kind::Shuffled,
            Kind::Rotation,
            Kind::Evaluated,
            Kind::EvaluatedRotation,
            Kind::Priority,
            Kind::Dependency,
        ];
        let bound = rng.random_range(0..4);
        let error = *[0.0, 0.01, 0.3, 10.0].choose(&mut rng).expect("not empty");
        let consistencies = [
            Consistency::Bsp,
            Consistency::Ssp(bound),
            Consistency::Essp(bound),
            Consistency::BoundedError { error, s: bound },
            Consistency::Adaptive { least: bound / 2, most: bound + 1 },
            Consistency::Async,
        ];
        Self {
            workers: rng.random_range(1..5),
            shards: rng.random_range(1..4),
            parts: rng.random_range(1..7),
            blocks: rng.random_range(1..6),
            passes: rng.random_range(1..4),
            consistency: *consistencies.choose(&mut rng).expect("not empty"),
            schedule: *kinds.choose(&mut rng).expect("not empty"),
            page: *[1, 2, 3, 7, 1000].choose(&mut rng).expect("not empty"),
            custom: rng.random_range(0..4) == 0,
            leases: rng.random(),
            bandwidth: rng.random::<bool>().then_some(rng.random_range(1..2000)),
            duplicates: *[0, 10, 50].choose(&mut rng).expect("not empty"),
            split: rng.random(),
            uneven: rng.random(),
            stop_after: (rng.random_range(0..5) == 0).then(|| rng.random_range(0..300)),
            drain_every: *[0, 0, 7, 40, 150].choose(&mut rng).expect("not empty"),
            cluster: None,
            seed,
        }
    }

    /// A cluster that things happen to. Workers get new numbers whenever they come, so tables have room for many.
    pub(crate) fn of_cluster(seed: u64) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0xC1);
        let cluster = Cluster::random(&mut rng);
        let (workers, shards) = (cluster.numbers(), cluster.shards());
        let plan = Self::random(seed);
        let passes = plan.passes + u64::from(rng.random_range(0..4u8));
        let stop_after = plan.stop_after.filter(|_| rng.random());
        let duplicates = if cluster.loss > 0 { plan.duplicates } else { 0 };
        Self { workers, shards, passes, stop_after, duplicates, cluster: Some(cluster), ..plan }
    }

    pub(crate) fn rotates(&self) -> bool {
        matches!(self.schedule, Kind::Rotation | Kind::EvaluatedRotation)
    }

    pub(crate) fn schedule(&self) -> Box<dyn Schedule> {
        let (parts, passes, seed) = (self.parts, self.passes, self.seed);
        let shuffled = Shuffled::new(parts, passes, seed);
        let rotation = Rotation::new(parts, self.blocks, passes, seed);
        let priority = Priority::new(parts, Rounds::new(self.workers));
        let conflict = |a: VariableId, b: VariableId| if a.0 % 5 == b.0 % 5 { 1.0 } else { 0.0 };
        match self.schedule {
            Kind::Fixed => Box::new(Fixed::new(parts, passes)),
            Kind::Shuffled => Box::new(shuffled),
            Kind::Rotation => Box::new(rotation),
            Kind::Evaluated => Box::new(Evaluated::new(shuffled, parts, 1, Box::new(|c, _| (c, Vec::new())))),
            Kind::EvaluatedRotation => {
                Box::new(Evaluated::new(rotation, parts, 2, Box::new(|c, _| (c, Vec::new()))))
            }
            Kind::Priority => Box::new(priority),
            Kind::Dependency => Box::new(Dependency::new(priority, conflict, 0.5)),
        }
    }

    /// A shard with its rows at their start.
    pub(crate) fn store(&self, shard: usize, tables: &Arc<Vec<Table>>) -> Store {
        let placement = Placement::over(self.shards);
        let store = Store::new(ShardId::at(shard), placement, Arc::clone(tables), self.consistency);
        let store = store.within(self.bandwidth.map(Budget::new));
        if self.cluster.is_some() { store.transactional() } else { store }
    }

    pub(crate) fn tables(&self) -> Vec<Table> {
        let rule = if self.custom { Rule::Custom(Arc::new(Hidden)) } else { Rule::Add };
        let (parts, workers) = (self.parts, self.workers);
        let counts = Table::dense("counts", parts, workers).of::<f64>().paged(self.page).rule(rule);
        let own = Table::sparse("own", parts, workers).of::<i32>().paged(self.page);
        let own = own.reading(|part| vec![part.0]);
        let noise = Table::dense("noise", 2, 3).paged(self.page);
        let mut tables = vec![counts, own, noise];
        let starts = |n: usize| (0..u32::try_from(n).expect("few blocks")).collect::<Vec<_>>();
        if self.leases && self.rotates() {
            let visits = Table::sparse("visits", self.blocks, 1000).of::<i32>();
            tables.push(visits.leased_by_block(&starts(self.blocks)));
        } else if self.leases {
            let visits = Table::sparse("visits", self.parts, 1000).of::<i32>();
            tables.push(visits.leased_by_part(&starts(self.parts)));
        }
        tables
    }
}

/// Addition, but a worker does not know that it is. What the rule keeps goes wherever the page goes.
struct Hidden;

impl UpdateRule for Hidden {
    fn n_kept(&self, n: usize) -> usize {
        n
    }
    fn looks_back(&self) -> bool {
        true
    }
    fn fold(&self, page: &mut Buffer, delta: &Buffer, beside: Beside<'_>) {
        assert!(*beside.kept == *page, "the numbers beside a page are those of its last update");
        page.add(delta);
        beside.kept.add(delta);
    }
}
