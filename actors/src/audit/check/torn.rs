//! Records of processes that died, and records that are missing: what they leave unknown.

use std::collections::BTreeSet;

use super::{Entries, Record};
use crate::audit::entry::Entry;

/// The torn records of a run.
pub(super) struct Torn<'a> {
    files: BTreeSet<&'a str>,
    /// The last generation that each tells of.
    last: BTreeSet<u32>,
}

impl<'a> Torn<'a> {
    pub(super) fn of(records: &'a [Record]) -> Self {
        let torn = || records.iter().filter(|record| record.torn);
        let last = |record: &Record| record.entries.last().map(|(generation, _)| *generation);
        Self {
            files: torn().map(|record| record.name.as_str()).collect(),
            last: torn().filter_map(|r| last(r).filter(|last| !is_void(records, r, *last))).collect(),
        }
    }

    /// Whether not everything is known of this generation: a record ends in it, or that of a worker or of a shard is missing
    /// or torn.
    pub(super) fn leaves_unknown(&self, generation: u32, entries: &Entries<'_>) -> bool {
        let (mut joined, mut working) = (BTreeSet::new(), BTreeSet::new());
        let (mut pushed, mut folding, mut folded) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for (place, entry) in entries {
            let whole = !self.files.contains(place.file.as_str());
            match entry {
                Entry::Join { worker } => _ = joined.insert(*worker),
                Entry::Made { worker, .. } | Entry::Read { worker, .. } if whole => {
                    _ = working.insert(*worker);
                }
                Entry::Push { shard, .. } => _ = pushed.insert(*shard),
                Entry::Fold { shard, worker, backup, .. } => {
                    folded.insert(*worker);
                    if whole && !backup {
                        folding.insert(*shard);
                    }
                }
                _ => {}
            }
        }
        let untold = || !joined.is_subset(&working) || !pushed.is_subset(&folding);
        self.last.contains(&generation) || !folded.is_subset(&working) || (!self.files.is_empty() && untold())
    }
}

/// Whether what a record tells of a generation came to nothing: the node was started again, and the cluster with it began
/// to count its generations at this one or before.
pub(super) fn is_void(records: &[Record], record: &Record, generation: u32) -> bool {
    let later = |other: &&Record| other.head.node == record.head.node && other.head.life > record.head.life;
    let first = records.iter().filter(later).filter_map(|other| other.entries.first());
    first.map(|(first, _)| *first).min().is_some_and(|first| first <= generation)
}
