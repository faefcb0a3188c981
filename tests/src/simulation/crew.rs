//! The crews: what nodes tell each other about members. The lead's decides with the real `Captain`; the rest is as
//! `actors/src/cluster/crew/`, whose actors only pass words on.

use slackline::cluster::captain::{Arrival, Captain, Command};
use slackline::cluster::{Expected, Layout};

use super::invariants::{checkpoint, membership};
use super::mutant::Fault as Mutation;
use super::network::{Lane, Life};
use super::ring::{Chore, Lead, Node, Ring, name, number};
use super::saved::Saved;
use super::toy;
use super::words::{Body, Place};

impl Ring {
    /// A node's process starts: its next life.
    pub(crate) fn start(&mut self, node: usize) {
        let life = self.nodes[node].life + 1;
        self.nodes[node] = Node { life, alive: true, alone: node != 0, ..Node::default() };
        self.chores.push(Chore::Load((node, life)));
        if node == 0 {
            self.take_the_lead();
        }
    }

    fn take_the_lead(&mut self) {
        let cluster = self.world.plan.cluster.clone().expect("a lead of several");
        let on_time = cluster.nodes.iter().enumerate().filter(|(_, host)| !host.late);
        let expected = on_time.map(|(node, host)| Expected {
            name: name(node),
            workers: host.workers,
            shards: host.shards,
        });
        let again = self.nodes[0].life > 1;
        let captain = Captain::new(expected.collect(), cluster.replicas, again);
        let mut lead = self.new_lead(Some(captain), cluster.nodes[0].workers);
        lead.members.push(self.life(0));
        self.lead = Some(lead);
        let arrival = self.arrival(self.life(0), 0);
        let commands = self.captain().came(arrival);
        self.obey(commands);
    }

    fn lead(&mut self) -> &mut Lead {
        self.lead.as_mut().expect("words for the lead arrive while it lives")
    }

    pub(crate) fn captain(&mut self) -> &mut Captain {
        self.lead().captain.as_mut().expect("a cluster has a captain")
    }

    fn arrival(&self, (node, life): Life, generation: u32) -> Arrival {
        let host = self.world.plan.cluster.as_ref().expect("nodes come to a cluster").nodes[node];
        Arrival {
            name: name(node),
            incarnation: u64::from(life),
            address: format!("{node}:{life}"),
            workers: host.workers,
            shards: host.shards,
            late: host.late,
            generation,
        }
    }

    /// A node's process dies.
    fn kill(&mut self, node: usize) {
        let life = self.life(node);
        self.nodes[node].alive = false;
        self.nodes[node].cast = None;
        self.net.forget(life);
        if node == 0 {
            self.lead = None;
            self.world.halt();
        }
        for other in 0..self.nodes.len() {
            if self.nodes[other].alive && !(self.nodes[other].alone && node == 0) {
                self.chores.push(Chore::Detect(self.life(other), life));
            }
        }
    }

    fn chores_that_can_be(&self) -> Vec<Chore> {
        let here = |(node, life): Life| self.nodes[node].alive && self.nodes[node].life == life;
        let load = |chore: &Chore| match chore {
            Chore::Load(life) | Chore::Detect(life, _) => here(*life),
            Chore::Connect(_) | Chore::LosePatience => false,
        };
        self.chores.iter().copied().filter(load).collect()
    }

    /// What may happen now besides deliveries.
    pub(crate) fn due(&mut self) -> Vec<Chore> {
        let mut due = self.chores_that_can_be();
        let Some(captain) = self.lead.as_ref().and_then(|lead| lead.captain.as_ref()) else { return due };
        for (node, state) in self.nodes.iter().enumerate().skip(1) {
            if state.alive && state.alone && !self.net.is_held(0, node) {
                due.push(Chore::Connect(node));
            }
        }
        if captain.layout().generation == 0 && !captain.missing().is_empty() && due.is_empty() {
            due.push(Chore::LosePatience);
        }
        due
    }

    pub(crate) fn attend(&mut self, chore: Chore) {
        match chore {
            Chore::Load((node, _)) => {
                self.nodes[node].ready = true;
                if node == 0 {
                    let commands = self.captain().ready(&name(0));
                    self.obey(commands);
                } else if !self.nodes[node].alone {
                    self.say(node, Body::Ready);
                }
            }
            Chore::Detect(who, whom) => self.detect(who, whom),
            Chore::Connect(node) => self.connect(node),
            Chore::LosePatience => {
                let commands = self.captain().lose_patience(std::time::Duration::from_secs(10));
                self.obey(commands);
            }
        }
    }

    /// A process takes another one for dead, unless they reach each other again.
    fn detect(&mut self, who: Life, whom: Life) {
        let lives = self.nodes[whom.0].alive && self.nodes[whom.0].life == whom.1;
        if lives && !self.net.is_held(who.0, whom.0) && !self.net.is_broken(who, whom) {
            return;
        }
        if lives && !self.net.is_broken(who, whom) {
            self.chores.push(Chore::Detect(whom, who)); // its session is over too
        }
        self.net.sever(who, whom);
        match (who.0, whom.0) {
            (0, node) => self.lose(whom, node),
            (node, 0) => self.suspend(node),
            (node, _) => {
                self.nodes[node].down.push(whom);
                if !self.nodes[node].alone {
                    self.say(node, Body::Unreachable(whom));
                }
            }
        }
    }

    fn lose(&mut self, life: Life, node: usize) {
        if self.lead().members.contains(&life) {
            let commands = self.captain().lost(&name(node), "silent", false);
            self.obey(commands);
        }
    }

    /// A follower without a lead keeps job and data, and nothing else.
    fn suspend(&mut self, node: usize) {
        if !self.nodes[node].alone {
            self.nodes[node].cast = None;
            self.nodes[node].alone = true;
        }
    }

    /// A follower finds the lead. A session that one side has declared over is over for the other one too.
    fn connect(&mut self, node: usize) {
        let life = self.life(node);
        if self.nodes[0].fenced.contains(&life) {
            return self.close(node);
        }
        self.lose(life, node);
        if self.nodes[0].fenced.contains(&life) {
            return;
        }
        self.nodes[node].alone = false;
        self.say(node, Body::Hail(self.nodes[node].generation));
        if self.nodes[node].ready {
            self.say(node, Body::Ready);
        }
    }

    /// A node's process ends by itself: to the others it is as if it had died.
    fn close(&mut self, node: usize) {
        self.kill(node);
    }

    /// A lead that came since may not know.
    fn say_who_is_down(&mut self, node: usize, layout: &Layout) {
        let nodes = layout.nodes();
        let down: Vec<Life> = self.nodes[node].down.clone();
        let forgotten = self.mutant.as_ref().is_some_and(|mutant| mutant.fault == Mutation::ForgetsWhoIsDown);
        for life in down.into_iter().filter(|life| !forgotten && nodes.contains(&name(life.0))) {
            self.say(node, Body::Unreachable(life));
        }
    }

    fn say(&mut self, node: usize, body: Body) {
        self.send((node, Place::Crew), (0, Place::Crew), 0, body);
    }

    fn tell(&mut self, node: usize, body: Body) {
        self.send((0, Place::Crew), (node, Place::Crew), 0, body);
    }

    fn tell_all(&mut self, body: impl Fn() -> Body) {
        let others: Vec<Life> = self.lead().members.iter().copied().filter(|(node, _)| *node != 0).collect();
        for life in others {
            if self.life(life.0) == life {
                self.tell(life.0, body());
            }
        }
    }

    /// A crew hears something.
    pub(crate) fn at_crew(&mut self, lane: Lane, body: Body) {
        let from = lane.from();
        match (lane.to().0, from) {
            (0, _) if self.lead.is_none() => {}
            (0, (0, _)) => self.own_node_says(body),
            (0, from) => self.follower_says(from, body),
            (node, _) => self.lead_says(node, body),
        }
    }

    #[allow(clippy::needless_pass_by_value)] // a word that was heard is gone
    fn follower_says(&mut self, from: Life, body: Body) {
        let node = from.0;
        let known = self.lead().members.contains(&from);
        let commands = match body {
            Body::Hail(generation) => self.hailed(from, generation),
            _ if !known => return,
            Body::Ready => self.captain().ready(&name(node)),
            Body::Deployed(generation) => self.captain().deployed(&name(node), generation),
            Body::Leave => self.asked_to_leave(node),
            Body::Unreachable(other) if self.lead().members.contains(&other) => {
                self.captain().lost(&name(other.0), "unreachable", false)
            }
            Body::Unreachable(_) => return,
            _ => panic!("no such word"),
        };
        self.obey(commands);
    }

    fn hailed(&mut self, from: Life, generation: u32) -> Vec<Command> {
        let arrival = self.arrival(from, generation);
        if self.captain().admit(&arrival).is_err() {
            self.tell(from.0, Body::Refused);
            return Vec::new();
        }
        let lead = self.lead();
        lead.members.retain(|(node, _)| *node != from.0);
        lead.members.push(from);
        self.captain().came(arrival)
    }

    fn asked_to_leave(&mut self, node: usize) -> Vec<Command> {
        if self.captain().layout().shards_of(&name(node)).next().is_some() {
            self.stop();
            return Vec::new();
        }
        self.tell(node, Body::End);
        self.captain().lost(&name(node), "it left", true)
    }

    #[allow(clippy::needless_pass_by_value)] // a word that was heard is gone
    fn own_node_says(&mut self, body: Body) {
        let commands = match body {
            Body::Halted(generation, halted) => {
                if let Some((layout, origin)) =
                    self.lead().next.take_if(|(layout, _)| layout.generation == generation)
                {
                    let members = self.lead().members.clone();
                    self.lead().crew = members.into_iter().collect();
                    self.tell_all(|| Body::Deploy(layout.clone(), origin, halted.clone()));
                    self.send((0, Place::Crew), (0, Place::Node), 0, Body::Deploy(layout, origin, halted));
                }
                Vec::new()
            }
            Body::Deployed(generation) => self.captain().deployed(&name(0), generation),
            Body::Filled(generation) => self.captain().filled(generation),
            _ => panic!("no such word"),
        };
        self.obey(commands);
    }

    fn lead_says(&mut self, node: usize, body: Body) {
        match body {
            Body::Deploy(layout, origin, halted) if self.nodes[node].ready => {
                let generation = layout.generation;
                self.say_who_is_down(node, &layout);
                self.deploy(node, layout, origin, &halted);
                self.say(node, Body::Deployed(generation));
            }
            Body::Deploy(layout, ..) => self.nodes[node].generation = layout.generation,
            Body::Begin(generation) => self.begin(node, generation),
            Body::Fence(life) => {
                self.nodes[node].down.push(life);
                self.net.sever(self.life(node), life);
            }
            Body::End | Body::Refused => self.close(node),
            _ => panic!("no such word"),
        }
    }

    /// Does what the captain commands.
    fn obey(&mut self, commands: Vec<Command>) {
        for command in commands {
            match command {
                Command::Deploy(layout, origin) => {
                    let (generation, workers) = (layout.generation, layout.workers.len());
                    self.lead().next = Some((layout, origin));
                    self.send((0, Place::Crew), (0, Place::Node), 0, Body::Halt(generation, workers));
                }
                Command::Fill { generation, origin, backups } => self.fill(generation, origin, &backups),
                Command::Begin(generation) => {
                    membership::holders_have_their_rows(self);
                    self.save(generation);
                    self.tell_all(|| Body::Begin(generation));
                    self.send((0, Place::Crew), (0, Place::Node), 0, Body::Begin(generation));
                }
                Command::Fence(node, life, _) => {
                    let life = (number(&node), u32::try_from(life).expect("few lives"));
                    self.fence(life);
                }
                Command::News(_) => {}
                Command::End(how) => self.over = Some(how),
            }
        }
    }

    fn fence(&mut self, life: Life) {
        self.lead().members.retain(|member| *member != life);
        self.nodes[0].fenced.insert(life);
        if self.nodes[life.0].alive && self.life(life.0) == life {
            self.chores.push(Chore::Detect(life, self.life(0)));
        }
        self.net.sever(self.life(0), life);
        self.tell_all(|| Body::Fence(life));
    }

    /// Between two generations, while nothing is in flight, the state of the run is saved now and then.
    fn save(&mut self, generation: u32) {
        let chance = toy::hash(&[self.world.plan.seed, u64::from(generation), 5]);
        let layout = self.captain().layout().clone();
        let store = |(shard, holders): (usize, &slackline::cluster::Holders)| {
            let cast = self.nodes[number(&holders.primary)].cast.as_ref();
            cast.and_then(|cast| cast.stores.get(&(shard, false)).cloned())
        };
        let stores: Option<Vec<_>> = layout.shards.iter().enumerate().map(store).collect();
        let (Some(stores), Some(lead)) = (stores, &self.lead) else { return };
        // A schedule that winds down is not one to go on with.
        if !chance.is_multiple_of(3) && lead.finished.is_none() && !lead.stopped {
            let calls = lead.calls.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
            let (clock, past) = (lead.dispatch.min(), self.world.past.clone());
            self.saved = Saved { clock, calls, stores, past };
            let s = self.world.plan.consistency.staleness().map_or(u64::MAX, |s| s + 1);
            checkpoint::is_one_moment(&self.saved, slackline::Clock(clock.0.saturating_add(s)));
        }
    }

    /// The run is told to stop.
    pub(crate) fn stop(&mut self) {
        let Some(lead) = &mut self.lead else { return };
        lead.stopped = true;
        let orders = lead.dispatch.stop();
        self.carry_out(orders);
    }

    /// The run is over.
    pub(crate) fn end(&mut self, how: Result<(), String>) {
        match self.lead.as_mut().and_then(|lead| lead.captain.as_mut()) {
            Some(captain) => {
                let commands = captain.end(how);
                self.obey(commands);
            }
            None => self.over = Some(how),
        }
    }
}

/// What happens to nodes from outside.
impl Ring {
    pub(crate) fn strike(&mut self, fault: super::faults::Fault) {
        use super::faults::Fault;
        match fault {
            Fault::Kill(node) if self.nodes[node].alive => self.kill(node),
            Fault::Start(node) if !self.nodes[node].alive => self.start(node),
            Fault::Leave(node) if node != 0 && self.nodes[node].alive && !self.nodes[node].alone => {
                self.say(node, Body::Leave);
            }
            Fault::Cut(a, b, long, noticed) => {
                self.net.hold(a, b, self.now + long);
                if noticed && self.nodes[a].alive && self.nodes[b].alive {
                    self.chores.push(Chore::Detect(self.life(a), self.life(b)));
                    self.chores.push(Chore::Detect(self.life(b), self.life(a)));
                }
            }
            _ => {}
        }
    }
}
