//! `slackline predict`: what a trained model says of new data.

mod array;

use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use slackline_apps::catalog::{App, News};
use slackline_apps::prediction::{Cold, Question};

use super::{find, rows, start_log};
use crate::Error;
use crate::console::Screen;
use crate::output::Output;
use crate::run_directory::app_of;

pub(super) const NAME: &str = "predict";

const HELP: &str = "Examples:
  slackline predict runs/1 --data new.svm
  slackline predict runs/1 --data new.svm --json --out predictions.jsonl
  slackline predict runs/1 --data new.svm --out predictions.npy

lasso: the value of each row. logistic: the label of each row, as in the training data, and the probability of each
label. Rows are as the model was trained on, with labels or without. mf: the rating of each pair of a user and an item, of
implicit feedback the preference; what follows them on a line is not used. A topic model: the mixture of topics of each document.

Predictions are text between tabs with a header line; --json makes each an object on a line of its own, and a file
that ends in .npy gets an array of all columns but names: rows x columns, or one number a row. What the model does not
know of the data is counted on stderr.";

pub(super) fn command() -> Command {
    let path = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).value_name(value).value_parser(value_parser!(PathBuf)).help(help)
    };
    Command::new(NAME)
        .about("Predicts with a trained model: a row for each row of a data file")
        .arg(path("directory", "DIR", "The directory of a finished run (its --out)").required(true))
        .arg(
            path("data", "FILE", "What to predict, in the format the model was trained on")
                .long("data")
                .required(true),
        )
        .arg(
            path("out", "FILE", "Where to write: - is stdout, FILE.npy an array")
                .long("out")
                .default_value("-"),
        )
        .arg(
            Arg::new("top")
                .long("top")
                .value_name("N")
                .value_parser(value_parser!(u32).range(1..))
                .help("Of a topic model: the N largest topics of each document instead of all"),
        )
        .arg(
            path("vocab", "FILE", "Of a topic model: the words behind the numbers of the data, one a line")
                .long("vocab"),
        )
        .arg(cold())
        .arg(Arg::new("json").long("json").action(ArgAction::SetTrue).help("Write one JSON object a row"))
        .after_help(HELP)
}

pub(super) fn run(apps: &[&dyn App], matches: &ArgMatches) -> Result<u8, Error> {
    let screen = Screen::new(false);
    start_log(matches, &screen)?;
    let path = |name| matches.get_one::<PathBuf>(name).expect("clap asks for it or knows a default");
    let (directory, out, json) = (path("directory"), path("out"), matches.get_flag("json"));
    let array = out.extension().is_some_and(|extension| extension == "npy");
    if array && json {
        let problem =
            format!("--json writes text, and {} is to be an array; give one of them", out.display());
        return Err(Error::Usage(problem));
    }
    let app = find(apps, &app_of(directory)?)?;
    let tell = |news: News| match news {
        News::Fact(fact) => screen.say(&fact),
        News::Warning(warning) => screen.say(&format!("warning: {warning}")),
        _ => {}
    };
    let question = Question {
        top: matches.get_one::<u32>("top").map(|top| *top as usize),
        vocabulary: matches.get_one::<PathBuf>("vocab").cloned(),
        cold: asked_cold(matches),
    };
    let predictions = app.predict(directory, path("data"), &question, &tell)?;
    let output = if out == Path::new("-") { Output::Stdout } else { Output::file(out) };
    output.write(|to| match (array, json) {
        (true, _) => array::write(predictions, to),
        (_, true) => rows::json(predictions, to),
        _ => rows::table(predictions, to),
    })?;
    Ok(0)
}

/// What is said of users and items that a model does not know.
pub(super) fn cold() -> Arg {
    Arg::new("cold").long("cold").value_name("WHAT").value_parser(["mean", "drop", "error"]).help(
        "Of mf, what is said of users and items not seen in training: what is left of the model, nothing, an error \
         [default: mean]",
    )
}

pub(super) fn asked_cold(matches: &ArgMatches) -> Option<Cold> {
    matches.get_one::<String>("cold").map(|cold| match cold.as_str() {
        "drop" => Cold::Drop,
        "error" => Cold::Error,
        _ => Cold::Mean,
    })
}
