//! What the scheduler decides: who may go on, with what, and when the run ends.
//!
//! Under `bsp` the workers are asked in order once everyone is done, and the schedule learns what they found in the
//! same order: assignments, and with them the whole run, repeat exactly. Otherwise a worker gets its next task while
//! it computes the one before, as far as the gate allows.

mod drain;
mod flush;
mod regroup;

use std::collections::{BTreeMap, VecDeque};

use self::drain::Drain;
use self::flush::Flushing;
use super::policy::{Mark, Next, Schedule};
use crate::audit::{Entry, Witness};
use crate::clock::{Adaptive, Clock, Consistency, Gate, VectorClock};
use crate::id::{PartId, ShardId, WorkerId};
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
    /// In a cluster: tell these shards, which have something of it, that a worker's step counts.
    Commit(WorkerId, Clock, Vec<ShardId>),
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
    /// A gate of one's own.
    gate: Option<Box<dyn Gate>>,
    /// The staleness in force, where it moves.
    adaptive: Option<Adaptive>,
    schedule: Box<dyn Schedule>,
    expected: usize,
    /// Whether shards keep the updates of a step back until they are told that it counts.
    transactional: bool,
    /// The steps of this generation that each shard was told of.
    commits: BTreeMap<ShardId, u64>,
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
    /// Whether the next generation goes on from a saved state.
    back: bool,
    flushing: Flushing,
    witness: Witness,
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
            gate: None,
            adaptive: Adaptive::of(consistency),
            schedule,
            expected,
            transactional: false,
            commits: BTreeMap::new(),
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
            back: false,
            flushing: Flushing::default(),
            witness: Witness::default(),
        }
    }

    /// Tells `witness` who is let through, and how far everyone is.
    #[must_use]
    pub fn witnessed(mut self, witness: Witness) -> Self {
        self.witness = witness;
        self
    }

    /// Lets workers through as `gate` says instead of as the consistency does.
    #[must_use]
    pub fn gated(mut self, gate: Box<dyn Gate>) -> Self {
        self.gate = Some(gate);
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
        self.witness.tell(|| Entry::Join { worker });
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
        self.witness.tell(|| Entry::Finish { worker: report.worker, clock: report.clock });
        self.others |= advanced;
        let flush = self.note_kept(&report);
        if let Some(adaptive) = &mut self.adaptive {
            adaptive.step(report.computed, report.waited, self.hands.len());
        }
        // Under `bsp` the advance of `min` says it.
        if self.transactional && self.consistency != Consistency::Bsp && !report.pushed.is_empty() {
            report.pushed.iter().for_each(|shard| *self.commits.entry(*shard).or_default() += 1);
            orders.push(Order::Commit(report.worker, report.clock, report.pushed));
        }
        match report.result {
            Ok(_) if flush => {}
            Ok(findings) => {
                self.tries.remove(&task.part);
                let mark = self.schedule.finished(&task, &findings);
                if let (Some(adaptive), Some(mark)) = (&mut self.adaptive, &mark) {
                    adaptive.mark(mark.objective);
                }
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
        if self.ending.failed.is_none() {
            self.witness.tell(|| Entry::End);
        }
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
        if self.is_flushing() {
            return self.flush_if_idle(worker, orders);
        }
        let clock = self.next_clock(worker);
        if !self.opens(worker, clock) {
            return Asked::Gated;
        }
        let next = if self.ending.failed.is_some() { Next::Done } else { self.schedule.next(worker) };
        let task = match next {
            Next::Task(task) if task.fresh && self.must_flush() => {
                return self.flush_first(task, worker, orders);
            }
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
        self.hand_out(worker, clock, task, orders);
        Asked::Assigned
    }

    /// The clock of the next step of a worker.
    fn next_clock(&self, worker: WorkerId) -> Clock {
        let finished = self.clocks.of(worker).expect("a worker joins before it works").max(self.clocks.min());
        Clock(finished.0 + self.hands[&worker].len() as u64)
    }

    /// The staleness in force.
    pub fn staleness(&self) -> Option<u64> {
        self.adaptive.as_ref().map_or(self.consistency.staleness(), |adaptive| Some(adaptive.staleness()))
    }

    fn opens(&mut self, worker: WorkerId, clock: Clock) -> bool {
        let min = self.clocks.min();
        match &mut self.gate {
            Some(gate) => gate.opens(worker, clock, min),
            None => self.staleness().is_none_or(|s| clock.ahead_of(min) <= s),
        }
    }

    fn hand_out(&mut self, worker: WorkerId, clock: Clock, task: Task, orders: &mut Vec<Order>) {
        let (min, staleness) = (self.clocks.min(), self.staleness());
        let (fresh, flushes) = (task.fresh, self.is_flush(worker, clock));
        self.witness.tell(|| Entry::Assign { worker, clock, min, staleness, fresh, flushes });
        self.clocks.unpark(worker);
        self.hands.get_mut(&worker).expect("joined").push_back((clock, task.clone()));
        let told = self.commits.iter().filter(|_| fresh).map(|(shard, commits)| (*shard, *commits));
        let commits = told.collect();
        orders.push(Order::Assign(worker, Assign { clock, min, staleness, commits, flush: flushes, task }));
    }

    /// A worker with nothing in hand holds nobody back; whether `min` rose.
    fn park(&mut self, worker: WorkerId) -> bool {
        self.witness.tell(|| Entry::Park { worker });
        self.clocks.park(worker)
    }

    fn nothing(&mut self, worker: WorkerId, in_hand: usize, done: bool, orders: &mut Vec<Order>) -> Asked {
        if in_hand == 0 {
            if self.keeps(worker) {
                return self.flush_if_idle(worker, orders); // one that is parked holds nobody back
            }
            if self.park(worker) {
                orders.push(Order::Advance(self.clocks.min()));
            }
        }
        self.others = true;
        Asked::Nothing { done }
    }
}

#[cfg(test)]
mod tests;
