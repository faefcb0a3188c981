//! Exactly once: the sums are the updates of the steps that count, no more and no less.

use slackline::{Model, PartId};

use crate::simulation::plan::Plan;
use crate::simulation::toy::touched;
use crate::simulation::world::Past;

/// The model is what these steps made.
pub(crate) fn holds(plan: &Plan, past: &Past, model: &Model) {
    let (counts, own) = (model.dense::<f64>("counts"), model.sparse::<i32>("own"));
    for worker in 0..past.made.len() {
        for row in 0..plan.parts {
            let times = |part: PartId| {
                touched(part, plan.parts).iter().filter(|touched| **touched == row).count() as f64
            };
            within(past, worker, times, counts[[row, worker]], &format!("row {row}"));
            let times = |part: PartId| f64::from(u8::from(part.index() == row));
            let held = own[row].iter().find(|(w, _)| *w as usize == worker).map_or(0, |(_, n)| *n);
            within(past, worker, times, held.into(), &format!("part {row}"));
        }
    }
    if plan.leases {
        let visits = model.sparse::<i32>("visits");
        for (block, expected) in &past.visits {
            let seen: Vec<i32> = visits[block.index()].iter().map(|(_, worker)| *worker).collect();
            let expected: Vec<i32> = expected.iter().map(|(worker, _)| *worker).collect();
            assert_eq!(seen, expected, "the visits of block {block}");
        }
    }
}

/// A sum at the end is that of the updates that were made, but for those that a change of members may have lost.
fn within(past: &Past, worker: usize, times: impl Fn(PartId) -> f64, held: f64, what: &str) {
    let all: f64 = past.made[worker].iter().map(|(_, part)| times(*part)).sum();
    let least: f64 = past.certain(worker).map(|(_, part)| times(*part)).sum();
    let right = least <= held && held <= all;
    assert!(right, "the updates of worker {worker} of {what}: {held} of {all}, {least} at least");
}
