//! A run on several processes: who they are, who hosts what, and what happens when one of them dies.
//!
//! Every process runs the same job; its [`Seat`] says which actors of the ring it hosts. One node leads: it hosts the
//! scheduler and decides who is alive.

pub mod captain;
mod crew;
mod layout;
mod seat;
mod words;

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

pub use captain::{Captain, Origin};
pub use layout::{Holders, Homes, Host, Layout, NodeName};
pub use seat::{Seat, status, stop};

pub use crate::bridge::settings::{Settings, Timing, Tls, Token};

/// What a process is told about its cluster.
#[derive(Debug, Clone)]
pub struct Place {
    /// Name, address, token: what the bridge needs.
    pub settings: Settings,
    /// Workers on this node.
    pub workers: usize,
    /// Shards on this node.
    pub shards: usize,
    /// Whether it leads.
    pub role: Role,
}

/// What a node is to the others.
#[derive(Debug, Clone)]
pub enum Role {
    /// It hosts the scheduler.
    Lead {
        /// The other nodes that belong to the run from its start.
        others: Vec<Expected>,
        /// Copies of each shard on other nodes: 0 or 1.
        replicas: usize,
        /// Whether it was started again: it then goes on with the nodes that come within the patience.
        again: bool,
    },
    /// It hosts shards and workers, and takes the lead's word.
    Follow {
        /// The lead's name.
        lead: String,
        /// Where the lead listens: `host:port`.
        address: String,
        /// Whether it joins a run that is under way.
        late: bool,
    },
}

/// A node that the lead waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// Its name.
    pub name: String,
    /// Its workers.
    pub workers: usize,
    /// Its shards.
    pub shards: usize,
}

/// Why a process has no seat in its cluster.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum SeatError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {problem}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the operating system said.
        problem: String,
    },
    /// The lead did not answer in time, or refused this node.
    #[error("{0}")]
    Refused(String),
}

/// Something about the members of a run that its users should hear: a sentence without the full stop.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum MemberNews {
    /// A node has come.
    Came(String),
    /// A node was lost, why, and what is done about it.
    Lost {
        /// Its name.
        node: String,
        /// For how long nothing was heard, or how it ended.
        why: String,
        /// Such as `its parts are handed out again`.
        remedy: String,
    },
    /// A node has left in good order.
    Left(String),
    /// A node reads its data: a share of 1.
    Loading(String, f32),
    /// The nodes that have not come yet.
    WaitingFor(Vec<String>),
    /// Under `bounded_error`: so many workers kept small updates back when the members changed. These are lost: of each
    /// page at most the error that the job allows, for each of them.
    KeptBackLost {
        /// How many workers.
        workers: usize,
    },
}

/// How a cluster is doing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The job's name.
    pub job: String,
    /// Which generation of members it is in: 1 at the start, one more for every change of members.
    pub generation: u32,
    /// Training time in seconds.
    pub seconds: f64,
    /// The clocks that everyone finished.
    pub clock: u64,
    /// Passes over the data at the last evaluation.
    pub epoch: f64,
    /// The objective at the last evaluation, if there was one.
    pub objective: Option<f64>,
    /// The share of the run that is done, where it is known.
    pub done: Option<f64>,
    /// The nodes, the lead first.
    pub nodes: Vec<NodeStatus>,
}

/// How one node is doing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeStatus {
    /// Its name.
    pub name: String,
    /// Where it listens.
    pub address: String,
    /// `expected`, `loading`, `ready`, `training`, `lost`, `left`.
    pub state: String,
    /// Its workers.
    pub workers: usize,
    /// The shards it hosts now.
    pub shards: usize,
    /// Milliseconds since it was last heard.
    pub heard: u64,
}
