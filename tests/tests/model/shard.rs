//! The small copy of a shard's store.

use std::collections::BTreeMap;

use super::parts::{Counts, Mutation, Rules, Word};

/// A shard, or one that stands by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Shard {
    pub(crate) min: u8,
    taken: BTreeMap<u8, u8>,
    applied: BTreeMap<u8, u8>,
    held: BTreeMap<(u8, u8), Vec<Held>>,
    parked: Vec<(u8, Word)>,
    /// The one page that is here.
    pub(crate) rows: Counts,
    /// Blocks with their visits, and who has them.
    pub(crate) blocks: BTreeMap<u8, (u8, Option<u8>)>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Held {
    sequence: u8,
    task: u8,
    returns: Option<(u8, u8)>,
}

impl Shard {
    pub(crate) fn new(shard: u8, rules: &Rules) -> Self {
        let here = (0..rules.parts).filter(|block| rules.home(*block) == shard);
        Self {
            min: 0,
            taken: BTreeMap::new(),
            applied: BTreeMap::new(),
            held: BTreeMap::new(),
            parked: Vec::new(),
            rows: vec![0; usize::from(rules.tasks)],
            blocks: here.map(|block| (block, (0, None))).collect(),
        }
    }

    /// Takes a word of a worker in, or of the scheduler; the answers are for workers.
    pub(crate) fn hear(&mut self, worker: u8, word: Word, rules: &Rules) -> Vec<(u8, Word)> {
        match word {
            Word::Pull { .. } => self.pull(worker, word),
            Word::Push { sequence, clock, task, returns } => {
                let mut said = vec![(worker, Word::Applied { sequence })];
                let taken = self.taken.entry(worker).or_default();
                if sequence <= *taken && rules.mutation != Some(Mutation::NoDedup) {
                    return said;
                }
                *taken = sequence.max(*taken);
                let held = Held { sequence, task, returns };
                match rules.mutation {
                    Some(Mutation::NoHold) => self.fold(worker, held),
                    _ => self.held.entry((clock, worker)).or_default().push(held),
                }
                said.extend(self.release());
                said
            }
            Word::Commit { worker, clock } => {
                let held = self.held.remove(&(clock, worker)).unwrap_or_default();
                held.into_iter().for_each(|held| self.fold(worker, held));
                self.release()
            }
            Word::Advance { min } => {
                self.min = self.min.max(min);
                let later = self.held.split_off(&(self.min, 0));
                for ((_, worker), held) in std::mem::replace(&mut self.held, later) {
                    held.into_iter().for_each(|held| self.fold(worker, held));
                }
                self.release()
            }
            word => panic!("no such arrow: {word:?}"),
        }
    }

    pub(crate) fn regroup(&mut self, min: u8) {
        self.blocks.values_mut().for_each(|(_, holder)| *holder = None); // what was lent is as it was lent
        self.held.clear();
        self.taken.clear();
        self.applied.clear();
        self.parked.clear();
        self.min = self.min.max(min);
    }

    #[allow(clippy::needless_pass_by_value)] // a word that was heard is gone
    fn pull(&mut self, worker: u8, word: Word) -> Vec<(u8, Word)> {
        let Word::Pull { ticket, need, page, lease } = word else { panic!("a pull") };
        let home = lease.is_none_or(|block| self.blocks[&block].1.is_none());
        if need > self.min || !home {
            self.parked.push((worker, Word::Pull { ticket, need, page, lease }));
            return Vec::new();
        }
        let lease = lease.map(|block| {
            let (visits, holder) = self.blocks.get_mut(&block).expect("is here");
            *holder = Some(worker);
            (block, *visits)
        });
        let applied = self.applied.get(&worker).copied().unwrap_or(0);
        let page = page.then(|| self.rows.clone());
        vec![(worker, Word::Rows { ticket, min: self.min, applied, page, lease })]
    }

    fn fold(&mut self, worker: u8, Held { sequence, task, returns }: Held) {
        self.rows[usize::from(task)] += 1;
        if let Some((block, visits)) = returns {
            self.blocks.insert(block, (visits, None));
        }
        self.applied.insert(worker, sequence);
    }

    fn release(&mut self) -> Vec<(u8, Word)> {
        let parked = std::mem::take(&mut self.parked);
        parked.into_iter().flat_map(|(worker, word)| self.pull(worker, word)).collect()
    }
}
