//! What the coordinate-descent apps share: the columns of a part, and how they are cut and walked.

pub mod columns;
