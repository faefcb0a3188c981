//! Passes: every part, or every cell, is done once a pass.

use slackline::scheduler::Ending;

use crate::simulation::plan::Kind;
use crate::simulation::world::World;

/// A run that nobody stopped did all there was to do.
pub(crate) fn are_complete(world: &World, ending: &Ending) {
    let plan = &world.plan;
    let guided = matches!(plan.schedule, Kind::Priority | Kind::Dependency);
    if ending.stopped || ending.failed.is_some() || guided {
        return;
    }
    let cells = if plan.rotates() { plan.parts * plan.blocks } else { plan.parts };
    let made: usize = world.past.made.iter().map(Vec::len).sum();
    assert_eq!(made, cells * usize::try_from(plan.passes).expect("few passes"));
}
