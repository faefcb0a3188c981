//! `slackline recommend`: what a trained model recommends, to users or beside items.

use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Command, value_parser};
use slackline_apps::catalog::{App, News};
use slackline_apps::data::text;
use slackline_apps::prediction::{About, Unknown, Wish};

use super::{find, rows, start_log};
use crate::Error;
use crate::console::Screen;
use crate::output::Output;
use crate::run_directory::app_of;

pub(super) const NAME: &str = "recommend";

const HELP: &str = "Examples:
  slackline recommend runs/1 --user 42
  slackline recommend runs/1 --user 42 --user 7 --top 20 --json
  slackline recommend runs/1 --users users.txt --cold popular --out best.tsv
  slackline recommend runs/1 --item 1193

For a user: the items with the highest prediction, those that the user has rated in training left out; the number is
the predicted rating, of implicit feedback the preference (about 1 for what was chosen). For an item: the items whose
factors point the same way; the number is the cosine of the angle. Everything needed is in DIR/model: the training data
may be gone. Rows are text between tabs with a header line; --json makes each an object on a line of its own.";

pub(super) fn command() -> Command {
    let path = value_parser!(PathBuf);
    let ids = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).action(ArgAction::Append).help(help)
    };
    Command::new(NAME)
        .about("Recommends items with a trained model: to users, or like other items")
        .arg(
            Arg::new("directory")
                .value_name("DIR")
                .required(true)
                .value_parser(path.clone())
                .help("The directory of a finished run of mf (its --out)"),
        )
        .arg(ids("user", "ID", "A user, as in the training data; may be given again"))
        .arg(
            Arg::new("users")
                .long("users")
                .value_name("FILE")
                .value_parser(path.clone())
                .help("A file of users, one a line"),
        )
        .arg(ids("item", "ID", "An item to find similar ones of; may be given again"))
        .group(ArgGroup::new("about").args(["user", "users", "item"]).required(true))
        .arg(
            Arg::new("top")
                .long("top")
                .value_name("N")
                .value_parser(value_parser!(u32).range(1..))
                .default_value("10")
                .help("Items for each, 1 or more"),
        )
        .arg(
            Arg::new("include-rated")
                .long("include-rated")
                .action(ArgAction::SetTrue)
                .conflicts_with("item")
                .help("Keep items that the user has rated"),
        )
        .arg(
            Arg::new("cold")
                .long("cold")
                .value_name("WHAT")
                .value_parser(["error", "drop", "popular"])
                .default_value("error")
                .help(
                    "What a user that the model does not know gets: an error, nothing, the most rated items",
                ),
        )
        .arg(
            Arg::new("out")
                .long("out")
                .value_name("FILE")
                .value_parser(path)
                .default_value("-")
                .help("Where to write: - is stdout"),
        )
        .arg(Arg::new("json").long("json").action(ArgAction::SetTrue).help("Write one JSON object a row"))
        .after_help(HELP)
}

pub(super) fn run(apps: &[&dyn App], matches: &ArgMatches) -> Result<u8, Error> {
    let screen = Screen::new(false);
    start_log(matches, &screen)?;
    let path = |name| matches.get_one::<PathBuf>(name).expect("clap asks for it or knows a default");
    let (directory, out) = (path("directory"), path("out"));
    let app = find(apps, &app_of(directory)?)?;
    let tell = |news: News| {
        if let News::Fact(fact) = news {
            screen.say(&fact);
        }
    };
    let found = app.recommend(directory, &wish(matches)?, &tell)?;
    let output = if out == Path::new("-") { Output::Stdout } else { Output::file(out) };
    output
        .write(|to| if matches.get_flag("json") { rows::json(found, to) } else { rows::table(found, to) })?;
    Ok(0)
}

fn wish(matches: &ArgMatches) -> Result<Wish, Error> {
    let given = |name| matches.get_many::<String>(name).map(|ids| ids.cloned().collect::<Vec<_>>());
    let about = match (given("user"), given("item"), matches.get_one::<PathBuf>("users")) {
        (Some(users), ..) => About::Users(users),
        (None, Some(items), _) => About::Items(items),
        (None, None, file) => About::Users(listed(file.expect("clap asks for one of the three"))?),
    };
    Ok(Wish {
        about,
        top: *matches.get_one::<u32>("top").expect("it has a default") as usize,
        include_rated: matches.get_flag("include-rated"),
        unknown: match matches.get_one::<String>("cold").map(String::as_str) {
            Some("popular") => Unknown::Popular,
            Some("drop") => Unknown::Drop,
            _ => Unknown::Error,
        },
    })
}

/// The ids of a file, one a line; empty lines are none.
fn listed(path: &Path) -> Result<Vec<String>, Error> {
    let lines = text::read_lines(path)?;
    let ids: Vec<String> =
        lines.iter().map(|line| line.trim().to_owned()).filter(|id| !id.is_empty()).collect();
    if ids.is_empty() {
        return Err(Error::Usage(format!("{} names no user, expected one a line", path.display())));
    }
    Ok(ids)
}
