//! Phases: groups of parts that take turns, none before the one before it is finished.

use std::collections::VecDeque;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{Mark, Next, Schedule, take_near};
use crate::checkpoint::{pack, unpack};
use crate::cluster::Homes;
use crate::id::{PartId, WorkerId};
use crate::message::{Findings, Task};

/// In every pass, first all parts of the first phase, then all of the second, and so on: the parts of a phase at the same
/// time, in any order, and none of the next before all of them are finished.
///
/// So a step sees all that the phases before it did, wherever the consistency allows nothing stale; alternating
/// minimisation is two phases. What a step of the same phase did it may or may not see. The parts of a phase follow
/// those of the one before in number. A task's orders are the pass and the phase, both from 0.
#[derive(Debug)]
pub struct Phases {
    /// Where each phase ends, in parts.
    ends: Vec<usize>,
    passes: u64,
    /// Phases that have begun, over all passes.
    begun: u64,
    /// Parts that the phase under way still has to hand out.
    left: VecDeque<usize>,
    in_flight: usize,
    ending: bool,
    /// Cost of the pass under way, by part: added up in that order.
    costs: Vec<f64>,
    homes: Homes,
}

/// What a checkpoint keeps of phases.
#[derive(Serialize, Deserialize)]
struct Saved {
    ends: Vec<usize>,
    begun: u64,
    left: VecDeque<usize>,
    in_flight: usize,
    costs: Vec<f64>,
}

impl Phases {
    /// `passes` passes over phases of so many parts each.
    ///
    /// # Panics
    /// When there is no phase, or one without parts.
    pub fn new(parts: &[usize], passes: u64) -> Self {
        assert!(!parts.is_empty() && !parts.contains(&0), "every phase needs a part");
        let ends: Vec<usize> = parts
            .iter()
            .scan(0, |end, n| {
                *end += n;
                Some(*end)
            })
            .collect();
        Self {
            costs: vec![0.0; ends[ends.len() - 1]],
            ends,
            passes,
            begun: 0,
            left: VecDeque::new(),
            in_flight: 0,
            ending: false,
            homes: Homes::default(),
        }
    }

    fn n_phases(&self) -> u64 {
        self.ends.len() as u64
    }

    /// The parts of a phase of a pass.
    fn parts(&self, phase: u64) -> Range<usize> {
        let phase = phase as usize;
        let start = if phase == 0 { 0 } else { self.ends[phase - 1] };
        start..self.ends[phase]
    }

    fn all(&self) -> u64 {
        self.passes.saturating_mul(self.n_phases())
    }

    /// Whether the phase under way is the last of its pass.
    fn is_last_phase(&self) -> bool {
        self.begun.is_multiple_of(self.n_phases())
    }
}

impl Schedule for Phases {
    fn next(&mut self, worker: WorkerId) -> Next {
        let may_begin = self.begun < self.all() && !self.ending;
        if self.left.is_empty() && self.in_flight == 0 && may_begin {
            self.left = self.parts(self.begun % self.n_phases()).collect();
            self.begun += 1;
        }
        let homes = &self.homes;
        let near = |part: &usize| homes.is_home(worker, PartId::at(*part));
        let may = |_: &usize| !self.ending;
        let Some(part) = take_near(&mut self.left, may, near) else {
            return if self.in_flight == 0 { Next::Done } else { Next::Wait };
        };
        self.in_flight += 1;
        let (pass, phase) = ((self.begun - 1) / self.n_phases(), (self.begun - 1) % self.n_phases());
        Next::Task(Task { orders: vec![pass as f64, phase as f64], ..Task::train(PartId::at(part)) })
    }

    fn finished(&mut self, task: &Task, findings: &Findings) -> Option<Mark> {
        self.in_flight -= 1;
        self.costs[task.part.index()] += findings.cost;
        let is_last = self.in_flight == 0 && self.left.is_empty() && self.is_last_phase();
        is_last.then(|| {
            let objective = self.costs.iter().sum();
            self.costs.fill(0.0);
            let epoch = (self.begun / self.n_phases()) as f64;
            Mark { epoch, objective, done: Some(epoch / self.passes as f64), metrics: Vec::new() }
        })
    }

    fn put_back(&mut self, task: Task) {
        self.in_flight -= 1;
        self.left.push_front(task.part.index());
    }

    fn wind_down(&mut self) -> bool {
        self.ending = true;
        !self.left.is_empty() || self.begun < self.all()
    }

    fn settle(&mut self, homes: &Homes) {
        self.homes = homes.clone();
    }

    fn pass_of(&self, task: &Task) -> Option<u64> {
        Some(task.orders[0] as u64)
    }

    fn save(&self) -> Result<Vec<u8>, String> {
        let (ends, left, costs) = (self.ends.clone(), self.left.clone(), self.costs.clone());
        pack("phases", 1, &Saved { ends, begun: self.begun, left, in_flight: self.in_flight, costs })
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), String> {
        let Saved { ends, begun, left, in_flight, costs } = unpack("phases", 1, state)?;
        let n_parts = self.costs.len();
        if ends != self.ends || costs.len() != n_parts || left.iter().any(|part| *part >= n_parts) {
            return Err(format!("the state of phases is of {ends:?} parts, not {:?}", self.ends));
        }
        (self.begun, self.left, self.in_flight, self.costs) = (begun, left, in_flight, costs);
        Ok(())
    }
}
