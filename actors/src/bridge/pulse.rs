//! The pulse thread: the door, signs of life, and the deadlines of the living. It does nothing else, so that neither
//! computing nor bulk delays it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::{AbortHandle, spawn_local};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};

use super::common::{Common, Order, PulseOrder};
use super::dialling::Pauses;
use super::frame::Kind;
use super::handshake::{Purpose, Refusal};
use super::meet::{Failed, Met, Outset, SOFT, dial, opening, receive};
use super::net::{Listener, Stream};
use super::roster::{Peer, PeerEvent};
use super::strangers::Guest;
use super::wired::send;

/// The pause after the system could not accept a connection, such as for want of file descriptors.
const OUT_OF_BREATH: Duration = Duration::from_millis(50);

/// Runs until told to stop, and until all events have been told.
pub(crate) async fn run(
    common: Arc<Common>,
    listener: Box<dyn Listener>,
    mut pulses: mpsc::UnboundedReceiver<PulseOrder>,
) {
    let door = spawn_local(open_door(Arc::clone(&common), listener));
    let watch = spawn_local(watch(Arc::clone(&common)));
    let mut dialling: BTreeMap<String, AbortHandle> = BTreeMap::new();
    while let Some(PulseOrder::Dial(peer, address)) = pulses.recv().await {
        let node = peer.node.clone();
        let task = spawn_local(keep(Arc::clone(&common), peer, address)).abort_handle();
        if let Some(before) = dialling.insert(node, task) {
            before.abort();
        }
    }
    door.abort();
    watch.abort();
    dialling.values().for_each(AbortHandle::abort);
}

/// Tells events to whoever runs the bridge, one after the other.
pub(crate) async fn tell(mut events: mpsc::UnboundedReceiver<PeerEvent>, tell: impl Fn(PeerEvent)) {
    while let Some(event) = events.recv().await {
        tell(event);
    }
}

/// Applies the deadlines of the living.
async fn watch(common: Arc<Common>) {
    let mut ticks = interval(common.settings.timing.pulse / 2);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let now = common.now();
        common.roster(|roster, events| events.extend(roster.check(now)));
    }
}

/// Lets others in: what a connection is for says who deals with it.
async fn open_door(common: Arc<Common>, mut listener: Box<dyn Listener>) {
    loop {
        match listener.accept().await {
            Ok((stream, from)) => {
                let guest = common.strangers.come(from);
                spawn_local(greet(Arc::clone(&common), stream, guest));
            }
            Err(error) => {
                tracing::warn!("no connection can be accepted: {error}");
                sleep(OUT_OF_BREATH).await;
            }
        }
    }
}

async fn greet(common: Arc<Common>, mut stream: Box<dyn Stream>, mut guest: Guest) {
    let within = common.settings.timing.handshake;
    let purpose = tokio::select! {
        biased;
        () = guest.turned_away() => Err(Failed::Refused(Refusal::Ours("too many others came".to_owned()))),
        purpose = timeout(within, opening(&mut stream)) => purpose.unwrap_or(Err(Failed::Late(within))),
    };
    let result = match purpose {
        Ok(Purpose::Pulse) => {
            let meeting = tokio::select! {
                biased;
                () = guest.turned_away() => Err(Failed::Refused(Refusal::Ours("too many others came".to_owned()))),
                met = timeout(within, admit(&common, stream)) => met.unwrap_or(Err(Failed::Late(within))),
            };
            let from = guest.from;
            drop(guest);
            return match meeting {
                Ok((met, peer)) => beat(&common, met, &peer).await,
                Err(Failed::Soft(_)) => {}
                Err(failed) => common.refused(from, &failed.to_string()),
            };
        }
        Ok(other) => match stream.pack() {
            Ok(packed) => return common.order(Order::Welcome(other, packed, guest)),
            Err(error) => Err(error.into()),
        },
        Err(failed) => Err::<(), Failed>(failed),
    };
    match result {
        Ok(()) | Err(Failed::Soft(_)) => {}
        Err(failed) => common.refused(guest.from, &failed.to_string()),
    }
}

/// Lets a peer prove who it is, and checks that it has a session.
async fn admit(common: &Common, stream: Box<dyn Stream>) -> Result<(Met, Peer), Failed> {
    let (mut met, proof) = receive(common.outset(), stream, Purpose::Pulse).await?;
    let peer = Peer { node: met.peer.node.clone(), incarnation: met.peer.incarnation };
    if !common.roster(|roster, _| roster.knows(&peer)) {
        send(&mut met.stream, Kind::Refusal, SOFT, b"there is no session").await?;
        return Err(Failed::Soft("there is no session".to_owned()));
    }
    send(&mut met.stream, Kind::Proof, 0, &proof).await?;
    Ok((met, peer))
}

/// Keeps a connection for signs of life up while the session lasts.
async fn keep(common: Arc<Common>, peer: Peer, address: String) {
    let mut pauses = Pauses::new(common.identity.incarnation ^ peer.incarnation);
    let within = common.settings.timing.dead / 4;
    while common.roster(|roster, _| roster.knows(&peer)) {
        match dial(Outset { within, ..common.outset() }, Purpose::Pulse, Some(&peer.node), &address).await {
            Ok(met) if met.peer.incarnation == peer.incarnation => {
                beat(&common, met, &peer).await;
                pauses.again();
            }
            Ok(_) => return,
            Err(failed) => tracing::trace!(node = peer.node, "no pulse: {failed}"),
        }
        sleep(pauses.next()).await;
    }
}

/// Gives and takes signs of life until the connection breaks or the session is over.
async fn beat(common: &Common, met: Met, peer: &Peer) {
    let Some(heard) = common.roster(|roster, _| roster.heard(peer)) else { return };
    let pulse = common.settings.timing.pulse;
    let (mut reader, mut writer) = tokio::io::split(met.stream);
    let mut inbound = met.inbound;
    // Half the time of silence is left for another connection: a network that was cut may be there again while TCP
    // still waits to try once more.
    let listen = async {
        let silence = common.settings.timing.dead / 2;
        while let Ok(Ok(frame)) = timeout(silence, inbound.next(&mut reader)).await
            && frame.prefix.kind == Kind::Pulse
        {
            heard.at(common.now());
        }
    };
    let give = async {
        let mut next = Instant::now();
        while common.roster(|roster, _| roster.knows(peer)) {
            let sent = timeout(common.settings.timing.dead, send(&mut writer, Kind::Pulse, 0, &[])).await;
            if !matches!(sent, Ok(Ok(()))) {
                return;
            }
            next = (next + pulse).max(Instant::now());
            tokio::time::sleep_until(next).await;
        }
    };
    tokio::select! {
        biased;
        () = listen => {}
        () = give => {}
    }
    common.roster(|roster, events| events.extend(roster.broken(peer)));
}
