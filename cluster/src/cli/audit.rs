//! `slackline audit`: proves from the record of a run that its reads were what its consistency promises.

use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, Command, value_parser};
use slackline::audit::{self, Head, Record, Verdict};

use super::start_log;
use crate::Error;
use crate::console::{self, Screen};
use crate::settings::AUDIT;

pub(super) const NAME: &str = "audit";

pub(super) fn command() -> Command {
    Command::new(NAME)
        .about("Proves from the record of a run (--audit) that its promises held, or says where not")
        .arg(
            Arg::new("directory")
                .value_name("DIR")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("The directory of a run that was trained with --audit (its --out)"),
        )
        .after_help(
            "Example:\n  slackline train lasso --data train.svm --consistency ssp:3 --out runs/1 --audit\n  \
             slackline audit runs/1\n\nIn a cluster (audit: true in the topology) every node writes NODE.audit into the folder audit of the run directory, \
             on its own machine; bring them together before this. Of a generation in which a process died, whose record is \
             torn, only the gate is proved.\n\nExit codes: 0 all promises held, 1 one did not, or the record cannot be read.",
        )
}

pub(super) fn run(matches: &ArgMatches) -> Result<u8, Error> {
    start_log(matches, &Screen::new(false))?;
    let directory = matches.get_one::<PathBuf>("directory").expect("clap asks for it");
    let records = audit::read(&place_of(directory)).map_err(|error| Error::Audit(error.to_string()))?;
    let verdict = audit::check(&records);
    let head = &records.first().expect("a record was read").head;
    console::result(&report(head, &records, &verdict));
    Ok(u8::from(!verdict.broken.is_empty()))
}

/// The record in a run directory, or the directory itself where it is one of records.
fn place_of(directory: &Path) -> PathBuf {
    let inside = directory.join(AUDIT);
    if inside.is_dir() { inside } else { directory.to_path_buf() }
}

fn report(head: &Head, records: &[Record], verdict: &Verdict) -> String {
    let count = |name: &str, n: u64| (name.to_owned(), n.to_string());
    let entries: usize = records.iter().map(|record| record.entries.len()).sum();
    let mut rows = vec![
        ("job".to_owned(), format!("{}, seed {}", head.job, head.seed)),
        ("consistency".into(), head.consistency.to_string()),
        count("processes", records.len() as u64),
        count("generations", verdict.generations),
        count("entries", entries as u64),
        count("steps through the gate", verdict.steps),
        count("reads checked", verdict.reads),
        count("pages and row lists in them", verdict.rows),
        count("largest staleness seen", verdict.staleness),
        count("pushes sent", verdict.pushes),
        count("pushes folded in", verdict.folds),
    ];
    if head.own_gate {
        rows.push(("gate".into(), "the job's own: not checked".into()));
    }
    if !verdict.in_part.is_empty() {
        let torn = records.iter().filter(|record| record.torn).map(|record| record.name.as_str());
        let names = torn.collect::<Vec<_>>().join(", ");
        let why =
            if names.is_empty() { "a record is missing".to_owned() } else { format!("{names} ends there") };
        let list = verdict.in_part.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        rows.push(("generations of which only the gate is proved".into(), format!("{list} ({why})")));
    }
    if verdict.lost > 0 {
        rows.push(count("kept-back updates lost as members changed", verdict.lost));
    }
    let table = console::table(&rows);
    if verdict.broken.is_empty() {
        let all = if verdict.in_part.is_empty() {
            "all promises held"
        } else {
            "all promises held, as far as they are known"
        };
        return format!("{table}\n{all}");
    }
    let broken: Vec<String> = verdict.broken.iter().map(ToString::to_string).collect();
    format!("{table}\n{} promises did not hold:\n{}", broken.len(), broken.join("\n"))
}
