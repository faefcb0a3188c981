//! `slackline render`: a topology in the words of those who schedule machines.

mod kubernetes;
mod slurm;

use crate::Error;
use crate::topology::{Node, Topology};

pub(crate) use kubernetes::{Kubernetes, kubernetes};
pub(crate) use slurm::{Slurm, slurm};

/// The port of a lead whose topology leaves it to the system.
const PORT: u16 = 7077;

/// Nodes that are alike, and so can be started by one command.
struct Group<'a> {
    nodes: Vec<&'a Node>,
}

/// The nodes that follow, in groups of equals, in the order of the topology.
fn groups(topology: &Topology) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let alike = |a: &Node, b: &Node| {
        (a.workers, a.shards, &a.data, &a.env, &a.command)
            == (b.workers, b.shards, &b.data, &b.env, &b.command)
    };
    for node in topology.others() {
        match groups.iter_mut().find(|group| alike(group.nodes[0], node)) {
            Some(group) => group.nodes.push(node),
            None => groups.push(Group { nodes: vec![node] }),
        }
    }
    groups
}

/// Cores for a node: one a worker, and one that shards and messages share.
fn cores(node: &Node) -> usize {
    node.workers + 1
}

/// The name of the cluster as machines want it: lower case letters, digits and dashes, at most `most` characters.
fn plain_name(topology: &Topology, most: usize) -> Result<String, Error> {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let name: String = topology.cluster.chars().map(letter).collect();
    let name = name.trim_matches('-').to_owned();
    let good = name.starts_with(|c: char| c.is_ascii_lowercase()) && name.len() <= most;
    if good {
        return Ok(name);
    }
    let rule =
        format!("at most {most} letters, digits and dashes, the first a letter, for the names of machines");
    Err(Error::Usage(format!("{}: cluster is {}, must have {rule}", topology.file, topology.cluster)))
}
