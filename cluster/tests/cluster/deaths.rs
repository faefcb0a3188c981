//! Nodes that are killed: the run ends with the quality of an undisturbed one, and its record proves what was promised.

use crate::field::{Ended, Field, as_good, nodes, ratings, signal, until};

const EPOCHS: u32 = 200;

/// A run with two workers in one process, to compare with.
fn undisturbed(field: &Field) -> f64 {
    let text: String = ratings(EPOCHS)
        .lines()
        .filter(|line| !line.starts_with("timing"))
        .map(|line| format!("{line}\n"))
        .collect();
    field.write("calm.yaml", &format!("{text}out: calm\nworkers: 2\n"));
    field.succeed("train calm.yaml");
    field.objective("calm")
}

/// Kills a node of a run of three while it trains, and waits for the end, which must be a good one.
fn killed(head: &str, node: &str) -> (Field, Ended) {
    let field = Field::new();
    let calm = undisturbed(&field);
    field.write(
        "t.yaml",
        &format!("{}{head}audit: true\nout: run\n{}", ratings(EPOCHS), nodes(&["a", "b", "c"])),
    );
    let launched = field.start("launch t.yaml");
    let pid = field.training("run", 40, node);
    if head.contains("checkpoint") {
        until("a checkpoint", || {
            // Only the newest two are kept, so not a certain one.
            std::fs::read_dir(field.path("ck")).is_ok_and(|files| {
                files.flatten().any(|file| file.file_name().to_string_lossy().starts_with("checkpoint-"))
            })
        });
    }
    signal(pid, "KILL");
    let ended = launched.end();
    assert_eq!(ended.code, 0, "{}", ended.said);
    assert!(ended.said.contains(&format!("node {node} was killed by SIGKILL")), "{}", ended.said);
    as_good(field.objective("run"), calm);
    field.metrics_are_sane("run");
    field.is_left_clean("run");
    field.is_proved("run");
    (field, ended)
}

#[test]
fn with_replicas_the_death_of_a_node_costs_nothing_but_its_worker() {
    let (field, ended) = killed("replicas: 1\n", "b");
    assert!(ended.said.contains("node b is lost ("), "{}", ended.said);
    assert!(ended.said.contains("its parts are handed out again"), "{}", ended.said);
    assert!(
        !ended.said.contains("going on from") && !ended.said.contains("beginning again"),
        "{}",
        ended.said
    );
    assert_eq!(field.metrics("run").len(), EPOCHS as usize, "{}", ended.said);
}

#[test]
fn without_replicas_the_run_goes_back_to_its_checkpoint() {
    let (_, ended) = killed("checkpoint: {directory: ck, every: 100ms}\n", "b");
    assert!(ended.said.contains("the run goes back to its last checkpoint"), "{}", ended.said);
    assert!(ended.said.contains("going on from ck/checkpoint-"), "{}", ended.said);
}

#[test]
fn with_neither_the_run_begins_again() {
    let (field, ended) = killed("", "c");
    assert!(ended.said.contains("the run begins again from its start"), "{}", ended.said);
    assert!(ended.said.contains("beginning again from the start"), "{}", ended.said);
    assert_eq!(field.metrics("run").len(), EPOCHS as usize);
}

#[test]
fn a_lead_that_is_killed_is_started_again_and_the_run_ends_as_if_nothing_had_been() {
    let (field, ended) = killed("checkpoint: {directory: ck, every: 100ms}\n", "a");
    assert!(ended.said.contains("started again from the last checkpoint (1 of 3)"), "{}", ended.said);
    assert!(ended.said.contains("going on from ck/checkpoint-"), "{}", ended.said);
    assert_eq!(field.metrics("run").len(), EPOCHS as usize, "{}", ended.said);
    let summary = field.json("run/summary.json");
    let workers = summary["workers"].as_array().unwrap();
    let names: Vec<_> = workers.iter().map(|worker| worker["node"].as_str().unwrap_or_default()).collect();
    assert_eq!(names, ["a", "b", "c"], "{summary}");
}
