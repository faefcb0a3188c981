//! Stderr, shared by the bar, the log and the signals, so that they do not write into each other.

use std::io::Write;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The bar counts thousandths of the run.
const WHOLE: u64 = 1000;

/// Stderr with a progress bar on its last line, or without.
#[derive(Clone)]
pub(crate) struct Screen(ProgressBar);

impl Screen {
    /// Stderr; `bar` where a progress bar can be shown.
    pub(crate) fn new(bar: bool) -> Self {
        if !bar {
            return Self(ProgressBar::hidden());
        }
        let bar = ProgressBar::with_draw_target(Some(WHOLE), ProgressDrawTarget::stderr());
        bar.set_style(
            ProgressStyle::with_template("{bar:24} {percent:>3} %  {msg}").expect("a constant template"),
        );
        Self(bar)
    }

    /// Whether there is a bar.
    pub(crate) fn has_bar(&self) -> bool {
        !self.0.is_hidden()
    }

    /// Writes a line above the bar.
    pub(crate) fn say(&self, line: &str) {
        self.write(format!("{line}\n").as_bytes());
    }

    /// Writes above the bar; what cannot be written is lost on purpose.
    pub(crate) fn write(&self, bytes: &[u8]) {
        self.0.suspend(|| {
            let _ = std::io::stderr().lock().write_all(bytes);
        });
    }

    /// Moves the bar to a share of the run, 0 to 1 (where it is known), with a text behind it.
    pub(crate) fn advance(&self, done: Option<f64>, message: String) {
        if let Some(done) = done {
            let thousandths = (done.clamp(0.0, 1.0) * 1000.0) as u64;
            self.0.set_position(thousandths);
        }
        self.0.set_message(message);
    }

    /// Takes the bar away.
    pub(crate) fn clear(&self) {
        self.0.finish_and_clear();
    }
}
