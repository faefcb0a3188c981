//! Gate: a worker computes at most `s` clocks ahead of the slowest at work.

use slackline::Clock;

use crate::simulation::world::World;

/// A worker that computes this clock is within its bound.
pub(crate) fn holds(world: &World, worker: usize, clock: Clock) {
    let Some(s) = world.plan.consistency.staleness() else { return };
    let slowest = world.at_work.iter().filter_map(|steps| steps.front()).map(|assign| assign.clock).min();
    let ahead = clock.ahead_of(slowest.expect("this worker is at work"));
    assert!(ahead <= s, "worker {worker} is {ahead} clocks ahead of the slowest, must be {s} or less");
}
