//! Tests that cross crates; the simulation of whole runs that a test and the soak share.

pub mod simulation;
pub mod soak;
