//! `slackline train`: one process, nothing to set up.

use std::path::Path;
use std::time::Instant;

use clap::{Arg, ArgAction, ArgMatches, Command};
use slackline::audit;
use slackline_apps::StopSwitch;
use slackline_apps::catalog::{App, OptionSpec};

use super::job::Job;
use super::{checkpoint, find, help, start_log, takes_no_value};
use crate::Error;
use crate::console::{self, Screen};
use crate::run_directory::{RunDirectory, was_stopped};
use crate::settings::{Layer, Settings, available_workers};
use crate::signals::Signals;
use crate::training::Training;

pub(super) const NAME: &str = "train";

const HELP: &str = "Example:
  slackline train lasso --data train.svm --test test.svm --out runs/1 --workers 4

`slackline train APP --help` lists an app's options.

Settings come from four places, later ones win: defaults, a job file (`slackline train job.yaml`), the environment
(SLACKLINE__WORKERS=4), flags. The keys of a job file are `app` and the long options without dashes, all at the top
level; paths in it are relative to the working directory, as on the command line.

Ctrl-C stops the run at its next clock and keeps what it has; a second one ends it at once.

With --checkpoint a run that was stopped or killed goes on with the same command and --resume, with any number of
workers; one that was stopped by Ctrl-C or a termination request leaves a checkpoint and exits with 75.";

/// `train`, with a command for every app.
pub(super) fn command(apps: &[&dyn App]) -> Command {
    Command::new(NAME)
        .about("Trains a model: `slackline train APP --data FILE …` or `slackline train job.yaml`")
        .after_help(HELP)
        .override_usage(
            "slackline train APP --data FILE [OPTIONS]\n       slackline train JOB.yaml [OPTIONS]",
        )
        .subcommand_required(true)
        .subcommand_value_name("APP")
        .subcommand_help_heading("Apps")
        .disable_help_subcommand(true)
        .subcommands(apps.iter().map(|app| app_command(*app)))
}

fn app_command(app: &dyn App) -> Command {
    let example = app
        .options()
        .iter()
        .find(|option| option.default.parse::<f64>().is_ok())
        .map(|option| format!(" --{} {}", option.name, option.default))
        .unwrap_or_default();
    Command::new(app.name())
        .about(app.about())
        .args(common_options())
        .next_help_heading(format!("Options of {}", app.name()))
        .args(app.options().iter().map(app_option))
        .after_help(format!(
            "Example:\n  slackline train {} --data FILE --out runs/1 --workers 2{example}",
            app.name()
        ))
}

fn app_option(option: &OptionSpec) -> Arg {
    let arg = Arg::new(option.name).long(option.name).help(help(option));
    if takes_no_value(option) {
        switch(arg)
    } else {
        arg.value_name(option.value).allow_negative_numbers(true)
    }
}

/// An option that is true where it is given without a value.
fn switch(arg: Arg) -> Arg {
    arg.value_name("true|false").num_args(0..=1).default_missing_value("true")
}

/// Whether the option that every app has under this name is a switch.
pub(super) fn is_switch(name: &str) -> bool {
    matches!(name, "audit" | "quiet" | "json" | "resume")
}

fn common_options() -> Vec<Arg> {
    let option = |name: &'static str, value: &'static str, help: &str| {
        Arg::new(name).long(name).value_name(value).help(help.to_owned()).allow_negative_numbers(true)
    };
    let workers = format!("How many workers compute, 1 to 1024 [default: one per core, here {}]", {
        available_workers()
    });
    vec![
        option("data", "FILE", "The training data; plain, .gz or .zst"),
        option("test", "FILE", "Held-out data to score the model on"),
        option(
            "out",
            "DIR",
            "Where the model, its metrics and a summary go [default: only print the result]",
        ),
        Arg::new("force").long("force").action(ArgAction::SetTrue).help("Replace the run that --out holds, and the checkpoints that --checkpoint holds"),
        option("workers", "N", &workers),
        option("seed", "S", "Every random number of the run comes from it, 0 or more [default: 0]"),
        option(
            "consistency",
            "C",
            "How old a read may be: bsp, ssp:3, essp:3, bounded_error:0.01,3, adaptive:0,8, async [default: the app's]",
        ),
        option(
            "schedule",
            "NAME",
            "Which part is next: fixed, shuffled, priority, dependency, rotation [default: the app's]",
        ),
        option(
            "bandwidth",
            "BYTES",
            "Send what may wait (pages of essp, updates of bounded_error) at no more bytes a second to and from each worker, \
             such as 500k or 20M [default: no bound]",
        ),
        option("checkpoint", "DIR", "Write checkpoints there, to go on from with --resume; the newest two are kept"),
        option(
            "checkpoint-every",
            "TIME",
            "How often a checkpoint is written, such as 500ms, 30s, 5m [default: 60s]",
        ),
        switch(Arg::new("resume").long("resume"))
            .help("Go on from the newest whole checkpoint of --checkpoint; start from the beginning if there is none"),
        switch(Arg::new("audit").long("audit")).help(
            "Record what is read and sent to DIR/audit, for `slackline audit DIR` to prove the promises from",
        ),
        switch(Arg::new("quiet").long("quiet"))
            .help("Show nothing but errors (and with --json the last line)"),
        switch(Arg::new("json").long("json"))
            .help("Print what happens as JSON lines on stdout, the summary as the last one"),
    ]
}

/// Trains, shows and keeps.
pub(super) fn run(apps: &[&dyn App], matches: &ArgMatches, job: Option<Job>) -> Result<u8, Error> {
    let started = Instant::now();
    let (name, matches) = matches.subcommand().expect("clap asks for an app");
    let app = find(apps, name)?;
    let mut layers: Vec<Layer> = job.into_iter().map(|Job(layer)| layer).collect();
    layers.push(Layer::environment(std::env::vars_os())?);
    layers.push(Layer::flags(app, matches));
    let mut settings = Settings::new(app, &layers)?;
    settings.place_audit()?;

    let bar = console::stderr_is_terminal() && !settings.quiet && !settings.json;
    let screen = Screen::new(bar);
    start_log(matches, &screen)?;
    check_readable(&settings.request.data)?;
    settings.request.test.as_deref().map_or(Ok(()), check_readable)?;
    let force = matches.get_flag("force");
    let resume = settings.request.checkpoint.as_ref().is_some_and(|checkpoint| checkpoint.resume);
    let directory = match &settings.out {
        Some(path) => Some(RunDirectory::claim(path, force || (resume && was_stopped(path)))?),
        None => None,
    };
    checkpoint::prepare(settings.request.checkpoint.as_ref(), force)?;
    clear_audit(&settings, None)?;
    let stop = StopSwitch::default();
    let signals =
        Signals::watch(stop.clone(), directory.is_some(), (!settings.quiet).then(|| screen.clone()))?;
    let training = Training { app, settings, directory, screen, started };
    training.go(&training.listeners(), stop, &signals)
}

/// Removes the audit records that a new run takes the place of: all, or those of one node.
pub(crate) fn clear_audit(settings: &Settings, node: Option<&str>) -> Result<(), Error> {
    let Some(directory) = &settings.request.audit else { return Ok(()) };
    audit::clear(directory, node).map_err(|error| Error::Audit(error.to_string()))
}

/// A data file that is not there, or a directory that is none of data, is refused before anything else happens.
pub(crate) fn check_readable(path: &Path) -> Result<(), Error> {
    let refuse = |source| slackline_apps::Error::File { path: path.to_path_buf(), source };
    let file = std::fs::File::open(path).map_err(refuse)?;
    if file.metadata().map_err(refuse)?.is_dir() {
        slackline_apps::data::points::find_parts(path, None, None)?;
    }
    Ok(())
}
