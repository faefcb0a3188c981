//! `slackline apps`: what can be trained, and what each app can be told.

use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::{Value, json};
use slackline_apps::catalog::{App, OptionSpec};

use super::{find, help, start_log, takes_no_value};
use crate::Error;
use crate::console::{self, Screen};

pub(super) const NAME: &str = "apps";

pub(super) fn command() -> Command {
    Command::new(NAME)
        .about("Lists what can be trained, or the options of one app")
        .arg(Arg::new("app").value_name("APP").help("The app whose options to list"))
        .arg(Arg::new("json").long("json").action(ArgAction::SetTrue).help("Print JSON"))
        .after_help("Examples:\n  slackline apps\n  slackline apps lasso\n  slackline apps --json")
}

pub(super) fn run(apps: &[&dyn App], matches: &ArgMatches) -> Result<u8, Error> {
    start_log(matches, &Screen::new(false))?;
    let chosen = matches.get_one::<String>("app").map(|name| find(apps, name)).transpose()?;
    let text = match (chosen, matches.get_flag("json")) {
        (Some(app), true) => format!("{:#}", app_json(app)),
        (None, true) => format!("{:#}", apps.iter().map(|app| app_json(*app)).collect::<Value>()),
        (Some(app), false) => options(app),
        (None, false) => console::table(&apps.iter().map(about).collect::<Vec<_>>()),
    };
    console::result(&text);
    Ok(0)
}

fn about(app: &&dyn App) -> (String, String) {
    (app.name().into(), app.about().into())
}

fn options(app: &dyn App) -> String {
    let row = |option: &OptionSpec| {
        let value = if takes_no_value(option) { "[true|false]" } else { option.value };
        (format!("  --{} {value}", option.name), help(option))
    };
    let rows: Vec<_> = app.options().iter().map(row).collect();
    let name = app.name();
    let common = format!("The options that every app has: `slackline train {name} --help`");
    format!("{name}: {}\n\n{}\n\n{common}", app.about(), console::table(&rows))
}

fn app_json(app: &dyn App) -> Value {
    let option = |option: &OptionSpec| {
        let OptionSpec { name, value, default, help } = option;
        json!({"name": name, "value": value, "default": default, "help": help})
    };
    let options: Vec<_> = app.options().iter().map(option).collect();
    json!({"name": app.name(), "about": app.about(), "options": options})
}
