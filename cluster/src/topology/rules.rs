//! What the nodes of a topology must be together.

use super::Topology;
use super::fields::Fields;
use super::nodes::{self, Address, Node, Start};
use crate::Error;

/// How a token is made, for those who need one.
const MAKE: &str = "make one with `head -c 32 /dev/urandom | base64 > token; chmod 600 token` and add \
                    `token-file: token`, or set SLACKLINE_TOKEN";

/// Checks what one key alone does not show.
///
/// # Errors
/// The rule that is broken, with file and line.
pub(super) fn check(topology: &Topology, fields: &Fields<'_>) -> Result<(), Error> {
    let (file, nodes) = (topology.file.as_str(), &topology.nodes);
    if nodes.is_empty() {
        return Err(
            fields.problem("nodes", "nodes is empty, must have a line `- name: NAME` for each process")
        );
    }
    for (index, node) in nodes.iter().enumerate() {
        if nodes[..index].iter().any(|other| other.name == node.name) {
            return Err(nodes::refuse(file, node, "is there twice; every node needs a name of its own"));
        }
        let (workers, shards) = (node.workers, node.shards);
        if workers + shards == 0 && !std::ptr::eq(node, topology.lead()) {
            return Err(nodes::refuse(
                file,
                node,
                "has neither workers nor shards: give it some, or take it away",
            ));
        }
    }
    if topology.workers() == 0 {
        return Err(fields.problem("nodes", "no node has workers; at least one must"));
    }
    let n_shards = nodes.iter().map(|node| node.shards).sum::<usize>();
    if n_shards == 0 {
        return Err(fields.problem("nodes", "no node has shards; at least one must"));
    }
    let hosts = nodes.iter().filter(|node| node.shards > 0).count();
    if topology.replicas > 0 && hosts < 2 {
        let rule = "0 where fewer than 2 nodes have shards: a copy on the same node dies with it";
        return Err(fields.refuse("replicas", &topology.replicas.to_string(), rule));
    }
    one_place(topology)?;
    reachable(topology)
}

/// Two nodes cannot listen on one address.
fn one_place(topology: &Topology) -> Result<(), Error> {
    let nodes = &topology.nodes;
    for (index, node) in nodes.iter().enumerate().filter(|(_, node)| node.address.port != 0) {
        if let Some(other) = nodes[..index].iter().find(|other| other.address == node.address) {
            let problem =
                format!("has the address {} of node {}; give it another port", node.address, other.name);
            return Err(nodes::refuse(&topology.file, node, &problem));
        }
    }
    Ok(())
}

/// Whoever is started elsewhere must find the lead.
fn reachable(topology: &Topology) -> Result<(), Error> {
    let (file, lead) = (topology.file.as_str(), topology.lead());
    let elsewhere = |node: &&Node| node.start != Start::Local || !node.address.is_loopback();
    if let Some(node) = topology.nodes.iter().find(elsewhere)
        && lead.address.port == 0
    {
        let why = if node.start == Start::Manual { "is started by hand" } else { "is on another machine" };
        let problem = format!(
            "leads, and node {} {why}: give the lead a fixed address, such as `address: {}:7077`",
            node.name, lead.address.host
        );
        return Err(nodes::refuse(file, lead, &problem));
    }
    if let Some(node) = topology.nodes.iter().find(|node| !node.address.is_loopback())
        && lead.address.is_loopback()
    {
        let problem = format!(
            "leads and listens on {}, which node {} cannot reach: give it the machine's own address",
            lead.address, node.name
        );
        return Err(nodes::refuse(file, lead, &problem));
    }
    Ok(())
}

/// Refuses to run without a token where others than this machine can reach `address`, the place of node `name`.
///
/// # Errors
/// There is no token: how to make one.
pub(crate) fn check_open(file: &str, name: &str, address: &Address, token: bool) -> Result<(), Error> {
    if token || address.is_loopback() {
        return Ok(());
    }
    let problem = format!("node {name} listens on {address}, off loopback, without a token");
    Err(Error::Usage(format!("{file}: {problem}: {MAKE}")))
}
