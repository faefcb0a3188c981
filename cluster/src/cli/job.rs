//! `train` takes an app's name or a job file, anywhere among its flags; the flags it knows depend on the app.
//!
//! So the app is found first, and its name put right behind `train`, where it is a command with its own options.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use slackline_apps::catalog::App;

use super::{find, train};
use crate::Error;
use crate::settings::{COMMON, Layer, key_of_app};

const NO_JOB: &str = "nothing to train: give an app (`slackline apps` lists them) or a job file (job.yaml)";

/// A job file, and the settings in it.
pub(super) struct Job(pub(super) Layer);

/// Moves the name of the app behind `train`; a job file is read and replaced by the name in it.
///
/// # Errors
/// The file cannot be read, or no app of its name is known.
pub(super) fn name_the_app(
    apps: &[&dyn App],
    mut args: Vec<OsString>,
) -> Result<(Vec<OsString>, Option<Job>), Error> {
    let Some(command) = position_of_train(&args) else { return Ok((args, None)) };
    let Some(at) = position_of_job(apps, &args, command) else {
        if args.iter().any(|arg| arg == "--help" || arg == "-h") {
            return Ok((args, None));
        }
        return Err(Error::Usage(NO_JOB.into()));
    };
    let word = args.remove(at);
    if !is_file_name(&word) {
        let app = find(apps, &word.to_string_lossy())?;
        args.insert(command + 1, app.name().into());
        return Ok((args, None));
    }
    let layer = Layer::file(Path::new(&word))?;
    if let Some(origin) = layer.origin_of("nodes") {
        let file = word.to_string_lossy();
        return Err(Error::Usage(format!(
            "{origin} makes it the topology of a cluster: `slackline launch {file}`"
        )));
    }
    let environment = Layer::environment(std::env::vars_os())?;
    let Some((name, origin)) = key_of_app(&[&layer, &environment]) else {
        let file = PathBuf::from(word);
        return Err(Error::Usage(format!("{}: the key app is missing; add app: NAME", file.display())));
    };
    let app = find(apps, &name).map_err(|error| Error::Usage(format!("{origin}: {error}")))?;
    args.insert(command + 1, app.name().into());
    Ok((args, Some(Job(layer))))
}

/// `train` is the first word that is not a flag.
fn position_of_train(args: &[OsString]) -> Option<usize> {
    let first = words(args, 1).next()?;
    (args[first] == train::NAME).then_some(first)
}

/// The first word that can be a job, or else the first word.
fn position_of_job(apps: &[&dyn App], args: &[OsString], command: usize) -> Option<usize> {
    let is_job = |at: &usize| is_file_name(&args[*at]) || apps.iter().any(|app| args[*at] == app.name());
    let mut candidates = words(args, command + 1);
    let first = candidates.next()?;
    std::iter::once(first).chain(candidates).find(is_job).or(Some(first))
}

/// Positions from `start` of what is neither a flag nor the value of one that every app has.
fn words(args: &[OsString], start: usize) -> impl Iterator<Item = usize> + '_ {
    let is_flag = |arg: &OsStr| arg.as_encoded_bytes().starts_with(b"-");
    let takes_value = |arg: &OsStr| {
        let name = arg.to_str().and_then(|arg| arg.strip_prefix("--")).unwrap_or_default();
        name == "log" || (COMMON.contains(&name) && !train::is_switch(name))
    };
    (start..args.len()).filter(move |&at| !is_flag(&args[at]) && !takes_value(&args[at - 1]))
}

fn is_file_name(word: &OsStr) -> bool {
    Path::new(word).extension().is_some_and(|extension| extension == "yaml" || extension == "yml")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(line: &str) -> Option<usize> {
        let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        position_of_job(&[], &args, position_of_train(&args)?)
    }

    #[test]
    fn the_job_is_found_wherever_it_stands() {
        assert_eq!(position("slackline train job.yaml --workers 4"), Some(2));
        assert_eq!(position("slackline --log json train --workers 4 --quiet job.yaml"), Some(7));
        assert_eq!(position("slackline train --lambda 0.1 job.yml"), Some(4));
        assert_eq!(position("slackline train --out job.yaml"), None);
        assert_eq!(position("slackline apps train"), None);
    }
}
