//! Where a message goes: an actor within a generation, on the node that a link leads to.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::id::{ShardId, WorkerId};

/// Where on a node: a generation and an actor's name within it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Address {
    /// Messages of a generation that is over are dropped on arrival.
    pub generation: u32,
    /// Who.
    pub actor: Actor,
}

/// Who is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Actor {
    /// The node's crew, which speaks for the node itself.
    Crew,
    /// The scheduler.
    Scheduler,
    /// A shard.
    Shard(ShardId),
    /// The copy of a shard.
    Backup(ShardId),
    /// A worker.
    Worker(WorkerId),
}

impl Actor {
    /// As a kind and a number.
    pub(super) fn code(self) -> (u8, u32) {
        match self {
            Self::Crew => (0, 0),
            Self::Scheduler => (1, 0),
            Self::Shard(id) => (2, id.0),
            Self::Backup(id) => (3, id.0),
            Self::Worker(id) => (4, id.0),
        }
    }

    /// The actor of a kind and a number.
    pub(super) fn of(kind: u8, number: u32) -> Option<Self> {
        match (kind, number) {
            (0, 0) => Some(Self::Crew),
            (1, 0) => Some(Self::Scheduler),
            (2, id) => Some(Self::Shard(ShardId(id))),
            (3, id) => Some(Self::Backup(ShardId(id))),
            (4, id) => Some(Self::Worker(WorkerId(id))),
            _ => None,
        }
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Crew => f.write_str("the crew"),
            Self::Scheduler => f.write_str("the scheduler"),
            Self::Shard(id) => write!(f, "shard {id}"),
            Self::Backup(id) => write!(f, "the copy of shard {id}"),
            Self::Worker(id) => write!(f, "worker {id}"),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of generation {}", self.actor, self.generation)
    }
}
