//! `slackline evaluate`: scores a trained model on data it has not seen.

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use serde_json::json;
use slackline_apps::catalog::App;
use slackline_apps::prediction::Question;

use super::predict::{asked_cold, cold};
use super::{find, start_log};
use crate::Error;
use crate::console::{self, Screen};
use crate::run_directory::app_of;

pub(super) const NAME: &str = "evaluate";

pub(super) fn command() -> Command {
    let path = value_parser!(PathBuf);
    Command::new(NAME)
        .about("Scores a trained model on a data file")
        .arg(
            Arg::new("directory")
                .value_name("DIR")
                .required(true)
                .value_parser(path.clone())
                .help("The directory of a finished run (its --out)"),
        )
        .arg(
            Arg::new("data")
                .long("data")
                .value_name("FILE")
                .required(true)
                .value_parser(path)
                .help("The data to score it on, in the format it was trained on"),
        )
        .arg(cold())
        .arg(Arg::new("json").long("json").action(ArgAction::SetTrue).help("Print one JSON object"))
        .after_help("Example:\n  slackline evaluate runs/1 --data test.svm")
}

pub(super) fn run(apps: &[&dyn App], matches: &ArgMatches) -> Result<u8, Error> {
    start_log(matches, &Screen::new(false))?;
    let path = |name| matches.get_one::<PathBuf>(name).expect("clap asks for it");
    let app = find(apps, &app_of(path("directory"))?)?;
    let question = Question { cold: asked_cold(matches), ..Question::default() };
    let metrics = app.evaluate_with(path("directory"), path("data"), &question, &|_| {})?;
    let text = if matches.get_flag("json") {
        json!(metrics).to_string()
    } else {
        let row = |(name, value): (&String, &f64)| (name.clone(), console::number(*value));
        console::table(&metrics.iter().map(row).collect::<Vec<_>>())
    };
    console::result(&text);
    Ok(0)
}
