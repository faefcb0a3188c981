//! Runs that are killed or stopped, and go on with `--resume`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::place::{failure, signal, stderr};

/// A directory to run the command in.
struct Site(tempfile::TempDir);

/// Long enough to be killed after a checkpoint or two.
const MF: &str =
    "train mf --data ratings.train.tsv --rank 4 --epochs 9000 --evaluate-every 300 --workers 2 --seed 3";
const ALS: &str = "train mf --data ratings.train.tsv --method als --rank 4 --epochs 6000 --evaluate-every 200 --workers 2 --seed 3";
const LASSO: &str = "train lasso --data diabetes.svm --lambda 1e-4 --path 6000 --workers 2";
const LOGISTIC: &str = "train logistic --data mushrooms.train.svm.zst --l1 1e-7 --tol 1e-12 --workers 2";
const CLASSES: &str = "train logistic --data classes.svm --parts 12 --l2 0.01 --epochs 2500 --workers 2";

const KEEP: &str = "--quiet --checkpoint ck --checkpoint-every 20ms";

impl Site {
    fn new() -> Self {
        let site = Self(tempfile::tempdir().unwrap());
        let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../apps/data");
        for name in ["ratings.train.tsv", "diabetes.svm", "mushrooms.train.svm.zst"] {
            fs::copy(shipped.join(name), site.path(name)).unwrap();
        }
        let class = |target: f64| if target < 100.0 { 1 } else { 2 + u8::from(target > 200.0) };
        let line = |line: &str| {
            let (target, features) = line.split_once(' ').unwrap();
            format!("{} {features}\n", class(target.parse().unwrap()))
        };
        let text = fs::read_to_string(site.path("diabetes.svm")).unwrap();
        fs::write(site.path("classes.svm"), text.lines().map(line).collect::<String>()).unwrap();
        site
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_slackline"));
        command.current_dir(self.0.path()).args(line.split_whitespace());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }

    /// Starts a run, waits until it has written its second checkpoint, and does `then` to it.
    fn interrupt(&self, line: &str, then: impl FnOnce(&mut Child)) -> Output {
        let mut child = self.command(&format!("{line} {KEEP}")).spawn().unwrap();
        let start = Instant::now();
        while self.newest().is_none_or(|name| *name < *"checkpoint-00000002.slk") {
            assert!(start.elapsed() < Duration::from_secs(240), "no checkpoint comes");
            assert!(child.try_wait().unwrap().is_none(), "{line} ends before it can be killed");
            std::thread::sleep(Duration::from_millis(5));
        }
        then(&mut child);
        child.wait_with_output().unwrap()
    }

    /// The name of the newest checkpoint.
    fn newest(&self) -> Option<String> {
        let names = fs::read_dir(self.path("ck")).ok()?.flatten().map(|entry| entry.file_name());
        names.filter_map(|name| name.into_string().ok()).filter(|name| name.ends_with(".slk")).max()
    }

    fn summary(&self, run: &str) -> Value {
        serde_json::from_str(&fs::read_to_string(self.path(run).join("summary.json")).unwrap()).unwrap()
    }

    /// The evaluations of a run, without the time they were made at.
    fn evaluations(&self, run: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.path(run).join("metrics.jsonl")).unwrap();
        let line = |line| {
            let mut line: Value = serde_json::from_str(line).unwrap();
            line.as_object_mut().unwrap().remove("seconds");
            line
        };
        text.lines().map(line).collect()
    }

    /// The bytes of every file of a model.
    fn model(&self, run: &str) -> BTreeMap<String, Vec<u8>> {
        let file = |entry: std::io::Result<fs::DirEntry>| {
            let entry = entry.unwrap();
            (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())
        };
        fs::read_dir(self.path(run).join("model")).unwrap().map(file).collect()
    }

    fn objective(&self, run: &str) -> f64 {
        self.summary(run)["objective"].as_f64().unwrap()
    }
}

fn ok(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
}

/// Under `bsp` a run that is killed and goes on ends with the model and the history of one that is not.
fn same_bits(job: &str) {
    let site = Site::new();
    let job = format!("{job} --consistency bsp");
    ok(&site.run(&format!("{job} --out whole --quiet")));
    let killed = site.interrupt(&format!("{job} --out run"), |child| child.kill().unwrap());
    assert_eq!(killed.status.code(), None, "killed by a signal");
    ok(&site.run(&format!("{job} --out run {KEEP} --resume")));
    let (whole, run) = (site.model("whole"), site.model("run"));
    assert_eq!(whole.keys().collect::<Vec<_>>(), run.keys().collect::<Vec<_>>());
    let differ: Vec<_> =
        whole.iter().filter(|(name, bytes)| run[*name] != **bytes).map(|(name, _)| name).collect();
    assert!(differ.is_empty(), "{job}: {differ:?} differ");
    assert_eq!(site.evaluations("whole"), site.evaluations("run"));
    assert_eq!(site.objective("whole"), site.objective("run"));
}

#[test]
fn a_killed_factorisation_goes_on_to_the_same_bits() {
    same_bits(MF);
}

#[test]
fn alternating_least_squares_that_were_killed_go_on_to_the_same_bits() {
    same_bits(ALS);
}

#[test]
fn a_killed_lasso_path_goes_on_to_the_same_bits_with_every_solution() {
    same_bits(LASSO);
    same_bits(&format!("{LASSO} --schedule dependency"));
}

#[test]
fn a_killed_logistic_regression_goes_on_to_the_same_bits() {
    same_bits(LOGISTIC);
    same_bits(CLASSES);
}

#[test]
fn a_stopped_run_exits_with_75_and_goes_on_with_other_workers() {
    let site = Site::new();
    let line = format!("{MF} --out run");
    let stopped = site.interrupt(&line.replace("--quiet", ""), |child| signal(child, "TERM"));
    assert_eq!(stopped.status.code(), Some(75), "{}", stderr(&stopped));
    assert_eq!(site.summary("run")["stopped"].as_bool(), Some(true));
    let before = site.evaluations("run").len();

    let line = line.replace("--workers 2", "--workers 3");
    let output = site.run(&format!("{line} --checkpoint ck --resume"));
    ok(&output);
    assert!(stderr(&output).contains("going on from ck/checkpoint-0000000"), "{}", stderr(&output));
    let (summary, evaluations) = (site.summary("run"), site.evaluations("run"));
    assert_eq!((summary.get("stopped"), evaluations.len()), (None, 30));
    assert!(before <= 30);
    assert_eq!(summary["config"]["parts"].as_u64(), Some(4), "as two workers had it: {summary}");

    ok(&site.run(&format!("{MF} --out whole --quiet")));
    let (resumed, whole) = (site.objective("run"), site.objective("whole"));
    assert!((resumed - whole).abs() < 0.02 * whole, "{resumed} is far from {whole}");
}

#[test]
fn a_checkpoint_of_another_run_is_refused_by_name() {
    let site = Site::new();
    site.interrupt(MF, |child| child.kill().unwrap());
    let said = |line: &str| {
        let (code, sentence) = failure(&site.run(&format!("{line} {KEEP} --resume")));
        assert_eq!(code, 1, "{sentence}");
        sentence
    };
    let rank = said(&MF.replace("--rank 4", "--rank 5"));
    assert!(rank.starts_with("slackline: ck/checkpoint-000000"), "{rank}");
    assert!(rank.ends_with(".slk: rank is 5, but 4 in the checkpoint: it belongs to another run"), "{rank}");
    assert!(said(&MF.replace("--seed 3", "--seed 4")).contains("seed is 4, but 3 in the checkpoint"));
    assert!(said(&format!("{MF} --parts 9")).contains("parts is 9, but 4 in the checkpoint"));
    assert!(
        said(&format!("{MF} --consistency bsp")).contains("consistency is bsp, but ssp:3 in the checkpoint")
    );
    assert!(said(LASSO).contains("the job is lasso, but mf in the checkpoint"));
    fs::write(site.path("ratings.train.tsv"), "1\t1\t3\n1\t2\t4\n").unwrap();
    assert!(said(MF).contains("data is ratings.train.tsv, 12 bytes"));

    let (code, sentence) = failure(&site.run(&format!("{MF} {KEEP}")));
    let held = "slackline: ck: holds checkpoints already; they belong to an earlier run: give --resume to go on from them, \
                --force to remove them, or another directory for checkpoints";
    assert_eq!((code, sentence.as_str()), (1, held));
}

#[test]
fn a_damaged_checkpoint_is_passed_over_by_name() {
    let site = Site::new();
    site.interrupt(MF, |child| child.kill().unwrap());
    let mut files: Vec<_> =
        fs::read_dir(site.path("ck")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "slk"));
    files.sort();
    let newest = files.last().unwrap();
    let bytes = fs::read(newest).unwrap();
    fs::write(newest, &bytes[..bytes.len() / 2]).unwrap();
    let output = site.run(&format!("{MF} --checkpoint ck --resume"));
    ok(&output);
    let said = stderr(&output);
    let name = newest.file_name().unwrap().to_string_lossy();
    assert!(said.contains(&format!("warning: passed over: ck/{name}: ends before it should")), "{said}");
    assert!(said.contains("going on from ck/checkpoint-"), "{said}");

    fs::remove_dir_all(site.path("ck")).unwrap();
    fs::create_dir(site.path("ck")).unwrap();
    fs::write(site.path("ck/checkpoint-00000001.slk"), "garbage").unwrap();
    let (code, sentence) = failure(&site.run(&format!("{MF} --checkpoint ck --resume")));
    assert_eq!(code, 1);
    assert!(sentence.contains("ck/checkpoint-00000001.slk: is no checkpoint"), "{sentence}");
}

#[test]
fn without_a_checkpoint_a_run_starts_from_the_beginning_and_says_so() {
    let site = Site::new();
    let quick = "train mf --data ratings.train.tsv --epochs 2";
    let output = site.run(&format!("{quick} --checkpoint ck --resume"));
    ok(&output);
    assert!(
        stderr(&output).contains("no checkpoint in ck yet: starting from the beginning"),
        "{}",
        stderr(&output)
    );
    let said = |line: &str| failure(&site.run(&format!("{quick} {line}")));
    let needs = "needs the directory of the checkpoints: give --checkpoint DIR";
    assert_eq!(said("--resume"), (2, format!("slackline: --resume {needs}")));
    assert_eq!(said("--checkpoint-every 5s"), (2, format!("slackline: --checkpoint-every {needs}")));
    let rule = "slackline: --checkpoint-every is 5, must be a time such as 500ms, 30s, 5m or 1h";
    assert_eq!(said("--checkpoint ck --checkpoint-every 5"), (2, rule.to_owned()));
}
