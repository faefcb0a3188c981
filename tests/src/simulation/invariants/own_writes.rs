//! Own writes: a read contains every update that its reader made before, once.

use slackline::{Clock, Step};

use super::freshness::{certain, each_read, sum};
use crate::simulation::world::World;

/// What a step reads contains its worker's own updates.
pub(crate) fn holds(world: &World, reader: usize, step: &Step) {
    each_read(world, step, |worker, read, touches| {
        if worker == reader {
            let least = certain(world, worker, Clock(u64::MAX), touches);
            assert!(
                read >= least,
                "worker {reader} reads {read} of its own updates, must be {least} or more"
            );
            let all = sum(world, worker, touches);
            let lost = !world.past.doubtful[worker].is_empty();
            assert!(read == all || lost && read < all, "worker {reader} reads all of its own updates, once");
        }
    });
}
