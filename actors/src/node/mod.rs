//! The node: one process's actors, started, joined, watched over, and wound up in good order.

mod actor;
mod deploy;
mod life;

pub(crate) use deploy::launch;
pub(crate) use life::Breather;
pub use life::Lifeline;
