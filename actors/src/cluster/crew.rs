//! The crew: one actor a process, on a thread of its own, that keeps this node in touch with the others. On the lead it
//! carries out what the [`Captain`] decides; elsewhere it does what the lead says.

mod follow;
mod lead;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use actix::prelude::*;

use super::captain::{Captain, Origin};
use super::layout::{Layout, NodeName};
use super::words::{AskStatus, AskStop, Down, Up};
use super::{MemberNews, Place, Role, Status};
use crate::bridge::{self, Address, Bridge, Peer, PeerEvent};
use crate::monitor::Event;
use crate::node::{Task, Word};

/// Where crews hear each other: outside all generations.
pub(super) const CREW: Address = Address { generation: 0, actor: bridge::Actor::Crew };

/// How often it looks at the time.
const PATROL: Duration = Duration::from_millis(500);
/// How often it says whom it waits for.
const REMINDER: Duration = Duration::from_secs(10);

/// Those who hear of members.
pub(super) type Listeners = Arc<Mutex<Vec<Box<dyn Fn(MemberNews) + Send + Sync>>>>;

/// An actor that keeps this node in touch with the others.
pub(super) struct Crew {
    place: Place,
    bridge: Bridge,
    listeners: Listeners,
    /// The node of the job, once it is built, and what the job looks like.
    node: Option<(Recipient<Task>, String)>,
    post: PostOf,
    since: Instant,
    reminded: Instant,
    /// Why the run is over, if it is.
    over: Option<Option<String>>,
}

/// What this node does in the cluster.
enum PostOf {
    Lead(Box<Lead>),
    Follow(Follow),
}

/// The lead's books.
struct Lead {
    captain: Captain,
    /// The lives of the members and where they listen, in the order in which they came.
    members: Vec<(NodeName, u64, String)>,
    /// What is to be made once the scheduler has halted.
    next: Option<(Layout, Origin)>,
    status: Status,
    /// Nodes that had built their job before the lead's own was built, and what it looks like.
    early: Vec<(NodeName, String)>,
    heard: BTreeMap<NodeName, Instant>,
}

/// A follower's books.
struct Follow {
    lead: NodeName,
    address: String,
    late: bool,
    /// The last generation it took part in.
    generation: u32,
    /// Who waits for the lead's word.
    taken: Option<std::sync::mpsc::Sender<Result<usize, String>>>,
    /// Since when the lead is not there.
    alone: Option<Instant>,
    /// Those that it dials, and where.
    dialled: BTreeMap<NodeName, String>,
    /// Lives of other nodes that it does not reach any more, and why: a lead that came since may not know.
    down: Vec<(Peer, String)>,
}

/// Something about a peer, from the bridge.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct OfPeer(pub(super) PeerEvent);

/// Something about the run, from its monitor.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct OfRun(pub(super) Event);

/// What the process itself wants.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) enum Wish {
    GiveUp(String),
    Leave,
    Loading(f32),
    /// Nothing, but whoever holds the other end hears that all before it was done.
    Flush(std::sync::mpsc::Sender<()>),
}

impl Crew {
    /// The crew of this place; `taken` hears the lead's word, or at once if this is the lead.
    pub(super) fn new(
        place: Place,
        bridge: Bridge,
        listeners: Listeners,
        taken: std::sync::mpsc::Sender<Result<usize, String>>,
    ) -> Self {
        let post = match &place.role {
            Role::Lead { others, replicas, again } => {
                let own = super::Expected {
                    name: place.settings.node.clone(),
                    workers: place.workers,
                    shards: place.shards,
                };
                let expected: Vec<_> = std::iter::once(own).chain(others.iter().cloned()).collect();
                let workers = expected.iter().map(|expected| expected.workers).sum();
                taken.send(Ok(workers)).ok(); // who took the seat waits for this
                PostOf::Lead(Box::new(Lead {
                    captain: Captain::new(expected, *replicas, *again),
                    members: Vec::new(),
                    next: None,
                    status: Status::default(),
                    early: Vec::new(),
                    heard: BTreeMap::new(),
                }))
            }
            Role::Follow { lead, address, late } => PostOf::Follow(Follow {
                lead: lead.clone(),
                address: address.clone(),
                late: *late,
                generation: 0,
                taken: Some(taken),
                alone: Some(Instant::now()),
                dialled: BTreeMap::new(),
                down: Vec::new(),
            }),
        };
        let now = Instant::now();
        Self { place, bridge, listeners, node: None, post, since: now, reminded: now, over: None }
    }

    fn name(&self) -> &str {
        &self.place.settings.node
    }

    fn news(&self, news: &MemberNews) {
        let listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.iter().for_each(|tell| tell(news.clone()));
    }

    fn task(&self, task: Task) {
        if let Some((node, _)) = &self.node {
            node.do_send(task);
        }
    }

    /// The run is over; a node that is built later ends at once.
    fn close(&mut self, why: Option<String>) {
        if self.over.is_none() {
            self.over = Some(why.clone());
            self.task(Task::End(why));
        }
    }

    fn patrol(&mut self) {
        match self.post {
            PostOf::Lead(_) => self.patrol_as_lead(),
            PostOf::Follow(_) => self.patrol_as_follower(),
        }
    }
}

impl Actor for Crew {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.run_interval(PATROL, |crew, _| crew.patrol());
        match self.post {
            PostOf::Lead(_) => self.take_the_lead(),
            PostOf::Follow(_) => self.look_for_the_lead(),
        }
    }
}

impl Handler<OfPeer> for Crew {
    type Result = ();
    fn handle(&mut self, OfPeer(event): OfPeer, _: &mut Self::Context) {
        match self.post {
            PostOf::Lead(_) => self.heard_of_follower(event),
            PostOf::Follow(_) => self.heard_of_peer(event),
        }
    }
}

impl Handler<Up> for Crew {
    type Result = ();
    fn handle(&mut self, up: Up, _: &mut Self::Context) {
        self.follower_says(up);
    }
}

impl Handler<Down> for Crew {
    type Result = ();
    fn handle(&mut self, down: Down, _: &mut Self::Context) {
        self.lead_says(down);
    }
}

impl Handler<Word> for Crew {
    type Result = ();
    fn handle(&mut self, word: Word, _: &mut Self::Context) {
        if let Word::Enlisted { fingerprint, node, .. } = &word {
            self.node = Some((node.clone(), fingerprint.clone()));
            if let Some(why) = self.over.clone() {
                return node.do_send(Task::End(Some(why.unwrap_or_else(|| "the run is over".to_owned()))));
            }
        }
        match self.post {
            PostOf::Lead(_) => self.own_node_says(word),
            PostOf::Follow(_) => self.pass_on(word),
        }
    }
}

impl Handler<Wish> for Crew {
    type Result = ();
    fn handle(&mut self, wish: Wish, _: &mut Self::Context) {
        match self.post {
            PostOf::Lead(_) => self.wish_of_lead(wish),
            PostOf::Follow(_) => self.wish_of_follower(wish),
        }
    }
}

impl Handler<OfRun> for Crew {
    type Result = ();
    fn handle(&mut self, OfRun(event): OfRun, _: &mut Self::Context) {
        match (&mut self.post, event) {
            (PostOf::Lead(lead), Event::Progress(progress)) => {
                lead.status.seconds = progress.seconds;
                lead.status.clock = progress.clock.0;
                lead.status.epoch = progress.mark.epoch;
                lead.status.objective = Some(progress.mark.objective);
                lead.status.done = progress.mark.done;
            }
            (PostOf::Lead(lead), Event::Checkpoint(_)) => lead.captain.saved(),
            (PostOf::Lead(lead), Event::Resumed(resumed)) if !resumed.path.as_os_str().is_empty() => {
                lead.captain.saved();
            }
            (PostOf::Lead(_), Event::KeptBackLost { workers }) => {
                self.news(&MemberNews::KeptBackLost { workers });
            }
            _ => {}
        }
    }
}

impl Handler<AskStatus> for Crew {
    type Result = MessageResult<AskStatus>;
    fn handle(&mut self, _: AskStatus, _: &mut Self::Context) -> Self::Result {
        MessageResult(self.status())
    }
}

impl Handler<AskStop> for Crew {
    type Result = ();
    fn handle(&mut self, _: AskStop, _: &mut Self::Context) {
        self.task(Task::Stop);
    }
}
