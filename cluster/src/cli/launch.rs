//! `slackline launch`: every node of a cluster, from one file.

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use slackline_apps::catalog::App;

use super::{start_log, wants_json_log};
use crate::Error;
use crate::console::{self, Screen};
use crate::launch::{self, Launch};
use crate::topology::Topology;

pub(super) const NAME: &str = "launch";

const HELP: &str = "Examples:
  slackline launch config/two-nodes.yaml
  slackline launch topology.yaml --out runs/1 --json
  slackline status topology.yaml        how it is doing, from another terminal
  slackline stop topology.yaml          stop it at a clock and keep what there is

A topology is a job file with `nodes:` (config/two-nodes.yaml explains every key). Nodes are processes on this machine
(`start: local`), on others through the system's ssh (`start: ssh`), or started by hand (`start: manual`: the command
to run there is printed). A node off loopback needs a token: `token-file: FILE` in the topology or SLACKLINE_TOKEN;
without one, and with every node on this machine, a random one is made for the run.

If a node cannot start, everything ends and says why. If one dies later, the run goes on without it where it can; a lead
that is killed is started again from its last checkpoint, up to three times. Ctrl-C stops at a clock and keeps what
there is; a second one kills every node. When the launcher dies, the nodes end.

Exit codes: those of `slackline train`; 75 after a termination request where there are checkpoints: launch again with
--resume.";

pub(super) fn command() -> Command {
    let flag = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
    };
    Command::new(NAME)
        .about("Trains on every node of a cluster: one command, one progress bar, one summary")
        .arg(topology())
        .arg(out())
        .arg(flag("force", "Replace the run that the run directory holds"))
        .arg(flag("resume", "Go on from the newest checkpoint, from the start if there is none"))
        .arg(flag("quiet", "Show nothing but errors (and with --json the last line)"))
        .arg(flag("json", "Print what happens as JSON lines on stdout, the summary as the last one"))
        .after_help(HELP)
}

/// The file of a cluster.
pub(super) fn topology() -> Arg {
    Arg::new("topology")
        .value_name("TOPOLOGY.yaml")
        .required(true)
        .value_parser(value_parser!(PathBuf))
        .help("The nodes and the job")
}

/// Where the lead keeps the run.
pub(super) fn out() -> Arg {
    Arg::new("out")
        .long("out")
        .value_name("DIR")
        .value_parser(value_parser!(PathBuf))
        .help("Where the lead keeps the model, its metrics and a summary [default: as the topology says]")
}

/// A path that was given.
pub(super) fn path(matches: &ArgMatches, name: &str) -> Option<PathBuf> {
    matches.get_one::<PathBuf>(name).cloned()
}

pub(super) fn run(apps: &[&dyn App], matches: &ArgMatches) -> Result<u8, Error> {
    let path_of_topology = path(matches, "topology").expect("clap asks for it");
    let topology = Topology::read(&path_of_topology)?;
    let flag = |name| matches.get_flag(name);
    let screen = Screen::new(console::stderr_is_terminal() && !flag("quiet") && !flag("json"));
    start_log(matches, &screen)?;
    let launch = Launch {
        topology,
        path: path_of_topology,
        out: path(matches, "out"),
        force: flag("force"),
        resume: flag("resume"),
        quiet: flag("quiet"),
        json: flag("json"),
        json_log: wants_json_log(matches),
    };
    launch::run(apps, launch, screen)
}
