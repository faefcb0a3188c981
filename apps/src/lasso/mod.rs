//! The Lasso (to be described below).

pub mod serial;
pub mod solver;
