//! Replays a record and finds every place where a promise was broken.
//!
//! What is proved, for each generation of members by itself:
//!
//! * **Gate**: every step began at a clock at most the staleness in force ahead of `min`, and `min` was what the finished
//!   steps make it.
//! * **Exactly once, in order**: every holder of a shard folded each worker's pushes 1, 2, 3…; each was sent; and what
//!   every step made was sent once. At the end of the run nothing is left out.
//! * **Freshness**: what a read says it contains is a state that its shard was in; pages that were not sent again did
//!   not change in between; and no update is missing that the consistency promises.
//! * **Own writes**: a read contains every update that its reader had made, once.
//!
//! Where the record of a process that died is torn, all but the gate is left unproved for the generation it died in; and
//! where a record is missing, for those that its process took part in.

mod broken;
mod gate;
mod reads;
mod torn;
mod updates;

use std::collections::{BTreeMap, BTreeSet};

pub use broken::{Broken, Place};

use super::entry::Entry;
use super::file::{Head, Record};
use torn::Torn;
use updates::Updates;

/// What was checked, and what was wrong.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Verdict {
    /// Steps that began.
    pub steps: u64,
    /// Steps whose reads were checked.
    pub reads: u64,
    /// Pages, and rows of a table at a shard, in those reads.
    pub rows: u64,
    /// The oldest of them, in clocks behind their step.
    pub staleness: u64,
    /// Pushes.
    pub pushes: u64,
    /// Pushes folded in, by shards and those that stand by for them.
    pub folds: u64,
    /// Generations of members.
    pub generations: u64,
    /// Those of them of which a record is torn or missing: no more is proved of them than the gate.
    pub in_part: BTreeSet<u32>,
    /// Updates that were kept back when members changed, and lost.
    pub lost: u64,
    /// Every place where a promise did not hold, the first ones of each kind.
    pub broken: Vec<Broken>,
}

/// How many broken promises are listed.
const MOST: usize = 100;

impl Verdict {
    fn find(&mut self, broken: Broken) {
        if self.broken.len() < MOST {
            self.broken.push(broken);
        }
    }
}

/// The entries of one generation, each with the number of the record that it is from and its number there.
pub(super) type Entries<'a> = Vec<(Place, &'a Entry)>;

/// Checks the records of one run, one for each process.
pub fn check(records: &[Record]) -> Verdict {
    let mut verdict = Verdict::default();
    let Some(Head { consistency, own_gate, .. }) = records.first().map(|record| &record.head) else {
        return verdict;
    };
    let torn = Torn::of(records);
    let mut generations: BTreeMap<u32, Entries<'_>> = BTreeMap::new();
    for record in records {
        let valid =
            record.entries.iter().enumerate().filter(|(_, (g, _))| !torn::is_void(records, record, *g));
        for (number, (generation, entry)) in valid {
            let place = Place { file: record.name.clone(), entry: number + 1 };
            generations.entry(*generation).or_default().push((place, entry));
        }
    }
    let last = generations.keys().next_back().copied();
    for (generation, entries) in &generations {
        verdict.generations += 1;
        let last = Some(*generation) == last;
        let after = generations.range(generation + 1..).find_map(|(_, entries)| goes_back(entries));
        let assigned = gate::check(entries, *own_gate, &mut verdict);
        if torn.leaves_unknown(*generation, entries) {
            verdict.in_part.insert(*generation);
            continue;
        }
        let updates = Updates::of(entries, *consistency, (last, after.unwrap_or(false)), &mut verdict);
        reads::check(entries, *consistency, &assigned, &updates, &mut verdict);
    }
    verdict
}

/// Whether a generation that began work went on from a saved state.
fn goes_back(entries: &Entries<'_>) -> Option<bool> {
    entries.iter().find_map(|(_, entry)| match entry {
        Entry::Regroup { back, .. } => Some(*back),
        _ => None,
    })
}

#[cfg(test)]
mod tests;
