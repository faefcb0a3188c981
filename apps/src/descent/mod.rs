//! What the coordinate-descent apps share: the columns of a part, sweeps, working sets, the guide, and the actor.

pub mod actor;
pub mod certificate;
pub mod columns;
pub mod conductor;
pub mod gram;
pub mod guide;
pub mod interference;
pub mod path;
pub mod penalties;
pub mod quadratic;
pub mod residual;
pub(crate) mod run;
pub mod serial;
#[cfg(test)]
pub(crate) mod simulated;
pub mod sweep;
pub mod task;
pub mod weighted;
pub mod words;
