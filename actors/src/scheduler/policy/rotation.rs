//! Rotation: a free (data part × model block) cell, the least visited first.
//!
//! Cells in flight share neither part nor block, so every update is exact: the static schedule of STRADS (Kim et
//! al. 2016) with the free choice of FPSGD (Zhuang et al. 2013), which never waits for the slowest block. Among equally
//! visited cells a worker gets those whose part is at home with it, and of these the ones whose block was last on its
//! node, which need not travel there.

use serde::{Deserialize, Serialize};

use super::{Mark, Next, Schedule};
use crate::checkpoint::{pack, unpack};
use crate::cluster::Homes;
use crate::id::{BlockId, PartId, WorkerId};
use crate::message::{Findings, Task};

/// Visits every cell once a pass.
#[derive(Debug)]
pub struct Rotation {
    n_parts: usize,
    n_blocks: usize,
    passes: u64,
    seed: u64,
    /// Whether no more cells are handed out.
    ending: bool,
    visits: Vec<u64>,
    part_in_flight: Vec<bool>,
    /// Who works on each block.
    holder: Vec<Option<WorkerId>>,
    /// Who worked on each block last, since the members met.
    last: Vec<Option<WorkerId>>,
    n_in_flight: usize,
    /// Cost and finished cells of each pass.
    sums: Vec<(f64, usize)>,
    homes: Homes,
}

/// What a checkpoint keeps of a rotation.
#[derive(Serialize, Deserialize)]
struct Saved {
    n_blocks: usize,
    visits: Vec<u64>,
    sums: Vec<(f64, usize)>,
}

impl Rotation {
    /// `passes` passes over `n_parts × n_blocks` cells; among equally visited cells `seed` decides.
    ///
    /// # Panics
    /// When there is no part or no block.
    pub fn new(n_parts: usize, n_blocks: usize, passes: u64, seed: u64) -> Self {
        assert!(n_parts > 0 && n_blocks > 0, "a rotation needs a part and a block");
        Self {
            n_parts,
            n_blocks,
            passes,
            seed,
            ending: false,
            visits: vec![0; n_parts * n_blocks],
            part_in_flight: vec![false; n_parts],
            holder: vec![None; n_blocks],
            last: vec![None; n_blocks],
            n_in_flight: 0,
            sums: Vec::new(),
            homes: Homes::default(),
        }
    }

    /// The best cell for a worker whose part and block are free: most are in flight where workers are many, so only the
    /// others are looked at.
    fn free_cell(&self, worker: WorkerId) -> Option<usize> {
        let free = (0..self.n_blocks).filter(|block| self.holder[*block].is_none());
        let blocks: Vec<(usize, bool)> = free.map(|block| (block, self.is_far(worker, block))).collect();
        let mut best = None;
        for part in (0..self.n_parts).filter(|part| !self.part_in_flight[*part]) {
            let away = !self.homes.is_home(worker, PartId::at(part));
            for (block, far) in &blocks {
                let cell = part * self.n_blocks + block;
                let visits = self.visits[cell];
                let rank = (visits, away, *far, mix(self.seed ^ mix(cell as u64 ^ visits << 32)));
                if visits < self.passes && best.is_none_or(|(least, _)| rank < least) {
                    best = Some((rank, cell));
                }
            }
        }
        best.map(|(_, cell)| cell)
    }

    /// Whether the present rows of a block are not on a worker's node.
    fn is_far(&self, worker: WorkerId, block: usize) -> bool {
        match self.last[block] {
            Some(last) => !self.homes.are_together(worker, last),
            None => !self.homes.is_home_of_block(worker, BlockId::at(block)),
        }
    }

    /// A cell comes back; returns it, and who worked on it.
    fn landed(&mut self, task: &Task) -> (usize, Option<WorkerId>) {
        let block = task.block.expect("a rotation picks the block").index();
        self.part_in_flight[task.part.index()] = false;
        self.n_in_flight -= 1;
        (task.part.index() * self.n_blocks + block, self.holder[block].take())
    }
}

/// SplitMix64's finaliser: spreads the bits of a small number.
fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

impl Schedule for Rotation {
    fn next(&mut self, worker: WorkerId) -> Next {
        let free = if self.ending { None } else { self.free_cell(worker) };
        let Some(cell) = free else {
            return if self.n_in_flight == 0 { Next::Done } else { Next::Wait };
        };
        let (part, block) = (PartId::at(cell / self.n_blocks), BlockId::at(cell % self.n_blocks));
        let task = Task { block: Some(block), orders: vec![self.visits[cell] as f64], ..Task::train(part) };
        self.visits[cell] += 1;
        self.part_in_flight[part.index()] = true;
        self.holder[block.index()] = Some(worker);
        self.n_in_flight += 1;
        Next::Task(task)
    }

    fn finished(&mut self, task: &Task, findings: &Findings) -> Option<Mark> {
        let (cell, worker) = self.landed(task);
        self.last[cell % self.n_blocks] = worker;
        let pass = task.orders[0] as usize;
        if self.sums.len() <= pass {
            self.sums.resize(pass + 1, (0.0, 0));
        }
        let (cost, cells) = &mut self.sums[pass];
        *cost += findings.cost;
        *cells += 1;
        let epoch = (pass + 1) as f64;
        let done = Some(epoch / self.passes as f64);
        (*cells == self.n_parts * self.n_blocks).then(|| Mark {
            epoch,
            objective: *cost,
            done,
            metrics: Vec::new(),
        })
    }

    fn put_back(&mut self, task: Task) {
        let (cell, _) = self.landed(&task);
        self.visits[cell] -= 1;
    }

    fn wind_down(&mut self) -> bool {
        self.ending = true;
        self.visits.iter().any(|visits| *visits < self.passes)
    }

    fn settle(&mut self, homes: &Homes) {
        self.homes = homes.clone();
        self.last.fill(None);
    }

    fn pass_of(&self, task: &Task) -> Option<u64> {
        Some(task.orders[0] as u64)
    }
    fn save(&self) -> Result<Vec<u8>, String> {
        let (visits, sums) = (self.visits.clone(), self.sums.clone());
        pack("rotation", 1, &Saved { n_blocks: self.n_blocks, visits, sums })
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), String> {
        let Saved { n_blocks, visits, sums } = unpack("rotation", 1, state)?;
        if n_blocks != self.n_blocks || visits.len() != self.visits.len() {
            let (cells, blocks) = (visits.len(), self.n_blocks);
            let mine = self.visits.len();
            return Err(format!(
                "the state of rotation is of {cells} cells in {n_blocks} blocks, not {mine} in {blocks}"
            ));
        }
        *self = Self { visits, sums, ..Self::new(self.n_parts, self.n_blocks, self.passes, self.seed) };
        Ok(())
    }
}
