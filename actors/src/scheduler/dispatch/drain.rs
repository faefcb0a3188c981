//! Draining: nothing new is handed out until nothing is in flight, so that tables, schedule and clocks belong together.

use super::{Dispatch, Order};
use crate::clock::{Clock, VectorClock};

/// Whether steps are held back, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Drain {
    /// They are not.
    Off,
    /// Those in flight are waited for.
    Asked,
    /// Nothing is in flight, which has been said.
    Empty,
}

impl Dispatch {
    /// Hands out nothing more until [`Dispatch::resume`]; once nothing is in flight, [`Order::Checkpoint`] follows.
    pub fn drain(&mut self) -> Vec<Order> {
        if self.drain == Drain::Off {
            self.drain = Drain::Asked;
        }
        self.go_on(None)
    }

    /// Hands out steps again.
    pub fn resume(&mut self) -> Vec<Order> {
        self.drain = Drain::Off;
        self.go_on(None)
    }

    /// The state of the schedule, for a checkpoint.
    ///
    /// # Errors
    /// A sentence where the schedule cannot be saved.
    pub fn save(&self) -> Result<Vec<u8>, String> {
        self.schedule.save()
    }

    /// Goes on from a checkpoint that was taken at this clock; the schedule has been restored, nobody has joined.
    #[must_use]
    pub fn resumed(mut self, clock: Clock) -> Self {
        self.clocks = VectorClock::at(clock);
        self.back = true;
        self
    }

    /// A run that has failed ends instead.
    pub(super) fn is_draining(&self) -> bool {
        self.drain != Drain::Off && self.ending.failed.is_none()
    }

    /// With nothing in flight nobody holds anybody back: the clocks that anyone finished are what everyone has. What
    /// workers keep back belongs to steps that count, so it is sent first.
    pub(super) fn drained(&mut self) -> Vec<Order> {
        let mut orders = Vec::new();
        if self.drain == Drain::Empty {
            return orders;
        }
        let keeps = self.flush(&mut orders);
        if keeps || self.hands.values().any(|hand| !hand.is_empty()) {
            return orders;
        }
        self.drain = Drain::Empty;
        self.others = true;
        let before = self.min();
        for worker in self.hands.keys().copied().collect::<Vec<_>>() {
            self.park(worker);
        }
        if self.min() > before {
            orders.push(Order::Advance(self.min()));
        }
        orders.push(Order::Checkpoint);
        orders
    }
}
