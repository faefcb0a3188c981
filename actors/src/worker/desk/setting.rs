//! What a desk is told, and what it hands to the app.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::app::Step;
use crate::audit::Witness;
use crate::budget::Budget;
use crate::clock::Consistency;
use crate::id::ShardId;
use crate::placement::Placement;
use crate::table::Table;

/// A step that has all it needs.
#[derive(Debug)]
pub struct Prepared(pub Step);

/// How long a step computed and how long the worker had nothing to compute before it, in microseconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spent {
    /// Computing.
    pub computed: u64,
    /// Waiting.
    pub waited: u64,
}

/// What a desk needs to know of its job.
#[derive(Clone)]
pub struct Setting {
    /// The job's tables.
    pub tables: Arc<Vec<Table>>,
    /// Which shard owns what.
    pub placement: Placement,
    /// How old a read may be.
    pub consistency: Consistency,
    /// The job's seed.
    pub seed: u64,
    /// The generation of the run's members.
    pub generation: u32,
    /// Whether shards keep updates back until the scheduler says that their step counts.
    pub transactional: bool,
    /// The shards that have a backup, which gets every push too.
    pub backed: Arc<BTreeSet<ShardId>>,
    /// The shards on other nodes.
    pub away: Arc<BTreeSet<ShardId>>,
    /// Within what updates leave that may wait.
    pub budget: Option<Budget>,
    /// Who records what is read and sent.
    pub witness: Witness,
}
