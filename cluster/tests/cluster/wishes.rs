//! A run under way that is asked how it is doing, to stop, and to go on later.

use serde_json::Value;

use crate::field::{Field, as_good, nodes, ratings, signal};

const CHECKPOINTS: &str = "checkpoint: {directory: ck, every: 200ms}\n";

fn two(epochs: u32, head: &str) -> Field {
    let field = Field::new();
    field.write("t.yaml", &format!("{}{head}out: run\n{}", ratings(epochs), nodes(&["a", "b"])));
    field
}

#[test]
fn a_live_cluster_says_how_it_is_doing_and_stops_when_asked() {
    let field = two(100_000, "");
    let launched = field.start("launch t.yaml");
    let pid = field.training("run", 20, "b");
    let asked = field.succeed("status t.yaml --json");
    let status: Value = serde_json::from_str(&asked.printed).unwrap();
    assert_eq!((status["job"].as_str(), status["cluster"].as_str()), (Some("mf"), Some("t")), "{status}");
    assert!(status["clock"].as_u64() > Some(0) && status["objective"].as_f64() > Some(0.0), "{status}");
    let b = &status["nodes"][1];
    assert_eq!((b["name"].as_str(), b["state"].as_str()), (Some("b"), Some("training")), "{status}");
    assert_eq!(
        (b["pid"].as_u64(), b["workers"].as_u64(), b["shards"].as_u64()),
        (Some(pid.into()), Some(1), Some(1))
    );
    assert!(field.succeed("status run").printed.contains("job        mf"));
    field.succeed("stop t.yaml");
    let ended = launched.end();
    assert_eq!(ended.code, 130, "as after Ctrl-C: {}", ended.said);
    assert_eq!(field.json("run/summary.json")["stopped"], true);
    assert!(ended.printed.contains("stopped early"), "{}", ended.printed);
    field.is_left_clean("run");
}

#[test]
fn a_request_to_end_without_checkpoints_keeps_what_there_is() {
    let field = two(100_000, "");
    let launched = field.start("launch t.yaml");
    field.training("run", 20, "b");
    signal(launched.child.id(), "TERM");
    let ended = launched.end();
    assert_eq!(ended.code, 143, "{}", ended.said);
    assert_eq!(field.json("run/summary.json")["stopped"], true);
    field.is_left_clean("run");
}

#[test]
fn a_run_that_was_ended_goes_on_with_resume_to_the_same_quality() {
    let field = two(150, CHECKPOINTS);
    field.succeed("launch t.yaml --out calm");
    let held = field.run("launch t.yaml --out calm");
    assert_eq!(held.code, 1);
    assert!(
        held.said.contains("calm: holds a run already"),
        "the run comes before its checkpoints: {}",
        held.said
    );
    let launched = field.start("launch t.yaml --force");
    field.training("run", 40, "b");
    signal(launched.child.id(), "TERM");
    let ended = launched.end();
    assert_eq!(ended.code, 75, "{}", ended.said);
    assert!(ended.said.contains("--resume goes on from ck/checkpoint-"), "{}", ended.said);
    field.is_left_clean("run");
    let done = field.metrics("run").len();
    assert!((40..150).contains(&done), "{done}");
    let resumed = field.succeed("launch t.yaml --resume");
    assert!(resumed.said.contains("going on from ck/checkpoint-"), "{}", resumed.said);
    as_good(field.objective("run"), field.objective("calm"));
    field.metrics_are_sane("run");
    assert_eq!(field.metrics("run").len(), 150);
}
