//! A directory to run the command line in, and what it said there.

#![allow(dead_code)] // every test binary uses its own part

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// `slackline` with these words behind it.
pub(crate) fn slackline(line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_slackline")).args(line.split_whitespace()).output().unwrap()
}

/// The example, built: cargo builds it for a whole `cargo test`, but not for `--test cli`.
pub(crate) fn own_app() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let profile = Path::new(env!("CARGO_BIN_EXE_slackline")).parent().unwrap();
        let target = profile.parent().unwrap();
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "--workspace", "--example", "own_app"]); // as `cargo test --workspace` builds it
        build.arg("--target-dir").arg(target);
        if profile.ends_with("release") {
            build.arg("--release");
        }
        assert!(build.status().unwrap().success(), "the example does not build");
        profile.join("examples").join("own_app")
    })
}

/// A directory with `numbers.txt` (1 to 9, mean 5) to run in.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        place.write("numbers.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
        place
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = Command::new(own_app());
        command.current_dir(self.0.path()).args(line.split_whitespace());
        command
    }

    pub(crate) fn run(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }

    /// Starts a run that takes a minute, and waits until it has done some of it.
    pub(crate) fn start_long_run(&self, command: &mut Command) -> Child {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let start = Instant::now();
        while fs::metadata(self.path("run/metrics.jsonl")).map_or(0, |metadata| metadata.len()) == 0 {
            assert!(start.elapsed() < Duration::from_secs(30), "the run does not start");
            std::thread::sleep(Duration::from_millis(10));
        }
        child
    }
}

/// A run of a minute.
pub(crate) const LONG: &str = "train mean --data numbers.txt --out run --steps 6000 --pause 10";

/// What was printed.
pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// What was said.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The exit code and what was said on stderr.
pub(crate) fn failure(output: &Output) -> (i32, String) {
    (output.status.code().unwrap(), stderr(output).trim_end().to_owned())
}

/// Sends a signal by name.
pub(crate) fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args(["-s", name, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}
