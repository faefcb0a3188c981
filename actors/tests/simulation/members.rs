//! Members of a cluster come and go: what the generations of a run make of it.

use std::collections::{BTreeSet, VecDeque};

use slackline::{Clock, Consistency, WorkerId};

use crate::plan::Change;
use crate::ring::{Ring, World};

impl Ring {
    /// Carries out the changes that are due after so many deliveries.
    pub(crate) fn change_members(&mut self, delivered: u32) {
        let due = |(when, change): &(u32, Change)| (*when == delivered).then_some(*change);
        let due: Vec<Change> = self.world.plan.changes.iter().filter_map(due).collect();
        due.into_iter().for_each(|change| self.change(change));
    }

    fn change(&mut self, change: Change) {
        let mut workers: BTreeSet<usize> = self.desks.keys().copied().collect();
        let mut dead = None;
        match change {
            Change::Lose(worker) => {
                if workers.len() == 1 || !workers.remove(&worker) {
                    return;
                }
            }
            Change::LoseShard(shard) => {
                if self.backups[shard].is_none() {
                    return;
                }
                dead = Some(shard);
            }
            Change::Join => {
                let Some(new) = (0..self.world.plan.workers).rev().find(|worker| !self.joined(*worker))
                else {
                    return;
                };
                workers.insert(new);
            }
        }
        self.regroup(&workers, dead);
    }

    /// Whether a worker is there or was.
    fn joined(&self, worker: usize) -> bool {
        self.desks.contains_key(&worker)
            || worker < self.world.plan.workers_at_start()
            || !self.world.made[worker].is_empty()
    }

    /// The next generation, of these workers; the backup of the shard that died takes its place.
    fn regroup(&mut self, workers: &BTreeSet<usize>, dead: Option<usize>) {
        let halted = self.dispatch.regroup(workers.len()); // whatever is under way, commits too, is lost
        self.lanes.clear();
        self.drained = false;
        if let Some(shard) = dead {
            let mut backup = self.backups[shard].take().expect("looked at");
            backup.stand_by(false);
            self.stores[shard] = backup;
        }
        self.stores.iter_mut().for_each(|store| store.regroup(&halted));
        self.backups.iter_mut().flatten().for_each(|store| store.regroup(&halted));
        self.forget_what_does_not();
        self.generation += 1;
        self.seat(workers.iter().copied().collect());
        self.join();
    }

    /// The world forgets the steps that are void.
    fn forget_what_does_not(&mut self) {
        let World { made, counted, visits, sealed, at_work, holders, .. } = &mut self.world;
        made.iter_mut().zip(counted).for_each(|(made, counted)| made.truncate(*counted));
        visits
            .iter_mut()
            .for_each(|(block, visits)| visits.truncate(sealed.get(block).copied().unwrap_or(0)));
        at_work.iter_mut().for_each(VecDeque::clear);
        holders.clear();
        self.reported.clear();
        self.seen.clear();
    }

    /// The scheduler has a report: under `bsp` its step counts once the whole clock is in.
    pub(crate) fn note(&mut self, worker: WorkerId, clock: Clock) {
        let whole_clock = self.dispatch.in_flight().count() == 1;
        self.reported.push((worker, clock));
        if self.world.plan.consistency != Consistency::Bsp || whole_clock {
            for (worker, clock) in std::mem::take(&mut self.reported) {
                self.world.count(worker.index(), clock);
            }
        }
    }
}

impl World {
    /// The steps of a worker up to this clock count.
    fn count(&mut self, worker: usize, clock: Clock) {
        let counted = &mut self.counted[worker];
        while self.made[worker].get(*counted).is_some_and(|(made, _)| *made <= clock) {
            *counted += 1;
        }
        let mark = i32::try_from(worker).expect("few workers") + 1;
        for (block, visits) in &self.visits {
            if visits.last() == Some(&(mark, clock)) {
                self.sealed.insert(*block, visits.len());
            }
        }
    }
}
