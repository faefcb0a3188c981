//! A topology as YAML again, with its nodes named and placed as a scheduler of machines will have them.

use std::fmt::Write;

use super::Topology;
use super::nodes::{Address, Node};
use super::tree::{Kind, Tree};

/// A node under the name and at the address that it will have.
pub(crate) struct Renamed<'a> {
    pub(crate) node: &'a Node,
    pub(crate) name: String,
    pub(crate) address: Address,
}

/// The topology with `nodes` in place of its own (the lead first) and without what belongs to this machine: who starts
/// them, and where the token is.
pub(crate) fn rewritten(topology: &Topology, nodes: &[Renamed<'_>]) -> String {
    let mut text = format!("cluster: {}\n", topology.cluster);
    let tree = Tree::read(&topology.text).map(|tree| tree.kind);
    let Ok(Kind::Mapping(entries)) = tree else { return text }; // it has been read before
    let ours = ["cluster", "nodes", "workers", "token-file", "stream-data"];
    for entry in entries.iter().filter(|entry| !ours.contains(&entry.key.as_str())) {
        field(&mut text, 0, &entry.key, &entry.value);
    }
    text.push_str("nodes:\n");
    for (index, Renamed { node, name, address }) in nodes.iter().enumerate() {
        let lead = if index == 0 { "\n    lead: true" } else { "" };
        let _ = writeln!(text, "  - name: {name}{lead}\n    address: \"{address}\"\n    start: manual");
        let _ = writeln!(text, "    workers: {}\n    shards: {}", node.workers, node.shards);
        if let Some(data) = &node.data {
            let _ = writeln!(text, "    data: {}", quoted(&data.to_string_lossy()));
        }
    }
    text
}

fn field(text: &mut String, indent: usize, key: &str, value: &Tree) {
    let _ = write!(text, "{:indent$}{key}:", "");
    match &value.kind {
        Kind::Plain { .. } => {
            let _ = writeln!(text, " {}", plain(&value.kind));
        }
        Kind::List(items) if items.is_empty() => text.push_str(" []\n"),
        Kind::Mapping(entries) if entries.is_empty() => text.push_str(" {}\n"),
        _ => {
            text.push('\n');
            block(text, indent + 2, value);
        }
    }
}

fn block(text: &mut String, indent: usize, value: &Tree) {
    match &value.kind {
        Kind::Mapping(entries) => {
            entries.iter().for_each(|entry| field(text, indent, &entry.key, &entry.value));
        }
        Kind::List(items) => items.iter().for_each(|item| {
            let mut inner = String::new();
            block(&mut inner, indent + 2, item);
            let _ = write!(text, "{:indent$}- {}", "", &inner[(indent + 2).min(inner.len())..]);
        }),
        kind => {
            let _ = writeln!(text, "{:indent$}{}", "", plain(kind));
        }
    }
}

fn plain(kind: &Kind) -> String {
    match kind {
        Kind::Plain { text, quoted: false } if !text.contains('\n') => text.clone(),
        Kind::Plain { text, .. } => quoted(text),
        _ => String::new(),
    }
}

/// In double quotes, as JSON and YAML both read it.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_as_what_was_read() {
        let text = "app: mf\ndata: \"a b.tsv\"\nl2: 5e-2\nlayers: [512, 256]\n\
                    checkpoint: {directory: ck, every: 2s}\ntoken-file: token\n\
                    nodes: [{name: x}, {name: y, workers: 2, shards: 0}]\n";
        let topology = Topology::from_text("t.yaml", text).unwrap();
        let address = Address::parse("x-0.x:7077").unwrap();
        let nodes: Vec<_> = (topology.nodes.iter().enumerate())
            .map(|(i, node)| Renamed { node, name: format!("x-{i}"), address: address.at(7077 + i as u16) })
            .collect();
        let written = rewritten(&topology, &nodes);
        let again = Topology::from_text("again.yaml", &written).unwrap();
        assert_eq!(again.cluster, "t");
        assert_eq!(again.checkpoint, topology.checkpoint);
        let shapes: Vec<_> =
            again.nodes.iter().map(|node| (node.name.as_str(), node.workers, node.shards)).collect();
        assert_eq!(shapes, [("x-0", 1, 1), ("x-1", 2, 0)]);
        for line in ["data: \"a b.tsv\"\n", "l2: 5e-2\n", "layers:\n  - 512\n  - 256\n", "  every: 2s\n"] {
            assert!(written.contains(line), "{line} is not in\n{written}");
        }
        assert!(!written.contains("token"));
    }
}
