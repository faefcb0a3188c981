//! What is known of a run from outside: what every worker made, what of it counts, who holds what, who is at work.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use slackline::message::Assign;
use slackline::{BlockId, Clock, Consistency, PartId, WorkerId};

use super::plan::Plan;

/// What is known of a run from outside.
pub(crate) struct World {
    pub(crate) plan: Plan,
    /// The generation of members whose steps may count; 0 while there is none.
    pub(crate) generation: u32,
    /// What was made so far.
    pub(crate) past: Past,
    /// Who has a leased block, from the moment it arrives until its shard has it back.
    pub(crate) holders: BTreeMap<BlockId, WorkerId>,
    /// Steps assigned to each worker and not yet reported.
    pub(crate) at_work: Vec<VecDeque<Assign>>,
    /// Steps that were reported and may still be void.
    reported: Vec<(WorkerId, Clock)>,
}

/// What was made, as far as it is known.
#[derive(Debug, Clone, Default)]
pub(crate) struct Past {
    /// The updates of each worker, in the order in which it made them.
    pub(crate) made: Vec<Vec<(Clock, PartId)>>,
    /// Who wrote a leased block and when, in order.
    pub(crate) visits: BTreeMap<BlockId, Vec<(i32, Clock)>>,
    /// How many of the updates of each worker are of steps that count, whatever happens to it.
    pub(crate) counted: Vec<usize>,
    /// Those of them that a change of members may have lost while they were kept back.
    pub(crate) doubtful: Vec<BTreeSet<usize>>,
    /// How many visits of a block are of steps that count.
    pub(crate) sealed: BTreeMap<BlockId, usize>,
}

impl World {
    pub(crate) fn new(plan: &Plan) -> Self {
        let n = plan.workers;
        let past = Past {
            made: vec![Vec::new(); n],
            counted: vec![0; n],
            doubtful: vec![BTreeSet::new(); n],
            ..Past::default()
        };
        Self {
            generation: 1,
            past,
            holders: BTreeMap::new(),
            at_work: vec![VecDeque::new(); n],
            reported: Vec::new(),
            plan: plan.clone(),
        }
    }

    /// No more reports count: the steps that are under way are void.
    pub(crate) fn halt(&mut self) {
        self.generation = 0;
        let Past { made, visits, counted, sealed, .. } = &mut self.past;
        made.iter_mut().zip(counted).for_each(|(made, counted)| made.truncate(*counted));
        let sealed = |block: &BlockId| sealed.get(block).copied().unwrap_or(0);
        visits.iter_mut().for_each(|(block, visits)| visits.truncate(sealed(block)));
        self.at_work.iter_mut().for_each(VecDeque::clear);
        self.holders.clear();
        self.reported.clear();
    }

    /// Updates of the last clocks that count may have been kept back, and are lost then.
    pub(crate) fn doubt(&mut self) {
        let Some((_, most)) = self.plan.consistency.keeps_back() else { return };
        let Past { made, doubtful, .. } = &mut self.past;
        for (made, doubtful) in made.iter().zip(doubtful) {
            let Some((last, _)) = made.last() else { continue };
            let recent = made.iter().enumerate().filter(|(_, (clock, _))| last.ahead_of(*clock) <= most);
            doubtful.extend(recent.map(|(place, _)| place));
        }
    }

    /// The run goes back to what was saved.
    pub(crate) fn go_back(&mut self, past: &Past) {
        self.halt();
        self.past = past.clone();
    }

    /// The scheduler has a report: under `bsp` its step counts once the whole clock is in.
    pub(crate) fn note(&mut self, worker: WorkerId, clock: Clock, whole_clock: bool) {
        self.at_work[worker.index()].pop_front();
        self.reported.push((worker, clock));
        if self.plan.consistency != Consistency::Bsp || whole_clock {
            for (worker, clock) in std::mem::take(&mut self.reported) {
                self.past.count(worker.index(), clock);
            }
        }
    }
}

impl Past {
    /// The updates of a worker, but for those that may be lost.
    pub(crate) fn certain(&self, worker: usize) -> impl Iterator<Item = &(Clock, PartId)> {
        let doubtful = &self.doubtful[worker];
        let made = self.made[worker].iter().enumerate();
        made.filter(|(place, _)| !doubtful.contains(place)).map(|(_, made)| made)
    }

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
