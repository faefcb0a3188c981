//! Topologies as they are written, and how what is wrong with them is said.

use super::*;

const JOB: &str = "app: mf\ndata: a.tsv\n";

fn read(text: &str) -> Result<Topology, Error> {
    Topology::from_text("t.yaml", &format!("{JOB}{text}"))
}

fn refusal(text: &str) -> String {
    let refused = read(text).and_then(|topology| {
        topology.job(slackline_apps::catalog::apps(), std::iter::empty())?;
        Ok(topology)
    });
    refused.expect_err(text).to_string()
}

#[test]
fn nodes_and_defaults_make_a_cluster() {
    let topology =
        read("workers: 2\nrank: 3\nnodes:\n  - name: a\n  - {name: b, workers: 3, shards: 0}\n").unwrap();
    assert_eq!((topology.cluster.as_str(), topology.replicas), ("t", 0));
    assert_eq!((topology.lead().name.as_str(), topology.workers()), ("a", 5));
    assert_eq!(topology.lead().address.to_string(), "127.0.0.1:0");
    assert_eq!(topology.others().map(|node| node.shards).collect::<Vec<_>>(), [0]);
    let (app, settings) = topology.job(slackline_apps::catalog::apps(), std::iter::empty()).unwrap();
    assert_eq!((app.name(), settings.request.workers), ("mf", 5));
    assert_eq!(settings.request.options["rank"], "3");

    let topology = read(
        "cluster: big\nreplicas: 1\ncheckpoint: {directory: ck, every: 1.5s}\ntiming: {pulse: 100ms, dead: 1s}\n\
         nodes: [{name: a}, {name: b, scheduler: true}]\n",
    )
    .unwrap();
    assert_eq!((topology.cluster.as_str(), topology.lead().name.as_str()), ("big", "b"));
    assert_eq!(topology.checkpoint.unwrap().every, Duration::from_millis(1500));
    assert_eq!(topology.timing.pulse, Duration::from_millis(100));
    assert_eq!(topology.timing.patience, Timing::default().patience);
}

#[test]
fn an_unknown_key_names_its_line_and_the_nearest_known_one() {
    assert_eq!(refusal("nodse: []\n"), "t.yaml:3: nodse is not a key of a topology; did you mean nodes?");
    assert_eq!(
        refusal("nodes:\n  - name: a\n    wrokers: 2\n"),
        "t.yaml:5: wrokers is not a key of a node; did you mean workers?"
    );
    assert_eq!(
        refusal("replcas: 1\nnodes: [{name: a}]\n"),
        "t.yaml:3: replcas is not an option of mf; did you mean replicas?"
    );
    assert_eq!(
        refusal("checkpoint:\n  directory: ck\n  evrey: 2s\nnodes: [{name: a}]\n"),
        "t.yaml:5: evrey is not a key of checkpoint; did you mean every?"
    );
    assert!(refusal("").starts_with("t.yaml has no nodes: add `nodes:`"));
}

#[test]
fn every_value_is_checked_as_it_was_written() {
    let node = |fields: &str| refusal(&format!("nodes:\n  - name: a\n    {fields}\n"));
    assert_eq!(node("workers: 2.7"), "t.yaml:5: workers is 2.7, must be a whole number from 0 to 1024");
    assert_eq!(node("start: by-hand"), "t.yaml:5: start is by-hand, must be local, ssh or manual");
    assert!(node("address: 10.0.0.300:7").starts_with("t.yaml:5: address is 10.0.0.300:7, must be a host"));
    assert!(node("address: 0.0.0.0:7077").contains("that others can reach"));
    assert!(node("address: a:99999").starts_with("t.yaml:5: address is a:99999, must be"));
    assert!(
        node("ssh: -oProxyCommand=x").starts_with("t.yaml:5: ssh is -oProxyCommand=x, must be user@host")
    );
    assert!(node("env: {SLACKLINE_TOKEN: abc}").contains("the token must not be in the file"));
    assert_eq!(node("lead: yes"), "t.yaml:5: lead is yes, must be true or false");
    let top = |field: &str| refusal(&format!("{field}\nnodes: [{{name: a}}]\n"));
    let time = "must be a time such as 500ms, 30s, 5m or 1h";
    assert_eq!(top("timing: {pulse: 250}"), format!("t.yaml:3: pulse is 250, {time}"));
    assert_eq!(top("timing: {pulse: 0s}"), format!("t.yaml:3: pulse is 0s, {time}"));
    assert_eq!(
        top("timing: {pulse: 2s}"),
        "t.yaml:3: dead is 2s, must be at least twice the pulse, which is 2s"
    );
    assert_eq!(top("replicas: 2"), "t.yaml:3: replicas is 2, must be a whole number from 0 to 1");
    assert!(top("tls: {key: k}").contains("tls has no certificate: add `certificate: FILE` (PEM)"));
    assert!(top("checkpoint: {every: 2s}").contains("checkpoint has no directory"));
    assert!(top("nodes: []").contains("the key nodes is given twice"));
    assert!(refusal("nodes:\n  - name: a b\n").starts_with("t.yaml:4: name is a b, must be 1 to 63 letters"));
    assert!(refusal("nodes: a\n").starts_with("t.yaml:3: nodes is not a list, must be a list"));
    assert!(refusal("nodes: [a]\n").starts_with("t.yaml:3: a node is a plain value, must be a mapping"));
}

#[test]
fn nodes_that_cannot_be_one_cluster_are_refused() {
    let nodes = |lines: &str| refusal(&format!("nodes:\n{lines}"));
    assert!(nodes("  - name: a\n  - name: a\n").starts_with("t.yaml:5: node a is there twice"));
    assert!(
        nodes("  - {name: a, lead: true}\n  - {name: b, lead: true}\n")
            .starts_with("t.yaml:5: a second node leads")
    );
    assert!(nodes("  - {name: a, workers: 0}\n").ends_with("no node has workers; at least one must"));
    assert!(nodes("  - {name: a, shards: 0}\n").ends_with("no node has shards; at least one must"));
    assert!(
        nodes("  - name: a\n  - {name: b, workers: 0, shards: 0}\n").contains("node b has neither workers")
    );
    assert!(nodes("  []\n").contains("nodes is empty"));
    assert!(
        refusal("replicas: 1\nnodes: [{name: a}]\n").starts_with("t.yaml:3: replicas is 1, must be 0 where")
    );
    assert_eq!(
        nodes("  - name: a\n  - {name: b, start: manual}\n"),
        "t.yaml:4: node a leads, and node b is started by hand: give the lead a fixed address, such as `address: \
         127.0.0.1:7077`"
    );
    assert!(
        nodes("  - {name: a, address: \"127.0.0.1:7077\"}\n  - {name: b, ssh: me@10.0.0.7}\n")
            .starts_with("t.yaml:4: node a leads and listens on 127.0.0.1:7077, which node b cannot reach")
    );
    assert!(nodes("  - {name: a, start: ssh}\n").contains("add `ssh: user@host`"));
    let twice = "  - {name: a, address: \"127.0.0.1:7\"}\n  - {name: b, address: \"127.0.0.1:7\"}\n";
    assert!(nodes(twice).contains("node b has the address 127.0.0.1:7 of node a; give it another port"));
}

#[test]
fn a_node_over_ssh_is_where_its_host_is() {
    let text = "nodes:\n  - {name: a, address: \"10.0.0.5:7077\"}\n  - {name: b, ssh: me@10.0.0.7}\n";
    let topology = read(text).unwrap();
    let b = topology.node("b").unwrap();
    assert_eq!((b.address.to_string(), &b.start), ("10.0.0.7:0".into(), &Start::Ssh("me@10.0.0.7".into())));
    let refused = check_open("t.yaml", "a", &topology.lead().address, false).unwrap_err().to_string();
    assert!(
        refused
            .starts_with("t.yaml: node a listens on 10.0.0.5:7077, off loopback, without a token: make one")
    );
    assert!(topology.node("c").unwrap_err().to_string().ends_with("its nodes are a, b"));
}

#[test]
fn what_the_environment_cannot_say_is_refused() {
    let topology = read("nodes: [{name: a}]\n").unwrap();
    let variables = [("SLACKLINE__WORKERS".into(), "3".into())];
    let refused = topology
        .job(slackline_apps::catalog::apps(), variables.into_iter())
        .err()
        .expect("a refusal")
        .to_string();
    assert!(refused.starts_with("SLACKLINE__WORKERS has no say in a cluster"));
}
