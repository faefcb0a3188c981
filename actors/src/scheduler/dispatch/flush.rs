//! Flushing (`bounded_error`): before a worker is parked, before a step that must see everything, and before the end,
//! updates that workers keep back are sent, as a step of its own that no app sees.

use std::collections::BTreeSet;

use super::{Asked, Dispatch, Order};
use crate::clock::Clock;
use crate::id::{PartId, WorkerId};
use crate::message::{Report, Task};

/// Who keeps updates back, and whether all of them are to be sent before anything else.
#[derive(Debug, Default)]
pub(super) struct Flushing {
    keeping: BTreeSet<WorkerId>,
    under_way: bool,
    /// The steps in flight that do it.
    steps: BTreeSet<(WorkerId, Clock)>,
}

impl Dispatch {
    /// Whether some worker keeps back updates of steps that count.
    pub fn must_flush(&self) -> bool {
        !self.flushing.keeping.is_empty()
    }

    /// Whether a step is none: it has no task of the schedule.
    pub(super) fn is_flush(&self, worker: WorkerId, clock: Clock) -> bool {
        self.flushing.steps.contains(&(worker, clock))
    }

    /// Whether a report that has just come in is of such a step.
    pub fn is_of_flush(&self, report: &Report) -> bool {
        self.is_flush(report.worker, report.clock)
    }

    pub(super) fn keeps(&self, worker: WorkerId) -> bool {
        self.flushing.keeping.contains(&worker)
    }

    /// Whether nothing is handed out but this.
    pub(super) fn is_flushing(&self) -> bool {
        self.flushing.under_way
    }

    /// Notes whether a worker keeps updates back; returns whether its step was one that sends them.
    pub(super) fn note_kept(&mut self, report: &Report) -> bool {
        let flush = self.flushing.steps.remove(&(report.worker, report.clock));
        match report.keeps {
            true => drop(self.flushing.keeping.insert(report.worker)),
            false => drop(self.flushing.keeping.remove(&report.worker)),
        }
        if flush || self.flushing.under_way {
            self.others = true;
            self.flushing.under_way &= self.must_flush();
        }
        flush
    }

    /// Puts a task back that must see everything, until everything is sent.
    pub(super) fn flush_first(&mut self, task: Task, worker: WorkerId, orders: &mut Vec<Order>) -> Asked {
        self.schedule.put_back(task);
        self.wind_down();
        self.flushing.under_way = true;
        for other in self.everyone(None) {
            if other != worker {
                self.flush_if_idle(other, orders);
            }
        }
        self.flush_if_idle(worker, orders)
    }

    /// Has a worker send what it keeps back, once it has nothing else in hand. No gate holds it up: it reads nothing.
    pub(super) fn flush_if_idle(&mut self, worker: WorkerId, orders: &mut Vec<Order>) -> Asked {
        if !self.keeps(worker) || !self.hands[&worker].is_empty() {
            return Asked::Gated;
        }
        let clock = self.next_clock(worker);
        self.flushing.steps.insert((worker, clock));
        self.hand_out(worker, clock, Task::train(PartId(0)), orders); // no task: nobody looks at it
        Asked::Assigned
    }

    /// Has all idle workers send what they keep back; whether anything is left to send.
    pub fn flush(&mut self, orders: &mut Vec<Order>) -> bool {
        for worker in self.everyone(None) {
            self.flush_if_idle(worker, orders);
        }
        self.must_flush()
    }

    /// How many workers keep back updates of steps that count.
    pub fn kept_back(&self) -> usize {
        self.flushing.keeping.len()
    }

    /// The members change: what was kept back is lost.
    pub(super) fn forget_kept(&mut self) {
        self.flushing = Flushing::default();
    }
}
