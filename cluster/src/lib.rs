//! The processes: the `slackline` command line, its settings and the directory a run leaves behind.
//!
//! `main.rs` hands the catalog of apps to [`cli::run`]. A program with apps of its own does the same with its own
//! list and has the whole command line for them; `examples/own_app.rs` is one.
//!
//! In reading order: [`cli`] (what was asked for), `settings` (defaults, file, environment and flags become one
//! checked request), `console` (how a run is shown), `signals` (how it is stopped), `run_directory` (what it
//! leaves behind).

pub mod cli;
pub mod error;

mod console;
mod logging;
mod run_directory;
mod settings;
mod signals;

pub use error::Error;
