//! An app that does not take its place in the cluster: its node says so, the others are told, and nothing is kept.

#![allow(clippy::unwrap_used)] // the lint lets tests unwrap, but not the functions beside them

mod launched;
mod place;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use launched::{Launched, free_port};
use place::{Place, failure};
use slackline_apps::Error;
use slackline_apps::catalog::{App, OptionSpec, Request, Trained, Watch};

/// Trains, as it believes, without looking at its seat.
struct Alone;

impl App for Alone {
    fn name(&self) -> &'static str {
        "mean"
    }

    fn about(&self) -> &'static str {
        "Trains in one process"
    }

    fn options(&self) -> &'static [OptionSpec] {
        &[]
    }

    fn train(&self, _: &Request, _: &Watch) -> Result<Trained, Error> {
        Ok(Trained { objective: 1.0, clocks: 1, ..Trained::default() })
    }

    fn evaluate(&self, _: &Path, _: &Path) -> Result<BTreeMap<String, f64>, Error> {
        Ok(BTreeMap::new())
    }
}

/// Runs a node of the topology with the app above in this process.
fn node(topology: &Path, name: &str) -> ExitCode {
    let words: [OsString; 5] =
        ["slackline".into(), "node".into(), topology.into(), "--name".into(), name.into()];
    slackline_cluster::cli::run(&[&Alone], words.into())
}

fn topology(place: &Place, nodes: &str) {
    let (data, out) = (place.path("numbers.txt"), place.path("run"));
    let text = format!("app: mean\ndata: {}\nout: {}\n{nodes}", data.display(), out.display());
    place.write("t.yaml", &text);
}

#[test]
fn a_lead_whose_app_trains_by_itself_keeps_nothing() {
    let place = Place::new();
    topology(&place, "nodes: [{name: a}]\n");
    assert_eq!(node(&place.path("t.yaml"), "a"), ExitCode::FAILURE);
    assert!(!place.path("run").exists());
}

#[test]
fn a_follower_whose_app_trains_by_itself_ends_the_run_of_all() {
    let place = Place::new();
    let address = format!("127.0.0.1:{}", free_port());
    topology(&place, &format!("nodes: [{{name: a, address: \"{address}\"}}, {{name: b}}]\n"));
    let lead = Launched::start(&place, "node t.yaml --name a");
    assert_eq!(node(&place.path("t.yaml"), "b"), ExitCode::FAILURE);
    let (code, said) = failure(&lead.output());
    let why = "node b: app mean trains in one process only: it did not take its place in the cluster";
    assert!(code == 1 && said.contains(why), "{code}: {said}");
}
