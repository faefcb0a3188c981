//! Those who come to the port and do not belong there.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use crate::field::{Field, Live, nodes, ratings};

#[test]
fn garbage_at_the_port_costs_a_line_and_nothing_else() {
    let field = Field::new();
    field.write("t.yaml", &format!("{}out: run\n{}", ratings(150), nodes(&["a", "b"])));
    let launched = field.start("launch t.yaml");
    field.training("run", 20, "b");
    let record: Value = field.json("run/cluster.json");
    let lead = record["lead"].as_str().unwrap();
    let connect = || {
        let stream = TcpStream::connect(lead).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream
    };
    drop(connect());
    let mut browser = connect();
    browser.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = browser.read_to_end(&mut answer); // it may be reset: what it sent was not all read
    launched.says("refused a connection: it speaks another protocol: it began with \"G");
    drop(connect());
    let ended = launched.end();
    assert_eq!(ended.code, 0, "{}", ended.said);
    assert_eq!(ended.said.matches("refused a connection").count(), 1, "{}", ended.said);
    assert_eq!(field.metrics("run").len(), 150);
}

#[test]
fn a_node_with_another_token_is_refused_and_off_loopback_there_must_be_one() {
    let field = Field::new();
    let open = "nodes:\n  - {name: a, address: \"10.0.0.5:7077\"}\n  - name: b\n";
    field.write("open.yaml", &format!("{}{open}", ratings(10)));
    let refused = field.run("launch open.yaml");
    assert_eq!(refused.code, 2, "{}", refused.said);
    assert!(
        refused.said.contains("node a listens on 10.0.0.5:7077, off loopback, without a token"),
        "{}",
        refused.said
    );

    field.write("t.yaml", &format!("{}out: run\n{}", ratings(150), nodes(&["a", "b"])));
    let launched = field.start("launch t.yaml");
    field.training("run", 20, "b");
    let record: Value = field.json("run/cluster.json");
    let line = format!("join t.yaml --name c --lead {}", record["lead"].as_str().unwrap());
    let elsewhere = Field::beside(&field);
    elsewhere.write("t.yaml", &format!("{}{}", ratings(150), nodes(&["a", "b"])));
    let mut stranger = elsewhere.command(&line);
    stranger.env("SLACKLINE_TOKEN", "a token that is none of theirs");
    let stranger = Live::new(&mut stranger, &line).end();
    assert_eq!(stranger.code, 1, "{}", stranger.said);
    assert!(stranger.said.contains("token"), "{}", stranger.said);
    let ended = launched.end();
    assert_eq!(ended.code, 0, "{}", ended.said);
    assert!(!ended.said.contains("node c has come"), "{}", ended.said);
}
