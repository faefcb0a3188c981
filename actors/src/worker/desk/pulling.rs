//! What a step asks of shards: everything that it needs and the cache does not have fresh enough.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::cache::SeenBlock;
use super::needs::{self, RowNeeds};
use super::{Action, Desk, Gathering};
use crate::clock::{Clock, Consistency};
use crate::id::{BlockKey, ShardId};
use crate::message::{Assign, Pull};

impl Desk {
    pub(super) fn pull(&mut self, place: usize) -> Vec<Action> {
        let assign = &self.waiting[place].assign;
        let fresh = assign.task.fresh || self.consistency == Consistency::Async;
        let need = if fresh { assign.min } else { self.oldest(assign) };
        let custom = self.reads_custom_rules();
        let [leases, copies] = needs::blocks(&assign.task, &self.tables);
        let (placement, needed) = (self.placement, Arc::clone(&self.reads[&assign.task.part]));
        let empty = Pull {
            worker: self.worker,
            ticket: self.waiting[place].ticket,
            need,
            after: 0,
            commits: 0,
            pages: Vec::new(),
            rows: Vec::new(),
            leases: Vec::new(),
            copies: Vec::new(),
            known: Vec::new(),
            subscribe: self.consistency.is_eager(),
        };
        let mut pulls: BTreeMap<ShardId, Pull> = BTreeMap::new();
        for (table, page) in needed.whole.iter().chain(&needed.pages).copied() {
            let cached = if fresh || custom { None } else { self.cache.get(table, page, need) };
            match cached {
                Some(cached) => drop(self.waiting[place].pages.insert((table, page), cached)),
                None => to(&mut pulls, &empty, placement.of_page(table, page)).pages.push((table, page)),
            }
        }
        for RowNeeds { table, by_shard, .. } in &needed.rows {
            for (shard, rows) in by_shard {
                to(&mut pulls, &empty, *shard).rows.push((*table, Arc::clone(rows)));
            }
        }
        for (table, block) in leases {
            let pull = to(&mut pulls, &empty, placement.of_block(block));
            pull.leases.push((table, block));
            let seen = self.cache.take_seen((table, block));
            know(&mut self.waiting[place], pull, (table, block), seen);
        }
        for (table, block) in copies {
            let pull = to(&mut pulls, &empty, placement.of_block(block));
            pull.copies.push((table, block));
            let seen = self.cache.seen((table, block));
            know(&mut self.waiting[place], pull, (table, block), seen);
        }
        if custom {
            pulls.iter_mut().for_each(|(shard, pull)| pull.after = self.outbox.last(*shard));
        }
        for (shard, commits) in &self.waiting[place].assign.commits {
            pulls.entry(*shard).and_modify(|pull| pull.commits = *commits);
        }
        let gathering = &mut self.waiting[place];
        gathering.pulled = true;
        gathering.awaited = pulls.keys().copied().collect();
        self.traffic.pull += pulls.values().map(Pull::n_bytes).sum::<u64>();
        pulls.into_iter().map(|(shard, pull)| Action::Pull(shard, pull)).collect()
    }

    /// The oldest `min` at which a row may have been read for a step.
    fn oldest(&self, Assign { clock, staleness, .. }: &Assign) -> Clock {
        let in_force = staleness.map_or(Clock(0), |s| Clock(clock.0.saturating_sub(s)));
        in_force.max(self.consistency.oldest(*clock))
    }
}

/// Says in which version a block has been seen, and keeps it for the answer.
fn know(gathering: &mut Gathering, pull: &mut Pull, block: BlockKey, seen: Option<SeenBlock>) {
    if let Some((version, rows)) = seen {
        pull.known.push((block, version));
        gathering.seen.insert(block, (version, rows));
    }
}

/// The pull to a shard, begun if there is none.
fn to<'a>(pulls: &'a mut BTreeMap<ShardId, Pull>, empty: &Pull, shard: ShardId) -> &'a mut Pull {
    pulls.entry(shard).or_insert_with(|| empty.clone())
}
