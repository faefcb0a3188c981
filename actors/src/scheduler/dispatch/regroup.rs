//! A change of members: every step in flight is void and will be handed out again.

use serde::{Deserialize, Serialize};

use super::Dispatch;
use super::drain::Drain;
use crate::audit::Entry;
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
    /// What was reported counts, except under `bsp`, where a clock counts as a whole. Of that, what workers keep back
    /// ([`Dispatch::kept_back`]) is lost.
    pub fn regroup(&mut self, expected: usize) -> Halted {
        // Of a generation that nobody joined nothing counts, and who never heard of it may have to learn of the one before.
        let finished: Vec<_> = self.clocks.all().collect();
        if !finished.is_empty() {
            self.finished = finished;
        }
        let halted = Halted { min: self.clocks.min(), finished: self.finished.clone() };
        let held = std::mem::take(&mut self.held).into_values().map(|(task, _)| task);
        let mut void: Vec<_> = held.collect();
        for (worker, hand) in std::mem::take(&mut self.hands) {
            let tasks = hand.into_iter().filter(|(clock, _)| !self.is_flush(worker, *clock));
            void.extend(tasks.map(|(_, task)| task));
        }
        void.into_iter().rev().for_each(|task| self.schedule.put_back(task)); // so that the first is the next one again
        self.wind_down();
        self.clocks.regroup();
        self.commits.clear();
        self.expected = expected;
        self.others = false;
        self.drain = Drain::Off;
        self.forget_kept();
        halted
    }

    /// The generation of members that comes, for the record.
    pub fn enter(&mut self, generation: u32) {
        self.witness = self.witness.of(generation);
        let (min, back) = (self.min(), std::mem::take(&mut self.back));
        self.witness.tell(|| Entry::Regroup { min, back });
    }

    /// After [`Dispatch::regroup`]: goes back to the state of a schedule and the clock that were saved together.
    ///
    /// # Errors
    /// A sentence where the state is not one of this schedule.
    pub fn roll_back(&mut self, schedule: &[u8], clock: Clock) -> Result<(), String> {
        self.schedule.restore(schedule)?;
        self.clocks = crate::clock::VectorClock::at(clock);
        self.back = true;
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
