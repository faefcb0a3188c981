//! House rules that no compiler checks: see `ARCHITECTURE.md` and `CONTRIBUTING.md`.

use std::fs;
use std::path::{Path, PathBuf};

const LONGEST_FILE: usize = 400;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package lies in the workspace").to_owned()
}

/// All Rust files of the workspace with their text.
fn sources() -> Vec<(PathBuf, String)> {
    let mut folders: Vec<PathBuf> =
        ["actors", "apps", "cluster", "tests", "benches"].iter().map(|name| root().join(name)).collect();
    let mut sources = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the workspace") {
            let path = entry.expect("an entry of a folder").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).expect("a source file");
                sources.push((path.strip_prefix(root()).expect("below the root").to_owned(), text));
            }
        }
    }
    assert!(sources.len() > 50, "the sources are where they were");
    sources
}

fn offenders(breaks: impl Fn(&str, &str) -> bool) -> Vec<String> {
    let path = |path: &Path| path.display().to_string();
    sources().iter().filter(|(at, text)| breaks(&path(at), text)).map(|(at, _)| path(at)).collect()
}

#[test]
fn every_file_opens_by_saying_what_it_is() {
    let breaks = |path: &str, text: &str| !text.starts_with("//!") && !path.ends_with("tests.rs");
    assert_eq!(offenders(breaks), [""; 0]);
}

#[test]
fn no_file_is_too_long_to_read() {
    assert_eq!(offenders(|_, text| text.lines().count() > LONGEST_FILE), [""; 0]);
}

#[test]
fn unsafe_code_stays_in_the_kernels() {
    let word = ["unsafe", "{"].join(" ");
    let breaks = |path: &str, text: &str| text.contains(&word) && !path.starts_with("apps/src/kernel/");
    assert_eq!(offenders(breaks), [""; 0]);
}

#[test]
fn the_pure_cores_do_not_name_actix() {
    let shells = ["actor.rs", "message.rs", "job.rs", "app.rs", "model.rs", "lib.rs"];
    let homes = ["actors/src/bridge/", "actors/src/monitor/", "actors/src/node/"];
    let cluster = ["cluster/crew.rs", "cluster/seat.rs", "cluster/words.rs"];
    let breaks = |path: &str, text: &str| {
        path.starts_with("actors/src/")
            && text.contains("use actix")
            && !shells.iter().any(|shell| path.ends_with(shell))
            && !cluster.iter().any(|shell| path.ends_with(shell))
            && !homes.iter().any(|home| path.starts_with(home))
    };
    assert_eq!(offenders(breaks), [""; 0]);
}

#[test]
fn the_runtime_and_the_apps_know_nothing_above_them() {
    let breaks = |path: &str, text: &str| {
        let runtime = path.starts_with("actors/src/") && text.contains("slackline_apps");
        let apps = path.starts_with("apps/src/") && text.contains("slackline_cluster");
        runtime || apps
    };
    assert_eq!(offenders(breaks), [""; 0]);
}

#[test]
fn nothing_is_left_to_do_without_saying_so() {
    let words = ["TO", "DO"].concat();
    assert_eq!(offenders(|_, text| text.contains(&words)), [""; 0]);
}
