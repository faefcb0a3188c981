//! What the scheduler decides: who may go on, with what, and when the run ends.
//!
//! Under `bsp` the workers are asked in order once everyone is done, and the schedule learns what they found in the
//! same order: assignments, and with them the whole run, repeat exactly. Otherwise a worker gets its next task while
//! it computes the one before, as far as the gate allows.

mod drain;
mod regroup;

use std::collections::{BTreeMap, VecDeque};

use self::drain::Drain;
use super::policy::{Mark, Next, Schedule};
use crate::clock::{Clock, Consistency, Gate, VectorClock};
use crate::id::{PartId, WorkerId};
use crate::message::{Assign, Failure, Phase, Report, Task};
pub use regroup::Halted;

/// A task that panicked this often ends the run.
const TRIES: u32 = 3;

/// What the scheduler does next.
#[derive(Debug, Clone, PartialEq)]
pub enum Order {
    /// Give a worker a step.
    Assign(WorkerId, Assign),
    /// Tell all shards that `min` rose.
    Advance(Clock),
    /// In a cluster: tell all shards that a worker's step counts.
    Commit(WorkerId, Clock),
    /// Tell whoever watches the run.
    Mark(Mark),
    /// Count the time from now on as training, or as evaluation.
    Enter(Phase),
    /// Nothing is in flight, and nothing begins before [`Dispatch::resume`]: the moment for a checkpoint.
    Checkpoint,
    /// The run is over and nothing is in flight.
    End(Ending),
}

/// How a run ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ending {
    /// It was told to stop while the schedule had work left.
    pub stopped: bool,
    /// It could not go on, and why.
    pub failed: Option<String>,
}

/// The clocks, the gate and the schedule of one run.
pub struct Dispatch {
    consistency: Consistency,
    gate: Box<dyn Gate>,
    schedule: Box<dyn Schedule>,
    expected: usize,
    /// Whether shards keep the updates of a step back until they are told that it counts.
    transactional: bool,
    clocks: VectorClock,
    /// What counts of the last generation of members that anybody joined.
    finished: Vec<(WorkerId, Clock)>,
    hands: BTreeMap<WorkerId, VecDeque<(Clock, Task)>>,
    /// Under `bsp`: what came in during the clock that is under way.
    held: BTreeMap<WorkerId, (Task, Report)>,
    tries: BTreeMap<PartId, u32>,
    /// Whether others than the worker that reports may get work: `min` rose, or the schedule had nothing for somebody.
    others: bool,
    phase: Phase,
    /// Whether the run was told to stop.
    stopping: bool,
    drain: Drain,
    ending: Ending,
    ended: bool,
}

/// What became of asking the schedule on behalf of a worker.
#[derive(PartialEq)]
enum Asked {
    Assigned,
    Full,
    Gated,
    Nothing { done: bool },
}

impl Dispatch {
    /// Starts when `expected` workers have joined.
    pub fn new(consistency: Consistency, schedule: Box<dyn Schedule>, expected: usize) -> Self {
        Self {
            consistency,
            gate: Box::new(consistency),
            schedule,
            expected,
            transactional: false,
            clocks: VectorClock::default(),
            finished: Vec::new(),
            hands: BTreeMap::new(),
            held: BTreeMap::new(),
            tries: BTreeMap::new(),
            others: false,
            phase: Phase::Train,
            stopping: false,
            drain: Drain::Off,
            ending: Ending::default(),
            ended: false,
        }
    }

    /// Lets workers through as `gate` says instead of as the consistency does.
    #[must_use]
    pub fn gated(mut self, gate: Box<dyn Gate>) -> Self {
        self.gate = gate;
        self
    }

    /// The same, as part of a cluster: shards are told of every step that counts.
    #[must_use]
    pub fn transactional(mut self) -> Self {
        self.transactional = true;
        self
    }

    /// The clocks that everyone has finished.
    pub fn min(&self) -> Clock {
        self.clocks.min()
    }

    /// The steps in flight: worker, clock and task.
    pub fn in_flight(&self) -> impl Iterator<Item = (WorkerId, Clock, &Task)> {
        self.hands.iter().flat_map(|(worker, hand)| hand.iter().map(|(clock, task)| (*worker, *clock, task)))
    }

    /// Takes a worker in.
    pub fn join(&mut self, worker: WorkerId) -> Vec<Order> {
        self.clocks.join(worker);
        self.hands.entry(worker).or_default();
        self.go_on(None)
    }

    /// Takes in a finished step.
    pub fn report(&mut self, report: Report) -> Vec<Order> {
        let worker = report.worker;
        let hand = self.hands.get_mut(&worker).expect("a worker joins before it reports");
        let (clock, task) = hand.pop_front().expect("a worker reports what it was assigned");
        assert_eq!(clock, report.clock, "worker {worker} reports its clocks in order");
        let mut orders = Vec::new();
        if self.consistency == Consistency::Bsp {
            self.held.insert(worker, (task, report));
            if self.hands.values().any(|hand| !hand.is_empty()) {
                return orders;
            }
            let held = std::mem::take(&mut self.held);
            held.into_values().for_each(|(task, report)| self.learn(task, report, &mut orders));
        } else {
            self.learn(task, report, &mut orders);
        }
        orders.extend(self.go_on(Some(worker)));
        orders
    }

    /// Ends the run at a clock.
    pub fn stop(&mut self) -> Vec<Order> {
        self.stopping = true;
        self.drain = Drain::Off;
        self.wind_down();
        self.go_on(None)
    }

    /// Has the schedule wind down if the run was told to stop: again after tasks came back, which may leave out more.
    fn wind_down(&mut self) {
        if self.stopping {
            self.ending.stopped |= self.schedule.wind_down();
        }
    }

    fn learn(&mut self, task: Task, report: Report, orders: &mut Vec<Order>) {
        let advanced = self.clocks.tick(report.worker);
        self.others |= advanced;
        if self.transactional && self.consistency != Consistency::Bsp {
            orders.push(Order::Commit(report.worker, report.clock)); // under `bsp` the advance of `min` says it
        }
        match report.result {
            Ok(findings) => {
                self.tries.remove(&task.part);
                let mark = self.schedule.finished(&task, &findings);
                match mark {
                    Some(mark) if !mark.objective.is_finite() => {
                        self.fail(format!("the objective is {}: the run diverged", mark.objective));
                    }
                    mark => orders.extend(mark.map(Order::Mark)),
                }
            }
            Err(Failure::Fatal(why)) => self.fail(why),
            Err(Failure::Again(why)) => {
                let tries = self.tries.entry(task.part).or_default();
                *tries += 1;
                match *tries < TRIES {
                    true => {
                        self.schedule.put_back(task);
                        self.wind_down();
                    }
                    false => self.fail(format!("{why}, for the {TRIES}rd time")),
                }
            }
        }
        if advanced {
            orders.push(Order::Advance(self.clocks.min()));
        }
    }

    fn fail(&mut self, why: String) {
        self.ending.failed.get_or_insert(why);
    }

    /// Hands out what can be handed out, the worker that just reported first.
    fn go_on(&mut self, first: Option<WorkerId>) -> Vec<Order> {
        let mut orders = Vec::new();
        if self.ended || self.hands.len() < self.expected {
            return orders;
        }
        if self.is_draining() {
            return self.drained();
        }
        let others = std::mem::take(&mut self.others);
        let mut workers = match first {
            _ if self.consistency == Consistency::Bsp => {
                if self.hands.values().any(|hand| !hand.is_empty()) {
                    return orders;
                }
                self.everyone(None)
            }
            Some(first) if !others => vec![first],
            _ => self.everyone(first),
        };
        let mut done = false;
        loop {
            let min = self.clocks.min();
            let mut assigned = false;
            for worker in &workers {
                match self.ask(*worker, &mut orders) {
                    Asked::Assigned => assigned = true,
                    Asked::Nothing { done: d } => done |= d,
                    Asked::Full | Asked::Gated => {}
                }
            }
            if self.clocks.min() > min {
                workers = self.everyone(first); // parking may have opened the gate for others
            } else if !assigned || self.consistency == Consistency::Bsp {
                break;
            }
        }
        if self.hands.values().all(VecDeque::is_empty) {
            orders.push(self.end(done));
        }
        orders
    }

    /// All workers: those with nothing in hand before those with something, then `first`, then in order. So nobody
    /// gets a second step while another has none.
    fn everyone(&self, first: Option<WorkerId>) -> Vec<WorkerId> {
        let mut workers: Vec<WorkerId> = self.hands.keys().copied().collect();
        workers.sort_by_key(|worker| (self.hands[worker].len(), Some(*worker) != first));
        workers
    }

    fn end(&mut self, done: bool) -> Order {
        if !done && self.ending.failed.is_none() {
            self.fail("the schedule has nothing to hand out and nothing is in flight".to_owned());
        }
        self.ended = true;
        Order::End(self.ending.clone())
    }

    /// How many steps a worker may have in hand.
    fn depth(&self) -> usize {
        if self.consistency == Consistency::Bsp { 1 } else { 2 }
    }

    fn ask(&mut self, worker: WorkerId, orders: &mut Vec<Order>) -> Asked {
        let in_hand = self.hands[&worker].len();
        if in_hand >= self.depth() {
            return Asked::Full;
        }
        let min = self.clocks.min();
        let finished = self.clocks.of(worker).expect("a worker joins before it works").max(min);
        let clock = Clock(finished.0 + in_hand as u64);
        if !self.gate.opens(worker, clock, min) {
            return Asked::Gated;
        }
        let next = if self.ending.failed.is_some() { Next::Done } else { self.schedule.next(worker) };
        let task = match next {
            Next::Task(task) => task,
            Next::Wait => return self.nothing(worker, in_hand, false, orders),
            Next::Done => return self.nothing(worker, in_hand, true, orders),
            Next::Failed(why) => {
                self.fail(why);
                return self.nothing(worker, in_hand, true, orders);
            }
        };
        if task.phase != self.phase {
            self.phase = task.phase;
            orders.push(Order::Enter(self.phase));
        }
        self.clocks.unpark(worker);
        self.hands.get_mut(&worker).expect("joined").push_back((clock, task.clone()));
        orders.push(Order::Assign(worker, Assign { clock, min, task }));
        Asked::Assigned
    }

    fn nothing(&mut self, worker: WorkerId, in_hand: usize, done: bool, orders: &mut Vec<Order>) -> Asked {
        if in_hand == 0 && self.clocks.park(worker) {
            orders.push(Order::Advance(self.clocks.min()));
        }
        self.others = true;
        Asked::Nothing { done }
    }
}

#[cfg(test)]
mod tests;
