//! The net thread: sessions with all other nodes.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::{AbortHandle, spawn_local};
use tokio::time::{Instant, sleep, timeout};

use super::common::{Common, Order, PulseOrder};
use super::dialling;
use super::frame::Kind;
use super::handshake::{Purpose, Refusal};
use super::lane;
use super::meet::{Failed, Met, SOFT, progress, receive};
use super::net::Packed;
use super::room::Room;
use super::roster::Peer;
use super::strangers::Guest;
use super::visit;
use super::wire::{Lane, write_head};
use super::wired::{Broken, send};

/// How exactly deadlines of asks are kept.
const SWEEP: Duration = Duration::from_millis(20);
/// The longest that a node which stops waits for others to take in what it sent.
const FLUSH: Duration = Duration::from_secs(2);

/// All that the net thread holds.
pub(crate) struct Hub {
    pub(crate) common: Arc<Common>,
    rooms: RefCell<BTreeMap<String, Rc<Room>>>,
    /// The tasks that dial a node.
    diallers: RefCell<BTreeMap<String, Vec<AbortHandle>>>,
}

/// Does what it is told until it is told to stop.
pub(crate) async fn run(common: Arc<Common>, mut orders: mpsc::UnboundedReceiver<Order>) {
    let _end = End(Arc::clone(&common));
    let hub = Rc::new(Hub { common, rooms: RefCell::default(), diallers: RefCell::default() });
    let sweeping = spawn_local(sweep(Rc::clone(&hub)));
    while let Some(order) = orders.recv().await {
        match order {
            Order::Dial(node, address) => hub.dial(&node, &address),
            Order::Forget(node) => hub.forget(&node),
            Order::End(peer) => hub.end(&peer),
            Order::Break(node, why) => hub.give_up(&node, &why),
            Order::Welcome(purpose, packed, guest) => {
                drop(spawn_local(welcome(Rc::clone(&hub), purpose, packed, guest)));
            }
            Order::Stop(done) => {
                timeout(FLUSH, hub.leave()).await.ok(); // who does not listen is left
                done();
                break;
            }
        }
    }
    sweeping.abort();
    std::mem::take(&mut *hub.diallers.borrow_mut()).into_values().flatten().for_each(|task| task.abort());
    hub.rooms.borrow().values().for_each(|room| room.end());
}

/// Whatever ends the net thread, nobody waits for it in vain.
struct End(Arc<Common>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.close();
        if std::thread::panicking() {
            self.0.roster(|roster, events| events.extend(roster.end_all("this node's bridge is broken")));
        }
    }
}

/// Watches deadlines while anybody waits for an answer.
async fn sweep(hub: Rc<Hub>) {
    loop {
        if hub.common.awaits_answers() {
            sleep(SWEEP).await;
            let now = Instant::now();
            hub.common.bags().iter().for_each(|bag| hub.room(&bag.node).sweep(now));
        } else {
            hub.common.anything_asked.notified().await;
        }
    }
}

impl Hub {
    /// The room of a node.
    pub(crate) fn room(&self, node: &str) -> Rc<Room> {
        let mut rooms = self.rooms.borrow_mut();
        Rc::clone(rooms.entry(node.to_owned()).or_insert_with(|| Room::new(Arc::clone(&self.common), node)))
    }

    fn dial(self: &Rc<Self>, node: &str, address: &str) {
        self.forget(node);
        let room = self.room(node);
        room.bag.closed.store(false, Ordering::Release);
        let dial = |purpose| {
            let dialling = dialling::keep(Rc::clone(self), Rc::clone(&room), purpose, address.to_owned());
            spawn_local(dialling).abort_handle()
        };
        let tasks = vec![dial(Purpose::Control), dial(Purpose::Bulk)];
        self.diallers.borrow_mut().insert(node.to_owned(), tasks);
        if let Some(peer) = room.peer() {
            self.common.pulse(PulseOrder::Dial(peer, address.to_owned()));
        }
    }

    fn forget(&self, node: &str) {
        let tasks = self.diallers.borrow_mut().remove(node);
        tasks.into_iter().flatten().for_each(|task| task.abort());
    }

    /// The roster says that a session is over.
    fn end(&self, peer: &Peer) {
        let room = self.room(&peer.node);
        if room.peer().as_ref() == Some(peer) {
            self.forget(&peer.node);
            room.end();
        }
    }

    /// A session cannot go on.
    fn give_up(&self, node: &str, why: &str) {
        if let Some(peer) = self.room(node).peer() {
            tracing::warn!(node, "the session is over: {why}");
            self.common.roster(|roster, events| events.extend(roster.end(&peer, why)));
        }
    }

    /// Sees to it that everything sent arrives, then says goodbye.
    async fn leave(&self) {
        let rooms: Vec<_> = self.rooms.borrow().values().cloned().collect();
        for room in &rooms {
            while !room.is_flushed() {
                let eased = room.bag.eased.notified();
                if !room.is_flushed() {
                    eased.await;
                }
            }
            room.leaving.set(true);
            room.bag.tray(Lane::Control).wake.notify_one();
        }
        for room in &rooms {
            let mut live = room.line(Lane::Control).live.subscribe();
            live.wait_for(|live| !live).await.ok(); // the room is there: it is ours
        }
    }

    /// Whether a peer may have the connection that it asks for. A session begins with its control lane. The flag of a
    /// refusal says whether it will pass by itself.
    pub(crate) fn admit(&self, room: &Room, peer: &Peer, lane: Lane) -> Result<(), (u8, String)> {
        if let Some(why) = self.common.roster(|roster, _| roster.fenced(peer).map(str::to_owned)) {
            return Err((0, format!("it was taken to be dead here: {why}")));
        }
        if room.peer().as_ref() == Some(peer) {
            return Ok(());
        }
        if lane != Lane::Control {
            return Err((SOFT, "the session has not begun".to_owned()));
        }
        self.common.admit(peer).map_err(|why| (0, why))?;
        let heard = self.common.roster(|roster, events| {
            let (heard, news) = roster.begin(peer, self.common.now());
            events.extend(news);
            heard
        });
        room.begin(peer.clone(), heard);
        Ok(())
    }

    /// Sets a connection to work. `attempt` is what the lane's counter was when the states were exchanged, and whether
    /// this side dialled: a later attempt makes this one void.
    pub(crate) fn attach(
        self: &Rc<Self>,
        room: &Rc<Room>,
        lane: Lane,
        met: Met,
        (attempt, dialled): (u64, bool),
    ) -> bool {
        let line = room.line(lane);
        if line.attempt.get() != attempt {
            return false;
        }
        let (hub, of_task) = (Rc::clone(self), Rc::clone(room));
        let task = spawn_local(async move {
            let why = lane::run(Rc::clone(&of_task), lane, met.stream, met.inbound).await;
            hub.ended(&of_task, lane, attempt, &why);
        });
        *line.task.borrow_mut() = Some((task.abort_handle(), dialled));
        line.live.send_replace(true);
        if Lane::ALL.iter().all(|lane| *room.line(*lane).live.borrow())
            && let Some(peer) = room.peer()
        {
            self.common.roster(|roster, events| events.extend(roster.mended(&peer)));
        }
        true
    }

    /// A connection has ended.
    fn ended(&self, room: &Room, lane: Lane, attempt: u64, why: &Broken) {
        let Some(peer) = room.peer().filter(|_| room.line(lane).attempt.get() == attempt) else { return };
        room.line(lane).task.borrow_mut().take(); // this task: it has ended
        room.detach(lane);
        if room.leaving.get() {
            return;
        }
        tracing::debug!(node = peer.node, ?lane, "{why}");
        self.common.roster(|roster, events| match why {
            Broken::Goodbye => events.extend(roster.left(&peer)),
            Broken::Lane(_) => events.extend(roster.end(&peer, &why.to_string())),
            _ => events.extend(roster.broken(&peer)),
        });
    }
}

/// Somebody has connected: lets him prove who he is, and in.
async fn welcome(hub: Rc<Hub>, purpose: Purpose, packed: Packed, mut guest: Guest) {
    let within = hub.common.settings.timing.handshake;
    let result = tokio::select! {
        biased;
        () = guest.turned_away() => Err(Failed::Refused(Refusal::Ours("too many others came".to_owned()))),
        result = timeout(within, prove(&hub, purpose, packed)) => result.unwrap_or(Err(Failed::Late(within))),
    };
    let from = guest.from;
    match result {
        Ok(None) => {}
        Ok(Some(visitor)) => {
            drop(guest);
            visit::serve(&hub.common, visitor).await;
        }
        Err(Failed::Soft(why)) => tracing::debug!(%from, "{why}"),
        Err(other) => hub.common.refused(from, &other.to_string()),
    }
}

/// Returns a visitor; a peer is in its room by then.
async fn prove(hub: &Rc<Hub>, purpose: Purpose, packed: Packed) -> Result<Option<Met>, Failed> {
    let stream = packed()?;
    let (mut met, proof) = receive(hub.common.outset(), stream, purpose).await?;
    let lane = match purpose {
        Purpose::Control => Lane::Control,
        Purpose::Bulk => Lane::Bulk,
        Purpose::Pulse | Purpose::Visit => {
            send(&mut met.stream, Kind::Proof, 0, &proof).await?;
            return Ok(Some(met));
        }
    };
    let peer = Peer { node: met.peer.node.clone(), incarnation: met.peer.incarnation };
    let room = hub.room(&peer.node);
    let admitted = hub.admit(&room, &peer, lane).and_then(|()| tie(hub, &room, lane));
    if let Err((flags, why)) = admitted {
        send(&mut met.stream, Kind::Refusal, flags, why.as_bytes()).await.ok(); // it is told if it still listens
        return Err(if flags == SOFT {
            Failed::Soft(why)
        } else {
            Refusal::Ours(format!("{}: {why}", peer.node)).into()
        });
    }
    room.detach(lane);
    let attempt = room.line(lane).attempt.get();
    let state = room.progress(lane);
    send(&mut met.stream, Kind::Proof, 0, &proof).await?;
    send(&mut met.stream, Kind::Resume, 0, &write_head(&state)).await?;
    let theirs = progress(&mut met).await?;
    if room.line(lane).attempt.get() == attempt {
        room.resume(lane, theirs).map_err(Broken::from)?;
        hub.attach(&room, lane, met, (attempt, false));
    }
    Ok(None)
}

/// When both sides dial, the connection that the lower name dialled is the one to keep.
fn tie(hub: &Hub, room: &Room, lane: Lane) -> Result<(), (u8, String)> {
    let dialled_by_us = room.line(lane).task.borrow().as_ref().is_some_and(|(_, dialled)| *dialled);
    if dialled_by_us && *hub.common.identity.node < *room.bag.node {
        return Err((SOFT, "there is a connection already".to_owned()));
    }
    Ok(())
}
