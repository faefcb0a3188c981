//! A bandwidth budget: what may wait is sent only as fast as a link was given to it.
//!
//! After sending `B` bytes it stays silent for `B / rate` seconds (Bösen's managed communication, Wei et al. 2015), so a
//! message of any size passes. What a step waits for is charged too, and never held up.

use std::time::Duration;

/// Unused time that is kept for a burst.
const BURST: Duration = Duration::from_millis(100);

/// Bytes a second, and how far they are spent. Time is a reading of any clock that never falls.
#[derive(Debug, Clone)]
pub struct Budget {
    /// Bytes a second.
    rate: f64,
    /// Until when it is spent.
    spent_until: Duration,
}

impl Budget {
    /// So many bytes a second, at least one.
    pub fn new(bytes_per_second: u64) -> Self {
        Self { rate: bytes_per_second.max(1) as f64, spent_until: Duration::ZERO }
    }

    /// Whether something may be sent.
    pub fn is_open(&self, now: Duration) -> bool {
        self.spent_until <= now
    }

    /// When something may be sent again.
    pub fn opens_at(&self) -> Duration {
        self.spent_until
    }

    /// Charges what is sent.
    pub fn spend(&mut self, bytes: u64, now: Duration) {
        let from = self.spent_until.max(now.saturating_sub(BURST));
        self.spent_until = from + Duration::from_secs_f64(bytes as f64 / self.rate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_sending_it_is_silent_for_as_long_as_the_bytes_take() {
        let mut budget = Budget::new(1000);
        let at = |ms| Duration::from_millis(ms);
        assert!(budget.is_open(at(1000)));
        budget.spend(300, at(1000));
        assert_eq!(budget.opens_at(), at(1200), "100 ms that were not used count");
        assert!(!budget.is_open(at(1199)) && budget.is_open(at(1200)));
    }

    #[test]
    fn what_cannot_wait_is_charged_to_what_can() {
        let mut budget = Budget::new(1000);
        budget.spend(1000, Duration::ZERO);
        budget.spend(1000, Duration::ZERO);
        assert_eq!(budget.opens_at(), Duration::from_secs(2));
    }
}
