//! (to come)
pub mod sgd;
