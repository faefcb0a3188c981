//! Logs go to stderr, as text for people or JSON for machines, filtered by `SLACKLINE_LOG`.

use std::io::{self, IsTerminal, Write};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::Error;
use crate::console::Screen;

/// Starts the log: warnings and worse, unless `filter` (the value of `SLACKLINE_LOG`) asks for something else.
pub(crate) fn start(json: bool, filter: Option<&str>, screen: &Screen) -> Result<(), Error> {
    let filter = filter.unwrap_or("warn");
    let filter = EnvFilter::try_new(filter).map_err(|_| {
        Error::Usage(format!("SLACKLINE_LOG is {filter}, must be a filter such as info or slackline=debug"))
    })?;
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(AboveTheBar(screen.clone()))
        .with_ansi(io::stderr().is_terminal() && !plain)
        .log_internal_errors(false); // it would report a closed stderr on stderr, and panic
    // A program that embeds the command line may have its own log already: keep that one.
    let _ = if json { log.json().try_init() } else { log.try_init() };
    Ok(())
}

/// Writes log lines without tearing the progress bar.
struct AboveTheBar(Screen);

impl<'a> MakeWriter<'a> for AboveTheBar {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Self::Writer {
        Line(&self.0)
    }
}

/// One event on its way to stderr.
struct Line<'a>(&'a Screen);

impl Write for Line<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
