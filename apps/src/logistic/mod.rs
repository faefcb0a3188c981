//! Logistic regression (to be described below).

mod app;
mod binary;
pub mod classes;
pub mod loss;
mod multiclass;
pub mod params;
pub mod softmax;
pub mod solver;

pub use app::Logistic;
