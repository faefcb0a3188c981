//! The command line from outside: the real binary, and the same command line over the app of `examples/own_app.rs`,
//! which needs no data but a file of numbers and can be told to take its time.

#![allow(clippy::unwrap_used)] // the lint lets tests unwrap, but not the functions beside them

mod checkpoint;
mod place;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::{Duration, Instant};

use place::{LONG, Place, failure, signal, slackline, stderr, stdout};
use serde_json::Value;

#[test]
fn every_command_has_help_with_an_example_and_a_version() {
    let commands = [
        "train", "evaluate", "predict", "topics", "audit", "apps", "launch", "node", "join", "status",
        "stop", "render",
    ];
    for line in commands.iter().map(|command| format!("{command} --help")).chain(["--help".into()]) {
        let output = slackline(&line);
        assert_eq!(output.status.code(), Some(0), "{line}");
        assert!(stdout(&output).contains("Example"), "{line}");
    }
    assert_eq!(stdout(&slackline("--version")).trim(), concat!("slackline ", env!("CARGO_PKG_VERSION")));
    for app in slackline_apps::catalog::apps() {
        let help = stdout(&slackline(&format!("train {} --help", app.name())));
        for option in app.options() {
            assert!(help.contains(&format!("--{}", option.name)), "{} {}", app.name(), option.name);
        }
    }
}

#[test]
fn the_help_of_an_app_lists_its_options_with_defaults_and_an_example() {
    let help = stdout(&Place::new().run("train mean --help"));
    for part in
        ["--rate <R>", "Step size, more than 0 [default: 0.5]", "--centre [<true|false>]", "--seed <S>"]
    {
        assert!(help.contains(part), "{part} is not in {help}");
    }
    assert!(help.contains("slackline train mean --data FILE --out runs/1 --workers 2 --rate 0.5"), "{help}");
}

#[test]
fn unknown_words_name_the_nearest_known_ones() {
    let place = Place::new();
    let said = |line| failure(&place.run(line));
    let expected = |text: &str| (2, format!("slackline: {text}"));
    assert_eq!(said("trian mean"), expected("there is no command trian; did you mean train?"));
    assert_eq!(
        said("train maen --data x"),
        expected("no app is called maen; did you mean mean? (`slackline apps` lists them)")
    );
    assert_eq!(
        said("train mean --data numbers.txt --rtae 1"),
        expected("there is no option --rtae; did you mean --rate?")
    );
    assert_eq!(said("train mean"), expected("mean needs training data: give --data FILE"));
    assert!(said("train").1.contains("nothing to train"));
    place.write("job.yaml", "app: mean\ndata: numbers.txt\nstpes: 3\n");
    assert_eq!(
        said("train job.yaml"),
        expected("job.yaml:3: stpes is not an option of mean; did you mean steps?")
    );
    place.write("job.yaml", "app: maen\n");
    assert!(said("train job.yaml").1.contains("job.yaml:1: app: no app is called maen; did you mean mean?"));
    assert_eq!(said("train none.yaml"), expected("none.yaml: No such file or directory (os error 2)"));
}

#[test]
fn a_run_leaves_a_summary_its_metrics_and_a_model() {
    let place = Place::new();
    let output = place.run("train mean --data numbers.txt --out runs/1 --workers 3 --seed 0 --rate=0.25");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("kept in    runs/1"), "{}", stdout(&output));

    let summary = place.json("runs/1/summary.json");
    assert_eq!((summary["app"].as_str(), summary["clocks"].as_u64()), (Some("mean"), Some(50)));
    let config = &summary["config"];
    assert_eq!((config["workers"].as_u64(), config["seed"].as_u64()), (Some(3), Some(0)));
    assert_eq!((config["rate"].as_f64(), config["centre"].as_bool()), (Some(0.25), Some(true)));
    assert_eq!(summary.get("stopped"), None);
    assert!(summary["seconds"]["total"].as_f64() >= summary["seconds"]["train"].as_f64());

    let metrics = place.read("runs/1/metrics.jsonl");
    let clock = |line| serde_json::from_str::<Value>(line).unwrap()["clock"].clone();
    let clocks: Vec<_> = metrics.lines().map(clock).collect();
    assert_eq!(clocks, (1..=50).map(Value::from).collect::<Vec<_>>());
    let model: ndarray::Array1<f64> = ndarray_npy::read_npy(place.path("runs/1/model/mean.npy")).unwrap();
    assert!((model[0] - 5.0).abs() < 1e-5, "the mean of 1 to 9 is 5, not {model}");
    let names: Vec<_> =
        fs::read_dir(place.path("runs/1")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 3, "no temporary files: {names:?}");

    let score = place.run("evaluate runs/1 --data numbers.txt");
    assert_eq!(stdout(&score).trim(), "loss  3.33333", "half the variance of 1 to 9 is 10/3");
    let score: Value =
        serde_json::from_str(&stdout(&place.run("evaluate runs/1 --data numbers.txt --json"))).unwrap();
    assert!((score["loss"].as_f64().unwrap() - 10.0 / 3.0).abs() < 1e-9);
}

#[test]
fn flags_win_over_the_environment_and_the_environment_over_the_file() {
    let place = Place::new();
    place.write("job.yaml", "app: mean\ndata: numbers.txt\nout: run\nsteps: 3\nworkers: 5\nseed: 5\n");
    let mut command = place.command("train --quiet job.yaml --seed 7");
    command.env("SLACKLINE__WORKERS", "6").env("SLACKLINE__SEED", "6").env("SLACKLINE__CENTRE", "false");
    let output = command.output().unwrap();
    assert_eq!((stdout(&output), stderr(&output)), (String::new(), String::new()), "quiet");
    let config = &place.json("run/summary.json")["config"];
    let numbers = ["steps", "workers", "seed"].map(|key| config[key].as_u64().unwrap());
    assert_eq!(numbers, [3, 6, 7]);
    assert_eq!(config["centre"].as_bool(), Some(false));
}

#[test]
fn a_switch_is_given_with_and_without_a_value() {
    let place = Place::new();
    for (given, centre) in
        [("--centre", true), ("--centre false", false), ("--centre=false", false), ("", true)]
    {
        let output = place.run(&format!("train {given} mean --data numbers.txt --out run --force"));
        assert_eq!(output.status.code(), Some(0), "{given}: {}", stderr(&output));
        assert_eq!(place.json("run/summary.json")["config"]["centre"].as_bool(), Some(centre), "{given}");
    }
}

#[test]
fn json_is_one_object_a_line_and_the_summary_comes_last() {
    let output = Place::new().run("train mean --data numbers.txt --json --steps 3");
    let text = stdout(&output);
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let events: Vec<_> = lines.iter().map(|line| line["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["fact", "progress", "progress", "progress", "summary"]);
    assert_eq!(lines[4]["app"].as_str(), Some("mean"));
}

#[test]
fn a_run_that_cannot_end_well_does_not_begin() {
    let place = Place::new();
    let said = |line| failure(&place.run(line));
    let missing = said("train mean --data none.txt --out run");
    assert_eq!(missing, (3, "slackline: none.txt: No such file or directory (os error 2)".into()));
    assert_eq!(said("train mean --data . --out run").0, 3);
    assert!(!place.path("run").exists());

    let (code, sentence) = said("train mean --data numbers.txt --out numbers.txt/run");
    assert_eq!(code, 1);
    assert!(sentence.starts_with("slackline: numbers.txt/run: Not a directory"), "{sentence}");

    place.run("train mean --data numbers.txt --out run --steps 2");
    let held =
        "slackline: run: holds a run already (summary.json); give another --out, or --force to replace it";
    assert_eq!(said("train mean --data numbers.txt --out run"), (1, held.into()));
    place.run("train mean --data numbers.txt --out run --steps 4 --force");
    assert_eq!(place.json("run/summary.json")["clocks"].as_u64(), Some(4));
}

#[test]
fn exit_codes_tell_bad_data_bad_settings_and_divergence_apart() {
    let place = Place::new();
    let said = |line| failure(&place.run(line));
    place.write("words.txt", "1\ntwo\n");
    assert_eq!(
        said("train mean --data words.txt --out run"),
        (3, "slackline: words.txt:2: \"two\" is not a number".into())
    );
    assert!(!place.path("run").exists(), "nothing is left of a run that never began");
    assert_eq!(
        said("train mean --data numbers.txt --rate fast"),
        (2, "slackline: --rate is fast, must be a number more than 0".into())
    );
    assert_eq!(
        said("train mean --data numbers.txt --workers 2.7"),
        (2, "slackline: --workers is 2.7, must be a whole number from 1 to 1024".into())
    );
    assert_eq!(said("train mean --quiet --data numbers.txt --rate 1e300").0, 4);
    assert_eq!(said("evaluate numbers.txt --data numbers.txt").0, 1);
    assert!(said("evaluate none --data numbers.txt").1.contains("none/summary.json: no such file"));
}

#[test]
fn a_stopped_run_keeps_what_it_has_and_says_which_signal_it_was() {
    for (name, code) in [("INT", 130), ("TERM", 143)] {
        let place = Place::new();
        let child = place.start_long_run(&mut place.command(LONG));
        signal(&child, name);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        let summary = place.json("run/summary.json");
        assert_eq!(summary["stopped"].as_bool(), Some(true));
        assert_eq!(
            place.read("run/metrics.jsonl").lines().count() as u64,
            summary["clocks"].as_u64().unwrap()
        );
        assert!(place.path("run/model/mean.npy").exists());
    }
}

#[test]
fn a_second_interrupt_ends_at_once() {
    let place = Place::new();
    let mut command = place.command("train mean --data numbers.txt --out run --steps 2 --pause 60000");
    let mut child = place.start_long_run(&mut command);
    signal(&child, "INT");
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(said.any(|line| line.unwrap().starts_with("stopping at the next clock")));
    signal(&child, "INT");
    let start = Instant::now();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(start.elapsed() < Duration::from_secs(20));
    assert!(!place.path("run/summary.json").exists());
}

#[test]
fn a_reader_that_goes_away_does_not_end_the_run() {
    let place = Place::new();
    let line = "train mean --data numbers.txt --out run --steps 200 --pause 1 --json";
    let mut child = place.start_long_run(&mut place.command(line));
    drop(child.stdout.take());
    drop(child.stderr.take());
    signal(&child, "HUP");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(place.json("run/summary.json")["clocks"].as_u64(), Some(200));
}

#[test]
fn apps_are_listed_for_people_and_for_programs() {
    let place = Place::new();
    assert_eq!(stdout(&place.run("apps")).trim(), "mean  The mean of a file of numbers, by gradient descent");
    assert!(
        stdout(&place.run("apps mean"))
            .contains("--rate R               Step size, more than 0 [default: 0.5]")
    );
    let apps: Value = serde_json::from_str(&stdout(&place.run("apps --json"))).unwrap();
    assert_eq!(apps[0]["options"][1]["name"].as_str(), Some("steps"));
    assert_eq!(slackline("apps --json").status.code(), Some(0));
}

#[test]
fn every_job_file_of_ours_has_only_keys_that_its_app_knows() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    for file in files.filter(|path| path.extension().is_some_and(|extension| extension == "yaml")) {
        let text = fs::read_to_string(&file).unwrap();
        let app = text.lines().find_map(|line| line.strip_prefix("app: ")).unwrap();
        if text.contains("\nnodes:\n") {
            let rendered = slackline(&format!("render {} --for slurm", file.display()));
            assert_eq!(rendered.status.code(), Some(0), "{}: {}", file.display(), stderr(&rendered));
            let (_, said) = failure(&slackline(&format!("train {}", file.display())));
            assert!(said.contains("nodes makes it the topology of a cluster: `slackline launch"), "{said}");
        } else if slackline_apps::catalog::find(app).is_some() {
            // Keys are checked before values, and the flag's value before any data is opened.
            let (_, said) = failure(&slackline(&format!("train {} --data x --workers 0", file.display())));
            assert!(said.contains("--workers is 0"), "{}: {said}", file.display());
        }
    }
}

#[test]
fn an_audited_run_is_proved_and_a_torn_record_is_refused_by_name() {
    let place = Place::new();
    let rows: Vec<String> = (1..40).map(|i| format!("{} 1:{} 2:{}", i % 7, i % 5, i % 3)).collect();
    place.write("train.svm", &rows.join("\n"));
    let (data, out) = (place.path("train.svm"), place.path("run"));
    let (data, out) = (data.display(), out.display());
    let train = |more: &str| slackline(&format!("train lasso --data {data} --lambda 0.1 --quiet {more}"));
    let refused = failure(&train("--audit"));
    assert_eq!(
        refused,
        (2, "slackline: --audit needs a directory for its record: give --out DIR".to_owned())
    );
    let trained = train(&format!("--workers 2 --consistency ssp:2 --out {out} --audit"));
    assert_eq!(trained.status.code(), Some(0), "{}", stderr(&trained));
    assert!(place.json("run/summary.json")["traffic"]["push"].as_u64().unwrap() > 0);
    let proved = slackline(&format!("audit {out}"));
    assert_eq!(proved.status.code(), Some(0), "{}", stderr(&proved));
    assert!(stdout(&proved).trim().ends_with("all promises held"), "{}", stdout(&proved));
    let record = place.path("run/audit/run.audit");
    let whole = fs::read(&record).unwrap();
    fs::write(&record, &whole[..whole.len() - 5]).unwrap();
    let (code, said) = failure(&slackline(&format!("audit {out}")));
    assert!(code == 1 && said.contains("run.audit: is torn"), "{said}");
}

#[test]
fn a_directory_is_data_where_it_holds_images_and_refused_where_not() {
    let folder = tempfile::tempdir().unwrap();
    let line = format!("train kmeans --clusters 1 --data {}", folder.path().display());
    assert!(stderr(&slackline(&line)).contains("a directory without train-images…, expected a file"));
    let two_images = [0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 1, 3, 5];
    fs::write(folder.path().join("train-images-idx3-ubyte"), two_images).unwrap();
    let output = slackline(&line);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}
