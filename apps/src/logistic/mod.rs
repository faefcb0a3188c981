//! Logistic regression (to be described below).

pub mod loss;
pub mod solver;
