//! The node: one process's actors, started, joined, watched over, and wound up in good order.

mod actor;
mod cast;
mod deploy;
mod duty;
mod fill;
mod life;
mod reach;

pub(crate) use actor::Gather;
pub(crate) use deploy::launch;
pub(crate) use duty::{Task, Word};
pub use life::Lifeline;
pub(crate) use life::{Breather, Retire};
pub(crate) use reach::Post;
