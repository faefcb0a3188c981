//! Bridges between processes, which here share one.

mod pairs;
mod stage;
