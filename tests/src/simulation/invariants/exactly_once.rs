//! Exactly once: the sums are the updates of the steps that count, no more and no less.

use slackline::Model;

use crate::simulation::plan::Plan;
use crate::simulation::toy::touched;
use crate::simulation::world::Past;

/// The model is what these steps made.
pub(crate) fn holds(plan: &Plan, past: &Past, model: &Model) {
    let (counts, own) = (model.dense::<f64>("counts"), model.sparse::<i32>("own"));
    for (worker, made) in past.made.iter().enumerate() {
        let mut expected = vec![0.0; plan.parts];
        for (_, part) in made {
            touched(*part, plan.parts).iter().for_each(|row| expected[*row] += 1.0);
        }
        assert_eq!(counts.column(worker).to_vec(), expected, "the updates of worker {worker}");
        for (part, row) in own.iter().enumerate() {
            let n = made.iter().filter(|(_, p)| p.index() == part).count();
            let held = row.iter().find(|(w, _)| *w as usize == worker).map_or(0, |(_, n)| *n);
            assert_eq!(usize::try_from(held).ok(), Some(n), "the updates of worker {worker} of part {part}");
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
