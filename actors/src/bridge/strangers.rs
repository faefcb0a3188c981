//! Connections that have proved nothing yet: how many there may be, for how long, and what is said of those refused.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

/// So many may be at the door at once; when one more comes, the one that has waited longest is turned away.
const AT_THE_DOOR: usize = 64;
/// Lines of the log for refusals: so many at once, and then one for each pause.
const LINES: u32 = 20;
const PAUSE: Duration = Duration::from_secs(1);

/// All connections that have proved nothing yet.
#[derive(Debug, Default)]
pub(crate) struct Strangers {
    door: Arc<Mutex<Door>>,
    log: Mutex<Log>,
}

#[derive(Debug, Default)]
struct Door {
    next: u64,
    waiting: BTreeMap<u64, oneshot::Sender<()>>,
}

#[derive(Debug, Default)]
struct Log {
    spent: u32,
    since: Duration,
    unsaid: u64,
}

/// A place at the door, free again when dropped.
#[derive(Debug)]
pub(crate) struct Guest {
    number: u64,
    door: Arc<Mutex<Door>>,
    turned_away: oneshot::Receiver<()>,
    pub(crate) from: SocketAddr,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Strangers {
    /// Somebody has connected.
    pub(crate) fn come(&self, from: SocketAddr) -> Guest {
        let mut door = lock(&self.door);
        if door.waiting.len() >= AT_THE_DOOR {
            door.waiting.pop_first();
        }
        let (stay, turned_away) = oneshot::channel();
        door.next += 1;
        let number = door.next;
        door.waiting.insert(number, stay);
        Guest { number, door: Arc::clone(&self.door), turned_away, from }
    }

    /// Writes a line about a connection that was turned away, unless there were many of late.
    pub(crate) fn refused(&self, now: Duration, from: SocketAddr, why: &str) {
        let mut log = lock(&self.log);
        let forgiven =
            u32::try_from((now - log.since.min(now)).as_millis() / PAUSE.as_millis()).unwrap_or(u32::MAX);
        if forgiven > 0 {
            log.spent = log.spent.saturating_sub(forgiven);
            log.since = now;
        }
        if log.spent >= LINES {
            log.unsaid += 1;
            return;
        }
        log.spent += 1;
        match std::mem::take(&mut log.unsaid) {
            0 => tracing::warn!(%from, "refused a connection: {why}"),
            unsaid => tracing::warn!(%from, unsaid, "refused a connection: {why}"),
        }
    }
}

impl Guest {
    /// Ends when others need the place.
    pub(crate) async fn turned_away(&mut self) {
        (&mut self.turned_away).await.ok();
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        lock(&self.door).waiting.remove(&self.number);
    }
}
