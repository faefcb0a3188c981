//! One process of a cluster: takes its seat, reads the data, does its part; the lead keeps the result.

mod handover;
mod leash;
mod place;

use std::ffi::OsString;
use std::io::{BufReader, Stdin};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use serde_json::json;
use slackline::checkpoint::Directory;
use slackline::cluster::{Role, Seat, Token};
use slackline_apps::StopSwitch;
use slackline_apps::catalog::App;
use tempfile::TempDir;

pub(crate) use handover::{END, Handover, STOP, Stream};
pub(crate) use place::client;

use crate::Error;
use crate::cli::{check_readable, checkpoint, clear_audit};
use crate::console::{self, Screen};
use crate::run_directory::{RunDirectory, was_stopped};
use crate::settings::Settings;
use crate::signals::{RESUMABLE, Signals};
use crate::topology::{Address, Topology};
use crate::training::{self, Training};
use leash::{Files, Leash, Post};

/// What one node is told.
pub(crate) struct Order {
    pub(crate) topology: Topology,
    /// Which node it is.
    pub(crate) name: String,
    /// Where it listens, if not where the topology says.
    pub(crate) listen: Option<Address>,
    /// Where the lead listens, if not where the topology says.
    pub(crate) lead: Option<Address>,
    /// The run directory, if not the topology's; only the lead writes one.
    pub(crate) out: Option<PathBuf>,
    /// Replace the run that is there.
    pub(crate) force: bool,
    /// Its training data, if not where the topology says.
    pub(crate) data: Option<PathBuf>,
    /// It may have been started again: go on from the newest checkpoint, if there is one.
    pub(crate) resume: bool,
    /// It joins a run that is under way, with so many workers.
    pub(crate) late: Option<usize>,
    /// What the nodes share.
    pub(crate) token: Option<Token>,
    /// The environment, for settings.
    pub(crate) variables: Vec<(OsString, OsString)>,
    /// The input through which a launcher holds it.
    pub(crate) leash: Option<BufReader<Stdin>>,
    /// Files that come through it.
    pub(crate) streams: Vec<Stream>,
    pub(crate) quiet: bool,
    pub(crate) json: bool,
    /// When the run is over, wait to be stopped.
    pub(crate) stay: bool,
}

/// Runs one node to its end: the exit code.
///
/// # Errors
/// Settings, data, or a run that cannot go on; all other nodes have been told then.
pub(crate) fn run(apps: &[&dyn App], mut order: Order, screen: Screen) -> Result<u8, Error> {
    let started = Instant::now();
    let mut place = place::place(&order)?;
    let (app, settings) = order.topology.job(apps, order.variables.iter().cloned())?;
    let settings = own_settings(&order, settings)?;
    if let Role::Lead { again, .. } = &mut place.role {
        *again = order.resume && has_begun(&settings);
    }
    let goes_on = settings.request.checkpoint.is_some();
    let directory = match &settings.out {
        Some(path) if order.stay && RunDirectory::is_finished(path) => return stay(place.settings.listen),
        Some(path) => {
            let cut_short = order.resume && (!RunDirectory::is_finished(path) || was_stopped(path)); // perhaps half a model
            Some(RunDirectory::claim(path, order.force || cut_short)?)
        }
        None => None,
    };
    if place::leads(&order) {
        checkpoint::prepare(settings.request.checkpoint.as_ref(), order.force)?;
    }
    if !order.resume && order.late.is_none() {
        clear_audit(&settings, (!place::leads(&order)).then_some(&order.name))?;
    }
    let (stop, post) = (StopSwitch::default(), Post::default());
    let outlive = directory.is_some() || order.leash.is_some();
    let signals = Signals::watch(stop.clone(), outlive, (!order.quiet).then(|| screen.clone()))?;
    post.leave_on(&stop);
    let folder = (!order.streams.is_empty()).then(TempDir::new).transpose();
    let folder = folder.map_err(Error::file(&std::env::temp_dir()))?.map(Arc::new);
    let files = hold(&mut order, &stop, &post, &screen, folder.clone())?;

    let seat = Seat::take(place).map_err(|error| Error::cluster(format!("node {}: {error}", order.name)))?;
    post.fill(seat.clone());
    announce(&order, &seat, &screen);
    let training = Training { app, settings, directory, screen, started };
    let ended = part(&order, training, &seat, &files, (stop, &signals));
    if let Err(error) = &ended
        && !matches!(error, Error::App(slackline_apps::Error::Run(_)))
    {
        seat.give_up(&error.sentence()); // the run's own failures are known
    }
    post.vacate();
    match ended? {
        0 if signals.came() && goes_on => Ok(RESUMABLE),
        0 if signals.came() => Ok(signals.exit_code()),
        0 if order.stay => {
            let address = seat.address();
            drop(seat);
            stay(address)
        }
        code => Ok(code),
    }
}

/// What this node does differently from the others.
fn own_settings(order: &Order, mut settings: Settings) -> Result<Settings, Error> {
    let (own, leads) = (order.topology.node(&order.name).ok(), place::leads(order));
    let data = order.data.as_ref().or_else(|| own.and_then(|node| node.data.as_ref()));
    if let Some(data) = data {
        settings.request.data.clone_from(data);
    }
    settings.out = order.out.clone().or(settings.out);
    settings.place_audit()?; // every node writes its own
    settings.out = settings.out.filter(|_| leads);
    if let Some(checkpoint) = &mut settings.request.checkpoint {
        checkpoint.resume |= order.resume;
    }
    settings.quiet |= order.quiet || (order.json && !leads); // programs follow the lead
    settings.json = order.json && leads;
    Ok(settings)
}

/// Whether there is something to go on from: a checkpoint, or evaluations of a run that did not end.
fn has_begun(settings: &Settings) -> bool {
    let checkpoint = settings.request.checkpoint.as_ref();
    checkpoint.is_some_and(|checkpoint| Directory::holds_some(&checkpoint.directory))
        || settings.out.as_deref().is_some_and(RunDirectory::is_unfinished)
}

/// Starts to watch the launcher, if there is one.
fn hold(
    order: &mut Order,
    stop: &StopSwitch,
    post: &Post,
    screen: &Screen,
    folder: Option<Arc<TempDir>>,
) -> Result<Receiver<Files>, Error> {
    let Some(input) = order.leash.take() else { return Ok(channel().1) };
    let streams = order.streams.clone();
    let (stop, post, screen) = (stop.clone(), post.clone(), screen.clone());
    Leash { input, streams, stop, post, screen }.hold(folder)
}

/// One line, for the launcher or for people.
fn announce(order: &Order, seat: &Seat, screen: &Screen) {
    let (address, pid) = (seat.address().to_string(), std::process::id());
    if order.json {
        console::result(&json!({"event": "listening", "listening": address, "pid": pid}).to_string());
    } else if !order.quiet {
        let leads = if place::leads(order) { ", and leads" } else { "" };
        screen.say(&format!("node {} of {} listens on {address}{leads}", order.name, order.topology.cluster));
    }
}

/// Reads the data and does this node's part of the run; the exit code.
fn part(
    order: &Order,
    mut training: Training<'_>,
    seat: &Seat,
    files: &Receiver<Files>,
    (stop, signals): (StopSwitch, &Signals),
) -> Result<u8, Error> {
    let request = &mut training.settings.request;
    if !order.streams.is_empty() {
        let files = files.recv().unwrap_or_else(|_| Err("the launcher is gone".into()));
        for (key, path) in files.map_err(Error::cluster)? {
            match key.as_str() {
                "test" => request.test = Some(path),
                _ => request.data = path,
            }
        }
    }
    check_readable(&request.data)?;
    request.test.as_deref().map_or(Ok(()), check_readable)?;
    request.workers = seat.workers();
    request.seat = Some(seat.clone());
    let listeners = training.listeners();
    let leads = place::leads(order);
    if leads {
        let heard = Arc::clone(&listeners);
        seat.watch(move |news| training::tell_member(&heard, &news));
    }
    // A follower leaves through its seat, which knows what the run needs of it.
    let stop = if leads { stop } else { StopSwitch::default() };
    match training.go(&listeners, stop, signals) {
        Err(Error::App(slackline_apps::Error::Elsewhere)) => Ok(0),
        ended => ended,
    }
}

/// The run is over, and whoever started the node would start it again if it ended: waits to be stopped, and goes on to
/// accept connections, so that a probe finds it well.
fn stay(address: SocketAddr) -> Result<u8, Error> {
    let stop = StopSwitch::default();
    Signals::watch(stop.clone(), true, None)?;
    let listener = TcpListener::bind(address).ok();
    let (sender, thrown) = channel();
    stop.on_throw(move || {
        let _ = sender.send(()); // nobody waits any more
    });
    std::thread::spawn(move || listener.map(|listener| listener.incoming().for_each(drop)));
    let _ = thrown.recv(); // until somebody says so: that is what staying means
    Ok(0)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Slurm and Kubernetes say `--resume` at every start: at the first one the lead waits for all nodes.
    #[test]
    fn only_a_run_that_has_begun_can_go_on() {
        let folder = tempfile::tempdir().unwrap();
        let (run, ck) = (folder.path().join("run"), folder.path().join("ck"));
        let text = format!(
            "app: lasso\ndata: a.svm\nout: {}\ncheckpoint: {{directory: {}, every: 1s}}\nnodes: [{{name: a}}]\n",
            run.display(),
            ck.display()
        );
        let topology = Topology::from_text("t.yaml", &text).unwrap();
        let (_, settings) = topology.job(slackline_apps::catalog::apps(), std::iter::empty()).unwrap();
        assert!(!has_begun(&settings));
        fs::create_dir(&run).unwrap();
        fs::create_dir(&ck).unwrap();
        assert!(!has_begun(&settings), "the directories may have been made beforehand");
        fs::write(run.join("metrics.jsonl"), "{}\n").unwrap();
        assert!(has_begun(&settings));
        fs::write(run.join("summary.json"), "{}").unwrap();
        assert!(!has_begun(&settings), "it has ended");
        fs::write(ck.join("checkpoint-00000001.slk"), "").unwrap();
        assert!(has_begun(&settings));
    }
}
