//! The machine learning: each app with its mathematics, its serial reference, its parallel solver and its actor.

pub mod catalog;
pub mod data;
pub mod deal;
pub mod descent;
pub mod error;
pub mod kernel;
pub mod kmeans;
pub mod lasso;
pub mod lda;
pub mod linear;
pub mod logistic;
pub mod matrix_factorization;
pub mod metric_learning;
pub mod mlp;
mod nearest;
pub mod options;
pub mod points;
pub mod prediction;
pub mod run;
pub mod samples;
mod stop;

pub use error::Error;
pub use nearest::nearest;
pub use stop::StopSwitch;
