//! How far workers may be apart, how rows reach them, and when their updates leave.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::Clock;

/// How far workers may be apart and how rows reach them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Consistency {
    /// Bulk synchronous: one clock after the other; updates folded in worker order, so that runs repeat to the bit.
    Bsp,
    /// Stale synchronous parallel: the fastest worker is at most `s` clocks ahead; rows are pulled when too old.
    Ssp(u64),
    /// Eager SSP: as [`Consistency::Ssp`], and shards push changed rows to their readers as `min` advances
    /// (Dai et al. 2015, *High-performance distributed ML at scale through parameter server consistency models*).
    Essp(u64),
    /// As [`Consistency::Essp`], and small changes wait for more (the value bound of Wei et al. 2015, *Managed
    /// communication and consistency for fast data-parallel iterative analytics*, and of VAP in Dai et al. 2015, made
    /// relative).
    ///
    /// A worker keeps the update of a page, or of the rows that a step reads of one shard, and merges later ones into it,
    /// until `max |δ| > error · max |value|` with the values it read last (the ∞-norm, as VAP has it), and for `s`
    /// clocks at most. A shard sends a page that others changed to a reader once it has changed by as much since it was
    /// last sent, and after `⌈s/2⌉` clocks in any case. Only where updates are added; other tables are as under `essp`.
    ///
    /// When members of a cluster change, what workers keep back at that moment is lost: it belongs to steps that count.
    /// This is at most `error`, relative, of each page for each worker (more only where a bandwidth budget holds
    /// updates up).
    BoundedError {
        /// The largest change that is kept back, as a share of the value.
        error: f64,
        /// The gate, and the most clocks that an update is kept back.
        s: u64,
    },
    /// As [`Consistency::Essp`], with a staleness that moves between bounds: up where workers wait, down where progress
    /// slows ([`Adaptive`](super::Adaptive)). A read is as fresh as the staleness in force when its step was assigned.
    Adaptive {
        /// The smallest staleness.
        least: u64,
        /// The largest.
        most: u64,
    },
    /// No bound: nobody waits, every step reads what the shards have.
    Async,
}

impl Consistency {
    /// The largest number of clocks that the fastest worker may be ahead; `None` without a bound.
    pub fn staleness(self) -> Option<u64> {
        match self {
            Self::Bsp => Some(0),
            Self::Ssp(s) | Self::Essp(s) | Self::BoundedError { s, .. } => Some(s),
            Self::Adaptive { most, .. } => Some(most),
            Self::Async => None,
        }
    }

    /// Whether a worker may start clock `c` while the slowest is at `min`: `c ≤ min + s`.
    pub fn opens(self, c: Clock, min: Clock) -> bool {
        self.staleness().is_none_or(|s| c.ahead_of(min) <= s)
    }

    /// The oldest `min` at which a row may have been read to serve clock `c`: `c − s`. Without a bound nothing is
    /// too old.
    pub fn oldest(self, c: Clock) -> Clock {
        self.staleness().map_or(Clock(0), |s| Clock(c.0.saturating_sub(s)))
    }

    /// Every update from clocks before this one is in a read at clock `c`: `c − s`, and `c − 2s` where updates may be
    /// kept back. (A row read at `min` contains what was sent at clocks before `min`; an update made at `u` is sent at
    /// `u + s` at the latest; and `min ≥ c − s`.)
    pub fn promised(self, c: Clock) -> Clock {
        let kept = self.keeps_back().map_or(0, |(_, s)| s);
        Clock(self.oldest(c).0.saturating_sub(kept))
    }

    /// Whether shards send changed pages to their readers by themselves.
    pub fn is_eager(self) -> bool {
        matches!(self, Self::Essp(_) | Self::BoundedError { .. } | Self::Adaptive { .. })
    }

    /// The largest relative change that is kept back, and for how many clocks at most, where any is.
    pub fn keeps_back(self) -> Option<(f64, u64)> {
        match self {
            Self::BoundedError { error, s } => Some((error, s)),
            _ => None,
        }
    }
}

impl fmt::Display for Consistency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bsp => f.write_str("bsp"),
            Self::Ssp(s) => write!(f, "ssp:{s}"),
            Self::Essp(s) => write!(f, "essp:{s}"),
            Self::BoundedError { error, s } => write!(f, "bounded_error:{error},{s}"),
            Self::Adaptive { least, most } => write!(f, "adaptive:{least},{most}"),
            Self::Async => f.write_str("async"),
        }
    }
}

/// What a consistency is written as.
const FORMS: &str = "bsp, ssp:S, essp:S, bounded_error:ERROR,S, adaptive:LEAST,MOST or async";

impl FromStr for Consistency {
    type Err = String;

    /// Reads `bsp`, `ssp:S`, `essp:S`, `bounded_error:ERROR,S`, `adaptive:LEAST,MOST` or `async`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, bound) = match text.split_once(':') {
            Some((name, bound)) => (name.trim(), Some(bound.trim())),
            None => (text.trim(), None),
        };
        let needs = |what: &str| bound.ok_or_else(|| format!("{name} needs {what}"));
        match (name, bound) {
            ("bsp", None) => Ok(Self::Bsp),
            ("async", None) => Ok(Self::Async),
            ("ssp", _) => staleness(needs("a staleness, such as ssp:2")?).map(Self::Ssp),
            ("essp", _) => staleness(needs("a staleness, such as essp:2")?).map(Self::Essp),
            ("bounded_error", _) => {
                let (error, s) =
                    pair(needs("an error and a staleness, such as bounded_error:0.01,4")?, name)?;
                let share = error.parse().ok().filter(|share: &f64| share.is_finite() && *share >= 0.0);
                let error = share.ok_or_else(|| format!("error is {error}, must be a number, 0 or more"))?;
                Ok(Self::BoundedError { error, s: staleness(s)? })
            }
            ("adaptive", _) => {
                let (least, most) = pair(needs("two bounds, such as adaptive:0,8")?, name)?;
                let (least, most) = (staleness(least)?, staleness(most)?);
                match least <= most {
                    true => Ok(Self::Adaptive { least, most }),
                    false => Err(format!("adaptive is {least},{most}, must be the smaller bound first")),
                }
            }
            _ => Err(format!("consistency is {text}, must be {FORMS}")),
        }
    }
}

fn staleness(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("staleness is {text}, must be a whole number, 0 or more"))
}

fn pair<'a>(text: &'a str, name: &str) -> Result<(&'a str, &'a str), String> {
    let pair = text.split_once(',').map(|(left, right)| (left.trim(), right.trim()));
    pair.ok_or_else(|| format!("{name} is {text}, must be two numbers with a comma between them"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consistency_is_written_as_it_is_read() {
        for text in ["bsp", "ssp:0", "ssp:12", "essp:3", "bounded_error:0.01,4", "adaptive:0,8", "async"] {
            assert_eq!(text.parse::<Consistency>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_bad_consistency_is_refused_with_the_rule() {
        let why = |text: &str| text.parse::<Consistency>().unwrap_err();
        assert_eq!(why("ssp:-1"), "staleness is -1, must be a whole number, 0 or more");
        assert_eq!(why("ssp"), "ssp needs a staleness, such as ssp:2");
        assert_eq!(why("sps:1"), format!("consistency is sps:1, must be {FORMS}"));
        assert_eq!(why("bsp:1"), format!("consistency is bsp:1, must be {FORMS}"));
        assert_eq!(why("adaptive:8,0"), "adaptive is 8,0, must be the smaller bound first");
        assert_eq!(
            why("bounded_error:4"),
            "bounded_error is 4, must be two numbers with a comma between them"
        );
        assert_eq!(why("bounded_error:nan,4"), "error is nan, must be a number, 0 or more");
    }

    #[test]
    fn what_is_kept_back_for_s_clocks_is_read_s_clocks_later() {
        let kept = Consistency::BoundedError { error: 0.1, s: 3 };
        assert_eq!((kept.oldest(Clock(10)), kept.promised(Clock(10))), (Clock(7), Clock(4)));
        assert_eq!(Consistency::Essp(3).promised(Clock(10)), Clock(7));
    }
}
