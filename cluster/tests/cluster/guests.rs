//! Workers that join a run and leave it.

use serde_json::Value;

use crate::field::{Field, nodes, ratings, signal, until};

fn status(field: &Field) -> Value {
    let asked = field.succeed("status t.yaml --json");
    serde_json::from_str(&asked.printed).unwrap()
}

#[test]
fn a_node_that_joins_works_until_it_is_asked_to_leave() {
    let field = Field::new();
    field.write("t.yaml", &format!("{}out: run\n{}", ratings(400), nodes(&["a", "b"])));
    let launched = field.start("launch t.yaml");
    field.training("run", 20, "b");
    let guest = field.start("join t.yaml --workers 2 --name c");
    until("the guest trains", || {
        let status = status(&field);
        let nodes = status["nodes"].as_array().unwrap();
        nodes.iter().any(|node| node["name"] == "c" && node["state"] == "training" && node["workers"] == 2)
    });
    let before = field.metrics("run").len();
    until("the run goes on", || field.metrics("run").len() > before + 30);
    signal(guest.child.id(), "TERM");
    let left = guest.end();
    assert_eq!(left.code, 143, "{}", left.said);
    let ended = launched.end();
    assert_eq!(ended.code, 0, "{}", ended.said);
    assert!(
        ended.said.contains("node c has come") && ended.said.contains("node c has left"),
        "{}",
        ended.said
    );
    assert!(!ended.said.contains("lost") && !ended.said.contains("beginning again"), "{}", ended.said);
    let summary = field.json("run/summary.json");
    let of_guest = |worker: &&Value| worker["node"] == "c" && worker["steps"].as_u64() > Some(0);
    assert_eq!(summary["workers"].as_array().unwrap().iter().filter(of_guest).count(), 2, "{summary}");
    field.metrics_are_sane("run");
    assert_eq!(field.metrics("run").len(), 400);
    field.is_left_clean("run");
}
