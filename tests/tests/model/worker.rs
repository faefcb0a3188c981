//! The small copy of a worker's desk, its outbox and its cache.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::parts::{Counts, Place, Rules, Said, Word};

/// A worker.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct Worker {
    tickets: u8,
    waiting: VecDeque<Gathering>,
    pub(crate) computing: Option<Prepared>,
    unacknowledged: VecDeque<(u8, BTreeSet<(Place, u8)>)>,
    /// By shard.
    cache: BTreeMap<u8, Reading>,
    sequences: BTreeMap<u8, u8>,
    /// Its own updates: shard, clock, sequence, task.
    outbox: Vec<(u8, u8, u8, u8)>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Gathering {
    clock: u8,
    task: u8,
    ticket: u8,
    pulled: bool,
    awaited: BTreeSet<u8>,
    pages: BTreeMap<u8, Reading>,
    lease: Option<(u8, u8)>,
}

/// A page as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Reading {
    min: u8,
    applied: u8,
    counts: Counts,
}

/// A step that has all it needs: what it reads, by shard, and its block with its visits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Prepared {
    pub(crate) clock: u8,
    pub(crate) task: u8,
    pub(crate) reads: Vec<Counts>,
    pub(crate) lease: Option<(u8, u8)>,
}

impl Worker {
    pub(crate) fn assign(&mut self, clock: u8, task: u8, rules: &Rules) -> Vec<Said> {
        self.tickets += 1;
        self.waiting.push_back(Gathering {
            clock,
            task,
            ticket: self.tickets,
            pulled: false,
            awaited: BTreeSet::new(),
            pages: BTreeMap::new(),
            lease: None,
        });
        self.go_on(rules)
    }

    pub(crate) fn rows(&mut self, shard: u8, word: Word, rules: &Rules) -> Vec<Said> {
        let Word::Rows { ticket, min, applied, page, lease } = word else { panic!("rows") };
        let reading = page.map(|counts| Reading { min, applied, counts });
        if let Some(reading) = &reading {
            let sum =
                |reading: &Reading| (reading.min, reading.counts.iter().map(|n| u32::from(*n)).sum::<u32>());
            let held = self.cache.entry(shard).or_insert_with(|| reading.clone());
            if sum(held) <= sum(reading) {
                *held = reading.clone();
            }
        }
        let Some(gathering) = self.waiting.iter_mut().find(|g| g.pulled && g.ticket == ticket) else {
            return Vec::new();
        };
        gathering.awaited.remove(&shard);
        gathering.pages.extend(reading.map(|reading| (shard, reading)));
        gathering.lease = gathering.lease.or(lease);
        self.go_on(rules)
    }

    pub(crate) fn applied(&mut self, from: Place, sequence: u8) -> Vec<Said> {
        for (_, awaited) in &mut self.unacknowledged {
            awaited.remove(&(from, sequence));
        }
        self.reports()
    }

    /// The step is computed: it adds 1 for its task to every shard, and visits its block.
    pub(crate) fn computed(&mut self, backed: impl Fn(u8) -> bool, rules: &Rules) -> Vec<Said> {
        let Prepared { clock, task, lease, .. } = self.computing.take().expect("computes");
        let (mut said, mut awaited) = (Vec::new(), BTreeSet::new());
        for shard in 0..rules.shards {
            let sequence = self.sequences.entry(shard).or_default();
            *sequence += 1;
            self.outbox.push((shard, clock, *sequence, task));
            let returns = lease.filter(|(block, _)| rules.home(*block) == shard);
            let returns = returns.map(|(block, visits)| (block, visits + 1));
            for backup in [false].into_iter().chain(backed(shard).then_some(true)) {
                let place = Place::Shard(shard, backup);
                awaited.insert((place, *sequence));
                said.push((place, Word::Push { sequence: *sequence, clock, task, returns }));
            }
        }
        self.unacknowledged.push_back((clock, awaited));
        said.extend(self.reports());
        said.extend(self.go_on(rules));
        said
    }

    fn reports(&mut self) -> Vec<Said> {
        let mut said = Vec::new();
        while self.unacknowledged.front().is_some_and(|(_, awaited)| awaited.is_empty()) {
            let (clock, _) = self.unacknowledged.pop_front().expect("looked at");
            said.push((Place::Scheduler, Word::Report { clock }));
        }
        said
    }

    fn go_on(&mut self, rules: &Rules) -> Vec<Said> {
        let mut said = Vec::new();
        for place in 0..self.waiting.len() {
            if !self.waiting[place].pulled {
                said.extend(self.pull(place, rules));
            }
        }
        let whole = |g: &Gathering| g.pulled && g.awaited.is_empty();
        if self.computing.is_none() && self.waiting.front().is_some_and(whole) {
            let gathering = self.waiting.pop_front().expect("looked at");
            self.computing = Some(self.prepare(gathering, rules));
        }
        said
    }

    fn pull(&mut self, place: usize, rules: &Rules) -> Vec<Said> {
        let gathering = &mut self.waiting[place];
        let (ticket, need, block) =
            (gathering.ticket, rules.oldest(gathering.clock), rules.part(gathering.task));
        gathering.pulled = true;
        let mut said = Vec::new();
        for shard in 0..rules.shards {
            let cached = self.cache.get(&shard).filter(|reading| reading.min >= need);
            gathering.pages.extend(cached.map(|reading| (shard, reading.clone())));
            let (page, lease) = (cached.is_none(), (rules.home(block) == shard).then_some(block));
            if page || lease.is_some() {
                gathering.awaited.insert(shard);
                said.push((Place::Shard(shard, false), Word::Pull { ticket, need, page, lease }));
            }
        }
        said
    }

    /// Pages are completed by the own updates that they lack.
    fn prepare(&mut self, gathering: Gathering, rules: &Rules) -> Prepared {
        let Gathering { clock, task, pages, lease, .. } = gathering;
        let read = |(shard, reading): (u8, Reading)| {
            let mut counts = reading.counts;
            let lacks = |own: &&(u8, u8, u8, u8)| own.0 == shard && own.2 > reading.applied;
            self.outbox.iter().filter(lacks).for_each(|own| counts[usize::from(own.3)] += 1);
            counts
        };
        let reads = pages.into_iter().map(read).collect();
        self.outbox.retain(|(_, clock_of, ..)| *clock_of >= rules.oldest(clock));
        Prepared { clock, task, reads, lease }
    }
}
