//! The commands. Each is a file: its options, its help with an example, and what it does.

mod apps;
mod audit;
pub(crate) mod checkpoint;
mod evaluate;
mod job;
mod launch;
mod node;
mod predict;
mod recommend;
mod render;
mod rows;
mod status;
mod topics;
mod train;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgMatches, Command};
use slackline_apps::catalog::{App, OptionSpec};

pub(crate) use status::find_cluster;
pub(crate) use train::{check_readable, clear_audit};

use crate::console::Screen;
use crate::{Error, logging};
use slackline_apps::nearest;

const ABOUT: &str = "Trains machine-learning models on every core, with bounded staleness and schedules that \
                     know the model";

const EXAMPLES: &str = "Examples:
  slackline apps                                        what can be trained
  slackline train lasso --data train.svm --out runs/1   train, and keep the model
  slackline train config/quickstart.yaml                the same from a file
  slackline evaluate runs/1 --data test.svm             score the model
  slackline predict runs/1 --data new.svm --out p.tsv   predict with it
  slackline recommend runs/1 --user 42                  the best items for a user
  slackline topics runs/1 --html topics.html            the topics of a topic model, to explore
  slackline launch config/two-nodes.yaml                a cluster: every node from one file
  slackline audit runs/1                                prove what a run with --audit read and when

Exit codes: 0 done, 1 error, 2 wrong usage or settings, 3 bad data, 4 diverged, 75 stopped with a
checkpoint to go on from (--resume), 130 stopped by Ctrl-C without one (143 by a termination request), with what was
learned until then written.
Logs go to stderr; SLACKLINE_LOG=info (or debug, or slackline=debug) says more.";

/// Runs the command line `args` (the program's name first) over `apps`.
pub fn run(apps: &[&dyn App], args: Vec<OsString>) -> ExitCode {
    let code = dispatch(apps, args).unwrap_or_else(|error| {
        Screen::new(false).say(&format!("slackline: {}", error.sentence()));
        error.exit_code()
    });
    ExitCode::from(code)
}

fn dispatch(apps: &[&dyn App], args: Vec<OsString>) -> Result<u8, Error> {
    let (args, job) = job::name_the_app(apps, args)?;
    let matches = match command(apps).try_get_matches_from(args) {
        Ok(matches) => matches,
        Err(shown) if shown.exit_code() == 0 => {
            let _ = shown.print(); // help for a reader that went away is not an error
            return Ok(0);
        }
        Err(error) => return Err(sentence(&error)),
    };
    match matches.subcommand() {
        Some((train::NAME, matches)) => train::run(apps, matches, job),
        Some((evaluate::NAME, matches)) => evaluate::run(apps, matches),
        Some((predict::NAME, matches)) => predict::run(apps, matches),
        Some((recommend::NAME, matches)) => recommend::run(apps, matches),
        Some((topics::NAME, matches)) => topics::run(matches),
        Some((audit::NAME, matches)) => audit::run(matches),
        Some((apps::NAME, matches)) => apps::run(apps, matches),
        Some((launch::NAME, matches)) => launch::run(apps, matches),
        Some((node::NAME, matches)) => node::run(apps, matches),
        Some((node::JOIN, matches)) => node::join(apps, matches),
        Some((status::NAME, matches)) => status::run(matches),
        Some((status::STOP, matches)) => status::stop(matches),
        Some((render::NAME, matches)) => render::run(apps, matches),
        _ => Err(Error::Usage("no command given; `slackline --help` lists them".into())),
    }
}

/// The whole command line.
fn command(apps: &[&dyn App]) -> Command {
    let log = Arg::new("log")
        .long("log")
        .value_name("FORM")
        .value_parser(["pretty", "json"])
        .default_value("pretty")
        .global(true)
        .display_order(900)
        .help("Logs as text or as JSON lines");
    Command::new("slackline")
        .about(ABOUT)
        .version(env!("CARGO_PKG_VERSION"))
        .after_help(EXAMPLES)
        .arg(log)
        .subcommand_required(true)
        .subcommand(train::command(apps))
        .subcommand(evaluate::command())
        .subcommand(predict::command())
        .subcommand(recommend::command())
        .subcommand(topics::command())
        .subcommand(audit::command())
        .subcommand(apps::command())
        .subcommand(launch::command())
        .subcommand(status::command())
        .subcommand(status::stop_command())
        .subcommand(node::join_command())
        .subcommand(node::command())
        .subcommand(render::command())
}

/// Whether `--log json` was given.
fn wants_json_log(matches: &ArgMatches) -> bool {
    matches.get_one::<String>("log").is_some_and(|form| form == "json")
}

/// Starts the log as `--log` and `SLACKLINE_LOG` say.
fn start_log(matches: &ArgMatches, screen: &Screen) -> Result<(), Error> {
    logging::start(wants_json_log(matches), std::env::var("SLACKLINE_LOG").ok().as_deref(), screen)
}

/// The app of this name.
pub(crate) fn find<'a>(apps: &[&'a dyn App], name: &str) -> Result<&'a dyn App, Error> {
    apps.iter().copied().find(|app| app.name() == name).ok_or_else(|| {
        let guess = nearest(name, apps.iter().map(|app| app.name()));
        let guess = guess.map(|guess| format!("; did you mean {guess}?")).unwrap_or_default();
        Error::Usage(format!("no app is called {name}{guess} (`slackline apps` lists them)"))
    })
}

/// An option's help with its default.
fn help(option: &OptionSpec) -> String {
    match option.default {
        "" => option.help.into(),
        default => format!("{} [default: {default}]", option.help),
    }
}

/// Whether the option may stand without a value: one that is true or false.
fn takes_no_value(option: &OptionSpec) -> bool {
    matches!(option.default, "true" | "false")
}

/// What the parser refuses, as one sentence.
fn sentence(error: &clap::Error) -> Error {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => texts.first().cloned(),
        _ => None,
    };
    let guess = [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand].into_iter().find_map(context);
    let remedy = guess.map_or_else(|| "see --help".into(), |guess| format!("did you mean {guess}?"));
    let sentence = match error.kind() {
        ErrorKind::UnknownArgument => {
            let unknown = context(ContextKind::InvalidArg).unwrap_or_default();
            format!("there is no option {unknown}; {remedy}")
        }
        ErrorKind::InvalidSubcommand => {
            let unknown = context(ContextKind::InvalidSubcommand).unwrap_or_default();
            format!("there is no command {unknown}; {remedy}")
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            "no command given; `slackline --help` lists them".into()
        }
        _ => first_paragraph(&error.to_string()),
    };
    Error::Usage(sentence)
}

fn first_paragraph(text: &str) -> String {
    let paragraph = text.split("\n\n").next().unwrap_or(text);
    let words: Vec<_> = paragraph.trim_start_matches("error: ").split_whitespace().collect();
    words.join(" ")
}
