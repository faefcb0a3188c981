//! Progress as lines of text: what a log file and a bar have in common.

use std::path::Path;
use std::time::{Duration, Instant};

use slackline_apps::catalog::{News, Progress};

use super::text::{duration, number};

/// A log has at most one line of progress in this time.
const BETWEEN: Duration = Duration::from_secs(1);

/// Says progress at most about once a second, and the last one always.
#[derive(Default)]
pub(crate) struct Lines {
    /// When the last line of progress was said.
    said: Option<Instant>,
    /// The newest progress that was not said.
    held: Option<String>,
}

impl Lines {
    /// The line to say now, if any.
    pub(crate) fn tell(&mut self, news: &News, now: Instant) -> Option<String> {
        let line = match news {
            News::Fact(fact) => return Some(fact.clone()),
            News::Warning(warning) => return Some(format!("warning: {warning}")),
            News::Resumed { path, seconds, .. } => return Some(resumed(path, *seconds)),
            News::Loading { read, of } if read < of => format!("reading: {}", percent(*read, *of)),
            News::Progress(progress) => describe(progress),
            _ => return None,
        };
        if self.said.is_some_and(|said| now.duration_since(said) < BETWEEN) {
            self.held = matches!(news, News::Progress(_)).then_some(line);
            return None;
        }
        self.said = Some(now);
        self.held = None;
        Some(line)
    }

    /// The last progress, if it was held back.
    pub(crate) fn finish(&mut self) -> Option<String> {
        self.held.take()
    }
}

/// `going on from checkpoint-00000012.slk, after 12 s of training`; without a checkpoint it is the run's start.
pub(crate) fn resumed(checkpoint: &Path, seconds: f64) -> String {
    if checkpoint.as_os_str().is_empty() {
        return "beginning again from the start: there is no checkpoint to go back to".to_owned();
    }
    format!("going on from {}, after {} of training", checkpoint.display(), duration(seconds))
}

/// `42 %`.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    format!("{} %", u128::from(part) * 100 / u128::from(whole.max(1)))
}

/// `clock 120  objective 0.512  gap 0.001  staleness 2  42 %  12 s left`.
fn describe(progress: &Progress) -> String {
    let mut line = state(progress);
    if let Some(done) = progress.done {
        line.push_str(&format!("  {:.0} %", done * 100.0));
    }
    line + &time_left(progress)
}

/// Where the run is, without how much is left.
pub(crate) fn state(progress: &Progress) -> String {
    let mut line = format!("clock {}  objective {}", progress.clock, number(progress.objective));
    for (name, value) in &progress.metrics {
        line.push_str(&format!("  {name} {}", number(*value)));
    }
    if progress.staleness > 0 {
        line.push_str(&format!("  staleness {}", progress.staleness));
    }
    line
}

/// `  12 s left`, assuming that the rest goes as fast as what is done.
pub(crate) fn time_left(progress: &Progress) -> String {
    match progress.done {
        Some(done) if done > 0.0 && done < 1.0 => {
            format!("  {} left", duration(progress.seconds * (1.0 - done) / done))
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(clock: u64) -> News {
        let done = Some(0.25);
        News::Progress(Progress {
            clock,
            objective: 0.5,
            seconds: 4.0,
            done,
            staleness: 2,
            ..Progress::default()
        })
    }

    #[test]
    fn a_log_gets_a_line_a_second_and_the_last_one() {
        let (mut lines, start) = (Lines::default(), Instant::now());
        let first = lines.tell(&clock(1), start);
        assert_eq!(first.as_deref(), Some("clock 1  objective 0.5  staleness 2  25 %  12 s left"));
        assert_eq!(lines.tell(&clock(2), start + Duration::from_millis(500)), None);
        assert!(lines.tell(&clock(3), start + Duration::from_millis(1001)).is_some());
        assert_eq!(lines.finish(), None, "clock 2 is old news");
        assert_eq!(lines.tell(&clock(4), start + Duration::from_millis(1500)), None);
        assert!(lines.finish().expect("the last line").starts_with("clock 4"));
    }

    #[test]
    fn a_run_that_goes_back_says_where_to() {
        assert_eq!(
            resumed(Path::new("ck/1.slk"), 2.0),
            format!("going on from ck/1.slk, after {} of training", duration(2.0))
        );
        assert!(resumed(Path::new(""), 0.0).starts_with("beginning again from the start"));
    }

    #[test]
    fn facts_are_never_held_back() {
        let (mut lines, now) = (Lines::default(), Instant::now());
        lines.tell(&clock(1), now);
        assert_eq!(lines.tell(&News::Fact("3 rows".into()), now).as_deref(), Some("3 rows"));
    }
}
