//! What the coordinate-descent apps share: the columns of a part, and how they are cut and walked.

pub mod columns;
pub mod gram;
pub mod guide;
pub mod quadratic;
pub mod residual;
pub mod serial;
pub mod sweep;
pub mod task;
pub mod weighted;
