//! Who is alive: decided from signs of life and deadlines, without clocks or sockets of its own.
//!
//! A peer is *suspect* when a connection to it breaks or it has been silent for half the time; it is *down* when it was
//! silent for all of it, or is there again as another incarnation. An incarnation that is down stays out for good: it
//! may have missed what the others agreed on meanwhile.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A process: a name, and a number drawn when it started.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Peer {
    /// Its node's name.
    pub node: String,
    /// Which start of it.
    pub incarnation: u64,
}

/// Something about another node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PeerEvent {
    /// It proved who it is, and a session has begun.
    Up(Peer),
    /// A connection to it broke, or it is silent.
    Suspect(Peer),
    /// It is heard again; the session goes on, nothing is lost.
    Back(Peer),
    /// The session is over, and why; the incarnation will not be let in again.
    Down(Peer, String),
    /// It left in good order.
    Goodbye(Peer),
    /// The node of this name, which this one dials, refused this one, and why; it is dialled on until `forget`.
    Refused {
        /// Whom this node dialled.
        node: String,
        /// What it said.
        why: String,
    },
}

/// When a peer was last heard, in milliseconds of the bridge's clock. Written by whoever hears it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Heard(Arc<AtomicU64>);

impl Heard {
    pub(crate) fn at(&self, now: Duration) {
        self.0.fetch_max(millis(now), Ordering::Relaxed);
    }

    fn before(&self, now: Duration) -> Duration {
        Duration::from_millis(millis(now).saturating_sub(self.0.load(Ordering::Relaxed)))
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Reasons are kept for so many dead incarnations of a node.
const REMEMBERED: usize = 64;

/// All peers.
#[derive(Debug)]
pub(crate) struct Roster {
    dead: Duration,
    alive: BTreeMap<String, Entry>,
    fenced: BTreeMap<String, Vec<(u64, String)>>,
}

#[derive(Debug)]
struct Entry {
    incarnation: u64,
    heard: Heard,
    suspect: bool,
}

impl Roster {
    /// Peers are down after `dead` of silence.
    pub(crate) fn new(dead: Duration) -> Self {
        Self { dead, alive: BTreeMap::new(), fenced: BTreeMap::new() }
    }

    /// Why an incarnation is not let in, if it is not.
    pub(crate) fn fenced(&self, peer: &Peer) -> Option<&str> {
        let dead = self.fenced.get(&peer.node)?;
        dead.iter().find(|(incarnation, _)| *incarnation == peer.incarnation).map(|(_, why)| why.as_str())
    }

    /// Whether a session with this incarnation goes on.
    pub(crate) fn knows(&self, peer: &Peer) -> bool {
        self.alive.get(&peer.node).is_some_and(|entry| entry.incarnation == peer.incarnation)
    }

    /// The incarnation of a node that is alive.
    pub(crate) fn alive(&self, node: &str) -> Option<Peer> {
        let entry = self.alive.get(node)?;
        Some(Peer { node: node.to_owned(), incarnation: entry.incarnation })
    }

    /// A session begins; one with an earlier incarnation ends.
    pub(crate) fn begin(&mut self, peer: &Peer, now: Duration) -> (Heard, Vec<PeerEvent>) {
        let mut events = Vec::new();
        if let Some(before) = self.alive(&peer.node) {
            events.extend(self.end(&before, "it was started again"));
        }
        let heard = Heard::default();
        heard.at(now);
        let entry = Entry { incarnation: peer.incarnation, heard: heard.clone(), suspect: false };
        self.alive.insert(peer.node.clone(), entry);
        events.push(PeerEvent::Up(peer.clone()));
        (heard, events)
    }

    /// Where to note that a peer was heard.
    pub(crate) fn heard(&self, peer: &Peer) -> Option<Heard> {
        self.alive
            .get(&peer.node)
            .filter(|entry| entry.incarnation == peer.incarnation)
            .map(|e| e.heard.clone())
    }

    /// A connection broke.
    pub(crate) fn broken(&mut self, peer: &Peer) -> Option<PeerEvent> {
        let entry = self.alive.get_mut(&peer.node).filter(|entry| entry.incarnation == peer.incarnation)?;
        let news = !std::mem::replace(&mut entry.suspect, true);
        news.then(|| PeerEvent::Suspect(peer.clone()))
    }

    /// All connections are there again.
    pub(crate) fn mended(&mut self, peer: &Peer) -> Option<PeerEvent> {
        let entry = self.alive.get_mut(&peer.node).filter(|entry| entry.incarnation == peer.incarnation)?;
        std::mem::take(&mut entry.suspect).then(|| PeerEvent::Back(peer.clone()))
    }

    /// Ends a session for good.
    pub(crate) fn end(&mut self, peer: &Peer, why: &str) -> Option<PeerEvent> {
        self.fence(peer, why).then(|| PeerEvent::Down(peer.clone(), why.to_owned()))
    }

    /// Ends all sessions.
    pub(crate) fn end_all(&mut self, why: &str) -> Vec<PeerEvent> {
        let nodes: Vec<_> = self.alive.keys().cloned().collect();
        let peers: Vec<_> = nodes.iter().filter_map(|node| self.alive(node)).collect();
        peers.iter().filter_map(|peer| self.end(peer, why)).collect()
    }

    /// The peer has said goodbye.
    pub(crate) fn left(&mut self, peer: &Peer) -> Option<PeerEvent> {
        self.fence(peer, "it has said goodbye").then(|| PeerEvent::Goodbye(peer.clone()))
    }

    /// Shuts an incarnation out; returns whether it was alive.
    pub(crate) fn fence(&mut self, peer: &Peer, why: &str) -> bool {
        let dead = self.fenced.entry(peer.node.clone()).or_default();
        if !dead.iter().any(|(incarnation, _)| *incarnation == peer.incarnation) {
            dead.push((peer.incarnation, why.to_owned()));
            let surplus = dead.len().saturating_sub(REMEMBERED);
            dead.drain(..surplus);
        }
        let alive = self.knows(peer);
        if alive {
            self.alive.remove(&peer.node);
        }
        alive
    }

    /// Applies the deadlines.
    pub(crate) fn check(&mut self, now: Duration) -> Vec<PeerEvent> {
        let mut events = Vec::new();
        let dead = self.dead;
        let silent = |entry: &Entry| entry.heard.before(now);
        let down: Vec<_> = self.alive.iter().filter(|(_, entry)| silent(entry) >= dead).collect();
        let down: Vec<_> = down
            .into_iter()
            .map(|(node, e)| Peer { node: node.clone(), incarnation: e.incarnation })
            .collect();
        for peer in down {
            events.extend(self.end(&peer, &format!("nothing was heard of it for {dead:.1?}")));
        }
        for (node, entry) in &mut self.alive {
            if entry.heard.before(now) >= dead / 2 && !entry.suspect {
                entry.suspect = true;
                events.push(PeerEvent::Suspect(Peer { node: node.clone(), incarnation: entry.incarnation }));
            }
        }
        events
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn peer(incarnation: u64) -> Peer {
        Peer { node: "b".to_owned(), incarnation }
    }

    #[test]
    fn a_silent_peer_is_suspect_then_down_and_does_not_come_back() {
        let mut roster = Roster::new(2 * SECOND);
        let (heard, events) = roster.begin(&peer(1), SECOND);
        assert_eq!(events, [PeerEvent::Up(peer(1))]);
        heard.at(2 * SECOND);
        assert_eq!(roster.check(2 * SECOND), []);
        assert_eq!(roster.check(3 * SECOND), [PeerEvent::Suspect(peer(1))]);
        assert_eq!(roster.check(3 * SECOND), []);
        let why = "nothing was heard of it for 2.0s".to_owned();
        assert_eq!(roster.check(4 * SECOND), [PeerEvent::Down(peer(1), why.clone())]);
        assert_eq!(roster.fenced(&peer(1)), Some(&*why));
        assert_eq!(roster.fenced(&peer(2)), None);
    }

    #[test]
    fn another_incarnation_ends_the_session_of_the_first() {
        let mut roster = Roster::new(2 * SECOND);
        roster.begin(&peer(1), SECOND);
        let (_, events) = roster.begin(&peer(2), SECOND);
        let down = PeerEvent::Down(peer(1), "it was started again".to_owned());
        assert_eq!(events, [down, PeerEvent::Up(peer(2))]);
        assert_eq!(roster.broken(&peer(1)), None);
        assert_eq!(roster.broken(&peer(2)), Some(PeerEvent::Suspect(peer(2))));
        assert_eq!(roster.mended(&peer(2)), Some(PeerEvent::Back(peer(2))));
    }
}
