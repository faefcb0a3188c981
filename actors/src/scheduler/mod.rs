//! The scheduler: the vector clock, the gate and the schedule, all inside one mailbox.
//!
//! [`Dispatch`] decides (pure), [`Scheduler`] moves messages in and out; [`policy`] holds the schedules and
//! [`PriorityQueue`] what they rank variables with.

mod actor;
mod dispatch;
mod keeping;
pub mod policy;
mod queue;

pub use actor::{Finished, Meet, Scheduler, WorkerRecord};
pub use dispatch::{Dispatch, Ending, Order};
pub(crate) use keeping::Keep;
pub use queue::PriorityQueue;
