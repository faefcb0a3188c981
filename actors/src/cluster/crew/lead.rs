//! What the crew of the lead does.

use std::time::Instant;

use super::{CREW, Crew, Lead, PostOf, REMINDER, Wish};
use crate::bridge::{Peer, PeerEvent};
use crate::cluster::captain::{Arrival, Command};
use crate::cluster::words::{Down, Up, UpWord};
use crate::cluster::{MemberNews, Status};
use crate::node::{Task, Word};

impl Crew {
    fn lead(&mut self) -> &mut Lead {
        match &mut self.post {
            PostOf::Lead(lead) => lead,
            PostOf::Follow(_) => unreachable!("only the lead's crew decides"),
        }
    }

    pub(super) fn take_the_lead(&mut self) {
        let arrival = Arrival {
            name: self.name().to_owned(),
            incarnation: self.bridge.incarnation(),
            address: self.bridge.address().to_string(),
            workers: self.place.workers,
            shards: self.place.shards,
            late: false,
            generation: 0,
        };
        let commands = self.lead().captain.came(arrival);
        self.carry_out(commands);
    }

    /// Tells one follower.
    fn tell(&self, node: &str, down: Down) {
        if node != self.name() {
            self.bridge.link(node).tell(CREW, down);
        }
    }

    fn tell_all(&mut self, down: &Down) {
        let names: Vec<_> = self.lead().members.iter().map(|(name, ..)| name.clone()).collect();
        names.iter().for_each(|name| self.tell(name, down.clone()));
    }

    fn carry_out(&mut self, commands: Vec<Command>) {
        for command in commands {
            match command {
                Command::Deploy(layout, origin) => {
                    self.lead().next = Some((layout.clone(), origin));
                    self.task(Task::Halt(layout, origin));
                }
                Command::Fill { generation, origin, backups } => {
                    self.task(Task::Fill { generation, origin, backups });
                }
                Command::Begin(generation) => self.task(Task::Begin(generation)),
                Command::Fence(node, incarnation, why) => self.fence(&node, incarnation, &why),
                Command::News(news) => self.news(&news),
                Command::End(how) => {
                    self.tell_all(&Down::End(how.clone().err()));
                    match how {
                        Ok(()) => self.over = Some(None), // the node ends by itself
                        Err(why) => self.close(Some(why)),
                    }
                }
            }
        }
    }

    fn fence(&mut self, node: &str, incarnation: u64, why: &str) {
        self.lead().members.retain(|(name, life, _)| !(name == node && *life == incarnation));
        self.bridge.fence(&Peer { node: node.to_owned(), incarnation }, why);
        self.tell_all(&Down::Fence(node.to_owned(), incarnation, why.to_owned()));
    }

    pub(super) fn follower_says(&mut self, Up { node, incarnation, word }: Up) {
        if !matches!(self.post, PostOf::Lead(_)) {
            return;
        }
        self.lead().heard.insert(node.clone(), Instant::now());
        let known = self.lead().members.iter().any(|(name, life, _)| *name == node && *life == incarnation);
        let commands = match word {
            UpWord::Hail { address, workers, shards, late, generation } => {
                let name = node.clone();
                self.hailed(Arrival { name, incarnation, address, workers, shards, late, generation })
            }
            _ if !known => return, // of a life that is over
            UpWord::Loading(share) => vec![Command::News(MemberNews::Loading(node, share))],
            UpWord::Ready(fingerprint) => self.built(&node, &fingerprint),
            UpWord::Deployed(generation) => self.lead().captain.deployed(&node, generation),
            UpWord::GaveUp(why) => self.lead().captain.end(Err(format!("node {node}: {why}"))),
            UpWord::Leave => self.asked_to_leave(&node),
            UpWord::Unreachable(other, life, why) => {
                if !self.lead().members.iter().any(|(name, alive, _)| *name == other && *alive == life) {
                    return; // another life of it has come since
                }
                let why = format!("{node} cannot reach it: {why}");
                self.lead().captain.lost(&other, &why, false)
            }
        };
        self.carry_out(commands);
    }

    fn hailed(&mut self, arrival: Arrival) -> Vec<Command> {
        let (name, address) = (arrival.name.clone(), arrival.address.clone());
        if let Err(why) = self.lead().captain.admit(&arrival) {
            self.tell(&name, Down::Refused(why));
            return Vec::new();
        }
        let (incarnation, lead) = (arrival.incarnation, self.lead());
        lead.members.retain(|(known, ..)| *known != name);
        lead.members.push((name.clone(), incarnation, address));
        let commands = lead.captain.came(arrival);
        let members: Vec<_> =
            lead.members.iter().map(|(name, _, address)| (name.clone(), address.clone())).collect();
        let workers = self.workers();
        self.tell(&name, Down::Welcome { workers });
        self.tell_all(&Down::Members(members));
        commands
    }

    fn workers(&self) -> usize {
        let others = match &self.place.role {
            crate::cluster::Role::Lead { others, .. } => others.iter().map(|other| other.workers).sum(),
            crate::cluster::Role::Follow { .. } => 0,
        };
        self.place.workers + others
    }

    /// A node has built its job; it must be the same as everyone's.
    fn built(&mut self, node: &str, fingerprint: &str) -> Vec<Command> {
        match &self.node {
            Some((_, own)) if own != fingerprint => {
                let why = format!(
                    "node {node} has another job ({fingerprint}) than the lead ({own}): do both read the same data with \
                     the same options and version?"
                );
                self.lead().captain.end(Err(why))
            }
            Some(_) => self.lead().captain.ready(node),
            None => {
                // Compared once the lead's own job is built.
                let (name, fingerprint) = (node.to_owned(), fingerprint.to_owned());
                self.lead().early.push((name, fingerprint));
                Vec::new()
            }
        }
    }

    /// A node of workers only may go; without the rows of any other the run stops at a clock.
    fn asked_to_leave(&mut self, node: &str) -> Vec<Command> {
        let has_rows = self.lead().captain.layout().shards_of(node).next().is_some();
        if has_rows {
            self.task(Task::Stop);
            return Vec::new();
        }
        self.tell(node, Down::End(None));
        let mut commands = self.lead().captain.lost(node, "it left", true);
        // It ends by itself: fenced, it might not hear that it may.
        commands.retain(|command| !matches!(command, Command::Fence(fenced, ..) if fenced == node));
        self.lead().members.retain(|(name, ..)| name != node);
        commands
    }

    pub(super) fn own_node_says(&mut self, word: Word) {
        let name = self.name().to_owned();
        let commands = match word {
            Word::Enlisted { job, fingerprint, .. } => {
                self.lead().status.job = job;
                let early = std::mem::take(&mut self.lead().early);
                let mut commands = self.built(&name, &fingerprint);
                commands.extend(early.iter().flat_map(|(node, fingerprint)| self.built(node, fingerprint)));
                commands
            }
            Word::Halted(generation, halted) => {
                if let Some((layout, origin)) =
                    self.lead().next.take_if(|(next, _)| next.generation == generation)
                {
                    self.tell_all(&Down::Deploy(layout.clone(), origin, halted.clone()));
                    self.task(Task::Deploy(layout, origin, halted));
                }
                Vec::new()
            }
            Word::Deployed(generation) => self.lead().captain.deployed(&name, generation),
            Word::Begun(generation) => {
                self.tell_all(&Down::Begin(generation)); // the scheduler listens by now
                Vec::new()
            }
            Word::Filled(generation) => self.lead().captain.filled(generation),
            Word::Over(how) => self.lead().captain.end(how),
            Word::Leave => Vec::new(),
        };
        self.carry_out(commands);
    }

    pub(super) fn heard_of_follower(&mut self, event: PeerEvent) {
        let (peer, why, in_good_order) = match event {
            PeerEvent::Down(peer, why) => (peer, why, false),
            PeerEvent::Goodbye(peer) => (peer, "it ended".to_owned(), false),
            PeerEvent::Up(peer) => {
                self.lead().heard.insert(peer.node, Instant::now());
                return;
            }
            _ => return,
        };
        let known =
            self.lead().members.iter().any(|(name, life, _)| *name == peer.node && *life == peer.incarnation);
        if known {
            let commands = self.lead().captain.lost(&peer.node, &why, in_good_order);
            self.carry_out(commands);
        }
    }

    pub(super) fn wish_of_lead(&mut self, wish: Wish) {
        let commands = match wish {
            Wish::GiveUp(why) => {
                let name = self.name().to_owned();
                self.lead().captain.end(Err(format!("node {name}: {why}")))
            }
            Wish::Leave => {
                self.task(Task::Stop);
                Vec::new()
            }
            Wish::Loading(share) => vec![Command::News(MemberNews::Loading(self.name().to_owned(), share))],
            Wish::Flush(done) => {
                drop(done);
                Vec::new()
            }
        };
        self.carry_out(commands);
    }

    pub(super) fn patrol_as_lead(&mut self) {
        let (since, patience) = (self.since.elapsed(), self.place.settings.timing.patience);
        let missing = self.lead().captain.missing();
        let again = matches!(self.place.role, crate::cluster::Role::Lead { again: true, .. });
        let patience = if again { patience.min(AGAIN) } else { patience };
        if since >= patience && self.lead().captain.layout().generation == 0 && !missing.is_empty() {
            let commands = self.lead().captain.lose_patience(since);
            self.carry_out(commands);
        } else if !missing.is_empty()
            && self.lead().captain.layout().generation == 0
            && self.reminded.elapsed() >= REMINDER
        {
            self.reminded = Instant::now();
            self.news(&MemberNews::WaitingFor(missing));
        }
    }

    pub(super) fn status(&mut self) -> Status {
        let lead = self.lead();
        let heard = |name: &str| {
            let since = lead.heard.get(name).map_or(0, |heard| heard.elapsed().as_millis());
            u64::try_from(since).unwrap_or(u64::MAX)
        };
        let nodes = lead.captain.nodes(heard);
        Status { generation: lead.captain.layout().generation, nodes, ..lead.status.clone() }
    }
}

/// A lead that was started again waits so long for those who were there.
const AGAIN: std::time::Duration = std::time::Duration::from_secs(10);
