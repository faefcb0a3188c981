//! A change of members: every step in flight is void and will be handed out again.

use super::Dispatch;
use crate::clock::{Clock, VectorClock};
use crate::cluster::Homes;

impl Dispatch {
    /// Forgets the workers and takes back what they have in hand; goes on when `expected` have joined.
    ///
    /// What was reported counts, except under `bsp`, where a clock counts as a whole.
    pub fn regroup(&mut self, expected: usize) {
        let held = std::mem::take(&mut self.held).into_values().map(|(task, _)| task);
        let hands = std::mem::take(&mut self.hands).into_values().flatten().map(|(_, task)| task);
        let void: Vec<_> = held.chain(hands).collect();
        void.into_iter().rev().for_each(|task| self.schedule.put_back(task)); // so that the first is the next one again
        self.wind_down();
        self.clocks.regroup();
        self.expected = expected;
        self.others = false;
    }

    /// Goes on from a checkpoint that was taken at this clock; the schedule has been restored, nobody has joined.
    #[must_use]
    pub fn resumed(mut self, clock: Clock) -> Self {
        self.clocks = VectorClock::at(clock);
        self
    }

    /// Learns which parts are at home where.
    pub fn settle(&mut self, homes: &Homes) {
        self.schedule.settle(homes);
    }
}
