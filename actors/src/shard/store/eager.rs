//! What a shard sends by itself: which changed pages, to whom, and when.

use std::sync::Arc;
use std::time::Duration;

use super::super::readers::Lack;
use super::{Outgoing, Store};
use crate::budget::Budget;
use crate::id::{PageKey, WorkerId};
use crate::message::{Got, Page, Rows};

impl Store {
    /// Sends what may wait within a budget; [`Store::tell_time`] must be called before anything else is.
    #[must_use]
    pub fn within(mut self, budget: Option<Budget>) -> Self {
        self.budget = budget;
        self
    }

    /// What time it is, by a clock that never falls.
    pub fn tell_time(&mut self, now: Duration) {
        self.now = now;
    }

    /// When it wants [`Store::tick`] to be called, if something waits for the budget.
    pub fn wake_at(&self) -> Option<Duration> {
        let budget = self.budget.as_ref()?;
        (!self.readers.ready().is_empty()).then(|| budget.opens_at().max(self.now))
    }

    /// The time of [`Store::wake_at`] has come.
    pub fn tick(&mut self) -> Vec<Outgoing> {
        self.send_eagerly()
    }

    /// Learns that a reader has what was sent to it.
    pub fn got(&mut self, Got { worker }: Got) -> Vec<Outgoing> {
        self.readers.got(worker);
        self.send_eagerly()
    }

    /// Notes a change of a page for those who read it.
    pub(super) fn note_change(&mut self, delta: &Page) {
        let page = (delta.table, delta.page);
        if self.readers.has(page) {
            let size = match self.weighs_changes() {
                true if self.tables.is_additive(delta.table) => delta.rows.largest(),
                true => f64::INFINITY,
                false => 0.0,
            };
            self.readers.changed(page, size);
        }
    }

    /// Charges a message that cannot wait.
    pub(super) fn charge(&mut self, rows: &Rows) {
        if let Some(budget) = &mut self.budget {
            budget.spend(rows.n_bytes(), self.now);
        }
    }

    /// Whether it matters how much a page has changed.
    fn weighs_changes(&self) -> bool {
        self.budget.is_some() || self.consistency.keeps_back().is_some()
    }

    /// One message to every reader that is ready for one: pages that changed, and that the others are as fresh as `min`.
    pub(super) fn send_eagerly(&mut self) -> Vec<Outgoing> {
        let mut out = Vec::new();
        for reader in self.readers.ready() {
            if self.budget.as_ref().is_some_and(|budget| !budget.is_open(self.now)) {
                break; // what it holds up goes when it opens
            }
            out.push(self.eager_to(reader));
        }
        out
    }

    fn eager_to(&mut self, reader: WorkerId) -> Outgoing {
        let mut chosen: Vec<(f64, PageKey)> = Vec::new();
        for (page, lack) in self.readers.lacks(reader) {
            let weight = if self.weighs_changes() { self.relative(page, lack.moved) } else { 0.0 };
            if self.is_worth_sending(lack, weight) {
                chosen.push((weight, page));
            }
        }
        chosen.sort_by(|left, right| right.0.total_cmp(&left.0)); // largest relative change first
        let (mut pages, mut keys) = (Vec::new(), Vec::new());
        for (_, key) in &chosen {
            if self.budget.as_ref().is_some_and(|budget| !budget.is_open(self.now)) {
                break;
            }
            let page = self.tables.page(key.0, key.1);
            if let Some(budget) = &mut self.budget {
                budget.spend(page.rows.n_bytes(), self.now);
            }
            pages.push(page);
            keys.push(*key);
        }
        let owed = keys.len() < chosen.len();
        let withheld = self.readers.sent(reader, &keys, self.min, owed);
        let rows = Rows {
            shard: self.id,
            ticket: 0,
            min: self.min,
            applied: Arc::clone(&self.applied),
            pages,
            withheld,
            batches: Vec::new(),
            leases: Vec::new(),
            copies: Vec::new(),
            known_leases: Vec::new(),
            known_copies: Vec::new(),
        };
        Outgoing::Rows(reader, rows)
    }

    /// Under `bounded_error` small changes wait for more, but not so long that their reader comes to ask.
    fn is_worth_sending(&self, lack: Lack, weight: f64) -> bool {
        let Some((error, s)) = self.consistency.keeps_back() else { return true };
        weight > error || self.min.ahead_of(lack.since) >= s.div_ceil(2)
    }

    /// How large a change is against the page's values.
    fn relative(&self, (table, page): PageKey, moved: f64) -> f64 {
        let value = self.tables.page(table, page).rows.largest();
        if moved > 0.0 { moved / value } else { 0.0 }
    }
}
