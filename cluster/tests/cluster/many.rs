//! Many workers on few cores.

use std::fmt::Write;

use crate::field::{Field, ratings};

/// Far more than there are cores.
#[test]
fn sixty_four_workers_on_eight_nodes_start_train_and_stop_cleanly() {
    let field = Field::new();
    let head = ratings(3).replace("dead: 1s", "dead: 5s");
    let mut text = format!("{head}out: run\nworkers: 8\nnodes:\n");
    (0..8).for_each(|node| writeln!(text, "  - name: n{node}").unwrap());
    field.write("t.yaml", &text);
    let ended = field.succeed("launch t.yaml");
    assert!(!ended.said.contains("lost"), "{}", ended.said);
    let summary = field.json("run/summary.json");
    let workers = summary["workers"].as_array().unwrap();
    assert_eq!(workers.len(), 64, "{summary}");
    (0..8).for_each(|node| {
        let name = format!("n{node}");
        assert_eq!(workers.iter().filter(|worker| worker["node"] == name.as_str()).count(), 8, "{summary}");
    });
    field.metrics_are_sane("run");
    field.is_left_clean("run");
}
