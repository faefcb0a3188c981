//! How a run is stopped from outside: the first Ctrl-C asks it to stop at a clock, the second ends it at once.
//!
//! Signals are handled on a thread of their own, so that they are answered whatever the workers do. A terminal
//! that closes does not end a run that has a directory to leave its result in.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use slackline_apps::StopSwitch;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::Error;
use crate::console::Screen;

/// What a shell reports for a process ended by signal `n` is this plus `n`.
pub(crate) const SIGNALLED: u8 = 128;
pub(crate) const INTERRUPT: u8 = 2;
pub(crate) const TERMINATE: u8 = 15;

/// What batch systems take for "try again" (`EX_TEMPFAIL`).
pub(crate) const RESUMABLE: u8 = 75;

/// Whether a signal has asked the run to stop, and which.
#[derive(Clone, Default)]
pub(crate) struct Signals {
    received: Arc<AtomicU8>,
}

impl Signals {
    /// From now on a signal throws `stop` and is answered on `screen`; with `outlive_terminal` a hang-up is ignored.
    ///
    /// # Errors
    /// The operating system refuses the handlers.
    pub(crate) fn watch(
        stop: StopSwitch,
        outlive_terminal: bool,
        screen: Option<Screen>,
    ) -> Result<Self, Error> {
        Self::handle(stop, outlive_terminal, screen)
            .map_err(|error| slackline_apps::Error::Run(format!("cannot listen to signals: {error}")).into())
    }

    fn handle(stop: StopSwitch, outlive_terminal: bool, screen: Option<Screen>) -> std::io::Result<Self> {
        let signals = Self::default();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let entered = runtime.enter();
        let interrupt = signal(SignalKind::interrupt())?;
        let terminate = signal(SignalKind::terminate())?;
        if outlive_terminal {
            drop(signal(SignalKind::hangup())?); // the handler stays, and does nothing
        }
        drop(entered);
        let received = Arc::clone(&signals.received);
        std::thread::Builder::new().name("signals".into()).spawn(move || {
            runtime.block_on(listen(interrupt, terminate, &received, &stop, screen.as_ref()));
        })?;
        Ok(signals)
    }

    /// The exit code of a run that was stopped: 130 after Ctrl-C, 143 after a termination request.
    pub(crate) fn exit_code(&self) -> u8 {
        match self.received.load(Ordering::SeqCst) {
            0 => SIGNALLED + INTERRUPT,
            number => SIGNALLED + number,
        }
    }

    /// Whether a signal came.
    pub(crate) fn came(&self) -> bool {
        self.received.load(Ordering::SeqCst) != 0
    }
}

async fn listen(
    mut interrupt: Signal,
    mut terminate: Signal,
    received: &AtomicU8,
    stop: &StopSwitch,
    screen: Option<&Screen>,
) {
    loop {
        let number = tokio::select! {
            _ = interrupt.recv() => INTERRUPT,
            _ = terminate.recv() => TERMINATE,
        };
        if received.swap(number, Ordering::SeqCst) != 0 {
            std::process::exit(i32::from(SIGNALLED + number));
        }
        stop.throw();
        if let Some(screen) = screen {
            screen.say(
                "stopping at the next clock and keeping what there is; press Ctrl-C again to end at once",
            );
        }
    }
}
