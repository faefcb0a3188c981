//! What a run goes back to: rows, schedule and clocks that belong together.
//!
//! It is taken between two generations, where nothing is in flight. Schedules are restored by telling a new one all that
//! the old one was told.

use std::sync::{Arc, Mutex, PoisonError};

use slackline::cluster::Homes;
use slackline::message::{Findings, Task};
use slackline::scheduler::policy::{Mark, Next, Schedule};
use slackline::shard::Store;
use slackline::{Clock, WorkerId};

use super::world::Past;

/// A saved state.
#[derive(Clone)]
pub(crate) struct Saved {
    pub(crate) clock: Clock,
    pub(crate) calls: Vec<Call>,
    /// Shard by shard.
    pub(crate) stores: Vec<Store>,
    pub(crate) past: Past,
}

/// Something that a schedule was told or asked.
#[derive(Clone)]
pub(crate) enum Call {
    Next(WorkerId),
    Finished(Task, Findings),
    PutBack(Task),
    WindDown,
    Settle(Homes),
}

/// All that a schedule was told.
pub(crate) type Calls = Arc<Mutex<Vec<Call>>>;

/// A schedule that keeps a record of what it is told.
pub(crate) struct Recorded {
    inner: Box<dyn Schedule>,
    calls: Calls,
}

impl Recorded {
    /// A schedule that was told this already.
    pub(crate) fn after(mut inner: Box<dyn Schedule>, calls: &[Call]) -> (Self, Calls) {
        for call in calls {
            match call.clone() {
                Call::Next(worker) => drop(inner.next(worker)),
                Call::Finished(task, findings) => drop(inner.finished(&task, &findings)),
                Call::PutBack(task) => inner.put_back(task),
                Call::WindDown => drop(inner.wind_down()),
                Call::Settle(homes) => inner.settle(&homes),
            }
        }
        let calls = Arc::new(Mutex::new(calls.to_vec()));
        (Self { inner, calls: Arc::clone(&calls) }, calls)
    }

    fn note(&self, call: Call) {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).push(call);
    }
}

impl Schedule for Recorded {
    fn next(&mut self, worker: WorkerId) -> Next {
        self.note(Call::Next(worker));
        self.inner.next(worker)
    }

    fn finished(&mut self, task: &Task, findings: &Findings) -> Option<Mark> {
        self.note(Call::Finished(task.clone(), findings.clone()));
        self.inner.finished(task, findings)
    }

    fn put_back(&mut self, task: Task) {
        self.note(Call::PutBack(task.clone()));
        self.inner.put_back(task);
    }

    fn wind_down(&mut self) -> bool {
        self.note(Call::WindDown);
        self.inner.wind_down()
    }

    fn pass_of(&self, task: &Task) -> Option<u64> {
        self.inner.pass_of(task)
    }

    fn settle(&mut self, homes: &Homes) {
        self.note(Call::Settle(homes.clone()));
        self.inner.settle(homes);
    }
}
