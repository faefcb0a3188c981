//! Every part in turn, or in a fresh random order each pass: the baselines of every comparison.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

use super::{Mark, Next, Schedule, take_near};
use crate::checkpoint::{pack, unpack};
use crate::cluster::Homes;
use crate::id::{PartId, WorkerId};
use crate::message::{Findings, Task};

/// Each part in turn, pass after pass.
#[derive(Debug)]
pub struct Fixed(Passes);

/// Each part once a pass, in a fresh random order.
#[derive(Debug)]
pub struct Shuffled(Passes);

impl Fixed {
    /// `passes` passes over `n_parts` parts.
    pub fn new(n_parts: usize, passes: u64) -> Self {
        Self(Passes::new(n_parts, passes, None))
    }
}

impl Shuffled {
    /// `passes` passes over `n_parts` parts, orders drawn from `seed`.
    pub fn new(n_parts: usize, passes: u64, seed: u64) -> Self {
        Self(Passes::new(n_parts, passes, Some(Xoshiro256PlusPlus::seed_from_u64(seed))))
    }
}

/// Passes over parts. A pass may begin while the last tasks of the one before are in flight.
#[derive(Debug)]
struct Passes {
    n_parts: usize,
    passes: u64,
    shuffle: Option<Xoshiro256PlusPlus>,
    /// Passes begun.
    begun: u64,
    /// What the current pass still has to hand out.
    left: VecDeque<Task>,
    in_flight: BTreeSet<PartId>,
    /// Cost and finished parts of passes that are not complete.
    open: BTreeMap<u64, (f64, usize)>,
    homes: Homes,
}

/// What a checkpoint keeps of passes.
#[derive(Serialize, Deserialize)]
struct Saved {
    n_parts: usize,
    shuffle: Option<Xoshiro256PlusPlus>,
    begun: u64,
    left: VecDeque<Task>,
    open: BTreeMap<u64, (f64, usize)>,
}

impl Passes {
    fn new(n_parts: usize, passes: u64, shuffle: Option<Xoshiro256PlusPlus>) -> Self {
        let (left, in_flight, open) = (VecDeque::new(), BTreeSet::new(), BTreeMap::new());
        Self { n_parts, passes, shuffle, begun: 0, left, in_flight, open, homes: Homes::default() }
    }

    fn begin(&mut self) {
        let pass = self.begun as f64;
        self.left =
            (0..self.n_parts).map(|p| Task { orders: vec![pass], ..Task::train(PartId::at(p)) }).collect();
        if let Some(rng) = &mut self.shuffle {
            self.left.make_contiguous().shuffle(rng);
        }
        self.begun += 1;
    }

    fn next(&mut self, worker: WorkerId) -> Next {
        if self.left.is_empty() && self.begun < self.passes {
            self.begin();
        }
        let (in_flight, homes) = (&self.in_flight, &self.homes);
        let free = |task: &Task| !in_flight.contains(&task.part);
        let pass = self.left.iter().find(|task| free(task)).map(|task| task.orders[0]); // never the next one first
        let near = |task: &Task| Some(task.orders[0]) == pass && homes.is_home(worker, task.part);
        match take_near(&mut self.left, free, near) {
            Some(task) => {
                self.in_flight.insert(task.part);
                Next::Task(task)
            }
            None if self.in_flight.is_empty() => Next::Done,
            None => Next::Wait,
        }
    }

    fn finished(&mut self, task: &Task, findings: &Findings) -> Option<Mark> {
        self.in_flight.remove(&task.part);
        let pass = task.orders[0] as u64;
        let (cost, parts) = self.open.entry(pass).or_default();
        *cost += findings.cost;
        *parts += 1;
        if *parts < self.n_parts {
            return None;
        }
        let (cost, _) = self.open.remove(&pass).expect("looked at");
        let epoch = (pass + 1) as f64;
        Some(Mark { epoch, objective: cost, done: Some(epoch / self.passes as f64), metrics: Vec::new() })
    }

    fn put_back(&mut self, task: Task) {
        self.in_flight.remove(&task.part);
        self.left.push_front(task);
    }

    fn save(&self, name: &str) -> Result<Vec<u8>, String> {
        let Self { n_parts, shuffle, begun, left, open, .. } = self;
        let (shuffle, left, open) = (shuffle.clone(), left.clone(), open.clone());
        pack(name, 1, &Saved { n_parts: *n_parts, shuffle, begun: *begun, left, open })
    }

    fn restore(&mut self, name: &str, state: &[u8]) -> Result<(), String> {
        let saved: Saved = unpack(name, 1, state)?;
        let fits = saved.left.iter().all(|task| task.part.index() < self.n_parts && task.orders.len() == 1);
        if saved.n_parts != self.n_parts || !fits {
            return Err(format!("the state of {name} is of {} parts, not {}", saved.n_parts, self.n_parts));
        }
        let Saved { shuffle, begun, left, open, .. } = saved;
        *self = Self { shuffle, begun, left, open, ..Self::new(self.n_parts, self.passes, None) };
        Ok(())
    }

    fn wind_down(&mut self) -> bool {
        let leaves_out = !self.left.is_empty() || self.begun < self.passes;
        self.left.clear();
        self.passes = self.begun;
        leaves_out
    }
}

macro_rules! pass_schedule {
    ($name:ident, $called:literal) => {
        impl Schedule for $name {
            fn next(&mut self, worker: WorkerId) -> Next {
                self.0.next(worker)
            }
            fn finished(&mut self, task: &Task, findings: &Findings) -> Option<Mark> {
                self.0.finished(task, findings)
            }
            fn put_back(&mut self, task: Task) {
                self.0.put_back(task);
            }
            fn wind_down(&mut self) -> bool {
                self.0.wind_down()
            }
            fn settle(&mut self, homes: &Homes) {
                self.0.homes = homes.clone();
            }
            fn pass_of(&self, task: &Task) -> Option<u64> {
                Some(task.orders[0] as u64)
            }
            fn save(&self) -> Result<Vec<u8>, String> {
                self.0.save($called)
            }
            fn restore(&mut self, state: &[u8]) -> Result<(), String> {
                self.0.restore($called, state)
            }
        }
    };
}
pass_schedule!(Fixed, "fixed");
pass_schedule!(Shuffled, "shuffled");
