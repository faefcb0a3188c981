//! What is said on the lanes: the arrows of the ring, and the words of the crews.

use slackline::Step;
use slackline::cluster::{Layout, Origin};
use slackline::id::ShardId;
use slackline::message::{Advance, Applied, Assign, Commit, Got, Pull, Push, Report, Rows, Snap, Snapshot};
use slackline::scheduler::Halted;
use slackline::shard::Store;

use super::network::Life;

/// An actor of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    Scheduler,
    Crew,
    Node,
    Worker(usize),
    Shard(usize),
    Backup(usize),
    App(usize),
}

/// A message on its way.
pub(crate) struct Envelope {
    /// The generation of members that it belongs to; later ones drop it.
    pub(crate) generation: u32,
    pub(crate) from: Place,
    pub(crate) to: Place,
    pub(crate) body: Body,
}

/// What is said.
pub(crate) enum Body {
    Assign(Assign),
    Advance(Advance),
    Commit(Commit),
    Pull(Pull),
    Push(Push),
    Rows(Rows),
    Applied(Applied),
    Report(Report),
    Got(Got),
    Compute(Box<Step>),
    Join(usize),
    /// Rows of a table for the end of the run, under its number.
    Snap(u64, Snap),
    Snapped(usize, u64, Snapshot),
    /// A shard is to bring its rows to its backup.
    Copy,
    /// Rows for who lacks them.
    Restore(Box<Store>),
    Restored(usize, bool),
    /// Crew → node → scheduler: no more reports count; so many workers come next.
    Halt(u32, usize),
    Halted(u32, Halted),
    /// Node → scheduler: these are the members.
    Meet(Layout),
    Filled(u32),
    Deploy(Layout, Origin, Halted),
    Deployed(u32),
    Begin(u32),
    Fence(Life),
    End,
    Hail(u32),
    Ready,
    Leave,
    Unreachable(Life),
    Refused,
}

impl Body {
    pub(crate) fn kind(&self) -> u8 {
        match self {
            Self::Pull(_) => 2,
            Self::Push(_) => 3,
            Self::Rows(_) => 4,
            Self::Applied(_) => 5,
            Self::Report(_) => 6,
            Self::Compute(_) => 7,
            Self::Assign(_) => 8,
            Self::Snap(..) | Self::Snapped(..) | Self::Copy | Self::Restore(_) | Self::Restored(..) => 9,
            Self::Got(_) => 10,
            _ => 1, // in order with the advances
        }
    }

    /// Between nodes: bulk and the rest have lanes of their own, and kinds of bulk too where they are `split`.
    pub(crate) fn class(&self, split: bool) -> u8 {
        match self.kind() {
            1 | 6 | 8 => 1,
            kind if split => kind,
            _ => 2,
        }
    }
}

/// The shard or backup of that number.
pub(crate) fn holder(shard: ShardId, backup: bool) -> Place {
    if backup { Place::Backup(shard.index()) } else { Place::Shard(shard.index()) }
}
