//! A change of members: every step in flight is void and will be handed out again.

use serde::{Deserialize, Serialize};

use super::Dispatch;
use super::drain::Drain;
use crate::clock::Clock;
use crate::cluster::Homes;
use crate::id::WorkerId;

/// What counts of a generation that is over.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Halted {
    /// Everyone had finished the clocks before this one.
    pub min: Clock,
    /// The clock after the last step of each worker that counts.
    pub finished: Vec<(WorkerId, Clock)>,
}

impl Dispatch {
    /// Forgets the workers and takes back what they have in hand; goes on when `expected` have joined.
    ///
    /// What was reported counts, except under `bsp`, where a clock counts as a whole.
    pub fn regroup(&mut self, expected: usize) -> Halted {
        // Of a generation that nobody joined nothing counts, and who never heard of it may have to learn of the one before.
        let finished: Vec<_> = self.clocks.all().collect();
        if !finished.is_empty() {
            self.finished = finished;
        }
        let halted = Halted { min: self.clocks.min(), finished: self.finished.clone() };
        let held = std::mem::take(&mut self.held).into_values().map(|(task, _)| task);
        let hands = std::mem::take(&mut self.hands).into_values().flatten().map(|(_, task)| task);
        let void: Vec<_> = held.chain(hands).collect();
        void.into_iter().rev().for_each(|task| self.schedule.put_back(task)); // so that the first is the next one again
        self.wind_down();
        self.clocks.regroup();
        self.expected = expected;
        self.others = false;
        self.drain = Drain::Off;
        halted
    }

    /// After [`Dispatch::regroup`]: goes back to the state of a schedule and the clock that were saved together.
    ///
    /// # Errors
    /// A sentence where the state is not one of this schedule.
    pub fn roll_back(&mut self, schedule: &[u8], clock: Clock) -> Result<(), String> {
        self.schedule.restore(schedule)?;
        self.clocks = crate::clock::VectorClock::at(clock);
        self.ended = false;
        self.tries.clear();
        self.wind_down();
        Ok(())
    }

    /// Learns which parts are at home where.
    pub fn settle(&mut self, homes: &Homes) {
        self.schedule.settle(homes);
    }
}
