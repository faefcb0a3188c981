//! The Lasso (to be described below).

mod app;
pub mod params;
pub mod solver;

pub use app::Lasso;
