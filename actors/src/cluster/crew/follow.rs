//! What the crew of a follower does.

use std::time::Instant;

use super::{CREW, Crew, Follow, PostOf, Wish};
use crate::bridge::{Peer, PeerEvent};
use crate::cluster::words::{Down, Up, UpWord};
use crate::node::{Task, Word};

impl Crew {
    fn follow(&mut self) -> &mut Follow {
        match &mut self.post {
            PostOf::Follow(follow) => follow,
            PostOf::Lead(_) => unreachable!("the lead follows nobody"),
        }
    }

    pub(super) fn look_for_the_lead(&mut self) {
        let (lead, address) = (self.follow().lead.clone(), self.follow().address.clone());
        self.bridge.dial(&lead, &address);
    }

    fn say(&mut self, word: UpWord) {
        let lead = self.follow().lead.clone();
        let (node, incarnation) = (self.name().to_owned(), self.bridge.incarnation());
        self.bridge.link(&lead).tell(CREW, Up { node, incarnation, word });
    }

    fn hail(&mut self) {
        let word = UpWord::Hail {
            address: self.bridge.address().to_string(),
            workers: self.place.workers,
            shards: self.place.shards,
            late: self.follow().late,
            generation: self.follow().generation,
        };
        self.say(word);
        if let Some((_, fingerprint)) = self.node.clone() {
            self.say(UpWord::Ready(fingerprint));
        }
    }

    pub(super) fn heard_of_peer(&mut self, event: PeerEvent) {
        let lead = self.follow().lead.clone();
        match event {
            PeerEvent::Up(peer) if peer.node == lead => {
                self.follow().alone = None;
                self.hail();
            }
            PeerEvent::Down(peer, why) if peer.node == lead => self.lost_the_lead(&why),
            PeerEvent::Goodbye(peer) if peer.node == lead => self.lost_the_lead("it ended"),
            PeerEvent::Refused { node, why } if node == lead => self.refused(&why),
            PeerEvent::Down(peer, why) => {
                if self.follow().alone.is_none() {
                    self.say(UpWord::Unreachable(peer.node.clone(), peer.incarnation, why.clone()));
                }
                self.follow().down.push((peer, why));
            }
            _ => {}
        }
    }

    /// The lead is dead, or this node is cut off: waits for it with job and data, until patience ends.
    fn lost_the_lead(&mut self, why: &str) {
        if self.over.is_some() || self.follow().alone.is_some() {
            return;
        }
        tracing::warn!("the lead is gone ({why}); waiting for it to come back");
        self.follow().alone = Some(Instant::now());
        self.task(Task::Suspend);
        self.look_for_the_lead();
    }

    /// This node is not wanted: by the lead, or the lead takes it to be dead.
    fn refused(&mut self, why: &str) {
        let why = format!("the lead refuses this node: {why}");
        if let Some(taken) = self.follow().taken.take() {
            taken.send(Err(why.clone())).ok(); // who took the seat is gone: so is the process
        }
        self.close(Some(why));
    }

    pub(super) fn lead_says(&mut self, down: Down) {
        if !matches!(self.post, PostOf::Follow(_)) {
            return;
        }
        match down {
            Down::Welcome { workers } => {
                if let Some(taken) = self.follow().taken.take() {
                    taken.send(Ok(workers)).ok(); // who took the seat is gone: so is the process
                }
            }
            Down::Refused(why) => self.refused(&why),
            Down::Members(members) => self.meet(&members),
            Down::Deploy(layout, origin, halted) => {
                self.follow().generation = layout.generation;
                let nodes = layout.nodes();
                let down = self.follow().down.clone();
                for (peer, why) in down.into_iter().filter(|(peer, _)| nodes.contains(&peer.node)) {
                    self.say(UpWord::Unreachable(peer.node, peer.incarnation, why)); // unless it is another life
                }
                self.task(Task::Deploy(layout, origin, halted));
            }
            Down::Begin(generation) => self.task(Task::Begin(generation)),
            Down::Fence(node, incarnation, why) => {
                self.follow().dialled.remove(&node);
                self.bridge.forget(&node);
                let peer = Peer { node, incarnation };
                self.bridge.fence(&peer, &why);
                self.follow().down.push((peer, why));
            }
            Down::End(why) => self.close(why),
        }
    }

    /// Dials those who came before.
    fn meet(&mut self, members: &[(String, String)]) {
        let own = self.name().to_owned();
        for (name, address) in members.iter().take_while(|(name, _)| *name != own) {
            let follow = self.follow();
            let known = *name == follow.lead || follow.dialled.get(name) == Some(address);
            if !known {
                follow.dialled.insert(name.clone(), address.clone());
                self.bridge.dial(name, address);
            }
        }
    }

    pub(super) fn pass_on(&mut self, word: Word) {
        match word {
            Word::Enlisted { fingerprint, .. } => self.say(UpWord::Ready(fingerprint)),
            Word::Deployed(generation) => self.say(UpWord::Deployed(generation)),
            Word::Over(Err(why)) if self.over.is_none() => self.say(UpWord::GaveUp(why)),
            Word::Leave => self.say(UpWord::Leave),
            Word::Over(_) | Word::Halted(..) | Word::Filled(_) | Word::Begun(_) => {}
        }
    }

    pub(super) fn wish_of_follower(&mut self, wish: Wish) {
        match wish {
            Wish::GiveUp(why) => self.say(UpWord::GaveUp(why)),
            Wish::Leave => self.say(UpWord::Leave),
            Wish::Loading(share) => self.say(UpWord::Loading(share)),
            Wish::Flush(done) => drop(done),
        }
    }

    pub(super) fn patrol_as_follower(&mut self) {
        let patience = self.place.settings.timing.patience;
        let alone = self.follow().alone.map(|since| since.elapsed()).unwrap_or_default();
        if alone < patience || self.over.is_some() {
            return;
        }
        let (lead, address) = (self.follow().lead.clone(), self.follow().address.clone());
        let why = format!("nothing was heard of the lead {lead} at {address} for {} s", alone.as_secs());
        if let Some(taken) = self.follow().taken.take() {
            taken.send(Err(format!("{why}; is it started, and is the address right?"))).ok(); // as above
        }
        self.close(Some(why));
    }
}
