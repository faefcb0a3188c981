//! What every app does alike, one's own too: reading the options that all have, and running a job while news goes out and
//! a stop may come in. `cluster/examples/own_app.rs` shows the order.

mod origin;

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::mpsc;

use serde_json::{Map, Value, json};
use slackline::monitor::{Resumed, Written};
use slackline::scheduler::WorkerRecord;
use slackline::scheduler::policy::{Fixed, Schedule, Shuffled};
use slackline::{App, Consistency, Event, Job, RunError, WorkerId};

pub use self::origin::Origin;
use crate::catalog::{self, News, OptionSpec, Request, Watch};
use crate::{Error, nearest};

/// A job as the request has it, with its place in a cluster and its checkpoints; tables and schedule are still to come.
pub fn job(name: &str, request: &Request, consistency: Consistency, origin: Origin) -> Job {
    let job = Job::new(name).consistency(consistency).local(request.workers).seed(request.seed);
    let job = origin.set(job, request);
    let job = if request.encoded { job.encoded() } else { job };
    let job = match &request.audit {
        Some(directory) => job.audit(directory),
        None => job,
    };
    let job = match request.bandwidth {
        Some(bytes_per_second) => job.bandwidth(bytes_per_second),
        None => job,
    };
    match &request.seat {
        Some(seat) => job.seat(seat.clone()),
        None => job,
    }
}

/// Runs a job to its end: progress goes to `watch`, and its switch stops the run at a clock.
///
/// # Errors
/// [`Error::Run`] when the run cannot begin or go on, [`Error::Elsewhere`] on a node that follows: the lead has the model.
pub fn run<A: App>(
    job: Job,
    watch: &Watch,
    make: impl Fn(WorkerId) -> A + Send + Sync + 'static,
) -> Result<slackline::Trained, Error> {
    let (sender, events) = mpsc::channel();
    let job = job.watch(move |event| drop(sender.send(event.clone())));
    let run = job.start(make).map_err(|error| Error::Run(error.to_string()))?;
    let handle = run.handle();
    watch.stop.on_throw(move || handle.stop());
    for event in events {
        // Ends when the run's monitor is gone.
        tell(event, watch);
    }
    run.wait().map_err(|error| match error {
        RunError::Elsewhere => Error::Elsewhere,
        error => Error::Run(error.to_string()),
    })
}

fn tell(event: Event, watch: &Watch) {
    (watch.tell)(match event {
        Event::Progress(progress) => News::Progress(said(progress)),
        Event::Resumed(Resumed { path, seconds, history, .. }) => {
            News::Resumed { path, seconds, history: history.into_iter().map(said).collect() }
        }
        Event::Checkpoint(Written { path, bytes, drained, paused, written, .. }) => {
            News::Checkpoint { path, bytes, drained, paused, written }
        }
        Event::CheckpointFailed(why) => News::Warning(format!("no checkpoint this time: {why}")),
        _ => return,
    });
}

fn said(progress: slackline::Progress) -> catalog::Progress {
    catalog::Progress {
        seconds: progress.seconds,
        clock: progress.clock.0,
        epoch: progress.mark.epoch,
        objective: progress.mark.objective,
        done: progress.mark.done,
        staleness: progress.staleness,
        metrics: progress.mark.metrics,
    }
}

/// What a run tells of every app alike, with its configuration; the app adds what it learnt.
pub fn finished(run: &slackline::Trained, config: Map<String, Value>) -> catalog::Trained {
    catalog::Trained {
        clocks: run.clocks.0,
        train_seconds: run.seconds,
        config,
        workers: records(&run.workers),
        stopped: run.stopped,
        ..catalog::Trained::default()
    }
}

/// The workers of a finished run for `summary.json`.
pub fn records(workers: &[WorkerRecord]) -> Vec<Value> {
    let record = |(number, worker): (usize, &WorkerRecord)| {
        let mut record = json!({
            "worker": number,
            "steps": worker.steps,
            "seconds_computing": worker.computed,
            "seconds_waiting": worker.waited,
            "staleness": worker.staleness,
            "bytes": worker.traffic.kinds().into_iter().collect::<BTreeMap<_, _>>(),
        });
        if !worker.node.is_empty() {
            record["node"] = worker.node.as_str().into();
        }
        record
    };
    workers.iter().enumerate().map(record).collect()
}

/// The consistency asked for, or the app's own.
///
/// # Errors
/// [`Error::Option`] when it is none.
pub fn consistency(request: &Request, own: Consistency) -> Result<Consistency, Error> {
    let Some(text) = &request.consistency else { return Ok(own) };
    let rule = "bsp, ssp:S, essp:S, bounded_error:ERROR,S, adaptive:LEAST,MOST or async, with whole numbers S, LEAST \
                and MOST, 0 or more";
    Consistency::from_str(text).map_err(|_| refuse("consistency", text, rule))
}

/// The schedule asked for, or the first of those that the app has.
///
/// # Errors
/// [`Error::Option`] when the app does not have it.
pub fn schedule<'a>(request: &'a Request, of: &[&'a str]) -> Result<&'a str, Error> {
    match request.schedule.as_deref() {
        None => Ok(of[0]),
        Some(name) if of.contains(&name) => Ok(name),
        Some(name) => Err(refuse("schedule", name, &of.join(" or "))),
    }
}

/// The schedule of an app that passes over parts, in a fresh random order (`shuffled`, its own) or always the same (`fixed`);
/// and its name.
///
/// # Errors
/// [`Error::Option`] when another is asked for.
pub fn passes(
    request: &Request,
    n_parts: usize,
    n_passes: usize,
) -> Result<(&str, Box<dyn Schedule>), Error> {
    let name = schedule(request, &["shuffled", "fixed"])?;
    let n_passes = n_passes as u64;
    Ok(match name {
        "fixed" => (name, Box::new(Fixed::new(n_parts, n_passes))),
        _ => (name, Box::new(Shuffled::new(n_parts, n_passes, request.seed))),
    })
}

/// Refuses an option that the app does not have.
///
/// # Errors
/// [`Error::UnknownOption`] with the nearest one that it has.
pub fn only_known(app: &str, request: &Request, known: &[OptionSpec]) -> Result<(), Error> {
    for name in request.options.keys() {
        if !known.iter().any(|option| option.name == name) {
            let nearest = nearest(name, known.iter().map(|option| option.name));
            return Err(Error::UnknownOption {
                app: app.to_owned(),
                option: format!("--{name}"),
                nearest: nearest.map(|name| format!("--{name}")),
            });
        }
    }
    Ok(())
}

/// An option that has a value it must not have.
pub(crate) fn refuse(name: &str, value: &str, rule: &str) -> Error {
    Error::Option { option: format!("--{name}"), value: value.to_owned(), rule: rule.to_owned() }
}

/// The options that every run has, as they were understood.
pub fn common(consistency: Consistency, schedule: &str) -> Map<String, Value> {
    let mut map = Map::new();
    map.insert("consistency".to_owned(), consistency.to_string().into());
    map.insert("schedule".to_owned(), schedule.into());
    map
}
