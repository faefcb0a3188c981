//! Own writes: a read contains every update that its reader made before, once.

use slackline::{Clock, Step};

use super::freshness::{each_read, sum};
use crate::simulation::world::World;

/// What a step reads contains its worker's own updates.
pub(crate) fn holds(world: &World, reader: usize, step: &Step) {
    each_read(world, step, |worker, read, touches| {
        if worker == reader {
            let all = sum(world, worker, Clock(u64::MAX), touches);
            assert_eq!(read, all, "worker {reader} reads all of its own updates, once");
        }
    });
}
