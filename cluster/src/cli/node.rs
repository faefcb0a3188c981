//! `slackline node`: one process of a cluster, for whoever starts processes; and `slackline join`, one more.

use std::ffi::OsString;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use slackline::cluster::Token;
use slackline_apps::catalog::App;

use super::launch::{out, path, topology};
use super::{find_cluster, start_log};
use crate::Error;
use crate::console::Screen;
use crate::node::{self, Handover, Order};
use crate::topology::{Address, Topology, configured, name_rule};

pub(super) const NAME: &str = "node";
pub(super) const JOIN: &str = "join";

const HELP: &str = "Examples:
  slackline node topology.yaml --name a                            the lead
  slackline node topology.yaml --name b --lead 10.0.0.5:7077      one that follows
  SLACKLINE_TOKEN=$(cat token) slackline node topology.yaml --name b

For systemd, Kubernetes (`slackline render --for kubernetes`), Slurm (`--for slurm`), or by hand. The lead keeps the run
and prints the summary as `slackline train` does; the others end with it.

A termination request lets the node leave in good order: one that only has workers goes once its steps are done,
otherwise the whole run stops at a clock. A second one ends it at once.

Exit codes: 0 the run is done, 1 error, 2 wrong usage or settings, 3 bad data, 4 diverged, 75 stopped by a termination
request where there are checkpoints (start again with --resume), 143 where there are none, 130 by Ctrl-C or `slackline stop`.";

const JOIN_HELP: &str = "Examples:
  slackline join topology.yaml --workers 2
  slackline join runs/1 --workers 1 --name helper
  slackline join topology.yaml --workers 2 --lead 10.0.0.5:7077     from another machine

The run must be under way; the new node reads the data, takes over parts of it, and leaves on Ctrl-C without harm.
Exit codes: as for `slackline node`.";

fn text(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).help(help)
}

fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}

fn data() -> Arg {
    let help = "The training data here, if not where the topology says";
    text("data", "FILE", help).value_parser(value_parser!(PathBuf))
}

pub(super) fn command() -> Command {
    Command::new(NAME)
        .about("Runs one node of a cluster")
        .arg(topology().help("The nodes and the job; `-` where a launcher hands them over"))
        .arg(text("name", "NAME", "Which node of the topology this is").required(true))
        .arg(text("listen", "HOST:PORT", "Where to listen [default: the node's address]"))
        .arg(text("lead", "HOST:PORT", "Where the lead listens [default: the lead's address]"))
        .arg(data())
        .arg(out())
        .arg(flag("force", "Replace the run that the run directory holds"))
        .arg(flag("resume", "Go on from the newest checkpoint, from the start if there is none"))
        .arg(flag("leash", "End when standard input ends, as it does when whoever started this dies"))
        .arg(flag("stay", "When the run is done, wait to be stopped, for those who restart whatever ends"))
        .arg(flag("quiet", "Show nothing but errors (and with --json the last line)"))
        .arg(flag("json", "Print where it listens, and the lead's news and summary, as JSON lines on stdout"))
        .after_help(HELP)
}

pub(super) fn join_command() -> Command {
    let workers = text("workers", "N", "How many workers compute here [default: 1]");
    Command::new(JOIN)
        .about("Adds workers to a run that is under way")
        .arg(super::status::target())
        .arg(workers.value_parser(value_parser!(u16).range(1..=1024)))
        .arg(text("name", "NAME", "What to call the new node [default: join-PROCESS]"))
        .arg(text("listen", "HOST:PORT", "Where to listen [default: on the way to the lead, any port]"))
        .arg(text(
            "lead",
            "HOST:PORT",
            "Where the lead listens [default: as the launch or the topology says]",
        ))
        .arg(data())
        .arg(flag("quiet", "Show nothing but errors"))
        .after_help(JOIN_HELP)
}

pub(super) fn run(apps: &[&dyn App], matches: &ArgMatches) -> Result<u8, Error> {
    let screen = Screen::new(false);
    start_log(matches, &screen)?;
    let file = path(matches, "topology").expect("clap asks for it");
    let mut order = if file == Path::new("-") { handed_over(matches)? } else { by_file(matches, &file)? };
    order.out = path(matches, "out");
    node::run(apps, order, screen)
}

pub(super) fn join(apps: &[&dyn App], matches: &ArgMatches) -> Result<u8, Error> {
    let screen = Screen::new(false);
    start_log(matches, &screen)?;
    let lead = address(matches, "lead")?;
    let target = path(matches, "target").expect("clap asks for it");
    let cluster = find_cluster(&target, lead.is_some())?;
    let name = matches.get_one::<String>("name").cloned();
    let name = name.unwrap_or_else(|| format!("join-{}", std::process::id()));
    if let Some(rule) = name_rule(&name) {
        return Err(Error::Usage(format!("--name is {name}, must be {rule}")));
    }
    if cluster.topology.nodes.iter().any(|node| node.name == name) {
        let problem = "is the name of a node of the topology; a new one needs a name of its own";
        return Err(Error::Usage(format!("--name is {name}, which {problem}")));
    }
    let known = Address::parse(&cluster.lead).ok();
    let mut order = order(matches, cluster.topology, cluster.token, std::env::vars_os().collect())?;
    order.lead = lead.or(known);
    order.late = Some(matches.get_one::<u16>("workers").copied().map_or(1, usize::from));
    order.name = name;
    order.out = target.is_dir().then_some(target); // where its audit record goes, if the run has one
    node::run(apps, order, screen)
}

fn by_file(matches: &ArgMatches, file: &Path) -> Result<Order, Error> {
    let topology = Topology::read(file)?;
    let token = configured(&topology)?;
    let mut order = order(matches, topology, token, std::env::vars_os().collect())?;
    order.leash = matches.get_flag("leash").then(|| BufReader::new(std::io::stdin()));
    Ok(order)
}

fn handed_over(matches: &ArgMatches) -> Result<Order, Error> {
    let mut input = BufReader::new(std::io::stdin());
    let Handover { file, text, token, variables, streams } = Handover::read(&mut input)?;
    let topology = Topology::from_text(&file, &text)?;
    let token = token.map(|token| Token::new(&token)).transpose().map_err(Error::Usage)?;
    let variables = variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
    let mut order = order(matches, topology, token, variables)?;
    order.leash = Some(input);
    // Its own data, where the topology says that it has some, is not sent.
    order.streams = streams;
    Ok(order)
}

/// What both commands say alike.
fn order(
    matches: &ArgMatches,
    topology: Topology,
    token: Option<Token>,
    variables: Vec<(OsString, OsString)>,
) -> Result<Order, Error> {
    // `join` has fewer options than `node`.
    let flag = |name| matches.try_get_one::<bool>(name).ok().flatten().copied().unwrap_or(false);
    Ok(Order {
        topology,
        name: matches.get_one::<String>("name").cloned().unwrap_or_default(),
        listen: address(matches, "listen")?,
        lead: address(matches, "lead")?,
        out: None,
        force: flag("force"),
        data: path(matches, "data"),
        resume: flag("resume"),
        late: None,
        token,
        variables,
        leash: None,
        streams: Vec::new(),
        quiet: flag("quiet"),
        json: flag("json") || flag("leash"),
        stay: flag("stay"),
    })
}

fn address(matches: &ArgMatches, name: &str) -> Result<Option<Address>, Error> {
    let Some(text) = matches.get_one::<String>(name) else { return Ok(None) };
    let refuse = |rule| Error::Usage(format!("--{name} is {text}, must be {rule}"));
    Address::parse(text).map(Some).map_err(refuse)
}
