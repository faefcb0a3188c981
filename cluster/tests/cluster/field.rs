//! A directory in which clusters of real processes run, each with a deadline of its own.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// No process of these tests lives longer.
const DEADLINE: Duration = Duration::from_secs(60);
/// Clusters are timed by signs of life: on two cores only one at a time has room.
static ROOM: Mutex<()> = Mutex::new(());

/// Where a test runs its processes; other tests wait meanwhile.
pub(crate) struct Field {
    folder: TempDir,
    _room: Option<MutexGuard<'static, ()>>,
}

impl Field {
    pub(crate) fn new() -> Self {
        let room = ROOM.lock().unwrap_or_else(PoisonError::into_inner);
        Self { folder: tempfile::tempdir().unwrap(), _room: Some(room) }
    }

    /// Another directory for the same test.
    pub(crate) fn beside(_: &Self) -> Self {
        Self { folder: tempfile::tempdir().unwrap(), _room: None }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn json(&self, name: &str) -> Value {
        serde_json::from_str(&fs::read_to_string(self.path(name)).unwrap()).unwrap()
    }

    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_slackline"));
        command.current_dir(self.folder.path()).args(line.split_whitespace()).stdin(Stdio::null());
        command.env_remove("SLACKLINE_TOKEN");
        command
    }

    /// Starts `slackline` with these words behind it.
    pub(crate) fn start(&self, line: &str) -> Live {
        Live::new(&mut self.command(line), line)
    }

    /// Runs it to its end.
    pub(crate) fn run(&self, line: &str) -> Ended {
        self.start(line).end()
    }

    /// Runs it to its end, which must be a good one.
    pub(crate) fn succeed(&self, line: &str) -> Ended {
        let ended = self.run(line);
        assert_eq!(ended.code, 0, "{line}: {}", ended.said);
        ended
    }

    /// The process of a node of the launch into `out`, as it is now.
    pub(crate) fn pid(&self, out: &str, node: &str) -> Option<u32> {
        let text = fs::read_to_string(self.path(out).join("cluster.json")).ok()?;
        let record: Value = serde_json::from_str(&text).ok()?;
        let entry = record["nodes"].as_array()?.iter().find(|entry| entry["name"] == node)?;
        u32::try_from(entry["pid"].as_u64()?).ok()
    }

    /// Waits until the run in `out` has been evaluated so often and the process of `node` is known; which it is.
    pub(crate) fn training(&self, out: &str, evaluations: usize, node: &str) -> u32 {
        until(&format!("{evaluations} evaluations"), || self.metrics(out).len() >= evaluations);
        until("the record", || self.pid(out, node).is_some());
        self.pid(out, node).unwrap()
    }

    /// The lines of `metrics.jsonl` that are whole.
    pub(crate) fn metrics(&self, out: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.path(out).join("metrics.jsonl")).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// One line for every pass, in order, and time never falls.
    pub(crate) fn metrics_are_sane(&self, out: &str) {
        let lines = self.metrics(out);
        let number = |line: &Value, key: &str| line[key].as_f64().unwrap();
        for pair in lines.windows(2) {
            assert!(number(&pair[0], "clock") < number(&pair[1], "clock"), "{pair:?}");
            assert!(number(&pair[0], "seconds") <= number(&pair[1], "seconds"), "{pair:?}");
            assert_eq!(number(&pair[0], "epoch") + 1.0, number(&pair[1], "epoch"), "{pair:?}");
        }
        let (summary, last) = (self.json(&format!("{out}/summary.json")), lines.last().unwrap());
        assert!(
            (summary["clocks"].as_f64().unwrap() - number(last, "clock")).abs() <= 1.0,
            "{last} {summary}"
        );
    }

    pub(crate) fn objective(&self, out: &str) -> f64 {
        self.json(&format!("{out}/summary.json"))["objective"].as_f64().unwrap()
    }

    /// The processes that work in this directory.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let here = fs::canonicalize(self.folder.path()).unwrap();
        let pids = fs::read_dir("/proc")
            .unwrap()
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter(|pid| fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == here)).collect()
    }

    /// The record of the run in `out` proves that its promises held.
    pub(crate) fn is_proved(&self, out: &str) {
        let proof = self.run(&format!("audit {out}"));
        assert_eq!(proof.code, 0, "{}{}", proof.printed, proof.said);
        assert!(proof.printed.contains("all promises held"), "{}", proof.printed);
    }

    /// Nobody is left, nor a record of a launch.
    pub(crate) fn is_left_clean(&self, out: &str) {
        until("all processes end", || self.processes().is_empty());
        assert!(!self.path(out).join("cluster.json").exists());
    }
}

/// A process that runs, and what it says.
pub(crate) struct Live {
    pub(crate) child: Child,
    line: String,
    since: Instant,
    printed: Pipe,
    said: Pipe,
}

type Pipe = (Arc<Mutex<Vec<u8>>>, Option<JoinHandle<()>>);

/// How a process ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) printed: String,
    pub(crate) said: String,
}

impl Live {
    pub(crate) fn new(command: &mut Command, line: &str) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let printed = follow(child.stdout.take().unwrap());
        let said = follow(child.stderr.take().unwrap());
        Self { child, line: line.to_owned(), since: Instant::now(), printed, said }
    }

    /// What it has said on stderr so far.
    pub(crate) fn said(&self) -> String {
        text(&self.said)
    }

    /// Waits until it says something.
    pub(crate) fn says(&self, words: &str) {
        until(&format!("{}: to say {words:?}", self.line), || self.said().contains(words));
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Ended {
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            let late = self.since.elapsed() > DEADLINE;
            assert!(
                !late,
                "{} did not end; it printed {} and said {}",
                self.line,
                text(&self.printed),
                self.said()
            );
            std::thread::sleep(Duration::from_millis(5));
        };
        for pipe in [&mut self.printed, &mut self.said] {
            pipe.1.take().unwrap().join().unwrap();
        }
        let code = status.code().unwrap_or(-1);
        Ended { code, printed: text(&self.printed), said: self.said() }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it may have ended
        let _ = self.child.wait();
    }
}

fn follow(mut pipe: impl Read + Send + 'static) -> Pipe {
    let text = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&text);
    let thread = std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(n @ 1..) = pipe.read(&mut bytes) {
            into.lock().unwrap().extend_from_slice(&bytes[..n]);
        }
    });
    (text, Some(thread))
}

fn text(pipe: &Pipe) -> String {
    String::from_utf8_lossy(&pipe.0.lock().unwrap()).into_owned()
}

/// Waits until something is so.
pub(crate) fn until(what: &str, is: impl Fn() -> bool) {
    let start = Instant::now();
    while !is() {
        assert!(start.elapsed() < Duration::from_secs(20), "{what}: not within 20 s");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Sends a signal by name.
pub(crate) fn signal(pid: u32, name: &str) {
    assert!(Command::new("kill").args(["-s", name, &pid.to_string()]).status().unwrap().success());
}

/// A port that nobody listens on.
pub(crate) fn free_port() -> u16 {
    std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

/// A file of `apps/data`.
pub(crate) fn data(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../apps/data").join(name).display().to_string()
}

/// Factorisation of the made ratings with so many passes, and a death noticed within a second; nodes are still to come.
/// With so large a penalty every run ends in the same minimum.
pub(crate) fn ratings(epochs: u32) -> String {
    format!(
        "app: mf\ndata: {}\nrank: 3\nl2: 0.5\nseed: 1\nepochs: {epochs}\ntiming: {{pulse: 100ms, dead: 1s, patience: 20s}}\n",
        data("ratings.train.tsv")
    )
}

/// Nodes of these names with a worker and a shard each, the first one leading.
pub(crate) fn nodes(names: &[&str]) -> String {
    let node = |name: &&str| format!("  - name: {name}\n");
    format!("nodes:\n{}", names.iter().map(node).collect::<String>())
}

/// Whether a run ended where an undisturbed one does, by their objectives.
pub(crate) fn as_good(objective: f64, undisturbed: f64) {
    assert!(
        (objective - undisturbed).abs() <= 0.01 * undisturbed,
        "objective {objective}, undisturbed {undisturbed}"
    );
}
