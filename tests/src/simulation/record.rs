//! What the cores of a run tell of themselves, and what it proves.

use std::sync::{Arc, Mutex, PoisonError};

use slackline::audit::{self, Entry, Head, Record, Witness};

use super::plan::Plan;

/// What was done, by the cores' own account, with the generation of members in which it was.
#[derive(Clone, Default)]
pub(crate) struct Told(Arc<Mutex<Vec<(u32, Entry)>>>);

impl Told {
    /// Who is told what a core of that generation does.
    pub(crate) fn witness(&self, generation: u32) -> Witness {
        let told = Arc::clone(&self.0);
        let listener = move |generation, entry| {
            told.lock().unwrap_or_else(PoisonError::into_inner).push((generation, entry));
        };
        Witness::telling(listener).of(generation)
    }

    /// It as the record of one process, of a run whose model was gathered in this generation. Where members changed after
    /// its last step, a holder that died may lack updates that his successor has: they are in the model.
    pub(crate) fn stands_up(&self, plan: &Plan, gathered: u32) {
        let head = Head {
            job: "toy".to_owned(),
            seed: plan.seed,
            consistency: plan.consistency,
            own_gate: false,
            node: String::new(),
            life: 1,
        };
        let mut entries = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        entries.retain(|(generation, entry)| *entry != Entry::End || *generation == gathered);
        let ended = entries.iter().any(|(_, entry)| *entry == Entry::End);
        assert!(ended || plan.cluster.is_some(), "a run of one process ends in its only generation");
        let verdict = audit::check(&[Record { name: "run.audit".to_owned(), head, torn: false, entries }]);
        let broken: Vec<String> = verdict.broken.iter().map(ToString::to_string).collect();
        assert!(broken.is_empty(), "{}", broken.join("\n"));
    }
}
