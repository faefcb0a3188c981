//! Freshness: a read at clock `c` contains every update of every worker from clocks `< c − s` (and
//! `< c − 2s` where updates may be kept back); a fresh one every update
//! from clocks before the `min` at which it was assigned. Nothing is read that nobody made.

use slackline::{Clock, PartId, Step};

use crate::simulation::toy::touched;
use crate::simulation::world::World;

/// What a step reads is fresh enough, and true.
pub(crate) fn holds(world: &World, reader: usize, step: &Step) {
    let assigned = world.at_work[reader].iter().find(|assign| assign.clock == step.clock());
    let assign = assigned.expect("a step that computes was assigned and is not reported");
    let promised = world.plan.consistency.promised(step.clock());
    let kept = world.plan.consistency.keeps_back().map_or(0, |(_, s)| s);
    let in_force = assign.staleness.map_or(0, |s| step.clock().0.saturating_sub(s + kept));
    let oldest = promised.max(Clock(in_force));
    let oldest = if assign.task.fresh { oldest.max(assign.min) } else { oldest };
    each_read(world, step, |worker, read, touches| {
        let (all, due) = (sum(world, worker, touches), certain(world, worker, oldest, touches));
        assert!(read >= due, "worker {reader} read {read} of worker {worker}, must be {due} or more");
        assert!(read <= all, "worker {reader} read {read} of worker {worker}, who made {all}");
    });
}

/// Everything that a step reads: whose updates, their sum, and how often a part counts in it.
pub(crate) fn each_read(
    world: &World,
    step: &Step,
    mut check: impl FnMut(usize, f64, &dyn Fn(PartId) -> f64),
) {
    let counts = step.read::<f64>("counts");
    let mut row = vec![0.0; world.plan.workers];
    for number in 0..world.plan.parts {
        counts.copy_row(number, &mut row);
        let times =
            |part| touched(part, world.plan.parts).iter().filter(|row| **row == number).count() as f64;
        row.iter().enumerate().for_each(|(worker, read)| check(worker, *read, &times));
    }
    let own = step.read::<i32>("own");
    let mut row = vec![0.0; world.plan.workers];
    own.sparse_row(step.part().index()).for_each(|(worker, n)| row[worker as usize] = f64::from(n));
    let times = |part| f64::from(u8::from(part == step.part()));
    row.iter().enumerate().for_each(|(worker, read)| check(worker, *read, &times));
}

/// The sum of the updates of a worker.
pub(crate) fn sum(world: &World, worker: usize, touches: &dyn Fn(PartId) -> f64) -> f64 {
    world.past.made[worker].iter().map(|(_, part)| touches(*part)).sum()
}

/// The sum of the updates of a worker from clocks before this one, but for those that may be lost.
pub(crate) fn certain(world: &World, worker: usize, before: Clock, touches: &dyn Fn(PartId) -> f64) -> f64 {
    let made = world.past.certain(worker).filter(|(clock, _)| *clock < before);
    made.map(|(_, part)| touches(*part)).sum()
}
