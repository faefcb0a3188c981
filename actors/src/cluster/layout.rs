//! Who hosts what in one generation of a run.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::id::{BlockId, PartId, ShardId, WorkerId};
use crate::placement::Placement;

/// A node's name.
pub type NodeName = String;

/// Who hosts what in one generation of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// One more for every change of members, from 1.
    pub generation: u32,
    /// The node of the scheduler.
    pub lead: NodeName,
    /// Where each shard is, shard 0 first.
    pub shards: Vec<Holders>,
    /// Where each worker is.
    pub workers: BTreeMap<WorkerId, NodeName>,
}

/// The nodes that have the rows of a shard.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holders {
    /// The node that workers read from.
    pub primary: NodeName,
    /// The node that stands by.
    pub backup: Option<NodeName>,
}

/// A node as far as a layout is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Its name.
    pub name: NodeName,
    /// The workers it has.
    pub workers: Vec<WorkerId>,
    /// The shards it is to have, as a weight: none where this is 0.
    pub shards: usize,
}

impl Layout {
    /// One process with everything.
    pub fn alone(n_shards: usize, n_workers: usize) -> Self {
        let lead = NodeName::new();
        Self {
            generation: 1,
            shards: vec![Holders { primary: lead.clone(), backup: None }; n_shards],
            workers: (0..n_workers).map(|worker| (WorkerId::at(worker), lead.clone())).collect(),
            lead,
        }
    }

    /// The first layout of `hosts`: every host gets the shards it is to have, and the next host stands by for them.
    pub fn first(generation: u32, lead: &str, hosts: &[Host], replicas: usize) -> Self {
        let shards = hosts.iter().flat_map(|host| std::iter::repeat_n(host.name.clone(), host.shards));
        let shards = shards.map(|primary| Holders { primary, backup: None }).collect();
        let mut layout = Self { generation, lead: lead.to_owned(), shards, workers: workers_of(hosts) };
        layout.add_backups(hosts, replicas);
        layout
    }

    /// The layout of the next generation, of those `hosts` that are left or have come: a shard stays with a node that
    /// has its rows.
    ///
    /// # Errors
    /// A shard whose rows nobody has any more.
    pub fn next(&self, hosts: &[Host], replicas: usize) -> Result<Self, ShardId> {
        let here = |name: &&NodeName| hosts.iter().any(|host| host.name == **name);
        let mut shards = Vec::new();
        for (number, holders) in self.shards.iter().enumerate() {
            let mut left = holders.nodes().filter(here).cloned();
            let primary = left.next().ok_or_else(|| ShardId::at(number))?;
            shards.push(Holders { primary, backup: left.next() });
        }
        let mut layout =
            Self { generation: self.generation + 1, shards, workers: workers_of(hosts), ..self.clone() };
        layout.add_backups(hosts, replicas);
        Ok(layout)
    }

    /// The layout of the next generation when rows are lost and everything begins from a saved state: shards stay where
    /// they are if they can, and those of lost nodes go to the nodes with the fewest.
    pub fn rebuilt(&self, hosts: &[Host], replicas: usize) -> Self {
        let here = |name: &NodeName| hosts.iter().any(|host| host.name == *name);
        let mut layout = Self { generation: self.generation + 1, workers: workers_of(hosts), ..self.clone() };
        for number in 0..layout.shards.len() {
            let holders = &layout.shards[number];
            let stays = holders.nodes().find(|name| here(name)).cloned();
            layout.shards[number] = Holders { primary: stays.unwrap_or_default(), backup: None };
        }
        for number in 0..layout.shards.len() {
            if layout.shards[number].primary.is_empty() {
                layout.shards[number].primary =
                    layout.least_loaded(hosts, None).unwrap_or_else(|| self.lead.clone());
            }
        }
        layout.add_backups(hosts, replicas);
        layout
    }

    /// A node is gone, and with it the rows it had: another life of it comes without.
    pub fn forget(&mut self, node: &str) {
        for holders in &mut self.shards {
            holders.backup.take_if(|backup| backup == node);
            if holders.primary == node {
                holders.primary = holders.backup.take().unwrap_or_default();
            }
        }
    }

    /// Gives every shard without a backup one, where replicas are asked for and there is another node for it.
    fn add_backups(&mut self, hosts: &[Host], replicas: usize) {
        for number in 0..self.shards.len() {
            if replicas > 0 && self.shards[number].backup.is_none() {
                let primary = self.shards[number].primary.clone();
                self.shards[number].backup = self.least_loaded(hosts, Some(&primary));
            }
        }
    }

    /// The host with the fewest shards and backups for its weight; after `not`, so that neighbours stand by for each
    /// other in turn.
    fn least_loaded(&self, hosts: &[Host], not: Option<&NodeName>) -> Option<NodeName> {
        let start =
            not.and_then(|not| hosts.iter().position(|host| host.name == *not)).map_or(0, |at| at + 1);
        let in_turn = (0..hosts.len()).map(|step| &hosts[(start + step) % hosts.len()]);
        let fit = in_turn.filter(|host| host.shards > 0 && Some(&host.name) != not);
        let load = |host: &&Host| {
            let held = self.shards.iter().flat_map(Holders::nodes).filter(|name| **name == host.name).count();
            held * 1000 / host.shards
        };
        fit.min_by_key(load).map(|host| host.name.clone())
    }

    /// The nodes that host something, the lead first.
    pub fn nodes(&self) -> Vec<NodeName> {
        let hosts = self.shards.iter().flat_map(Holders::nodes).chain(self.workers.values());
        let others: BTreeSet<&NodeName> = hosts.filter(|name| **name != self.lead).collect();
        std::iter::once(&self.lead).chain(others).cloned().collect()
    }

    /// The shards whose rows `node` has, and whether it only stands by.
    pub fn shards_of<'a>(&'a self, node: &'a str) -> impl Iterator<Item = (ShardId, bool)> + 'a {
        self.shards.iter().enumerate().flat_map(move |(number, holders)| {
            let is = |name: &NodeName| name == node;
            let primary = is(&holders.primary).then_some((ShardId::at(number), false));
            let backup = holders.backup.as_ref().is_some_and(is).then_some((ShardId::at(number), true));
            primary.into_iter().chain(backup)
        })
    }

    /// The shards that workers of `node` read from another node.
    pub fn away_from(&self, node: &str) -> BTreeSet<ShardId> {
        let away = self.shards.iter().enumerate().filter(|(_, holders)| holders.primary != node);
        away.map(|(number, _)| ShardId::at(number)).collect()
    }

    /// The workers of `node`.
    pub fn workers_of<'a>(&'a self, node: &'a str) -> impl Iterator<Item = WorkerId> + 'a {
        self.workers.iter().filter(move |(_, name)| *name == node).map(|(worker, _)| *worker)
    }

    /// The backups that do not have their shard's rows, given who had them before.
    pub fn empty_backups(&self, before: &Self) -> Vec<ShardId> {
        let empty = |(number, holders): (usize, &Holders)| {
            let backup = holders.backup.as_ref()?;
            let had =
                before.shards.get(number).is_some_and(|before| before.nodes().any(|name| name == backup));
            (!had).then(|| ShardId::at(number))
        };
        self.shards.iter().enumerate().filter_map(empty).collect()
    }

    /// Which parts are at home where.
    pub fn homes(&self) -> Homes {
        let with_workers: BTreeSet<&NodeName> = self.workers.values().collect();
        let number = |name: &NodeName| with_workers.iter().position(|node| *node == name);
        Homes {
            placement: Placement::over(self.shards.len()),
            shards: self.shards.iter().map(|holders| number(&holders.primary)).collect(),
            workers: self
                .workers
                .iter()
                .filter_map(|(worker, name)| Some((*worker, number(name)?)))
                .collect(),
        }
    }
}

impl Holders {
    /// The primary, then the backup.
    pub fn nodes(&self) -> impl Iterator<Item = &NodeName> {
        std::iter::once(&self.primary).chain(&self.backup)
    }
}

fn workers_of(hosts: &[Host]) -> BTreeMap<WorkerId, NodeName> {
    hosts.iter().flat_map(|host| host.workers.iter().map(|worker| (*worker, host.name.clone()))).collect()
}

/// Which parts are at home where: the rows that belong to a part lie with its home, and a worker there reaches them without a
/// network.
#[derive(Debug, Clone, Default)]
pub struct Homes {
    placement: Placement,
    /// The place of each shard; `None` where no worker is.
    shards: Vec<Option<usize>>,
    workers: BTreeMap<WorkerId, usize>,
}

impl Homes {
    /// Whether a worker is as near to a part as any can be.
    pub fn is_home(&self, worker: WorkerId, part: PartId) -> bool {
        self.is_at(worker, self.placement.of_part(part))
    }

    /// Whether a worker is as near to a block as any can be.
    pub fn is_home_of_block(&self, worker: WorkerId, block: BlockId) -> bool {
        self.is_at(worker, self.placement.of_block(block))
    }

    fn is_at(&self, worker: WorkerId, shard: ShardId) -> bool {
        let home = self.shards.get(shard.index()).copied().flatten();
        home.is_none_or(|home| self.workers.get(&worker).is_none_or(|place| *place == home))
    }

    /// Whether two workers are on one node.
    pub fn are_together(&self, one: WorkerId, other: WorkerId) -> bool {
        self.workers.get(&one) == self.workers.get(&other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(names: &[&str]) -> Vec<Host> {
        let host = |(number, name): (usize, &&str)| Host {
            name: (*name).to_owned(),
            workers: vec![WorkerId::at(number)],
            shards: 1,
        };
        names.iter().enumerate().map(host).collect()
    }

    fn places(layout: &Layout) -> Vec<(&str, Option<&str>)> {
        layout.shards.iter().map(|h| (h.primary.as_str(), h.backup.as_deref())).collect()
    }

    #[test]
    fn neighbours_stand_by_for_each_other() {
        let layout = Layout::first(1, "a", &hosts(&["a", "b", "c"]), 1);
        assert_eq!(places(&layout), [("a", Some("b")), ("b", Some("c")), ("c", Some("a"))]);
        assert_eq!(layout.nodes(), ["a", "b", "c"]);
    }

    #[test]
    fn a_lost_nodes_shards_go_to_their_backups_and_get_new_ones() {
        let layout = Layout::first(1, "a", &hosts(&["a", "b", "c"]), 1);
        let next = layout.next(&hosts(&["a", "c"]), 1).unwrap();
        assert_eq!(places(&next), [("a", Some("c")), ("c", Some("a")), ("c", Some("a"))]);
        assert_eq!(next.empty_backups(&layout), [ShardId(0), ShardId(1)]);
        assert_eq!(next.generation, 2);
    }

    #[test]
    fn without_a_backup_a_lost_nodes_rows_are_gone_and_its_shards_are_built_elsewhere() {
        let layout = Layout::first(1, "a", &hosts(&["a", "b", "c"]), 0);
        assert_eq!(layout.next(&hosts(&["a", "c"]), 0), Err(ShardId(1)));
        assert_eq!(places(&layout.rebuilt(&hosts(&["a", "c"]), 0)), [("a", None), ("a", None), ("c", None)]);
    }

    #[test]
    fn the_rows_of_a_part_are_with_the_workers_at_its_home() {
        let layout = Layout::first(1, "a", &hosts(&["a", "b"]), 0);
        let homes = layout.homes();
        assert!(homes.is_home(WorkerId(0), PartId(0)) && !homes.is_home(WorkerId(1), PartId(0)));
        assert!(homes.is_home(WorkerId(1), PartId(3)) && !homes.is_home(WorkerId(0), PartId(3)));
    }

    #[test]
    fn one_process_is_home_to_all() {
        let homes = Layout::alone(3, 2).homes();
        assert!((0..6).all(|part| homes.is_home(WorkerId(1), PartId(part))));
    }
}
