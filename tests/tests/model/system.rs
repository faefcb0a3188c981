//! All actors and the lanes between them, and what may happen next.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::parts::{Place, Rules, Said, Scheduler, Word};
use super::shard::Shard;
use super::worker::{Prepared, Worker};

/// From and to; each lane keeps its order.
pub(crate) type Lane = (Place, Place);

/// A moment of a run.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct System {
    pub(crate) scheduler: Scheduler,
    pub(crate) workers: BTreeMap<u8, Worker>,
    /// Shards, and those that stand by.
    pub(crate) shards: BTreeMap<(u8, bool), Shard>,
    pub(crate) lanes: BTreeMap<Lane, VecDeque<Word>>,
    /// While the members change: who belongs to the generation before still.
    pub(crate) changing: Option<BTreeSet<Place>>,
    /// A member died, and the scheduler does not know yet.
    unnoticed: bool,
    pub(crate) left: Budget,
    pub(crate) known: Known,
}

/// What may still happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Budget {
    pub(crate) duplicates: u8,
    pub(crate) worker_deaths: u8,
    pub(crate) promotions: u8,
}

/// What is known from outside.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Known {
    /// Steps computed in this generation: worker, clock, task; and those that count.
    made: Vec<(u8, u8, u8)>,
    counted: Vec<(u8, u8, u8)>,
    /// Who has which block.
    holders: BTreeMap<u8, u8>,
    pub(crate) broken: Option<Promise>,
}

/// What is promised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Promise {
    Gate,
    Freshness,
    OwnWrites,
    Leases,
    ExactlyOnce,
}

/// Something that may happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// The next word of a lane is heard.
    Deliver(Lane),
    /// It is heard, and will be again.
    DeliverTwice(Lane),
    /// A worker's app computes.
    Compute(u8),
    /// A worker dies.
    Die(u8),
    /// A shard dies that has a backup.
    DieShard(u8),
    /// The scheduler learns that a member is gone.
    Notice,
}

/// What a core was told and what it said; for `tie.rs`.
pub(crate) struct Event {
    pub(crate) told: Told,
    pub(crate) said: Vec<Said>,
    /// What a step reads, if one is ready now that was not.
    pub(crate) prepared: Option<Prepared>,
}

/// What a core was told.
#[derive(Debug)]
pub(crate) enum Told {
    Word(Lane),
    Computed(u8),
    Regrouped { workers: Vec<u8> },
}

impl System {
    pub(crate) fn new(rules: &Rules, workers: u8, backed: bool, left: Budget) -> Self {
        let backups = if backed { &[false, true][..] } else { &[false][..] };
        let places = (0..rules.shards).flat_map(|shard| backups.iter().map(move |backup| (shard, *backup)));
        let mut system = Self {
            scheduler: Scheduler::new(rules, usize::from(workers)),
            workers: (0..workers).map(|worker| (worker, Worker::default())).collect(),
            shards: places.map(|(shard, backup)| ((shard, backup), Shard::new(shard, rules))).collect(),
            lanes: BTreeMap::new(),
            changing: None,
            unnoticed: false,
            left,
            known: Known::default(),
        };
        (0..workers).for_each(|worker| system.say(Place::Worker(worker), (Place::Scheduler, Word::Join)));
        system
    }

    pub(crate) fn is_done(&self) -> bool {
        self.scheduler.ended && self.lanes.is_empty() && !self.unnoticed && self.changing.is_none()
    }

    /// Every update is in once, everywhere.
    pub(crate) fn all_is_in(&self) -> bool {
        self.shards.values().all(|shard| shard.rows.iter().all(|times| *times == 1))
    }

    fn backed(&self, shard: u8) -> bool {
        self.shards.contains_key(&(shard, true))
    }

    pub(crate) fn actions(&self) -> Vec<Action> {
        let mut actions: Vec<Action> = self.lanes.keys().map(|lane| Action::Deliver(*lane)).collect();
        let pushes = |(lane, words): (&Lane, &VecDeque<Word>)| {
            matches!(words.front(), Some(Word::Push { .. })).then_some(Action::DeliverTwice(*lane))
        };
        if self.left.duplicates > 0 {
            actions.extend(self.lanes.iter().filter_map(pushes));
        }
        let computing = self.workers.iter().filter(|(_, worker)| worker.computing.is_some());
        actions.extend(computing.map(|(worker, _)| Action::Compute(*worker)));
        let calm = !self.unnoticed && self.changing.is_none() && !self.scheduler.ended;
        if calm && self.left.worker_deaths > 0 && self.workers.len() > 1 {
            actions.push(Action::Die(0));
        }
        if calm && self.left.promotions > 0 && self.backed(0) {
            actions.push(Action::DieShard(0));
        }
        if self.unnoticed {
            actions.push(Action::Notice);
        }
        actions
    }

    /// Has something happen; returns what the core concerned was told and said.
    pub(crate) fn act(&mut self, action: Action, rules: &Rules) -> Option<Event> {
        match action {
            Action::Deliver(lane) => {
                let word = self.take(lane)?;
                self.hear(lane, word, rules)
            }
            Action::DeliverTwice(lane) => {
                self.left.duplicates -= 1;
                let word = self.lanes[&lane].front()?.clone();
                self.hear(lane, word, rules)
            }
            Action::Compute(worker) => Some(self.compute(worker, rules)),
            Action::Die(worker) => {
                self.left.worker_deaths -= 1;
                self.workers.remove(&worker);
                self.forget(Place::Worker(worker))
            }
            Action::DieShard(shard) => {
                self.left.promotions -= 1;
                self.shards.remove(&(shard, false));
                self.forget(Place::Shard(shard, false))
            }
            Action::Notice => Some(self.regroup()),
        }
    }

    fn forget(&mut self, place: Place) -> Option<Event> {
        self.unnoticed = true;
        self.lanes.retain(|(from, to), _| *from != place && *to != place);
        None
    }

    fn take(&mut self, lane: Lane) -> Option<Word> {
        let words = self.lanes.get_mut(&lane)?;
        let word = words.pop_front();
        if words.is_empty() {
            self.lanes.remove(&lane);
        }
        word
    }

    fn say(&mut self, from: Place, (to, word): Said) {
        let there = match to {
            Place::Scheduler => true,
            Place::Worker(worker) => self.workers.contains_key(&worker),
            Place::Shard(shard, backup) => self.shards.contains_key(&(shard, backup)),
        };
        if there && !self.is_of_two_generations(from, to, &word) {
            self.lanes.entry((from, to)).or_default().push_back(word);
        }
    }

    /// Whether a word comes from one generation and reaches another one, where it is dropped.
    fn is_of_two_generations(&self, from: Place, to: Place, word: &Word) -> bool {
        let Some(before) = &self.changing else { return false };
        match (from, to) {
            (Place::Scheduler, _) => false,
            (_, Place::Scheduler) => *word != Word::Deployed,
            _ => !before.contains(&from) || !before.contains(&to),
        }
    }

    /// No more reports count. What the scheduler said before goes before the news.
    fn regroup(&mut self) -> Event {
        self.unnoticed = false;
        self.scheduler.regroup(self.workers.len());
        self.lanes.retain(|(from, to), _| {
            matches!((from, to), (Place::Scheduler, Place::Shard(..)))
                || matches!(
                    (from, to),
                    (Place::Worker(_), Place::Shard(..)) | (Place::Shard(..), Place::Worker(_))
                )
        });
        let counted = self.known.counted.clone();
        self.known = Known { made: counted.clone(), counted, holders: BTreeMap::new(), ..self.known.clone() };
        let min = self.scheduler.min();
        let places: Vec<Place> = self.places().collect();
        self.changing = Some(places.iter().copied().collect());
        places.into_iter().for_each(|place| self.say(Place::Scheduler, (place, Word::Deploy { min })));
        let workers = self.workers.keys().copied().collect();
        Event { told: Told::Regrouped { workers }, said: Vec::new(), prepared: None }
    }

    fn places(&self) -> impl Iterator<Item = Place> {
        let shards = self.shards.keys().map(|(shard, backup)| Place::Shard(*shard, *backup));
        self.workers.keys().map(|worker| Place::Worker(*worker)).chain(shards)
    }

    fn hear(&mut self, lane: Lane, word: Word, rules: &Rules) -> Option<Event> {
        let (from, to) = lane;
        let mut prepared = None;
        let said = match (to, word) {
            (_, Word::Deploy { min }) => {
                self.deploy(to, min);
                self.changing.iter_mut().for_each(|before| before.retain(|place| *place != to));
                vec![(Place::Scheduler, Word::Deployed)]
            }
            (Place::Scheduler, Word::Deployed) => return self.deployed(),
            (Place::Scheduler, word) => {
                let Place::Worker(worker) = from else { panic!("workers report") };
                let said = match word {
                    Word::Join => self.scheduler.join(worker, rules),
                    _ => self.report(worker, rules),
                };
                self.check_gate(&said, rules);
                said.into_iter().flat_map(|said| self.address(said)).collect()
            }
            (Place::Worker(worker), word) => {
                if let Word::Rows { lease: Some((block, _)), .. } = &word
                    && self.changing.is_none()
                    && self.known.holders.insert(*block, worker).is_some()
                {
                    self.known.broken = Some(Promise::Leases);
                }
                let desk = self.workers.get_mut(&worker).expect("is there");
                let before = desk.computing.clone();
                let said = match (word, from) {
                    (Word::Assign { clock, task, .. }, _) => desk.assign(clock, task, rules),
                    (Word::Applied { sequence }, _) => desk.applied(from, sequence),
                    (word, Place::Shard(shard, _)) => desk.rows(shard, word, rules),
                    (word, _) => panic!("no such arrow: {word:?}"),
                };
                prepared = desk.computing.clone().filter(|_| before.is_none());
                said
            }
            (Place::Shard(shard, backup), word) => {
                let worker = match from {
                    Place::Worker(worker) => worker,
                    _ => 0,
                };
                if let Word::Push { returns: Some((block, _)), .. } = &word
                    && !backup
                {
                    self.known.holders.remove(block);
                }
                let store = self.shards.get_mut(&(shard, backup)).expect("is there");
                let said = store.hear(worker, word, rules);
                if store.rows.iter().any(|times| *times > 1) {
                    self.known.broken = Some(Promise::ExactlyOnce);
                }
                said.into_iter().map(|(worker, word)| (Place::Worker(worker), word)).collect()
            }
        };
        said.iter().for_each(|said| self.say(to, said.clone()));
        Some(Event { told: Told::Word(lane), said, prepared })
    }

    /// A holder of the next generation is made of that of the one before, a worker anew. What is still on its way between
    /// workers and shards is of the generation before.
    fn deploy(&mut self, place: Place, min: u8) {
        self.lanes.retain(|(from, to), _| {
            let ring = matches!(
                (from, to),
                (Place::Worker(_), Place::Shard(..)) | (Place::Shard(..), Place::Worker(_))
            );
            !(ring && (*to == place || *from == place))
        });
        match place {
            Place::Worker(worker) => drop(self.workers.insert(worker, Worker::default())),
            Place::Shard(shard, backup) => {
                let mut store = self.shards.remove(&(shard, backup)).expect("is there");
                store.regroup(min);
                // Without its primary a backup is the shard from now on.
                let stands_by = backup && self.shards.contains_key(&(shard, false));
                self.shards.insert((shard, stands_by), store);
            }
            Place::Scheduler => {}
        }
    }

    /// Once everyone has, the workers begin.
    fn deployed(&mut self) -> Option<Event> {
        let on_its_way = |words: &VecDeque<Word>| words.contains(&Word::Deployed);
        let all_are = self.changing.as_ref().is_some_and(BTreeSet::is_empty);
        if all_are && !self.lanes.values().any(on_its_way) {
            self.changing = None;
            let workers: Vec<u8> = self.workers.keys().copied().collect();
            workers
                .into_iter()
                .for_each(|worker| self.say(Place::Worker(worker), (Place::Scheduler, Word::Join)));
        }
        None
    }

    fn report(&mut self, worker: u8, rules: &Rules) -> Vec<(Option<u8>, Word)> {
        let (clock, task) = self.scheduler.hands[&worker][0];
        self.known.counted.push((worker, clock, task));
        self.known.counted.sort_unstable(); // the order is of no account
        self.scheduler.report(worker, rules)
    }

    fn address(&self, (to, word): (Option<u8>, Word)) -> Vec<Said> {
        match to {
            Some(worker) => vec![(Place::Worker(worker), word)],
            None => self
                .shards
                .keys()
                .map(|(shard, backup)| (Place::Shard(*shard, *backup), word.clone()))
                .collect(),
        }
    }

    fn compute(&mut self, worker: u8, rules: &Rules) -> Event {
        let desk = self.workers.get_mut(&worker).expect("computes");
        let prepared = desk.computing.clone().expect("computes");
        let shards = &self.shards;
        let said = desk.computed(|shard| shards.contains_key(&(shard, true)), rules);
        let next = desk.computing.clone();
        if self.changing.is_none() {
            self.check(worker, &prepared, rules);
            self.known.made.push((worker, prepared.clock, prepared.task));
            self.known.made.sort_unstable();
        }
        said.iter().for_each(|said| self.say(Place::Worker(worker), said.clone()));
        Event { told: Told::Computed(worker), said, prepared: next }
    }

    /// Nobody is let through further ahead of the slowest at work than the bound.
    fn check_gate(&mut self, said: &[(Option<u8>, Word)], rules: &Rules) {
        let fronts = self.scheduler.hands.values().filter_map(|hand| hand.front());
        let slowest = fronts.map(|(clock, _)| *clock).min();
        let furthest = said.iter().filter_map(|(_, word)| match word {
            Word::Assign { clock, .. } => Some(*clock),
            _ => None,
        });
        if furthest.max().zip(slowest).is_some_and(|(furthest, slowest)| furthest > slowest + rules.s) {
            self.known.broken = Some(Promise::Gate);
        }
    }

    fn check(&mut self, worker: u8, prepared: &Prepared, rules: &Rules) {
        let oldest = rules.oldest(prepared.clock);
        for counts in &prepared.reads {
            for (who, clock, task) in &self.known.made {
                let times = counts[usize::from(*task)];
                if *who == worker && times != 1 {
                    self.known.broken = Some(Promise::OwnWrites);
                } else if *clock < oldest && times == 0 {
                    self.known.broken = Some(Promise::Freshness);
                } else if times > 1 {
                    self.known.broken = Some(Promise::ExactlyOnce);
                }
            }
        }
        let visits = self
            .known
            .made
            .iter()
            .filter(|(.., task)| rules.part(*task) == rules.part(prepared.task))
            .count();
        if prepared.lease.is_none_or(|(_, seen)| usize::from(seen) != visits) {
            self.known.broken = Some(Promise::Leases);
        }
    }
}
