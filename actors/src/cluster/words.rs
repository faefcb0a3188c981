//! What crews say to each other, and what is asked of a lead from outside.

use actix::prelude::*;
use serde::{Deserialize, Serialize};

use super::Status;
use super::captain::Origin;
use super::layout::{Layout, NodeName};
use crate::bridge::{Lane, form, wire};
use crate::scheduler::Halted;

/// Follower → lead.
#[derive(Debug, Clone, Message, Serialize, Deserialize)]
#[rtype(result = "()")]
pub(crate) struct Up {
    /// Who says it.
    pub(crate) node: NodeName,
    /// Which life of it.
    pub(crate) incarnation: u64,
    /// What.
    pub(crate) word: UpWord,
}

/// What a follower has to say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum UpWord {
    /// It is here.
    Hail {
        /// Where it listens.
        address: String,
        /// Its workers.
        workers: usize,
        /// The shards it is to have.
        shards: usize,
        /// Whether it may come at any time.
        late: bool,
        /// The last generation it took part in.
        generation: u32,
    },
    /// The share of its data that it has read.
    Loading(f32),
    /// It has built the job that this describes.
    Ready(String),
    /// It has made the actors of a generation.
    Deployed(u32),
    /// It cannot go on, and why.
    GaveUp(String),
    /// It would like to leave in good order.
    Leave,
    /// It cannot reach this life of another node.
    Unreachable(NodeName, u64, String),
}

/// Lead → follower.
#[derive(Debug, Clone, Message, Serialize, Deserialize)]
#[rtype(result = "()")]
pub(crate) enum Down {
    /// It belongs to the run, which has so many workers by its topology.
    Welcome {
        /// Workers over all nodes.
        workers: usize,
    },
    /// It does not, and why.
    Refused(String),
    /// Where the others listen, in the order in which they came: who came later dials.
    Members(Vec<(NodeName, String)>),
    /// Make the actors of this generation.
    Deploy(Layout, Origin, Halted),
    /// The workers of this generation may begin.
    Begin(u32),
    /// This life of a node is over: refuse it.
    Fence(NodeName, u64, String),
    /// The run is over: well, or because of this.
    End(Option<String>),
}

/// Anyone → lead: how is it going?
#[derive(Debug, Clone, Message, Serialize, Deserialize)]
#[rtype(result = "Status")]
pub(crate) struct AskStatus;

/// Anyone → lead: stop at a clock.
#[derive(Debug, Clone, Message, Serialize, Deserialize)]
#[rtype(result = "()")]
pub(crate) struct AskStop;

form!(Status);
wire!(Up, "crew-up/1", Lane::Control);
wire!(Down, "crew-down/1", Lane::Control);
wire!(AskStatus, "ask-status/1", Lane::Control);
wire!(AskStop, "ask-stop/1", Lane::Control);
