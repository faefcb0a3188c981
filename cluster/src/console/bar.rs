//! Progress as a bar on a terminal.

use slackline_apps::catalog::News;

use super::Screen;
use super::lines::{percent, resumed, state, time_left};

/// A bar: share done, clock, objective, staleness, time left.
pub(crate) struct Bar(Screen);

impl Bar {
    /// The bar of this screen.
    pub(crate) fn new(screen: Screen) -> Self {
        Self(screen)
    }

    /// Shows a piece of news: facts stay above the bar, the rest moves it.
    pub(crate) fn tell(&self, news: &News) {
        match news {
            News::Fact(fact) => self.0.say(fact),
            News::Warning(warning) => self.0.say(&format!("warning: {warning}")),
            News::Resumed { path, seconds, .. } => self.0.say(&resumed(path, *seconds)),
            News::Loading { read, of } => {
                let share = *read as f64 / (*of).max(1) as f64;
                self.0.advance(Some(share), format!("reading: {}", percent(*read, *of)));
            }
            News::Progress(progress) => {
                self.0.advance(progress.done, state(progress) + &time_left(progress));
            }
            _ => {}
        }
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        self.0.clear();
    }
}
