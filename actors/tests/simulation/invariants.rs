//! The promises of the runtime, one function each. They are checked on every step of every simulated run.

use slackline::message::Lease;
use slackline::scheduler::Ending;
use slackline::{Clock, Model, PartId, Step, WorkerId};

use crate::plan::Kind;
use crate::ring::World;
use crate::toy::touched;

/// Freshness: a read at clock `c` contains every update of every worker from clocks `< c − s`, and all of the
/// reader's own; a fresh one every update from clocks before the `min` at which it was assigned. Nothing is read
/// that nobody made.
pub(crate) fn fresh(world: &World, reader: usize, step: &Step) {
    let assigned = world.at_work[reader].iter().find(|assign| assign.clock == step.clock());
    let assign = assigned.expect("a step that computes was assigned and is not reported");
    let oldest = world.plan.consistency.oldest(step.clock());
    let oldest = if assign.task.fresh { oldest.max(assign.min) } else { oldest };
    let counts = step.read::<f64>("counts");
    let mut row = vec![0.0; world.plan.workers];
    for number in 0..world.plan.parts {
        counts.copy_row(number, &mut row);
        for (worker, read) in row.iter().enumerate() {
            let touches = |part: PartId| {
                touched(part, world.plan.parts).iter().filter(|row| **row == number).count() as f64
            };
            check(world, (reader, worker), *read, oldest, touches);
        }
    }
    let own = step.read::<i32>("own");
    let mut row = vec![0.0; world.plan.workers];
    own.sparse_row(step.part().index()).for_each(|(worker, n)| row[worker as usize] = f64::from(n));
    for (worker, read) in row.iter().enumerate() {
        let touches = |part: PartId| f64::from(u8::from(part == step.part()));
        check(world, (reader, worker), *read, oldest, touches);
    }
}

/// `read` is a sum of updates of `worker`, each counting `touches` of its part.
fn check(
    world: &World,
    (reader, worker): (usize, usize),
    read: f64,
    oldest: Clock,
    touches: impl Fn(PartId) -> f64,
) {
    let sum = |before: Clock| -> f64 {
        world.made[worker].iter().filter(|(c, _)| *c < before).map(|(_, part)| touches(*part)).sum()
    };
    let (all, due) = (sum(Clock(u64::MAX)), sum(oldest));
    if worker == reader {
        assert_eq!(read, all, "worker {reader} reads all of its own updates, once");
    }
    assert!(read >= due, "worker {reader} read {read} of worker {worker}, must be {due} or more");
    assert!(read <= all, "worker {reader} read {read} of worker {worker}, who made {all}");
}

/// The gate: a worker computes at most `s` clocks ahead of the slowest at work.
pub(crate) fn within_the_gate(world: &World, worker: usize, clock: Clock) {
    let Some(s) = world.plan.consistency.staleness() else { return };
    let slowest = world.at_work.iter().filter_map(|steps| steps.front()).map(|assign| assign.clock).min();
    let ahead = clock.ahead_of(slowest.expect("this worker is at work"));
    assert!(ahead <= s, "worker {worker} is {ahead} clocks ahead of the slowest, must be {s} or less");
}

/// Leases are exclusive: a block arrives at a worker only while nobody has it.
pub(crate) fn leased_to_one(world: &mut World, worker: usize, leases: &[Lease]) {
    for lease in leases {
        let before = world.holders.insert(lease.block, WorkerId::at(worker));
        assert_eq!(before, None, "block {} is with two workers", lease.block);
    }
}

/// Only its holder gives a block back.
pub(crate) fn given_back(world: &mut World, worker: WorkerId, returns: &[Lease]) {
    for lease in returns {
        let holder = world.holders.remove(&lease.block);
        assert_eq!(holder, Some(worker), "block {} is given back by who has it", lease.block);
    }
}

/// Exactly once: the sums at the end are the updates that were made, no more and no less.
pub(crate) fn exactly_once(world: &World, model: &Model) {
    let (counts, own) = (model.dense::<f64>("counts"), model.sparse::<i32>("own"));
    for (worker, made) in world.made.iter().enumerate() {
        let mut expected = vec![0.0; world.plan.parts];
        for (_, part) in made {
            touched(*part, world.plan.parts).iter().for_each(|row| expected[*row] += 1.0);
        }
        assert_eq!(counts.column(worker).to_vec(), expected, "the updates of worker {worker}");
        for (part, row) in own.iter().enumerate() {
            let n = made.iter().filter(|(_, p)| p.index() == part).count();
            let held = row.iter().find(|(w, _)| *w as usize == worker).map_or(0, |(_, n)| *n);
            assert_eq!(usize::try_from(held).ok(), Some(n), "the updates of worker {worker} of part {part}");
        }
    }
    if world.plan.leases {
        let visits = model.sparse::<i32>("visits");
        for (block, expected) in &world.visits {
            let seen: Vec<i32> = visits[block.index()].iter().map(|(_, worker)| *worker).collect();
            let expected: Vec<i32> = expected.iter().map(|(worker, _)| *worker).collect();
            assert_eq!(seen, expected, "the visits of block {block}");
        }
    }
}

/// Every part, or every cell, is done once a pass.
pub(crate) fn every_pass_is_complete(world: &World, ending: &Ending) {
    let plan = &world.plan;
    if ending.stopped || ending.failed.is_some() || matches!(plan.schedule, Kind::Priority | Kind::Dependency)
    {
        return;
    }
    let cells = if plan.rotates() { plan.parts * plan.blocks } else { plan.parts };
    let made: usize = world.made.iter().map(Vec::len).sum();
    assert_eq!(made, cells * usize::try_from(plan.passes).expect("few passes"));
}

/// The bits of the sums that depend on the order of additions.
pub(crate) fn bits(model: &Model) -> Vec<u32> {
    model.dense::<f32>("noise").iter().map(|value| value.to_bits()).collect()
}
