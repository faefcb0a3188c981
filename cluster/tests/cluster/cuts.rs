//! Nodes that are cut off: for a moment, which costs nothing, and for so long that they are taken to be dead.

use std::time::Duration;

use crate::field::{Field, nodes, ratings, signal, until};

fn three(epochs: u32) -> Field {
    let field = Field::new();
    let text = format!("{}replicas: 1\nout: run\n{}", ratings(epochs), nodes(&["a", "b", "c"]));
    field.write("t.yaml", &text);
    field
}

#[test]
fn a_node_that_is_cut_off_too_long_ends_by_itself_and_the_run_goes_on() {
    let field = three(250);
    let launched = field.start("launch t.yaml");
    let pid = field.training("run", 20, "b");
    signal(pid, "STOP");
    launched.says("node b is lost (");
    let before = field.metrics("run").len();
    until("the run goes on", || field.metrics("run").len() > before + 5);
    signal(pid, "CONT");
    until("node b ends", || !field.processes().contains(&pid));
    let ended = launched.end();
    assert_eq!(ended.code, 0, "{}", ended.said);
    let told = "node b: the lead refuses this node: ";
    assert_eq!(ended.said.matches(told).count(), 1, "{}", ended.said);
    assert!(ended.said.contains("taken to be dead"), "{}", ended.said);
    field.metrics_are_sane("run");
    assert_eq!(field.metrics("run").len(), 250);
    field.is_left_clean("run");
}

#[test]
fn a_node_that_is_cut_off_for_a_moment_loses_nothing() {
    let field = three(200);
    let launched = field.start("launch t.yaml");
    let pid = field.training("run", 20, "b");
    for _ in 0..2 {
        signal(pid, "STOP");
        std::thread::sleep(Duration::from_millis(400));
        signal(pid, "CONT");
        std::thread::sleep(Duration::from_millis(200));
    }
    let ended = launched.end();
    assert_eq!(ended.code, 0, "{}", ended.said);
    assert!(!ended.said.contains("lost") && !ended.said.contains("going on from"), "{}", ended.said);
    field.metrics_are_sane("run");
    assert_eq!(field.metrics("run").len(), 200);
    let summary = field.json("run/summary.json");
    let steps: u64 =
        summary["workers"].as_array().unwrap().iter().map(|w| w["steps"].as_u64().unwrap()).sum();
    let config = &summary["config"];
    let cells = config["parts"].as_u64().unwrap() * config["blocks"].as_u64().unwrap();
    let evaluations = 201 * config["parts"].as_u64().unwrap();
    assert!(
        (200 * cells..=200 * cells + evaluations).contains(&steps),
        "{steps} steps, {cells} cells: {summary}"
    );
}
