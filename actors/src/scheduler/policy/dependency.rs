//! Dependency: no two variables in flight at once interfere, on top of another schedule.
//!
//! For the Lasso, |xⱼᵀxₖ| of normalised columns must stay under ρ for every pair in flight (Bradley et al. 2011; Lee
//! et al. 2014, §3.2). Variables of one task are worked on one after the other, so only pairs of *different* tasks
//! count. A variable that interferes is not dropped: it is handed out as soon as what it conflicts with is finished.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use super::{Mark, Next, Schedule};
use crate::checkpoint::{Bytes, pack, unpack};
use crate::cluster::Homes;
use crate::id::{PartId, VariableId, WorkerId};
use crate::message::{Findings, Task};

/// How much two variables interfere, 0 (not at all) to 1 (they are the same).
pub trait Interference: Send {
    /// Symmetric in its arguments.
    fn between(&self, a: VariableId, b: VariableId) -> f64;
}

impl<F: Fn(VariableId, VariableId) -> f64 + Send> Interference for F {
    fn between(&self, a: VariableId, b: VariableId) -> f64 {
        self(a, b)
    }
}

/// Pairs remembered, at most: about 100 MB. What is forgotten is computed again.
const MOST_KNOWN: usize = 1 << 22;

/// Another schedule whose tasks name variables, kept free of interference above a bound.
pub struct Dependency<S, I> {
    inner: S,
    interference: I,
    bound: f64,
    known: HashMap<(VariableId, VariableId), bool>,
    in_flight: BTreeMap<PartId, Vec<VariableId>>,
    /// Tasks of the inner schedule of which some variables are not finished.
    open: BTreeMap<PartId, Open>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Open {
    task: Task,
    /// Variables that wait for others to finish.
    deferred: Vec<VariableId>,
    found: Findings,
}

/// What a checkpoint keeps of it.
#[derive(Serialize, Deserialize)]
struct Saved {
    inner: Bytes,
    open: BTreeMap<PartId, Open>,
}

impl<S: Schedule, I: Interference> Dependency<S, I> {
    /// `inner`, with every pair of variables in different tasks in flight interfering less than `bound`.
    pub fn new(inner: S, interference: I, bound: f64) -> Self {
        Self {
            inner,
            interference,
            bound,
            known: HashMap::new(),
            in_flight: BTreeMap::new(),
            open: BTreeMap::new(),
        }
    }

    /// Whether `variable` interferes with anything in flight.
    fn conflicts(&mut self, variable: VariableId) -> bool {
        if self.known.len() > MOST_KNOWN {
            self.known.clear();
        }
        let (known, interference, bound) = (&mut self.known, &self.interference, self.bound);
        self.in_flight.values().flatten().any(|other| {
            let pair = (variable.min(*other), variable.max(*other));
            *known.entry(pair).or_insert_with(|| interference.between(pair.0, pair.1) >= bound)
        })
    }

    /// Hands out those deferred variables of a part that conflict with nothing in flight.
    fn admit(&mut self, part: PartId) -> Option<Task> {
        let mut open = self.open.remove(&part)?;
        let (deferred, admitted): (Vec<_>, Vec<_>) =
            std::mem::take(&mut open.deferred).into_iter().partition(|variable| self.conflicts(*variable));
        open.deferred = deferred;
        let task = (!admitted.is_empty()).then(|| Task { variables: admitted.clone(), ..open.task.clone() });
        self.open.insert(part, open);
        if task.is_some() {
            self.in_flight.insert(part, admitted);
        }
        task
    }

    fn admit_any(&mut self) -> Option<Task> {
        let waiting = |(part, open): (&PartId, &Open)| {
            (!open.deferred.is_empty() && !self.in_flight.contains_key(part)).then_some(*part)
        };
        let parts: Vec<PartId> = self.open.iter().filter_map(waiting).collect();
        parts.into_iter().find_map(|part| self.admit(part))
    }
}

impl<S: Schedule, I: Interference> Schedule for Dependency<S, I> {
    fn next(&mut self, worker: WorkerId) -> Next {
        if let Some(task) = self.admit_any() {
            return Next::Task(task);
        }
        loop {
            match self.inner.next(worker) {
                Next::Task(task) if !task.variables.is_empty() => {
                    let (part, deferred) = (task.part, task.variables.clone());
                    self.open.insert(part, Open { task, deferred, found: Findings::default() });
                    if let Some(task) = self.admit(part) {
                        return Next::Task(task);
                    }
                }
                other => return other,
            }
        }
    }

    fn finished(&mut self, task: &Task, findings: &Findings) -> Option<Mark> {
        self.in_flight.remove(&task.part);
        let Some(open) = self.open.get_mut(&task.part) else { return self.inner.finished(task, findings) };
        open.found.merge(findings);
        if !open.deferred.is_empty() {
            return None;
        }
        let open = self.open.remove(&task.part).expect("looked at");
        self.inner.finished(&open.task, &open.found)
    }

    fn settle(&mut self, homes: &Homes) {
        self.inner.settle(homes);
    }

    fn put_back(&mut self, task: Task) {
        match self.open.get_mut(&task.part) {
            Some(open) => {
                self.in_flight.remove(&task.part);
                open.deferred.extend(task.variables);
            }
            None => self.inner.put_back(task),
        }
    }

    fn wind_down(&mut self) -> bool {
        self.inner.wind_down()
    }
    fn save(&self) -> Result<Vec<u8>, String> {
        pack("dependency", 1, &Saved { inner: Bytes(self.inner.save()?), open: self.open.clone() })
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), String> {
        let Saved { inner, open } = unpack("dependency", 1, state)?;
        self.inner.restore(&inner.0)?;
        self.open = open;
        self.in_flight.clear();
        Ok(())
    }
}
