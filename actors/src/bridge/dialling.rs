//! Keeping a connection to a node up.

use std::rc::Rc;
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tokio::time::sleep;

use super::common::PulseOrder;
use super::frame::Kind;
use super::handshake::{Purpose, Refusal};
use super::hub::Hub;
use super::meet::{Failed, Met, Outset, dial, progress};
use super::room::Room;
use super::roster::{Peer, PeerEvent};
use super::wire::{Lane, write_head};
use super::wired::{Broken, send};

/// The pauses between attempts: doubled from the first to the last, and cut by up to half at random, so that many who
/// lost the same node do not come back at the same moment.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LAST_PAUSE: Duration = Duration::from_secs(1);

/// The pauses between attempts.
pub(crate) struct Pauses {
    full: Duration,
    chance: Xoshiro256PlusPlus,
}

impl Pauses {
    pub(crate) fn new(seed: u64) -> Self {
        Self { full: FIRST_PAUSE, chance: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    /// Begins with the shortest again.
    pub(crate) fn again(&mut self) {
        self.full = FIRST_PAUSE;
    }

    /// The next one.
    pub(crate) fn next(&mut self) -> Duration {
        let full = self.full;
        self.full = (full * 2).min(LAST_PAUSE);
        full.mul_f64(self.chance.random_range(0.5..1.0))
    }
}

/// Keeps the connection of one lane up until it is aborted.
pub(crate) async fn keep(hub: Rc<Hub>, room: Rc<Room>, purpose: Purpose, address: String) {
    let lane = if purpose == Purpose::Bulk { Lane::Bulk } else { Lane::Control };
    let mut pauses = Pauses::new(hub.common.identity.incarnation ^ lane.index() as u64);
    let mut told = None;
    loop {
        if lane != Lane::Control {
            let mut present = room.present.subscribe();
            present.wait_for(Option::is_some).await.ok(); // the room is there: it is ours
        }
        let mut live = room.line(lane).live.subscribe();
        if *live.borrow() {
            live.wait_for(|live| !live).await.ok(); // as above
            pauses.again();
        }
        match attempt(&hub, &room, purpose, lane, &address).await {
            Ok(()) => told = None,
            Err(Failed::Refused(refusal)) => {
                let why = refusal.to_string();
                if told.as_ref() != Some(&why) {
                    tracing::debug!(node = room.bag.node, address, "{why}");
                    hub.common.event(PeerEvent::Refused { node: room.bag.node.clone(), why: why.clone() });
                    told = Some(why);
                }
            }
            Err(other) => tracing::debug!(node = room.bag.node, address, ?lane, "not connected: {other}"),
        }
        sleep(pauses.next()).await;
    }
}

async fn attempt(
    hub: &Rc<Hub>,
    room: &Rc<Room>,
    purpose: Purpose,
    lane: Lane,
    address: &str,
) -> Result<(), Failed> {
    // While a session waits to go on there is little time; a new one has more.
    let timing = &hub.common.settings.timing;
    let within = if room.peer().is_some() { timing.dead / 4 } else { timing.handshake };
    let mut met =
        dial(Outset { within, ..hub.common.outset() }, purpose, Some(&room.bag.node), address).await?;
    let joining = join(hub, room, lane, &mut met);
    let (attempt, begun) =
        tokio::time::timeout(within, joining).await.map_err(|_| Failed::Late(within))??;
    if hub.attach(room, lane, met, (attempt, true))
        && begun
        && let Some(peer) = room.peer()
    {
        hub.common.pulse(PulseOrder::Dial(peer, address.to_owned()));
    }
    Ok(())
}

/// Exchanges states. Returns the number of the attempt, and whether the session has just begun.
async fn join(hub: &Rc<Hub>, room: &Rc<Room>, lane: Lane, met: &mut Met) -> Result<(u64, bool), Failed> {
    let theirs = progress(met).await?;
    let peer = Peer { node: met.peer.node.clone(), incarnation: met.peer.incarnation };
    let begun = room.peer().as_ref() != Some(&peer);
    if let Err((_, why)) = hub.admit(room, &peer, lane) {
        send(&mut met.stream, Kind::Refusal, 0, why.as_bytes()).await.ok(); // it is told if it still listens
        return Err(Refusal::Ours(why).into());
    }
    room.detach(lane);
    let attempt = room.line(lane).attempt.get();
    send(&mut met.stream, Kind::Resume, 0, &write_head(&room.progress(lane))).await?;
    if room.line(lane).attempt.get() == attempt {
        room.resume(lane, theirs).map_err(Broken::from)?;
    }
    Ok((attempt, begun))
}
