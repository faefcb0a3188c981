//! A shard: its rows of every table, and the promises about them.
//!
//! [`Store`] decides (pure: no actor, no clock of the wall), [`Shard`] moves messages in and out.

mod actor;
mod memory;
mod readers;
mod store;
mod tables;

pub use actor::{HandOver, Introduce, Shard, ToWorker};
pub use store::{Outgoing, Store};
