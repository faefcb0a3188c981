//! The line to whoever started a node: when standard input ends, the launcher is gone and the node ends too.

use std::io::{BufRead, BufReader, Stdin};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use slackline::cluster::Seat;
use slackline_apps::StopSwitch;
use tempfile::TempDir;

use super::handover::{END, STOP, Stream, receive};
use crate::Error;
use crate::console::Screen;
use crate::signals::{SIGNALLED, TERMINATE};

/// How long the others are given to hear that this node gives up.
const LINGER: Duration = Duration::from_millis(300);

/// The seat while it is held: threads that were there before find it here.
#[derive(Clone, Default)]
pub(super) struct Post(Arc<Mutex<Held>>);

#[derive(Default)]
enum Held {
    #[default]
    NotYet,
    Seat(Seat),
    Over,
}

impl Post {
    /// The seat is taken.
    pub(super) fn fill(&self, seat: Seat) {
        *self.held() = Held::Seat(seat);
    }

    /// The run is over: the last seat that is dropped says goodbye, and this one must not be it.
    pub(super) fn vacate(&self) {
        *self.held() = Held::Over;
    }

    /// From now on the node leaves when `stop` is thrown; one that has no seat yet ends at once.
    pub(super) fn leave_on(&self, stop: &StopSwitch) {
        let post = self.clone();
        stop.on_throw(move || match &*post.held() {
            Held::Seat(seat) => seat.leave(),
            Held::NotYet => std::process::exit(i32::from(SIGNALLED + TERMINATE)),
            Held::Over => {}
        });
    }

    fn give_up(&self, why: &str) {
        if let Held::Seat(seat) = &*self.held() {
            seat.give_up(why);
        }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Standard input as a launcher uses it.
pub(super) struct Leash {
    pub(super) input: BufReader<Stdin>,
    pub(super) streams: Vec<Stream>,
    pub(super) stop: StopSwitch,
    pub(super) post: Post,
    pub(super) screen: Screen,
}

/// Files that came through the leash: setting and place, or why they did not.
pub(super) type Files = Result<Vec<(String, PathBuf)>, String>;

impl Leash {
    /// Watches over the input on a thread of its own; files that come through it lie in `folder`.
    pub(super) fn hold(self, folder: Option<Arc<TempDir>>) -> Result<Receiver<Files>, Error> {
        let (sender, files) = channel();
        let thread = std::thread::Builder::new().name("leash".into());
        let held = thread.spawn(move || {
            let Self { mut input, streams, stop, post, screen } = self;
            let received = match &folder {
                Some(folder) => receive(&mut input, &streams, folder.path()),
                None => Ok(Vec::new()),
            };
            let whole = received.is_ok();
            let _ = sender.send(received); // the node may have ended
            let mut over = false;
            while whole && let Some(line) = next_line(&mut input) {
                match line.trim() {
                    STOP => stop.throw(),
                    END => over = true,
                    _ => {}
                }
            }
            if whole {
                if !over {
                    screen.say("the launcher is gone: this node ends");
                }
                let why = if over { "the launch is over" } else { "its launcher is gone" };
                post.give_up(why);
                std::thread::sleep(LINGER);
                if let Some(folder) = folder {
                    let _ = std::fs::remove_dir_all(folder.path()); // the process ends without its destructors
                }
                std::process::exit(1);
            }
        });
        held.map(|_| files).map_err(|error| Error::cluster(format!("cannot watch the launcher: {error}")))
    }
}

fn next_line(input: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    input.read_line(&mut line).ok().filter(|read| *read > 0).map(|_| line)
}
