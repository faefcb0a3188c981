//! Priorities: work on the variables that still move.
//!
//! Two kinds of task alternate. A *sweep* looks at every variable of every part and reports those that have to move
//! and how much; they go into the priority queue. A *round* gives the variables with the highest priorities, part by
//! part, to workers to optimise. A [`Guide`] of the app says after each what comes next. Petuum samples variables in
//! proportion to how much they moved last (Lee et al. 2014, eq. 5); a sweep measures how much they still have to.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::{CANNOT, Mark, Next, Schedule, take_near};
use crate::checkpoint::{Bytes, pack, unpack};
use crate::cluster::Homes;
use crate::id::{PartId, VariableId, WorkerId};
use crate::message::{Findings, Task};
use crate::scheduler::PriorityQueue;

/// What comes next, in the opinion of a [`Guide`].
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// A sweep over all variables.
    Sweep,
    /// A round on the `size` variables with the highest priorities.
    Focus {
        /// Variables in the working set.
        size: usize,
    },
    /// Another round on the same variables.
    Again,
    /// The end.
    Stop,
    /// The run cannot go on, and why.
    Failed(String),
}

/// The app's half of a priority schedule: it takes in what tasks found and says what comes next.
pub trait Guide: Send {
    /// Takes in what a sweep over one part found.
    fn swept(&mut self, part: PartId, findings: &Findings);
    /// Every part has been swept, nothing is in flight.
    fn after_sweep(&mut self) -> Verdict;
    /// Takes in what a round found on one part.
    fn worked(&mut self, part: PartId, findings: &Findings);
    /// A round is complete, nothing is in flight.
    fn after_round(&mut self) -> Verdict;
    /// What the app needs to know for its next task.
    fn orders(&self, sweep: bool) -> Vec<f64>;
    /// How many tasks of a round may be in flight at once.
    fn width(&self) -> usize;
    /// Whether the next round is one task over the variables of all parts, for a worker that has them all; otherwise
    /// there is a task for each part.
    fn pooled(&self) -> bool {
        false
    }
    /// A line for the run's history, if there is one since the last call.
    fn mark(&mut self) -> Option<Mark>;
    /// The run ends early: the next sweep is the last.
    fn wind_down(&mut self);
    /// Its state, for a checkpoint: as [`Schedule::save`].
    ///
    /// # Errors
    /// A sentence where it cannot be saved, as none can that does not say how.
    fn save(&self) -> Result<Vec<u8>, String> {
        Err(CANNOT.to_owned())
    }
    /// Goes on from a state that [`Guide::save`] gave: as [`Schedule::restore`].
    ///
    /// # Errors
    /// A sentence where the state is not one of such a guide.
    fn restore(&mut self, _state: &[u8]) -> Result<(), String> {
        Err(CANNOT.to_owned())
    }
}

/// Sweeps and rounds, as its [`Guide`] says.
pub struct Priority<G> {
    guide: G,
    n_parts: usize,
    queue: PriorityQueue,
    home: HashMap<VariableId, PartId>,
    groups: Vec<Task>,
    sweeping: bool,
    left: VecDeque<Task>,
    in_flight: BTreeSet<PartId>,
    ended: Option<Next>,
    homes: Homes,
}

/// What a checkpoint keeps of it.
#[derive(Serialize, Deserialize)]
struct Saved {
    guide: Bytes,
    n_parts: usize,
    queue: Vec<(VariableId, f32)>,
    home: BTreeMap<VariableId, PartId>,
    groups: Vec<Task>,
    sweeping: bool,
    left: VecDeque<Task>,
    /// What a schedule around this one has in its hands.
    in_flight: BTreeSet<PartId>,
    /// Whether it is over, and if it failed, why.
    ended: bool,
    failed: Option<String>,
}

impl<G: Guide> Priority<G> {
    /// Begins with a sweep over `n_parts` parts.
    pub fn new(n_parts: usize, guide: G) -> Self {
        let mut new = Self {
            guide,
            n_parts,
            queue: PriorityQueue::default(),
            home: HashMap::new(),
            groups: Vec::new(),
            sweeping: true,
            left: VecDeque::new(),
            in_flight: BTreeSet::new(),
            ended: None,
            homes: Homes::default(),
        };
        new.sweep();
        new
    }

    fn sweep(&mut self) {
        self.sweeping = true;
        self.queue.clear();
        self.home.clear();
        let orders = self.guide.orders(true);
        let task = |part| Task { orders: orders.clone(), fresh: true, ..Task::train(part) };
        self.left = (0..self.n_parts).map(PartId::at).map(task).collect();
    }

    fn focus(&mut self, size: usize) {
        let mut variables: BTreeMap<PartId, Vec<VariableId>> = BTreeMap::new();
        for (variable, _) in std::iter::from_fn(|| self.queue.pop()).take(size) {
            variables.entry(self.home[&variable]).or_default().push(variable);
        }
        let task = |(part, mut variables): (PartId, Vec<VariableId>)| {
            variables.sort_unstable();
            Task { variables, ..Task::train(part) }
        };
        self.groups = variables.into_iter().map(task).collect();
        if self.guide.pooled() {
            self.pool();
        }
        self.round();
    }

    /// Makes one task of all groups.
    fn pool(&mut self) {
        let mut groups = std::mem::take(&mut self.groups).into_iter();
        let pooled = groups.next().map(|first| {
            groups.fold(first, |mut all, group| {
                all.with.push(group.part);
                all.variables.extend(group.variables);
                all
            })
        });
        self.groups.extend(pooled);
    }

    fn round(&mut self) {
        self.sweeping = false;
        let orders = self.guide.orders(false);
        let fresh = self.guide.width() <= 1; // one after the other: each sees all that came before
        let task = |group: &Task| Task { orders: orders.clone(), fresh, ..group.clone() };
        self.left = self.groups.iter().map(task).collect();
        if self.left.is_empty() {
            self.sweep();
        }
    }

    fn go_on(&mut self) {
        let verdict = if self.sweeping { self.guide.after_sweep() } else { self.guide.after_round() };
        match verdict {
            Verdict::Sweep => self.sweep(),
            Verdict::Focus { size } => self.focus(size),
            Verdict::Again => self.round(),
            Verdict::Stop => self.ended = Some(Next::Done),
            Verdict::Failed(why) => self.ended = Some(Next::Failed(why)),
        }
    }
}

impl<G: Guide> Schedule for Priority<G> {
    fn next(&mut self, worker: WorkerId) -> Next {
        if let Some(ended) = &self.ended {
            return ended.clone();
        }
        let width = if self.sweeping { usize::MAX } else { self.guide.width().max(1) };
        if self.in_flight.len() >= width {
            return Next::Wait;
        }
        let homes = &self.homes;
        match take_near(&mut self.left, |_| true, |task| homes.is_home(worker, task.part)) {
            Some(task) => {
                self.in_flight.insert(task.part);
                Next::Task(task)
            }
            None => Next::Wait,
        }
    }

    fn finished(&mut self, task: &Task, findings: &Findings) -> Option<Mark> {
        self.in_flight.remove(&task.part);
        if self.sweeping {
            for (variable, priority) in &findings.priorities {
                self.queue.set(*variable, *priority);
                self.home.insert(*variable, task.part);
            }
            self.guide.swept(task.part, findings);
        } else {
            self.guide.worked(task.part, findings);
        }
        if self.left.is_empty() && self.in_flight.is_empty() {
            self.go_on();
        }
        self.guide.mark()
    }

    fn settle(&mut self, homes: &Homes) {
        self.homes = homes.clone();
    }

    fn put_back(&mut self, task: Task) {
        self.in_flight.remove(&task.part);
        self.left.push_front(task);
    }

    fn wind_down(&mut self) -> bool {
        self.guide.wind_down();
        self.ended.is_none()
    }
    fn save(&self) -> Result<Vec<u8>, String> {
        let saved = Saved {
            guide: Bytes(self.guide.save()?),
            n_parts: self.n_parts,
            queue: self.queue.entries().to_vec(),
            home: self.home.iter().map(|(variable, part)| (*variable, *part)).collect(),
            groups: self.groups.clone(),
            sweeping: self.sweeping,
            left: self.left.clone(),
            in_flight: self.in_flight.clone(),
            ended: self.ended.is_some(),
            failed: match &self.ended {
                Some(Next::Failed(why)) => Some(why.clone()),
                _ => None,
            },
        };
        pack("priority", 1, &saved)
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), String> {
        let saved: Saved = unpack("priority", 1, state)?;
        if saved.n_parts != self.n_parts {
            let (found, mine) = (saved.n_parts, self.n_parts);
            return Err(format!("the state of priority is of {found} parts, not {mine}"));
        }
        self.guide.restore(&saved.guide.0)?;
        self.queue.clear();
        saved.queue.iter().for_each(|(variable, priority)| self.queue.set(*variable, *priority));
        self.home = saved.home.into_iter().collect();
        (self.groups, self.left, self.sweeping) = (saved.groups, saved.left, saved.sweeping);
        self.in_flight = saved.in_flight;
        self.ended = saved.ended.then(|| saved.failed.map_or(Next::Done, Next::Failed));
        Ok(())
    }
}
