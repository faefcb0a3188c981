//! What trains in one process trains on two, to the same objective.

use crate::field::{Field, as_good, data, nodes};

/// The same job with two workers in one process, and with one on each of two nodes.
fn both(head: &str) -> Field {
    let field = Field::new();
    field.write("one.yaml", &format!("{head}out: one\nworkers: 2\n"));
    field.write("two.yaml", &format!("{head}out: two\nnodes: [{{name: a}}, {{name: b}}]\n"));
    field.succeed("train one.yaml");
    let launched = field.succeed("launch two.yaml");
    assert!(launched.printed.contains("kept in "), "{}", launched.printed);
    assert!(!launched.said.contains("WARN"), "{}", launched.said);
    let summary = field.json("two/summary.json");
    let nodes: Vec<_> = summary["workers"].as_array().unwrap().iter().map(|worker| &worker["node"]).collect();
    assert_eq!(nodes, ["a", "b"], "{summary}");
    assert!(
        summary["workers"].as_array().unwrap().iter().all(|worker| worker["steps"].as_u64() > Some(0)),
        "{summary}"
    );
    field.is_left_clean("two");
    field
}

fn near(field: &Field, share: f64) {
    let (one, two) = (field.objective("one"), field.objective("two"));
    assert!((one - two).abs() <= share * one.abs(), "one process {one}, two {two}");
}

#[test]
fn a_lasso_on_two_nodes_is_certified_as_in_one_process() {
    let tolerance = 1e-6;
    let field = both(&format!(
        "app: lasso\ndata: {}\nlambda-ratio: 0.01\ntol: {tolerance}\nseed: 1\n",
        data("diabetes.svm")
    ));
    near(&field, 2.0 * tolerance);
}

#[test]
fn a_logistic_regression_under_bsp_is_the_same_on_two_nodes() {
    let field = both(&format!(
        "app: logistic\ndata: {}\nl1: 0.001\nconsistency: bsp\nseed: 1\n",
        data("mushrooms.train.svm.zst")
    ));
    near(&field, 1e-5);
}

#[test]
fn factors_on_two_nodes_are_as_good_as_in_one_process() {
    let field = both(&format!(
        "app: mf\ndata: {}\nrank: 3\nepochs: 40\nl2: 0.5\nseed: 1\n",
        data("ratings.train.tsv")
    ));
    as_good(field.objective("two"), field.objective("one"));
}

#[test]
fn least_squares_on_two_nodes_have_the_objective_of_one_process() {
    for implicit in ["", "implicit: true\n"] {
        let field = both(&format!(
            "app: mf\nmethod: als\n{implicit}data: {}\nrank: 3\nepochs: 8\nseed: 1\n",
            data("ratings.train.tsv")
        ));
        near(&field, 1e-9);
    }
}

#[test]
fn under_every_consistency_two_nodes_keep_what_is_promised() {
    for consistency in ["bsp", "ssp:2", "essp:2", "\"bounded_error:0.05,2\"", "\"adaptive:0,3\"", "async"] {
        let field = Field::new();
        let data = data("mushrooms.train.svm.zst");
        let job =
            format!("app: logistic\ndata: {data}\nl1: 0.001\nconsistency: {consistency}\naudit: true\n");
        field.write("t.yaml", &format!("{job}{}", nodes(&["a", "b"])));
        field.succeed("launch t.yaml --out run --quiet");
        field.is_proved("run");
    }
}
