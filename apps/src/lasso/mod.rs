//! The Lasso (to be described below).

pub mod solver;
