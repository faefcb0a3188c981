//! Leases: a block is home or with one worker, and only its holder gives it back.

use slackline::WorkerId;
use slackline::message::{Lease, Rows};

use crate::simulation::world::World;

/// Blocks arrive at a worker only while nobody has them.
pub(crate) fn arrive(world: &mut World, worker: usize, rows: &Rows) {
    let known = rows.known_leases.iter().map(|(_, block)| *block);
    for block in rows.leases.iter().map(|lease| lease.block).chain(known) {
        let before = world.holders.insert(block, WorkerId::at(worker));
        assert_eq!(before, None, "block {block} is with two workers");
    }
}

/// Blocks come home from who has them.
pub(crate) fn return_home(world: &mut World, worker: WorkerId, returns: &[Lease]) {
    for lease in returns {
        let holder = world.holders.remove(&lease.block);
        assert_eq!(holder, Some(worker), "block {} is given back by who has it", lease.block);
    }
}
