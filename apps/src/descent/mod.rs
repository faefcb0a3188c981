//! What the coordinate-descent apps share: the columns of a part, and how they are cut and walked.

pub mod certificate;
pub mod columns;
pub mod gram;
pub mod guide;
pub mod options;
pub mod penalties;
pub mod quadratic;
pub mod residual;
pub mod serial;
#[cfg(test)]
pub(crate) mod simulated;
pub mod sweep;
pub mod task;
pub mod weighted;
