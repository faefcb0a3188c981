//! Bytes by kind of message, as far as they matter: those that carry rows or ask for them.
//!
//! Counted by the workers from the numbers in a message and its keys, so that a run in one process has them too. Between
//! processes the bridge counts what passes the socket (`Bridge::traffic`).

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::message::{Lease, Page, Pull, Push, RowBatch, Rows};

/// The fixed part of a message.
const HEAD: u64 = 48;
/// What names a page, a block or a row list.
const KEY: u64 = 8;

/// Bytes by kind of message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Sent: pulls.
    pub pull: u64,
    /// Sent: updates and blocks given back, to backups too.
    pub push: u64,
    /// Received: rows and blocks that were asked for.
    pub rows: u64,
    /// Received: rows that shards sent by themselves.
    pub eager: u64,
}

impl Traffic {
    /// Name and bytes of each kind.
    pub fn kinds(&self) -> [(&'static str, u64); 4] {
        [("pull", self.pull), ("push", self.push), ("rows", self.rows), ("eager", self.eager)]
    }

    /// All of it.
    pub fn total(&self) -> u64 {
        self.kinds().iter().map(|(_, bytes)| bytes).sum()
    }
}

impl AddAssign for Traffic {
    fn add_assign(&mut self, more: Self) {
        self.pull += more.pull;
        self.push += more.push;
        self.rows += more.rows;
        self.eager += more.eager;
    }
}

impl Pull {
    pub(crate) fn n_bytes(&self) -> u64 {
        let rows: usize = self.rows.iter().map(|(_, rows)| rows.len()).sum();
        let keys = self.pages.len() + self.rows.len() + self.leases.len() + self.copies.len();
        HEAD + KEY * (keys + 3 * self.known.len()) as u64 + 4 * rows as u64
    }
}

impl Push {
    pub(crate) fn n_bytes(&self) -> u64 {
        HEAD + pages(&self.deltas) + batches(&self.batches) + leases(&self.returns)
    }
}

impl Rows {
    pub(crate) fn n_bytes(&self) -> u64 {
        let named = self.withheld.len() + self.known_leases.len() + self.known_copies.len();
        let clocks = 8 * self.applied.len() as u64 + KEY * named as u64;
        let blocks = leases(&self.leases) + leases(&self.copies);
        HEAD + clocks + pages(&self.pages) + batches(&self.batches) + blocks
    }
}

fn pages(pages: &[Page]) -> u64 {
    pages.iter().map(|page| KEY + page.rows.n_bytes()).sum()
}

fn batches(batches: &[RowBatch]) -> u64 {
    batches.iter().map(|batch| KEY + 4 * batch.rows.len() as u64 + batch.values.n_bytes()).sum()
}

fn leases(leases: &[Lease]) -> u64 {
    leases.iter().map(|lease| KEY + lease.rows.n_bytes()).sum()
}
