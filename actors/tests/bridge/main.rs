//! Bridges between processes, which here share one.

#![allow(clippy::unwrap_used)] // what helpers unwrap is as much part of a test as what tests do

mod cuts;
#[cfg(feature = "tls")]
mod encrypted;
mod hostile;
mod pairs;
mod simulated;
mod stage;
