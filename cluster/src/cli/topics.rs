//! `slackline topics`: what the topics of a trained model are about, in words.

mod page;
mod table;

use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use serde_json::{Value, json};
use slackline_apps::lda::explore::{Picture, Ranking, TopicModel};

use super::start_log;
use crate::Error;
use crate::console::{self, Screen};
use crate::output::Output;
use crate::run_directory::app_of;

pub(super) const NAME: &str = "topics";

/// Words of a topic that are printed, and those that a page shows.
const PRINTED: usize = 10;
const SHOWN: usize = 30;
/// Where the slider of a page stands first (Sievert and Shirley 2014, section 3.2).
const FIRST_LAMBDA: f64 = 0.6;

const HELP: &str = "Examples:
  slackline topics runs/1
  slackline topics runs/1 --top 20 --topic 3 7 12
  slackline topics runs/1 --html topics.html

A topic is known by its row in model/topic_word.npy, from 0; the most frequent comes first. The number behind a word is
its probability in the topic. --lambda L from 0 to 1 ranks words by relevance (Sievert and Shirley 2014): 1 by their
probability in the topic, 0 by how much more often the topic has them than the whole of the data does.
The page of --html holds everything it needs and reads nothing from the network.";

pub(super) fn command() -> Command {
    let flag = |name: &'static str, help: &'static str| Arg::new(name).long(name).help(help);
    Command::new(NAME)
        .about("Shows the topics of a trained topic model in words")
        .arg(
            Arg::new("directory")
                .value_name("DIR")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("The directory of a finished run of lda (its --out)"),
        )
        .arg(
            flag("top", "Words of each topic [default: 10, on a page 30]")
                .value_name("N")
                .value_parser(value_parser!(u32).range(1..=1000)),
        )
        .arg(
            flag("topic", "Only these topics, in this order")
                .value_name("K")
                .num_args(1..)
                .value_parser(value_parser!(usize))
                .conflicts_with("html"),
        )
        .arg(
            flag("lambda", "How words are ranked, 0 to 1 [default: 1; a page starts at 0.6]")
                .value_name("L")
                .value_parser(lambda),
        )
        .arg(flag("json", "Print one JSON object").action(ArgAction::SetTrue).conflicts_with("html"))
        .arg(
            flag("html", "Write a page to explore the topics in a browser")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf)),
        )
        .after_help(HELP)
}

fn lambda(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|lambda| (0.0..=1.0).contains(lambda));
    number.ok_or_else(|| "expected a number from 0 to 1".to_owned())
}

pub(super) fn run(matches: &ArgMatches) -> Result<u8, Error> {
    start_log(matches, &Screen::new(false))?;
    let directory = matches.get_one::<PathBuf>("directory").expect("clap asks for it");
    let model = read(directory)?;
    let top = matches.get_one::<u32>("top").map(|top| *top as usize);
    let lambda = matches.get_one::<f64>("lambda").copied();
    if let Some(path) = matches.get_one::<PathBuf>("html") {
        let picture = Picture::of(&model, top.unwrap_or(SHOWN));
        return write_page(directory, path, &picture, lambda.unwrap_or(FIRST_LAMBDA));
    }
    let topics = chosen(&model, directory, matches.get_many("topic").map(Iterator::copied))?;
    let ranking = Ranking::new(&model, lambda.unwrap_or(1.0));
    let ranked = topics.into_iter().map(|topic| (topic, ranking.top(topic, top.unwrap_or(PRINTED))));
    let text = if matches.get_flag("json") {
        let topics: Vec<Value> = ranked.map(|(topic, words)| table::json(&model, topic, &words)).collect();
        json!({"topics": topics}).to_string()
    } else {
        table::text(&model, &ranked.collect::<Vec<_>>(), console::width())
    };
    console::result(&text);
    Ok(0)
}

/// The model of a run of lda.
fn read(directory: &Path) -> Result<TopicModel, Error> {
    let app = app_of(directory)?;
    if app != "lda" {
        let problem =
            format!("holds a run of {app}, which has no topics; give the directory of a run of lda");
        return Err(Error::Run { path: directory.to_owned(), problem });
    }
    Ok(TopicModel::read(directory)?)
}

/// The topics that were asked for, or all, the most frequent first.
fn chosen(
    model: &TopicModel,
    directory: &Path,
    asked: Option<impl Iterator<Item = usize>>,
) -> Result<Vec<usize>, Error> {
    let Some(asked) = asked else { return Ok(model.by_frequency()) };
    let last = model.n_topics() - 1;
    asked
        .map(|topic| match topic {
            _ if topic <= last => Ok(topic),
            _ => Err(Error::Usage(format!(
                "--topic is {topic}, must be 0 to {last}, a topic of {}",
                directory.display()
            ))),
        })
        .collect()
}

fn write_page(directory: &Path, path: &Path, picture: &Picture, lambda: f64) -> Result<u8, Error> {
    let parts = page::parts(&name(directory), picture, lambda);
    Output::file(path).write(|file| parts.iter().try_for_each(|part| file.write_all(part.as_bytes())))?;
    let left_out = picture.n_topics - picture.topics.len();
    let left_out = match left_out {
        0 => String::new(),
        n => format!("; the {n} least frequent are not on the map"),
    };
    console::result(&format!("{} topics in {}{left_out}", picture.n_topics, path.display()));
    Ok(0)
}

/// What the run is called: the last part of its directory.
fn name(directory: &Path) -> String {
    let absolute = std::fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
    absolute.file_name().unwrap_or(absolute.as_os_str()).to_string_lossy().into_owned()
}
