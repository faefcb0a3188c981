//! Nodes that do not fit, and a launcher that dies: everything ends within seconds and says why.

use std::time::{Duration, Instant};

use crate::field::{Field, data, free_port, nodes, ratings, until};

/// Everything is over long before patience ends.
const SECONDS: Duration = Duration::from_secs(15);

#[test]
fn the_nodes_of_a_launcher_that_is_killed_end() {
    let field = Field::new();
    field.write("t.yaml", &format!("{}out: run\n{}", ratings(100_000), nodes(&["a", "b", "c"])));
    let mut launched = field.start("launch t.yaml");
    field.training("run", 20, "c");
    assert_eq!(field.processes().len(), 4);
    launched.child.kill().unwrap();
    launched.child.wait().unwrap();
    until("all nodes end", || field.processes().is_empty());
}

#[test]
fn a_node_whose_data_is_missing_ends_everything_and_is_named() {
    let field = Field::new();
    let start = Instant::now();
    // By hand, so that the launcher does not see before it starts that the file is not there.
    let text = format!(
        "{}out: run\nnodes:\n  - {{name: a, address: \"127.0.0.1:{}\"}}\n  - {{name: b, start: manual}}\n",
        ratings(100),
        free_port()
    );
    field.write("t.yaml", &text);
    let launched = field.start("launch t.yaml");
    launched.says("by hand: slackline node t.yaml --name b --lead ");
    let said = launched.said();
    let lead = said.split("--lead ").nth(1).unwrap().split_whitespace().next().unwrap();
    let node = field.run(&format!("node t.yaml --name b --lead {lead} --data none.tsv"));
    assert_eq!(node.code, 3, "{}", node.said);
    let ended = launched.end();
    assert_ne!(ended.code, 0);
    assert!(ended.said.contains("node b: none.tsv: No such file"), "{}", ended.said);
    assert!(start.elapsed() < SECONDS, "{}", ended.said);
    field.is_left_clean("run");
}

#[test]
fn a_node_with_other_data_is_refused_with_the_reason() {
    let field = Field::new();
    let start = Instant::now();
    let nodes = "nodes:\n  - name: a\n  - {name: b, data: other.tsv}\n";
    let ratings_of_others =
        std::fs::read_to_string(data("ratings.train.tsv")).unwrap().replace("\t5\n", "\t4\n");
    field.write("other.tsv", &ratings_of_others);
    field.write("t.yaml", &format!("{}out: run\n{nodes}", ratings(100)));
    let ended = field.run("launch t.yaml");
    assert_eq!(ended.code, 1, "{} {}", ended.printed, ended.said);
    assert!(ended.said.contains("node b has another job"), "{}", ended.said);
    assert!(ended.said.contains("do both read the same data"), "{}", ended.said);
    assert!(start.elapsed() < SECONDS, "{}", ended.said);
    field.is_left_clean("run");
}
