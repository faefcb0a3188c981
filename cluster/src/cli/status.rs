//! `slackline status` and `slackline stop`: a running cluster asked from outside.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use serde_json::Value;
use slackline::cluster::{self, NodeStatus, Status, Token};

use super::launch::path;
use super::start_log;
use crate::Error;
use crate::console::{self, Screen};
use crate::launch::record::{self, Entry, Found, Record};
use crate::node::client;
use crate::topology::{Topology, configured};

pub(super) const NAME: &str = "status";
pub(super) const STOP: &str = "stop";

/// Nobody waits longer than this for an answer.
const WITHIN: Duration = Duration::from_secs(5);

const HELP: &str = "Examples:
  slackline status topology.yaml
  slackline status runs/1 --json

A launch on this machine is found by its topology or its run directory; another by the lead's address in the topology.
Exit codes: 0 it runs, 1 nothing runs there or nobody answers within 5 seconds, 2 wrong usage or settings.";

const STOP_HELP: &str = "Examples:
  slackline stop topology.yaml
  slackline stop runs/1

The run ends at its next clock and keeps what there is, as after Ctrl-C. Exit codes: 0 the lead has agreed, 1 nothing
runs there or nobody answers within 5 seconds, 2 wrong usage or settings.";

/// A cluster by its file or its directory.
pub(super) fn target() -> Arg {
    Arg::new("target")
        .value_name("TOPOLOGY.yaml|DIR")
        .required(true)
        .value_parser(value_parser!(PathBuf))
        .help("The topology, or the run directory of a launch")
}

pub(super) fn command() -> Command {
    Command::new(NAME)
        .about("Tells how a running cluster is doing")
        .arg(target())
        .arg(Arg::new("json").long("json").action(ArgAction::SetTrue).help("Print one JSON object"))
        .after_help(HELP)
}

pub(super) fn stop_command() -> Command {
    Command::new(STOP)
        .about("Stops a running cluster at a clock; what was learned is kept")
        .arg(target())
        .after_help(STOP_HELP)
}

pub(super) fn run(matches: &ArgMatches) -> Result<u8, Error> {
    start_log(matches, &Screen::new(false))?;
    let cluster = find_cluster(&path(matches, "target").expect("clap asks for it"), false)?;
    let settings = client(&cluster.topology, cluster.token.clone());
    let status = cluster::status(&settings, &cluster.lead, WITHIN).map_err(cluster.silent())?;
    let text = if matches.get_flag("json") {
        let object = json(&status, &cluster.topology.cluster, &cluster.nodes);
        object.map_err(|error| Error::cluster(error.to_string()))?.to_string()
    } else {
        shown(&status, &cluster.topology.cluster, &cluster.nodes)
    };
    console::result(&text);
    Ok(0)
}

pub(super) fn stop(matches: &ArgMatches) -> Result<u8, Error> {
    start_log(matches, &Screen::new(false))?;
    let cluster = find_cluster(&path(matches, "target").expect("clap asks for it"), false)?;
    let settings = client(&cluster.topology, cluster.token.clone());
    cluster::stop(&settings, &cluster.lead, WITHIN).map_err(cluster.silent())?;
    console::result(&format!("{} stops at its next clock and keeps what there is", cluster.topology.cluster));
    Ok(0)
}

/// A running cluster as it was found.
pub(crate) struct Cluster {
    pub(crate) topology: Topology,
    pub(crate) token: Option<Token>,
    /// Where the lead listens; empty where that is not known.
    pub(crate) lead: String,
    /// The processes that its launcher started.
    nodes: Vec<Entry>,
    /// A launch that is gone: the reason why nobody answers, if nobody does.
    gone: Option<String>,
}

impl Cluster {
    /// What to say when nobody answers.
    fn silent(&self) -> impl FnOnce(String) -> Error {
        let gone = self.gone.clone();
        |problem| Error::cluster(gone.unwrap_or(problem))
    }
}

/// Finds a cluster by its topology or the run directory of its launch. With `elsewhere` the lead's address is known
/// from elsewhere and need not be found.
///
/// # Errors
/// Nothing runs there, as far as can be told from here.
pub(crate) fn find_cluster(target: &Path, elsewhere: bool) -> Result<Cluster, Error> {
    let shown = target.display();
    if target.is_dir() {
        return match record::look(&target.join(record::NAME)) {
            Found::Live(record) => known(*record),
            Found::Stale(path, record) => Err(Error::cluster(stale(&path, &record))),
            Found::Nothing => Err(Error::cluster(format!(
                "{shown}: no launch is under way there (no {}); give its topology",
                record::NAME
            ))),
        };
    }
    let topology = Topology::read(target)?;
    let places = [record::slot(target), topology.out().map(|out| out.join(record::NAME))];
    let mut left_behind = None;
    for place in places.iter().flatten() {
        match record::look(place) {
            Found::Live(record) => return known(*record),
            Found::Stale(path, record) => left_behind = Some(stale(&path, &record)),
            Found::Nothing => {}
        }
    }
    let lead = &topology.lead().address;
    if lead.port == 0 && !elsewhere {
        let nothing = format!("{shown}: no launch of it is under way on this machine");
        return Err(Error::cluster(left_behind.unwrap_or(nothing)));
    }
    let token = configured(&topology)?;
    Ok(Cluster { lead: lead.to_string(), token, nodes: Vec::new(), gone: left_behind, topology })
}

fn known(record: Record) -> Result<Cluster, Error> {
    let topology = Topology::from_text(&record.file, &record.text)?;
    let token = match &record.token {
        Some(token) => Some(Token::new(token).map_err(Error::Usage)?),
        None => configured(&topology)?,
    };
    Ok(Cluster { topology, token, lead: record.lead, nodes: record.nodes, gone: None })
}

fn stale(path: &Path, record: &Record) -> String {
    let gone = format!("the launch of {} (process {}) is gone", record.cluster, record.launcher);
    format!("nothing runs there: {gone} and left {} behind, which the next launch replaces", path.display())
}

fn json(status: &Status, cluster: &str, nodes: &[Entry]) -> Result<Value, serde_json::Error> {
    let mut object = serde_json::to_value(status)?;
    object["cluster"] = cluster.into();
    for node in object["nodes"].as_array_mut().into_iter().flatten() {
        let pid = nodes.iter().find(|entry| node["name"] == entry.name.as_str()).map(|entry| entry.pid);
        node["pid"] = pid.map_or(Value::Null, Value::from);
    }
    Ok(object)
}

fn shown(status: &Status, cluster: &str, nodes: &[Entry]) -> String {
    let mut rows = vec![
        ("cluster".to_owned(), cluster.to_owned()),
        ("job".into(), status.job.clone()),
        ("clock".into(), format!("{}, pass {}", status.clock, console::number(status.epoch))),
        ("objective".into(), status.objective.map_or("not measured yet".into(), console::number)),
        ("training".into(), console::duration(status.seconds)),
    ];
    if let Some(done) = status.done {
        rows.push(("done".into(), format!("{:.0} %", done * 100.0)));
    }
    if status.generation > 1 {
        rows.push(("members".into(), format!("changed {} times", status.generation - 1)));
    }
    rows.extend(status.nodes.iter().map(|node| (format!("node {}", node.name), line(node, nodes))));
    console::table(&rows)
}

fn line(node: &NodeStatus, nodes: &[Entry]) -> String {
    let NodeStatus { address, state, workers, shards, heard, .. } = node;
    let pid = nodes.iter().find(|entry| entry.name == node.name);
    let pid = pid.map(|entry| format!(", process {}", entry.pid)).unwrap_or_default();
    format!("{state}, {workers} workers, {shards} shards, {address}{pid}, heard {heard} ms ago")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_names_every_node_with_its_process() {
        let node = |name: &str| NodeStatus {
            name: name.into(),
            address: "127.0.0.1:7".into(),
            state: "training".into(),
            workers: 1,
            shards: 1,
            heard: 12,
        };
        let status = Status { job: "mf".into(), nodes: vec![node("a"), node("b")], ..Status::default() };
        let entries = [Entry { name: "b".into(), pid: 42 }];
        let text = shown(&status, "two", &entries);
        assert!(
            text.ends_with(
                "node b     training, 1 workers, 1 shards, 127.0.0.1:7, process 42, heard 12 ms ago"
            ),
            "{text}"
        );
        let object = json(&status, "two", &entries).unwrap();
        assert_eq!((object["nodes"][1]["pid"].as_u64(), object["cluster"].as_str()), (Some(42), Some("two")));
    }
}
