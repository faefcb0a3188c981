//! Keeping checkpoints: when one is due, what is under way, and what waits for it.
//!
//! [`Keeper`] decides (pure); `actor.rs` is the scheduler's share of it. One checkpoint at a time is written; the next
//! one may be taken meanwhile where the run is to stop, and waits for its turn.

mod actor;

pub(crate) use actor::{Keep, Kept};

use std::time::{Duration, Instant};

use crate::checkpoint::Saved;
use crate::monitor::Written;

/// What a keeper is at.
#[derive(Debug)]
enum Stage {
    Idle,
    /// Since then no step has begun.
    Draining(Instant),
    /// Shards are asked for their rows; how long draining took, and since when nothing is in flight.
    Gathering(Duration, Instant),
}

/// The checkpoints of a run.
#[derive(Debug)]
pub(super) struct Keeper<E> {
    stage: Stage,
    /// A checkpoint that waits until the one before it is written.
    next: Option<Taken>,
    writing: bool,
    /// Whether the run stops after the next checkpoint.
    stopping: bool,
    /// The end of the run, which waits for what is being written.
    end: Option<E>,
}

/// A checkpoint that is taken and not yet written.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) saved: Saved,
    /// What is known of it before it is written.
    pub(super) cost: Written,
}

impl<E> Default for Keeper<E> {
    fn default() -> Self {
        Self { stage: Stage::Idle, next: None, writing: false, stopping: false, end: None }
    }
}

impl<E> Keeper<E> {
    /// A checkpoint is due: whether to drain for it. Not while another one is under way.
    pub(super) fn due(&mut self, now: Instant) -> bool {
        let begins = matches!(self.stage, Stage::Idle) && !self.writing && !self.stopping;
        if begins {
            self.stage = Stage::Draining(now);
        }
        begins
    }

    /// The run is to stop: whether to drain for a last checkpoint first; one that is under way is the last.
    pub(super) fn stop(&mut self, now: Instant) -> bool {
        let again = std::mem::replace(&mut self.stopping, true);
        if !again && matches!(self.stage, Stage::Idle) {
            self.stage = Stage::Draining(now);
        }
        !matches!(self.stage, Stage::Idle)
    }

    /// Nothing is in flight.
    pub(super) fn drained(&mut self, now: Instant) {
        let drained = match self.stage {
            Stage::Draining(since) => now - since,
            _ => Duration::ZERO,
        };
        self.stage = Stage::Gathering(drained, now);
    }

    /// The rows are there, or cannot be had; returns how long draining took and nobody worked, in seconds, and whether
    /// the run stops now.
    pub(super) fn gathered(&mut self, now: Instant) -> ((f64, f64), bool) {
        let cost = match self.stage {
            Stage::Gathering(drained, since) => (drained.as_secs_f64(), (now - since).as_secs_f64()),
            _ => (0.0, 0.0),
        };
        self.stage = Stage::Idle;
        (cost, self.stopping)
    }

    /// Takes a checkpoint to be written; gives it back if that is now.
    pub(super) fn write(&mut self, taken: Taken) -> Option<Taken> {
        if self.writing {
            self.next = Some(taken);
            return None;
        }
        self.writing = true;
        Some(taken)
    }

    /// One is written, or failed to be: the one to write now, or else the end that waited.
    pub(super) fn written(&mut self) -> (Option<Taken>, Option<E>) {
        self.writing = false;
        match self.next.take() {
            Some(next) => (self.write(next), None),
            None => (None, self.end.take()),
        }
    }

    /// The run is over; gives the end back if nothing is being written.
    pub(super) fn end(&mut self, end: E) -> Option<E> {
        self.stage = Stage::Idle;
        self.stopping = true;
        if self.writing {
            self.end = Some(end);
            return None;
        }
        Some(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken() -> Taken {
        Taken { saved: Saved::default(), cost: Written::default() }
    }

    #[test]
    fn one_checkpoint_is_taken_at_a_time_and_a_stop_waits_for_the_last() {
        let (mut keeper, t) = (Keeper::<&str>::default(), Instant::now());
        let after = |ms| t + Duration::from_millis(ms);
        assert!(keeper.due(t));
        assert!(!keeper.due(t), "one is under way");
        keeper.drained(after(20));
        assert_eq!(keeper.gathered(after(25)), ((0.02, 0.005), false));
        assert!(keeper.write(taken()).is_some());
        assert!(!keeper.due(after(30)), "it is being written");
        assert!(keeper.stop(after(40)), "the last one is taken even so");
        assert!(keeper.stop(after(41)), "and is under way");
        keeper.drained(after(50));
        assert!(keeper.gathered(after(50)).1, "the run stops");
        assert!(!keeper.stop(after(51)), "it is taken: the run may stop");
        assert!(keeper.write(taken()).is_none(), "not before the other is written");
        assert_eq!(keeper.end("end"), None);
        let (next, end) = keeper.written();
        assert!(next.is_some() && end.is_none());
        assert_eq!(keeper.written().1, Some("end"));
    }

    #[test]
    fn a_run_that_ends_while_it_drains_does_not_wait() {
        let mut keeper = Keeper::<&str>::default();
        assert!(keeper.due(Instant::now()));
        assert_eq!(keeper.end("failed"), Some("failed"));
        assert!(!keeper.due(Instant::now()));
    }
}
