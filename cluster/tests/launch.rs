//! Clusters from outside: the launcher and its processes, over the app of `examples/own_app.rs`. What nodes do together
//! when some of them die, join or leave is tested in `cluster/`.

#![allow(clippy::unwrap_used)] // the lint lets tests unwrap, but not the functions beside them

mod launched;
mod place;

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use launched::{Launched, alive, free_port, pids, program, record, slow, wait_until};
use place::{Place, failure, signal, stderr, stdout};
use serde_json::Value;

/// Two quick nodes.
fn quick() -> String {
    format!(
        "app: mean\ndata: numbers.txt\nsteps: 5\nnodes:\n  - name: a\n    address: 127.0.0.1:{}\n  - name: b\n",
        free_port()
    )
}

#[test]
fn a_launch_ends_with_one_summary_and_leaves_nothing_behind() {
    let place = Place::new();
    place.write("t.yaml", &quick());
    let output = place.run("launch t.yaml --out runs/1");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("kept in    runs/1"), "{}", stdout(&output));
    assert_eq!(stdout(&output).matches("objective").count(), 1);
    let summary = place.json("runs/1/summary.json");
    assert_eq!((summary["app"].as_str(), summary["config"]["workers"].as_u64()), (Some("mean"), Some(2)));
    assert!(!place.path("runs/1/cluster.json").exists());
    let held = failure(&place.run("launch t.yaml --out runs/1"));
    assert_eq!(held.0, 1);
    assert!(held.1.contains("node a: runs/1: holds a run already"), "{}", held.1);
    assert_eq!(place.run("launch t.yaml --out runs/1 --force --quiet").status.code(), Some(0));
}

#[test]
fn json_tells_programs_of_every_process_and_the_summary_comes_last() {
    let place = Place::new();
    place.write("t.yaml", &quick());
    let output = place.run("launch t.yaml --json");
    let text = stdout(&output);
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let events: Vec<_> = lines.iter().map(|line| line["event"].as_str().unwrap()).collect();
    assert_eq!(&events[..3], ["node", "listening", "node"], "{text}");
    assert_eq!(events.iter().filter(|event| **event == "progress").count(), 5);
    assert!(events.contains(&"summary"), "{text}");
    let quiet = place.run("launch t.yaml --json --quiet");
    assert_eq!(stdout(&quiet).lines().count(), 1, "{}", stdout(&quiet));
    assert!(stdout(&quiet).starts_with(r#"{"event":"summary""#));
}

#[test]
fn a_topology_that_is_wrong_is_refused_before_anything_starts() {
    let place = Place::new();
    let said = |text: &str| {
        place.write("t.yaml", text);
        failure(&place.run("launch t.yaml --out run"))
    };
    let head = "app: mean\ndata: numbers.txt\n";
    let expected = |text: &str| (2, format!("slackline: t.yaml:{text}"));
    assert_eq!(
        said(&format!("{head}nodes:\n  - name: a\n    shrads: 1\n")),
        expected("5: shrads is not a key of a node; did you mean shards?")
    );
    assert_eq!(
        said(&format!("{head}stpes: 3\nnodes: [{{name: a}}]\n")),
        expected("3: stpes is not an option of mean; did you mean steps?")
    );
    assert_eq!(said("app: mean\nnodes: [{name: a}]\n").0, 2);
    assert_eq!(said("app: mean\ndata: none.txt\nnodes: [{name: a}]\n").0, 3);
    let open = format!("{head}nodes:\n  - name: a\n    address: 10.0.0.5:7077\n");
    let (code, sentence) = said(&open);
    assert_eq!(code, 2);
    for part in ["node a listens on 10.0.0.5:7077, off loopback, without a token", "head -c 32 /dev/urandom"]
    {
        assert!(sentence.contains(part), "{sentence}");
    }
    assert!(failure(&place.run("node t.yaml --name a")).1.contains("off loopback, without a token"));
    place.write("t.yaml", &quick());
    let elsewhere = failure(&place.run("node t.yaml --name a --listen 10.0.0.5:7077"));
    assert!(elsewhere.1.contains("node a listens on 10.0.0.5:7077, off loopback"), "{}", elsewhere.1);
    let nobody = failure(&place.run("node t.yaml --name c"));
    assert_eq!(nobody, (2, "slackline: t.yaml has no node called c; its nodes are a, b".into()));
    let short =
        place.command("node t.yaml --name a").env("SLACKLINE_TOKEN", "hunter2hunter").output().unwrap();
    assert_eq!(failure(&short).0, 2);
    assert!(!stderr(&short).contains("hunter2"), "a token is never shown");
    let by_hand = format!("{head}nodes:\n  - {{name: a, start: manual, address: \"127.0.0.1:7077\"}}\n");
    assert!(said(&by_hand).1.ends_with("run `slackline node t.yaml --name a` there instead"));
}

#[test]
fn a_node_that_cannot_start_ends_everything_and_is_named() {
    let place = Place::new();
    let text = slow(free_port()).replace("pause: 10", "delay: 60000");
    place.write("t.yaml", &format!("{text}    command: ./none\n"));
    let (code, said) = failure(&place.run("launch t.yaml --out run --quiet"));
    assert_eq!(code, 1);
    assert!(said.contains("node b cannot be started: ./none: No such file or directory"), "{said}");
    assert!(!place.path("run/cluster.json").exists());

    place.write("words.txt", "1\ntwo\n");
    place.write(
        "t.yaml",
        &format!("{text}    start: ssh\n    ssh: me@here\n    address: 127.0.0.1\n    data: words.txt\n"),
    );
    let stand_in = "#!/bin/sh\necho 'me@here: Permission denied' >&2\nexit 255\n";
    let output = launched::with_stand_in(&place, "ssh", stand_in, "launch t.yaml --quiet");
    let (code, said) = failure(&output);
    assert_eq!(code, 1);
    assert!(said.contains("node b: the connection by ssh broke: me@here: Permission denied"), "{said}");
}

#[test]
fn bad_data_on_one_node_ends_everything_with_its_exit_code() {
    let place = Place::new();
    place.write("words.txt", "1\ntwo\n");
    let text = slow(free_port()).replace("pause: 10", "delay: 60000");
    place.write("t.yaml", &format!("{text}    data: words.txt\n"));
    let (code, said) = failure(&place.run("launch t.yaml --quiet"));
    assert_eq!((code, said.as_str()), (3, "slackline: node b: words.txt:2: \"two\" is not a number"));
}

#[test]
fn a_launcher_that_is_killed_takes_its_nodes_with_it() {
    let place = Place::new();
    place.write("t.yaml", &slow(free_port()));
    let mut launched = Launched::start(&place, "launch t.yaml --out run");
    let pids = pids(&place, 2);
    assert!(pids.iter().all(|pid| alive(*pid)));
    launched.0.kill().unwrap();
    launched.0.wait().unwrap();
    wait_until("the nodes end", || pids.iter().all(|pid| !alive(*pid)));

    let (code, said) = failure(&place.run("status run"));
    assert_eq!(code, 1);
    assert!(said.contains("nothing runs there: the launch of t (process"), "{said}");
    assert!(failure(&place.run("stop t.yaml")).1.contains("is gone and left"), "the topology knows it too");
    place.write("t.yaml", &quick());
    assert_eq!(place.run("launch t.yaml --out run --force --quiet").status.code(), Some(0));
    assert!(!place.path("run/cluster.json").exists(), "the next launch replaces what was left");
}

#[test]
fn the_token_of_a_run_is_in_no_command_line_and_no_environment() {
    let place = Place::new();
    place.write("t.yaml", &slow(free_port()));
    let launched = Launched::start(&place, "launch t.yaml --out run");
    let pids = pids(&place, 2);
    let token = record(&place)["token"].as_str().unwrap().to_owned();
    assert_eq!(token.len(), 64);
    let mode = fs::metadata(place.path("run/cluster.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    for pid in pids {
        for file in ["cmdline", "environ"] {
            let text = fs::read(format!("/proc/{pid}/{file}")).unwrap();
            assert!(!String::from_utf8_lossy(&text).contains(&token), "{file}");
        }
    }
    let twice = failure(&place.run("launch t.yaml --out run"));
    assert!(twice.1.contains("a launch is under way there"), "{}", twice.1);
    drop(launched);
}

#[test]
fn ctrl_c_stops_at_a_clock_and_keeps_what_there_is() {
    for (name, code) in [("INT", 130), ("TERM", 143)] {
        let place = Place::new();
        place.write("t.yaml", &slow(free_port()));
        let launched = Launched::start(&place, "launch t.yaml --out run");
        pids(&place, 2);
        signal(&launched.0, name);
        let output = launched.output();
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        assert_eq!(place.json("run/summary.json")["stopped"].as_bool(), Some(true));
        assert!(stdout(&output).contains("stopped early"));
    }
}

#[test]
fn a_second_interrupt_kills_every_node() {
    let place = Place::new();
    place.write("t.yaml", &slow(free_port()).replace("pause: 10", "pause: 60000"));
    let launched = Launched::start(&place, "launch t.yaml --out run");
    let pids = pids(&place, 2);
    signal(&launched.0, "INT");
    std::thread::sleep(Duration::from_millis(300));
    signal(&launched.0, "INT");
    assert_eq!(launched.output().status.code(), Some(130));
    assert!(pids.iter().all(|pid| !alive(*pid)));
}

#[test]
fn a_follower_that_is_killed_is_named_and_the_run_goes_on() {
    let place = Place::new();
    place.write("t.yaml", &slow(free_port()).replace("steps: 6000", "steps: 150"));
    let launched = Launched::start(&place, "launch t.yaml --out run");
    let pids = pids(&place, 2);
    launched::kill(pids[1]);
    let output = launched.output();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stderr(&output).matches("node b was killed by SIGKILL").count(), 1, "{}", stderr(&output));
}

#[test]
fn a_lead_that_is_killed_is_started_again_where_there_are_checkpoints() {
    let place = Place::new();
    let text = slow(free_port()).replace("steps: 6000", "steps: 150");
    place.write("t.yaml", &format!("checkpoint: {{directory: ck, every: 1s}}\n{text}"));
    let launched = Launched::start(&place, "launch t.yaml --out run");
    let first = pids(&place, 2);
    launched::kill(first[0]);
    wait_until("the lead is back", || {
        record(&place)["nodes"][0]["pid"].as_u64() != Some(u64::from(first[0]))
    });
    let output = launched.output();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains("node a was killed by SIGKILL") && said.contains("(1 of 3)"), "{said}");
    assert_eq!(place.json("run/summary.json")["clocks"].as_u64(), Some(150));

    place.write("t.yaml", &slow(free_port()));
    let launched = Launched::start(&place, "launch t.yaml --out other");
    wait_until("it trains", || {
        fs::metadata(place.path("other/metrics.jsonl")).is_ok_and(|file| file.len() > 0)
    });
    wait_until("it can be found", || place.path("other/cluster.json").exists());
    launched::kill(place.json("other/cluster.json")["nodes"][0]["pid"].as_u64().unwrap() as u32);
    let (code, said) = failure(&launched.output());
    assert_eq!(code, 1);
    assert!(said.contains("node a was killed by SIGKILL") && said.contains("with `checkpoint:"), "{said}");
}

#[test]
fn a_node_over_ssh_gets_the_topology_and_its_data_through_the_pipe() {
    let place = Place::new();
    fs::create_dir(place.path("there")).unwrap();
    let text = quick().replace("steps: 5", "steps: 200\npause: 10\nstream-data: true");
    let ssh = "    ssh: me@here\n    address: 127.0.0.1\n    env: {MARK: \"it's b\"}\n";
    place.write("t.yaml", &format!("{text}{ssh}    command: {}\n", program()));
    // Another machine has another directory, where no topology and no data is.
    let stand_in = "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\ncd there && eval \"$3\"\n";
    let output = launched::with_stand_in(&place, "ssh", stand_in, "launch t.yaml --out run");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(place.json("run/summary.json")["clocks"].as_u64(), Some(200));
    assert!(!stderr(&output).contains("node b is lost"), "{}", stderr(&output));
}

#[test]
fn a_node_by_hand_is_waited_for_with_the_command_to_run() {
    let place = Place::new();
    let port = free_port();
    let text = slow(port).replace("steps: 6000", "steps: 20");
    place.write("t.yaml", &format!("{text}    start: manual\n"));
    let mut launched = Launched::start(&place, "launch t.yaml");
    let mut said = BufReader::new(launched.0.stderr.take().unwrap()).lines();
    let command = format!("node t.yaml --name b --lead 127.0.0.1:{port}");
    let line = format!("by hand: slackline {command}");
    assert!(said.any(|said| said.unwrap().ends_with(&line)), "{line} is not said");
    let by_hand = place.run(&command);
    assert_eq!(by_hand.status.code(), Some(0), "{}", stderr(&by_hand));
    said.for_each(drop);
    assert_eq!(launched.output().status.code(), Some(0));
}

#[test]
fn a_leashed_node_ends_with_its_input() {
    let place = Place::new();
    place.write("t.yaml", &slow(free_port()));
    let mut command = place.command("node t.yaml --name a --leash");
    command.stdin(std::process::Stdio::piped());
    let mut node = Launched::spawn(&mut command);
    let line = node.first_line();
    assert!(line.starts_with(r#"{"event":"listening","listening":"127.0.0.1:"#), "{line}");
    drop(node.0.stdin.take());
    let (code, said) = failure(&node.output());
    assert!(code == 1 && said.starts_with("the launcher is gone: this node ends"), "{code}: {said}");
}

#[test]
fn what_does_not_run_is_said_at_once() {
    let place = Place::new();
    place.write("t.yaml", "app: mean\ndata: numbers.txt\nnodes: [{name: a}]\n");
    let said = |line| failure(&place.run(line));
    let nothing = (1, "slackline: t.yaml: no launch of it is under way on this machine".to_owned());
    assert_eq!(said("status t.yaml"), nothing);
    assert_eq!(said("stop t.yaml"), nothing);
    assert_eq!(said("join t.yaml --workers 2"), nothing);
    assert!(said("status .").1.contains("no launch is under way there"));
    place.write("t.yaml", &quick());
    assert_eq!(said("status t.yaml").0, 1);
    assert!(said("status t.yaml").1.contains("127.0.0.1:"));
    assert_eq!(said("join t.yaml --workers 2 --name b").0, 2, "a node of the topology");
}
