//! Bringing rows to those who lack them: on the lead, before a generation begins.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;

use super::actor::Node;
use super::duty::Word;
use crate::checkpoint::{Directory, Saved};
use crate::clock::Clock;
use crate::cluster::Origin;
use crate::id::{ShardId, TableId};
use crate::job::RunError;
use crate::message::{Restore, Snap};
use crate::placement::Placement;
use crate::scheduler::RollBack;

/// How long after a failure to bring rows the death that explains it must have been noticed.
const PATIENCE: Duration = Duration::from_secs(20);

/// What the lead can go back to.
pub(super) struct Past {
    /// The directory of checkpoints, where there is one.
    pub(super) directory: Option<PathBuf>,
    /// What the run began from: a checkpoint, or the schedule's first state and no rows; a sentence where the schedule
    /// cannot be saved.
    pub(super) start: Result<(PathBuf, Arc<Saved>), String>,
    /// What the generation under way goes back to.
    pub(super) now: Option<Arc<Saved>>,
    /// Whether a generation has begun.
    pub(super) begun: bool,
}

impl Node {
    /// What a generation that lost rows begins from; nothing when the run has not begun, so that its start is at hand.
    pub(super) fn saved_state(&mut self) -> Result<Option<RollBack>, String> {
        let Some(past) = &mut self.past else { return Ok(None) };
        if !past.begun {
            past.now = past.start.as_ref().ok().map(|(_, saved)| Arc::clone(saved));
            return Ok(None);
        }
        let newest = past
            .directory
            .as_deref()
            .map(Directory::newest)
            .transpose()
            .map_err(|error| error.to_string())?;
        let newest = newest.unwrap_or_default();
        newest.refused.iter().for_each(|why| tracing::warn!("passed over: {why}"));
        let (path, saved) = match newest.checkpoint {
            Some(checkpoint) => (checkpoint.path, Arc::new(checkpoint.saved)),
            None => past.start.clone()?,
        };
        past.now = Some(Arc::clone(&saved));
        Ok(Some(RollBack { path, saved }))
    }

    /// Brings rows to the holders that lack them, then says so.
    pub(super) fn fill(
        &mut self,
        generation: u32,
        origin: Origin,
        backups: &[ShardId],
        ctx: &mut Context<Self>,
    ) {
        let Some(cast) = self.cast.as_ref().filter(|cast| cast.layout.generation == generation) else {
            return;
        };
        let saved = self.past.as_ref().and_then(|past| past.now.clone()).filter(|_| origin == Origin::Saved);
        let n_tables = self.stage.tables.len();
        let placement = Placement::over(cast.layout.shards.len());
        let holders = self.stage.holders(cast);
        let snaps = cast.all_shards.clone();
        let backups = backups.to_vec();
        let filling = async move {
            match saved {
                Some(saved) if !saved.tables.is_empty() => {
                    for (shard, holder) in
                        holders.into_iter().flat_map(|(id, all)| all.into_iter().map(move |h| (id, h)))
                    {
                        let tables = saved.share_of(shard, placement);
                        restore(&holder, Restore { tables, min: saved.clock }).await?;
                    }
                }
                Some(_) => {} // the start of the run: everyone has made its rows
                None => {
                    for (shard, all) in holders {
                        if let Some(backup) = all.get(1).filter(|_| backups.contains(&shard)) {
                            let tables = rows_of(&snaps[shard.index()], n_tables).await?;
                            restore(backup, tables).await?;
                        }
                    }
                }
            }
            Ok::<(), String>(())
        };
        ctx.spawn(filling.into_actor(self).map(move |filled, node, ctx| match filled {
            Ok(()) => {
                if let Some(past) = &mut node.past {
                    (past.begun, past.now) = (true, None);
                }
                node.say(Word::Filled(generation));
            }
            // A node that died is noticed, and the generation after this one fills again.
            Err(why) if !node.is_in(generation) => tracing::debug!(why, "filling was given up"),
            Err(why) => {
                tracing::warn!("rows could not be brought to their shards: {why}");
                ctx.run_later(PATIENCE, move |node, _| node.give_up_filling(generation, &why));
            }
        }));
    }

    /// Unless a node died, which has begun another generation by now, there is no way on.
    fn give_up_filling(&mut self, generation: u32, why: &str) {
        if self.is_in(generation) {
            self.end(Err(RunError::Failed(format!("rows could not be brought to their shards: {why}"))));
        }
    }
}

/// All rows of a shard.
async fn rows_of(shard: &Recipient<Snap>, n_tables: usize) -> Result<Restore, String> {
    let (mut tables, need) = (Vec::new(), Clock(0));
    for table in (0..n_tables).map(TableId::at) {
        let share = shard.send(Snap { table, need }).await.map_err(|error| error.to_string())?;
        tables.push((table, share.ok_or("a shard is gone")?));
    }
    Ok(Restore { tables, min: need })
}

async fn restore(holder: &Recipient<Restore>, rows: Restore) -> Result<(), String> {
    match holder.send(rows).await {
        Ok(true) => Ok(()),
        Ok(false) => Err("a shard refused rows that are not all its own".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
