//! Bridges between processes, which here share one.

mod cuts;
#[cfg(feature = "tls")]
mod encrypted;
mod hostile;
mod pairs;
mod simulated;
mod stage;
