//! The scheduler: the vector clock, the gate and the schedule, all inside one mailbox.
//!
//! [`Dispatch`] decides (pure), [`Scheduler`] moves messages in and out; [`policy`] holds the schedules and
//! [`PriorityQueue`] what they rank variables with.

mod actor;
mod dispatch;
mod keeping;
pub mod policy;
mod queue;

pub(crate) use actor::RollBack;
pub use actor::{Finished, Halt, Meet, Scheduler, ToShard, WorkerRecord};
pub use dispatch::{Dispatch, Ending, Halted, Order};
pub(crate) use keeping::Keep;
pub use queue::PriorityQueue;
