//! Rounds: rotation in step, so that who visits what after what does not depend on how many workers there are.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::{Mark, Next, Schedule, take_near};
use crate::checkpoint::{pack, unpack};
use crate::cluster::Homes;
use crate::id::{BlockId, PartId, WorkerId};
use crate::message::{Findings, Task};

/// Visits the cells of `n` parts and `n` blocks in rounds: in round `r` part `i` meets block `(i + r) mod n`, and no round
/// begins before the one before it is finished. `n` rounds are a pass.
///
/// This is the static rotation of STRADS (Kim et al. 2016). Under `bsp` a visit sees just what the rounds before it did, and
/// what its own round did as far as it happens to be done: an app that leaves that out has the same result with any number
/// of workers. A task's orders are the pass and the round, both from 0.
#[derive(Debug)]
pub struct Rounds {
    n: usize,
    passes: u64,
    /// The round under way, over all passes.
    round: u64,
    /// Parts that it still has to hand out.
    left: VecDeque<usize>,
    in_flight: usize,
    ending: bool,
    /// Cost of the pass under way, by part: added up in that order.
    costs: Vec<f64>,
    homes: Homes,
}

/// What a checkpoint keeps of rounds.
#[derive(Serialize, Deserialize)]
struct Saved {
    n: usize,
    round: u64,
    left: VecDeque<usize>,
    in_flight: usize,
    costs: Vec<f64>,
}

impl Rounds {
    /// `passes` passes over `n x n` cells.
    ///
    /// # Panics
    /// When there is no part.
    pub fn new(n: usize, passes: u64) -> Self {
        assert!(n > 0, "rounds need a part");
        Self {
            n,
            passes,
            round: 0,
            left: if passes > 0 { (0..n).collect() } else { VecDeque::new() },
            in_flight: 0,
            ending: false,
            costs: vec![0.0; n],
            homes: Homes::default(),
        }
    }

    fn rounds(&self) -> u64 {
        self.passes.saturating_mul(self.n as u64)
    }
}

impl Schedule for Rounds {
    fn next(&mut self, worker: WorkerId) -> Next {
        if self.left.is_empty() && self.in_flight == 0 && !self.ending && self.round + 1 < self.rounds() {
            self.round += 1;
            self.left = (0..self.n).collect();
        }
        let homes = &self.homes;
        let near = |part: &usize| homes.is_home(worker, PartId::at(*part));
        let may = |_: &usize| !self.ending;
        let Some(part) = take_near(&mut self.left, may, near) else {
            return if self.in_flight == 0 { Next::Done } else { Next::Wait };
        };
        self.in_flight += 1;
        let n = self.n as u64;
        let block = (part as u64 + self.round) % n;
        let orders = vec![(self.round / n) as f64, self.round as f64];
        Next::Task(Task { block: Some(BlockId::at(block as usize)), orders, ..Task::train(PartId::at(part)) })
    }

    fn finished(&mut self, task: &Task, findings: &Findings) -> Option<Mark> {
        self.in_flight -= 1;
        self.costs[task.part.index()] += findings.cost;
        let n = self.n as u64;
        let is_last = self.in_flight == 0 && self.left.is_empty() && self.round % n == n - 1;
        is_last.then(|| {
            let objective = self.costs.iter().sum();
            self.costs.fill(0.0);
            let epoch = (self.round / n + 1) as f64;
            Mark { epoch, objective, done: Some(epoch / self.passes as f64), metrics: Vec::new() }
        })
    }

    fn put_back(&mut self, task: Task) {
        self.in_flight -= 1;
        self.left.push_front(task.part.index());
    }

    fn wind_down(&mut self) -> bool {
        self.ending = true;
        !self.left.is_empty() || self.round + 1 < self.rounds()
    }

    fn settle(&mut self, homes: &Homes) {
        self.homes = homes.clone();
    }

    fn pass_of(&self, task: &Task) -> Option<u64> {
        Some(task.orders[0] as u64)
    }

    fn save(&self) -> Result<Vec<u8>, String> {
        let (left, costs) = (self.left.clone(), self.costs.clone());
        pack("rounds", 1, &Saved { n: self.n, round: self.round, left, in_flight: self.in_flight, costs })
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), String> {
        let Saved { n, round, left, in_flight, costs } = unpack("rounds", 1, state)?;
        if n != self.n || costs.len() != n || left.iter().any(|part| *part >= n) {
            return Err(format!("the state of rounds is of {n} parts, not {}", self.n));
        }
        *self = Self { round, left, in_flight, costs, ..Self::new(self.n, self.passes) };
        Ok(())
    }
}
