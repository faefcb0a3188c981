//! Small copies of the cores, with the same inputs and outputs under `ssp`: what a worker, a shard and the scheduler decide
//! in a cluster. `tie.rs` checks that they are true copies.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use slackline::clock::VectorClock;
use slackline::{Clock, Consistency, WorkerId};

/// How often each task's update is in some rows.
pub(crate) type Counts = Vec<u8>;

/// An actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Place {
    Scheduler,
    Worker(u8),
    /// A shard, or its backup.
    Shard(u8, bool),
}

/// An arrow of the ring, as far as it matters here.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Word {
    Assign {
        clock: u8,
        min: u8,
        task: u8,
    },
    Pull {
        ticket: u8,
        need: u8,
        page: bool,
        lease: Option<u8>,
    },
    Rows {
        ticket: u8,
        min: u8,
        applied: u8,
        page: Option<Counts>,
        lease: Option<(u8, u8)>,
    },
    Push {
        sequence: u8,
        clock: u8,
        task: u8,
        returns: Option<(u8, u8)>,
    },
    Applied {
        sequence: u8,
    },
    Report {
        clock: u8,
    },
    Commit {
        worker: u8,
        clock: u8,
    },
    Advance {
        min: u8,
    },
    /// The members change; everyone had finished these clocks.
    Deploy {
        min: u8,
    },
    Deployed,
    Join,
}

/// A word and who is to hear it.
pub(crate) type Said = (Place, Word);

/// What is the same in all states.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    pub(crate) shards: u8,
    pub(crate) tasks: u8,
    /// Task `t` works on part `t % parts`, and leases its block.
    pub(crate) parts: u8,
    pub(crate) s: u8,
    pub(crate) mutation: Option<Mutation>,
}

/// A fault that the checker must find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mutation {
    /// Shards fold updates in before their step counts.
    NoHold,
    /// The gate lets workers one clock too far.
    WideGate,
    /// Shards fold in whatever comes.
    NoDedup,
}

impl Rules {
    fn opens(&self, clock: u8, min: u8) -> bool {
        let more = u64::from(self.mutation == Some(Mutation::WideGate));
        Consistency::Ssp(u64::from(self.s) + more).opens(Clock(clock.into()), Clock(min.into()))
    }

    pub(crate) fn oldest(&self, clock: u8) -> u8 {
        clock.saturating_sub(self.s)
    }

    pub(crate) fn part(&self, task: u8) -> u8 {
        task % self.parts
    }

    pub(crate) fn home(&self, block: u8) -> u8 {
        block % self.shards
    }
}

/// The tasks: each is done once, and no two in flight share a part.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct Tasks {
    pub(crate) left: VecDeque<u8>,
    pub(crate) in_flight: BTreeSet<u8>,
}

impl Tasks {
    pub(crate) fn next(&mut self, parts: u8) -> Result<u8, bool> {
        let free = |task: &u8| self.in_flight.iter().all(|other| other % parts != task % parts);
        match self.left.iter().position(free) {
            Some(place) => {
                let task = self.left.remove(place).expect("just found");
                self.in_flight.insert(task);
                Ok(task)
            }
            None => Err(self.left.is_empty() && self.in_flight.is_empty()),
        }
    }

    pub(crate) fn put_back(&mut self, task: u8) {
        self.in_flight.remove(&task);
        self.left.push_front(task);
    }
}

/// The scheduler.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct Scheduler {
    pub(crate) clocks: VectorClock,
    pub(crate) hands: BTreeMap<u8, VecDeque<(u8, u8)>>,
    pub(crate) tasks: Tasks,
    expected: usize,
    others: bool,
    pub(crate) ended: bool,
}

impl Scheduler {
    pub(crate) fn new(rules: &Rules, expected: usize) -> Self {
        let tasks = Tasks { left: (0..rules.tasks).collect(), ..Tasks::default() };
        Self { tasks, expected, ..Self::default() }
    }

    pub(crate) fn min(&self) -> u8 {
        small(self.clocks.min())
    }

    /// `Assign` goes to a worker, `Commit` and `Advance` to all shards.
    pub(crate) fn join(&mut self, worker: u8, rules: &Rules) -> Vec<(Option<u8>, Word)> {
        self.clocks.join(WorkerId(worker.into()));
        self.hands.entry(worker).or_default();
        self.go_on(None, rules)
    }

    pub(crate) fn report(&mut self, worker: u8, rules: &Rules) -> Vec<(Option<u8>, Word)> {
        let (clock, task) = self.hands.get_mut(&worker).and_then(VecDeque::pop_front).expect("was assigned");
        let advanced = self.clocks.tick(WorkerId(worker.into()));
        self.others |= advanced;
        let mut said = vec![(None, Word::Commit { worker, clock })];
        self.tasks.in_flight.remove(&task);
        if advanced {
            said.push((None, Word::Advance { min: self.min() }));
        }
        said.extend(self.go_on(Some(worker), rules));
        said
    }

    pub(crate) fn regroup(&mut self, expected: usize) {
        let void: Vec<_> = std::mem::take(&mut self.hands).into_values().flatten().collect();
        void.into_iter().rev().for_each(|(_, task)| self.tasks.put_back(task));
        self.clocks.regroup();
        (self.expected, self.others) = (expected, false);
    }

    fn go_on(&mut self, first: Option<u8>, rules: &Rules) -> Vec<(Option<u8>, Word)> {
        let mut said = Vec::new();
        if self.ended || self.hands.len() < self.expected {
            return said;
        }
        let others = std::mem::take(&mut self.others);
        let mut workers = match first {
            Some(first) if !others => vec![first],
            _ => self.everyone(first),
        };
        loop {
            let min = self.clocks.min();
            let mut assigned = false;
            for worker in &workers {
                assigned |= self.ask(*worker, rules, &mut said);
            }
            if self.clocks.min() > min {
                workers = self.everyone(first);
            } else if !assigned {
                break;
            }
        }
        self.ended = self.hands.values().all(VecDeque::is_empty);
        said
    }

    fn everyone(&self, first: Option<u8>) -> Vec<u8> {
        let mut workers: Vec<u8> = self.hands.keys().copied().collect();
        workers.sort_by_key(|worker| (self.hands[worker].len(), Some(*worker) != first));
        workers
    }

    fn ask(&mut self, worker: u8, rules: &Rules, said: &mut Vec<(Option<u8>, Word)>) -> bool {
        let in_hand = self.hands[&worker].len();
        let id = WorkerId(worker.into());
        let min = self.clocks.min();
        let clock = small(self.clocks.of(id).expect("joined").max(min)) + u8::try_from(in_hand).expect("two");
        if in_hand >= 2 || !rules.opens(clock, small(min)) {
            return false;
        }
        let Ok(task) = self.tasks.next(rules.parts) else {
            if in_hand == 0 && self.clocks.park(id) {
                said.push((None, Word::Advance { min: self.min() }));
            }
            self.others = true;
            return false;
        };
        self.clocks.unpark(id);
        self.hands.get_mut(&worker).expect("joined").push_back((clock, task));
        said.push((Some(worker), Word::Assign { clock, min: small(min), task }));
        true
    }
}

fn small(clock: Clock) -> u8 {
    u8::try_from(clock.0).expect("few clocks")
}
