//! The processes: the `slackline` command line, its settings and the directory a run leaves behind.
//!
//! `main.rs` hands the catalog of apps to [`cli::run`]. A program with apps of its own does the same with its own
//! list and has the whole command line for them; `examples/own_app.rs` is one.
//!
//! In reading order: [`cli`] (what was asked for), `settings` (defaults, file, environment and flags become one
//! checked request), `training` (a run shown and kept), `console` (how a run is shown), `signals` (how it is stopped),
//! `run_directory` (what it leaves behind), `output` (files that are there whole or not at all). Then the clusters: `topology` (as written, checked), `node` (one process),
//! `launch` (all of them), `render` (the same for Kubernetes and Slurm).

pub mod cli;
pub mod error;

mod console;
mod launch;
mod logging;
mod node;
mod output;
mod render;
mod run_directory;
mod settings;
mod signals;
mod topology;
mod training;

pub use error::Error;
