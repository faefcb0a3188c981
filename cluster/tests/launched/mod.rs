//! Launches to watch, and the processes of their nodes.

#![allow(dead_code)] // every test binary uses its own part

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::place::{Place, own_app};

/// A port that nobody listens on.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

/// The program with the app of these tests.
pub(crate) fn program() -> String {
    own_app().display().to_string()
}

/// Two nodes that take a minute; lines may be added for the second.
pub(crate) fn slow(port: u16) -> String {
    format!(
        "app: mean\ndata: numbers.txt\nsteps: 6000\npause: 10\nnodes:\n  - name: a\n    address: 127.0.0.1:{port}\n  \
         - name: b\n"
    )
}

/// A process that does not outlive its test.
pub(crate) struct Launched(pub(crate) Child);

impl Launched {
    pub(crate) fn start(place: &Place, line: &str) -> Self {
        Self::spawn(&mut place.command(line))
    }

    pub(crate) fn spawn(command: &mut Command) -> Self {
        Self(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// The first line that it prints.
    pub(crate) fn first_line(&mut self) -> String {
        let mut line = String::new();
        BufReader::new(self.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        line
    }

    /// Waits for its end.
    pub(crate) fn output(self) -> Output {
        let mut launched = std::mem::ManuallyDrop::new(self);
        let child = std::mem::replace(&mut launched.0, Command::new("true").spawn().unwrap());
        launched.0.wait().unwrap();
        child.wait_with_output().unwrap()
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `run/cluster.json`.
pub(crate) fn record(place: &Place) -> Value {
    let text = fs::read_to_string(place.path("run/cluster.json")).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// The processes of `n` nodes of a launch into `run` that trains.
pub(crate) fn pids(place: &Place, n: usize) -> Vec<u32> {
    let nodes = || record(place)["nodes"].as_array().cloned().unwrap_or_default();
    wait_until("all nodes run", || nodes().len() == n);
    wait_until("it trains", || {
        fs::metadata(place.path("run/metrics.jsonl")).is_ok_and(|file| file.len() > 0)
    });
    nodes().iter().map(|node| node["pid"].as_u64().unwrap() as u32).collect()
}

/// Whether a process is there and has not ended.
pub(crate) fn alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or_default().trim_start().starts_with(['Z', 'X']))
}

/// Kills a process by `SIGKILL`.
pub(crate) fn kill(pid: u32) {
    assert!(Command::new("kill").args(["-KILL", &pid.to_string()]).status().unwrap().success());
}

pub(crate) fn wait_until(what: &str, is: impl Fn() -> bool) {
    let start = Instant::now();
    while !is() {
        assert!(start.elapsed() < Duration::from_secs(20), "{what}: not within 20 s");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Runs a line with a program of this name first in the path.
pub(crate) fn with_stand_in(place: &Place, name: &str, script: &str, line: &str) -> Output {
    stand_in(place, name, script);
    place.command(line).env("PATH", path_with(place)).output().unwrap()
}

/// Puts a script into the folder `bin`.
pub(crate) fn stand_in(place: &Place, name: &str, script: &str) {
    fs::create_dir_all(place.path("bin")).unwrap();
    place.write(&format!("bin/{name}"), script);
    fs::set_permissions(place.path(&format!("bin/{name}")), fs::Permissions::from_mode(0o755)).unwrap();
}

/// The path with the folder `bin` in front.
pub(crate) fn path_with(place: &Place) -> String {
    format!("{}:{}", place.path("bin").display(), std::env::var("PATH").unwrap())
}
