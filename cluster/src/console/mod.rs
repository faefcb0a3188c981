//! How a run is shown: a bar on a terminal, lines in a log, JSON for programs, nothing for `--quiet`.
//!
//! Results go to stdout, everything else to stderr. A reader that goes away (a closed terminal, `| head`) is no
//! reason to lose a run: what cannot be shown is not shown.

mod bar;
mod json;
mod lines;
mod members;
mod screen;
mod text;

use std::io::{IsTerminal, Write};
use std::time::Instant;

use slackline::cluster::MemberNews;
use slackline_apps::catalog::News;

pub(crate) use json::summary_line;
pub(crate) use screen::Screen;
pub(crate) use text::{duration, number, printable, table};

/// How a run is shown.
pub(crate) enum Console {
    /// Nothing but errors.
    Quiet,
    /// A progress bar on stderr.
    Bar(bar::Bar),
    /// Lines on stderr, at most about one a second.
    Lines(lines::Lines, Screen),
    /// One JSON object a line on stdout.
    Json(json::JsonLines),
}

impl Console {
    /// What the settings and the terminal ask for.
    pub(crate) fn new(quiet: bool, json: bool, screen: &Screen) -> Self {
        match (quiet, json) {
            (true, _) => Self::Quiet,
            (_, true) => Self::Json(json::JsonLines::default()),
            _ if screen.has_bar() => Self::Bar(bar::Bar::new(screen.clone())),
            _ => Self::Lines(lines::Lines::default(), screen.clone()),
        }
    }

    /// Shows a piece of news.
    pub(crate) fn tell(&mut self, news: &News) {
        match self {
            Self::Quiet => {}
            Self::Bar(bar) => bar.tell(news),
            Self::Lines(lines, screen) => {
                if let Some(line) = lines.tell(news, Instant::now()) {
                    screen.say(&line);
                }
            }
            Self::Json(json) => {
                if let Some(line) = json.tell(news, Instant::now()) {
                    result(&line);
                }
            }
        }
    }

    /// Shows what happened to a member of the cluster.
    pub(crate) fn tell_member(&mut self, news: &MemberNews) {
        match self {
            Self::Json(_) => result(&members::object(news).to_string()),
            shown => {
                if let Some(sentence) = members::sentence(news) {
                    shown.say(&sentence);
                }
            }
        }
    }

    /// Says a line to people: above the bar, in the log, not to programs.
    pub(crate) fn say(&mut self, line: &str) {
        let fact = News::Fact(line.to_owned());
        match self {
            Self::Bar(bar) => bar.tell(&fact),
            Self::Lines(_, screen) => screen.say(line),
            Self::Quiet | Self::Json(_) => {}
        }
    }

    /// The run is over: shows what was held back and takes the bar away.
    pub(crate) fn finish(&mut self) {
        match self {
            Self::Bar(bar) => bar.finish(),
            Self::Lines(lines, screen) => {
                if let Some(line) = lines.finish() {
                    screen.say(&line);
                }
            }
            Self::Quiet | Self::Json(_) => {}
        }
    }
}

/// Prints a result on stdout; a closed stdout is not an error.
pub(crate) fn result(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// Columns of the terminal that stdout goes to, if it goes to one.
pub(crate) fn width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Whether stderr is a terminal that can show a bar.
pub(crate) fn stderr_is_terminal() -> bool {
    std::io::stderr().is_terminal()
}
