//! Checkpoint: what a run goes back to is one moment of it. Rows, schedule and clocks belong together, and the run ends as
//! if nothing had happened since.

use slackline::Clock;

use crate::simulation::saved::Saved;

/// No step that counts in a saved state is of a clock that its scheduler has not come to.
pub(crate) fn is_one_moment(saved: &Saved, furthest: Clock) {
    for (worker, made) in saved.past.made.iter().enumerate() {
        assert_eq!(made.len(), saved.past.counted[worker], "what worker {worker} has under way is not saved");
        let newest = made.last().map_or(Clock(0), |(clock, _)| clock.next());
        assert!(
            newest <= furthest,
            "worker {worker} finished {newest} clocks, the scheduler knows of {furthest}"
        );
    }
}
