//! A node in a cluster: it does what its crew says.

use std::collections::BTreeMap;

use actix::prelude::*;

use super::actor::{Node, Outcome};
use crate::bridge;
use crate::clock::Clock;
use crate::cluster::{Layout, Origin};
use crate::id::ShardId;
use crate::job::RunError;
use crate::scheduler::Halt;

/// Whom a node of a cluster obeys, and what it has to tell at first.
pub(crate) struct Duty {
    /// The crew.
    pub(crate) crew: Recipient<Word>,
    /// What the job looks like: all nodes must have the same.
    pub(crate) fingerprint: String,
}

/// Node → crew.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) enum Word {
    /// It has a job that looks like this, and obeys from here.
    Enlisted { fingerprint: String, node: Recipient<Task> },
    /// No more reports of the generation before count; everyone had finished these clocks.
    Halted { generation: u32, min: Clock },
    /// It has made the actors of a generation.
    Deployed(u32),
    /// All holders of a generation have their rows.
    Filled(u32),
    /// The run is over, well or because of this.
    Over(Result<(), String>),
    /// Its user wants to stop.
    Leave,
}

/// Crew → node.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub(crate) enum Task {
    /// On the lead: let no more reports count; so many workers come next.
    Halt { generation: u32, workers: usize },
    /// Make the actors of a generation.
    Deploy(Layout, Origin, Clock),
    /// On the lead: bring rows to those that lack them.
    Fill { generation: u32, origin: Origin, backups: Vec<ShardId> },
    /// Let the workers begin.
    Begin(u32),
    /// The lead is gone: end the actors of the generation, and keep job and data.
    Suspend,
    /// On the lead: stop at a clock.
    Stop,
    /// The run is over: well, or because of this.
    End(Option<String>),
}

impl Duty {
    pub(super) fn over(&self, outcome: &Outcome) {
        let how = match outcome {
            Ok(_) => Ok(()),
            Err(why) => Err(why.to_string()),
        };
        self.crew.do_send(Word::Over(how));
    }

    pub(super) fn leave(&self) {
        self.crew.do_send(Word::Leave);
    }
}

impl Node {
    /// Tells the crew that the job is built.
    pub(super) fn enlist(&self, ctx: &mut Context<Self>) {
        if let Some(duty) = &self.duty {
            let (fingerprint, node) = (duty.fingerprint.clone(), ctx.address().recipient());
            duty.crew.do_send(Word::Enlisted { fingerprint, node });
        }
    }

    fn say(&self, word: Word) {
        if let Some(duty) = &self.duty {
            duty.crew.do_send(word);
        }
    }

    /// On the lead: asks the scheduler to let no more reports count.
    fn halt(&mut self, generation: u32, workers: usize, ctx: &mut Context<Self>) {
        let Some(scheduler) = &self.stage.scheduler else { return };
        let halted = scheduler.send(Halt { workers }).into_actor(self);
        ctx.wait(halted.map(move |min, node, _| {
            if let Ok(min) = min {
                node.say(Word::Halted { generation, min });
            }
        }));
    }

    /// Ends the actors of the generation before and makes those of this one. Other messages wait meanwhile.
    fn deploy(&mut self, layout: Layout, origin: Origin, min: Clock, ctx: &mut Context<Self>) {
        let before = self.cast.take().map(|cast| cast.retire(self.stage.post.as_ref()));
        let stores = async move {
            match before {
                Some(stores) => stores.await,
                None => BTreeMap::new(),
            }
        };
        ctx.wait(stores.into_actor(self).map(move |stores, node, ctx| {
            let generation = layout.generation;
            let here = node.stage.here.clone();
            let gone: Vec<_> =
                node.apps.keys().filter(|w| !layout.workers_of(&here).any(|of| of == **w)).copied().collect();
            for (arbiter, _) in gone.iter().filter_map(|worker| node.apps.remove(worker)) {
                arbiter.stop();
            }
            node.cast = Some(node.stage.cast(layout, origin, (stores, min), &ctx.address()));
            node.say(Word::Deployed(generation));
        }));
    }

    fn begin(&mut self, generation: u32, ctx: &mut Context<Self>) {
        if !self.is_in(generation) {
            return;
        }
        if let Some(cast) = &mut self.cast {
            self.stage.begin(cast);
        }
        self.finish(ctx); // if the schedule was done when the members changed
    }

    fn suspend(&mut self, ctx: &mut Context<Self>) {
        if let Some(cast) = self.cast.take() {
            ctx.wait(cast.retire(self.stage.post.as_ref()).into_actor(self).map(|stores, _, _| drop(stores)));
        }
    }
}

impl Handler<Task> for Node {
    type Result = ();
    fn handle(&mut self, task: Task, ctx: &mut Self::Context) {
        tracing::debug!(?task, "told by the crew");
        match task {
            Task::Halt { generation, workers } => self.halt(generation, workers, ctx),
            Task::Deploy(layout, origin, min) => self.deploy(layout, origin, min, ctx),
            Task::Fill { generation, origin, backups } => self.fill(generation, origin, &backups, ctx),
            Task::Begin(generation) => self.begin(generation, ctx),
            Task::Suspend => self.suspend(ctx),
            Task::Stop => self.stop(),
            Task::End(None) => self.close(Err(RunError::Elsewhere)),
            Task::End(Some(why)) => self.close(Err(RunError::Failed(why))),
        }
    }
}

impl Node {
    /// Brings rows to the holders that lack them.
    fn fill(&mut self, generation: u32, origin: Origin, backups: &[ShardId], ctx: &mut Context<Self>) {
        let _ = (origin, backups, ctx, bridge::Actor::Crew);
        self.say(Word::Filled(generation));
    }
}
