//! Clusters of real processes on this machine: they train, are killed, cut off, joined, stopped and lied to, and end with
//! the model of an undisturbed run or with a sentence. A test that takes longer runs with `--ignored`:
//! `cargo test -p slackline-cluster --test cluster -- --ignored`.

#![allow(clippy::unwrap_used)] // the lint lets tests unwrap, but not the functions beside them

mod cuts;
mod deaths;
mod field;
mod guests;
mod many;
mod misfits;
mod strangers;
mod training;
mod wishes;
