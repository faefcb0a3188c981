//! A node in a cluster: it does what its crew says.

use std::collections::BTreeMap;

use actix::prelude::*;

use super::actor::{Node, Outcome};
use crate::cluster::{Layout, Origin};
use crate::id::ShardId;
use crate::job::RunError;
use crate::scheduler::{Halt, Halted, RollBack};

/// Whom a node of a cluster obeys, and what it has to tell at first.
pub(crate) struct Duty {
    /// The crew.
    pub(crate) crew: Recipient<Word>,
    /// The job's name.
    pub(crate) job: String,
    /// What the job looks like: all nodes must have the same.
    pub(crate) fingerprint: String,
}

/// Node → crew.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) enum Word {
    /// It has a job of this name that looks like this, and obeys from here.
    Enlisted { job: String, fingerprint: String, node: Recipient<Task> },
    /// No more reports of the generation before count, and what does; the generation that comes next.
    Halted(u32, Halted),
    /// It has made the actors of a generation.
    Deployed(u32),
    /// The workers here may begin, and the scheduler, if it is here, listens to all of the generation.
    Begun(u32),
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
    /// On the lead: let no more reports count; what comes next.
    Halt(Layout, Origin),
    /// Make the actors of a generation.
    Deploy(Layout, Origin, Halted),
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
            let (job, fingerprint, node) =
                (duty.job.clone(), duty.fingerprint.clone(), ctx.address().recipient());
            duty.crew.do_send(Word::Enlisted { job, fingerprint, node });
        }
    }

    pub(super) fn say(&self, word: Word) {
        if let Some(duty) = &self.duty {
            duty.crew.do_send(word);
        }
    }

    /// On the lead: asks the scheduler to let no more reports count, and to go back to what was saved if need be.
    fn halt(&mut self, layout: &Layout, origin: Origin, ctx: &mut Context<Self>) {
        let Some(scheduler) = self.stage.scheduler.clone() else { return };
        let (generation, workers) = (layout.generation, layout.workers.len());
        let back = match origin {
            Origin::Saved => self.saved_state(),
            Origin::Kept => Ok(None),
        };
        let halting = async move {
            let halted = scheduler.send(Halt { workers }).await.map_err(|error| error.to_string())?;
            let Some(RollBack { path, saved }) = back? else { return Ok(halted) };
            let min = saved.clock;
            scheduler.send(RollBack { path, saved }).await.map_err(|error| error.to_string())??;
            Ok(Halted { min, finished: Vec::new() }) // nothing of the generation before counts
        };
        ctx.wait(halting.into_actor(self).map(move |halted: Result<Halted, String>, node, _| match halted {
            Ok(halted) => {
                if origin == Origin::Saved {
                    node.finished = None; // what had been done is not done any more
                }
                node.say(Word::Halted(generation, halted));
            }
            Err(why) => {
                node.end(Err(RunError::Failed(format!("the run cannot go back to a checkpoint: {why}"))));
            }
        }));
    }

    /// Ends the actors of the generation before and makes those of this one. Other messages wait meanwhile.
    fn deploy(&mut self, layout: Layout, origin: Origin, halted: Halted, ctx: &mut Context<Self>) {
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
            node.cast = Some(node.stage.cast(layout, origin, (stores, &halted), &ctx.address()));
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
        self.say(Word::Begun(generation));
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
            Task::Halt(layout, origin) => self.halt(&layout, origin, ctx),
            Task::Deploy(layout, origin, halted) => self.deploy(layout, origin, halted, ctx),
            Task::Fill { generation, origin, backups } => self.fill(generation, origin, &backups, ctx),
            Task::Begin(generation) => self.begin(generation, ctx),
            Task::Suspend => self.suspend(ctx),
            Task::Stop => self.stop(),
            Task::End(None) => self.close(Err(RunError::Elsewhere)),
            Task::End(Some(why)) => self.close(Err(RunError::Failed(why))),
        }
    }
}
