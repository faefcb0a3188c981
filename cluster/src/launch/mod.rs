//! `slackline launch`: every node of a cluster from one command; one progress bar, one summary, no orphan.
//!
//! `course` decides, `flow` makes it happen with the processes of `child`; what a process is started with is in
//! `command`, what it is handed in [`crate::node::Handover`]. `record` lets `slackline status` find the launch.

mod child;
mod command;
mod course;
mod flow;
mod heard;
pub(crate) mod record;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use slackline::cluster::Token;
use slackline_apps::catalog::App;

pub(crate) use command::shell;

use crate::Error;
use crate::cli::check_readable;
use crate::console::Screen;
use crate::node::{Handover, Stream};
use crate::settings::Settings;
use crate::topology::{Node, Start, Topology, check_open, configured, generated};
use child::Parcel;
use record::Held;

/// What a launch is told.
pub(crate) struct Launch {
    pub(crate) topology: Topology,
    /// Where the topology was read.
    pub(crate) path: PathBuf,
    /// The run directory, if not the topology's.
    pub(crate) out: Option<PathBuf>,
    pub(crate) force: bool,
    pub(crate) resume: bool,
    pub(crate) quiet: bool,
    pub(crate) json: bool,
    pub(crate) json_log: bool,
}

/// A launch that may begin.
struct Ready {
    launch: Launch,
    settings: Settings,
    /// What the nodes share.
    token: Option<Token>,
    /// Whether it was made for this run.
    generated: bool,
    /// What goes into the pipe of a node here.
    here: Arc<Parcel>,
    /// What goes into the pipe of a node elsewhere.
    elsewhere: Arc<Parcel>,
}

/// Starts every node and sees the run to its end: the exit code of the run.
///
/// # Errors
/// A topology that cannot be launched, or the node that failed and why.
pub(crate) fn run(apps: &[&dyn App], launch: Launch, screen: Screen) -> Result<u8, Error> {
    let (_, mut settings) = launch.topology.job(apps, std::env::vars_os())?;
    settings.out = launch.out.clone().or(settings.out);
    settings.place_audit()?;
    settings.quiet |= launch.quiet;
    settings.json |= launch.json;
    let (token, generated) = check(&launch.topology, &settings)?;
    let streams = streams(&launch.topology, &settings)?;
    let local = launch.topology.lead().start == Start::Local;
    let held = Held::claim(&launch.path, settings.out.as_deref().filter(|_| local))?;
    let ready = Ready {
        here: Arc::new(parcel(&launch.topology, token.as_ref(), &[])?),
        elsewhere: Arc::new(parcel(&launch.topology, token.as_ref(), &streams)?),
        launch,
        settings,
        token,
        generated,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Error::cluster(format!("cannot wait for processes: {error}")))?;
    runtime.block_on(flow::run(ready, held, screen))
}

/// Whether the cluster can be launched from here; its token, and whether that was made for it.
fn check(topology: &Topology, settings: &Settings) -> Result<(Option<Token>, bool), Error> {
    let lead = topology.lead();
    if lead.start == Start::Manual {
        let problem = format!("node {} leads and is started by hand, but launch starts the lead", lead.name);
        let remedy = format!("run `slackline node {} --name {}` there instead", topology.file, lead.name);
        return Err(Error::Usage(format!("{}: {problem}: {remedy}", topology.file)));
    }
    let mut token = configured(topology)?;
    for node in &topology.nodes {
        check_open(&topology.file, &node.name, &node.address, token.is_some())?;
    }
    for node in topology.nodes.iter().filter(|node| node.start == Start::Local) {
        check_readable(node.data.as_ref().unwrap_or(&settings.request.data))?;
        settings.request.test.as_deref().map_or(Ok(()), check_readable)?;
    }
    let by_hand = topology.nodes.iter().any(|node| node.start == Start::Manual);
    let generate = token.is_none() && !by_hand; // whoever starts a node by hand cannot know it
    if generate {
        token = Some(Token::new(&generated()?).map_err(Error::cluster)?);
    }
    Ok((token, generate))
}

/// The files that nodes on other machines are sent.
fn streams(topology: &Topology, settings: &Settings) -> Result<Vec<(Stream, PathBuf)>, Error> {
    if !topology.stream_data {
        return Ok(Vec::new());
    }
    let bare = |node: &&Node| node.start == Start::Manual && node.data.is_none();
    if let Some(node) = topology.nodes.iter().find(bare) {
        let problem = format!("node {} is started by hand, so no data can be streamed to it", node.name);
        return Err(Error::Usage(format!("{}:{}: {problem}: add `data: FILE`", topology.file, node.line)));
    }
    let request = &settings.request;
    let files = [("data", Some(&request.data)), ("test", request.test.as_ref())];
    let stream = |(key, path): (&str, Option<&PathBuf>)| path.map(|path| stream(key, path));
    files.into_iter().filter_map(stream).collect()
}

fn stream(key: &str, path: &Path) -> Result<(Stream, PathBuf), Error> {
    check_readable(path)?;
    let bytes = std::fs::metadata(path).map_err(Error::file(path))?.len();
    let name = path.file_name().unwrap_or(key.as_ref()).to_string_lossy().into_owned();
    Ok((Stream { key: key.to_owned(), name, bytes }, path.to_path_buf()))
}

fn parcel(
    topology: &Topology,
    token: Option<&Token>,
    streams: &[(Stream, PathBuf)],
) -> Result<Parcel, Error> {
    let ours = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
            .filter(|(name, _)| name.starts_with("SLACKLINE__"))
    };
    let handover = Handover {
        file: topology.file.clone(),
        text: topology.text.clone(),
        token: token.map(|token| String::from_utf8_lossy(token.as_bytes()).into_owned()),
        variables: std::env::vars_os().filter_map(ours).collect(),
        streams: streams.iter().map(|(stream, _)| stream.clone()).collect(),
    };
    let line = serde_json::to_string(&handover);
    let line = line.map_err(|_| Error::cluster("the topology cannot be handed to the nodes"))?;
    Ok(Parcel { line, files: streams.iter().map(|(stream, path)| (path.clone(), stream.bytes)).collect() })
}
