//! What an app is: an actor that handles [`Step`]s.
//!
//! A step carries everything it needs: rows to read, blocks to write in place, the task. It gives back an
//! [`Outcome`]: what was found, the updates, and the blocks. The app keeps its data and nothing else that matters.

use std::marker::PhantomData;
use std::sync::{Arc, mpsc};

use actix::prelude::*;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::clock::Clock;
use crate::gathered::ReadRows;
use crate::id::{BlockId, PartId, TableId, VariableId};
use crate::message::{Findings, Lease, Page, Phase, RowBatch, Task};
use crate::table::{Block, Table, Usage};
use crate::values::Element;
use crate::view::{Delta, ReadPage, View};

/// An app: any actor that handles steps.
pub trait App: Actor<Context = Context<Self>> + Handler<Step> {}

impl<A: Actor<Context = Context<A>> + Handler<Step>> App for A {}

/// One step of one worker: a task with the rows it needs.
#[derive(Message)]
#[rtype(result = "Outcome")]
pub struct Step {
    pub(crate) clock: Clock,
    pub(crate) seed: u64,
    pub(crate) task: Task,
    pub(crate) tables: Arc<Vec<Table>>,
    pub(crate) reads: Vec<(TableId, Vec<ReadPage>)>,
    pub(crate) rows: Vec<(TableId, ReadRows)>,
    pub(crate) leases: Vec<Lease>,
    pub(crate) copies: Vec<Lease>,
    pub(crate) deltas: Vec<Page>,
    pub(crate) batches: Vec<RowBatch>,
    /// Where updates may leave before the step is done.
    pub(crate) exit: Option<Exit>,
}

impl std::fmt::Debug for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "step of {:?} at clock {}", self.task, self.clock)
    }
}

/// The way out for updates of a step that is still computing.
pub(crate) struct Exit {
    pub(crate) to: mpsc::Sender<Leaving>,
    /// Tells the worker, where it has a mailbox.
    pub(crate) wake: Option<Recipient<Wake>>,
    /// The tables that are through.
    pub(crate) sent: Vec<TableId>,
}

/// Updates of a step that is still computing.
pub(crate) type Leaving = (Vec<Page>, Option<RowBatch>);

/// App → worker: there is an update to send.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Wake;

/// What a step gives back.
#[derive(Debug)]
pub struct Outcome {
    pub(crate) result: Result<Findings, String>,
    pub(crate) deltas: Vec<Page>,
    pub(crate) batches: Vec<RowBatch>,
    pub(crate) leases: Vec<Lease>,
}

impl<A, M> actix::dev::MessageResponse<A, M> for Outcome
where
    A: Actor,
    M: Message<Result = Self>,
{
    fn handle(self, _: &mut A::Context, asker: Option<actix::dev::OneshotSender<Self>>) {
        if let Some(asker) = asker {
            asker.send(self).ok(); // the worker is gone: so is the run
        }
    }
}

impl Step {
    /// The part of the data to work on.
    pub fn part(&self) -> PartId {
        self.task.part
    }

    /// The block that the schedule picked, where it picks one.
    pub fn block(&self) -> Option<BlockId> {
        self.task.block
    }

    /// Training or evaluation.
    pub fn phase(&self) -> Phase {
        self.task.phase
    }

    /// Further parts, where the task spans several.
    pub fn with(&self) -> &[PartId] {
        &self.task.with
    }

    /// The variables that the schedule picked; empty for all of the part.
    pub fn variables(&self) -> &[VariableId] {
        &self.task.variables
    }

    /// Numbers that the schedule has for the app.
    pub fn orders(&self) -> &[f64] {
        &self.task.orders
    }

    /// The worker's clock that this step is.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// A random generator of this (seed, part, clock) and no other.
    pub fn rng(&self) -> Xoshiro256PlusPlus {
        let place = (u64::from(self.task.part.0) << 32) ^ self.clock.0.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        Xoshiro256PlusPlus::seed_from_u64(self.seed ^ place.rotate_left(17))
    }

    /// The rows of a shared table that this step reads, at most `s` clocks old, this worker's updates included.
    ///
    /// # Panics
    /// When the job has no such shared table or it holds another element type: a mistake of the app.
    pub fn read<T: Element>(&self, name: &str) -> View<T> {
        let (id, table) = self.table(name);
        if *table.usage() != Usage::Shared {
            no_rows(name);
        }
        if let Some(rows) = self.rows_of(id) {
            return View::of_rows(table, rows);
        }
        let pages = self.reads.iter().find(|(read, _)| *read == id);
        View::new(table, pages.map_or(&[], |(_, pages)| pages)) // an empty table has no pages
    }

    /// An empty update for a shared table; hand it back with [`Step::add`].
    ///
    /// # Panics
    /// When the job has no such shared table or it holds another element type: a mistake of the app.
    pub fn delta<T: Element>(&self, name: &str) -> Delta<T> {
        let (id, table) = self.table(name);
        assert!(*table.usage() == Usage::Shared, "table {name} is leased: write its blocks in place");
        assert_eq!(table.kind(), T::KIND, "table {name} holds another element type");
        Delta::new(id, table, self.rows_of(id).map(|rows| Arc::clone(&rows.rows)))
    }

    /// Sends an update when the step is done.
    ///
    /// # Panics
    /// When an update of the table is on its way already: a mistake of the app.
    pub fn add<T: Element>(&mut self, delta: Delta<T>) {
        let (pages, batch) = self.finish(delta);
        self.deltas.extend(pages);
        self.batches.extend(batch);
    }

    /// Sends an update now, while the step goes on: its way to the shards is hidden behind what is still to be computed.
    /// It counts with the step. Where small updates are kept back, and in a step that leases rows, it waits for the end
    /// as with [`Step::add`].
    ///
    /// # Panics
    /// When an update of the table is on its way already: a mistake of the app.
    pub fn send<T: Element>(&mut self, delta: Delta<T>) {
        if self.exit.is_none() {
            return self.add(delta);
        }
        let table = delta.table();
        let (pages, batch) = self.finish(delta);
        let exit = self.exit.as_mut().expect("looked at");
        exit.sent.push(table);
        exit.to.send((pages, batch)).ok(); // the worker is gone: so is the run
        exit.wake.iter().for_each(|worker| worker.do_send(Wake));
    }

    /// The pages and rows of an update, with what they were computed from.
    fn finish<T: Element>(&self, delta: Delta<T>) -> Leaving {
        let id = delta.table();
        let gone = self.exit.as_ref().is_some_and(|exit| exit.sent.contains(&id));
        assert!(
            !gone,
            "the update of table {} was sent already in this step",
            self.tables[id.index()].name()
        );
        let reads = self.reads.iter().find(|(read, _)| *read == id).map_or(&[][..], |(_, pages)| pages);
        let seen =
            |page| reads.binary_search_by_key(&page, |read| read.page).map_or(0, |place| reads[place].seen);
        let (pages, batch) = delta.finish();
        (pages.map(|page| Page { seen: seen(page.page), ..page }).collect(), batch)
    }

    /// The leased blocks of these tables, to read and write in place; nobody else holds them.
    ///
    /// # Panics
    /// When a table has no block in this step or holds another element type, or a name stands twice: a mistake of
    /// the app.
    pub fn lease<T: Element, const N: usize>(&mut self, names: [&str; N]) -> [Leased<'_, T>; N] {
        let ids = names.map(|name| self.table(name).0);
        let tables = &self.tables;
        let mut found: Vec<Option<Leased<'_, T>>> = (0..N).map(|_| None).collect();
        for lease in &mut self.leases {
            if let Some(place) = ids.iter().position(|id| *id == lease.table) {
                let table = &tables[lease.table.index()];
                let rows = table.rows_of(lease.block);
                let content = T::peek_mut(Arc::make_mut(&mut lease.rows));
                let content = content.unwrap_or_else(|| wrong_type(names[place]));
                found[place] = Some(Leased { rows, width: table.width(), content });
            }
        }
        let mut found = found.into_iter();
        names.map(|name| found.next().flatten().unwrap_or_else(|| no_rows(name)))
    }

    /// The leased blocks of a table of which the task holds several, first rows first.
    ///
    /// # Panics
    /// When the job has no such table or it holds another element type: a mistake of the app.
    pub fn leases<T: Element>(&mut self, name: &str) -> Vec<Leased<'_, T>> {
        let id = self.table(name).0;
        let table = &self.tables[id.index()];
        let mut held: Vec<_> = self.leases.iter_mut().filter(|lease| lease.table == id).collect();
        held.sort_by_key(|lease| lease.block);
        let mut blocks = Vec::new();
        for lease in held {
            let content = T::peek_mut(Arc::make_mut(&mut lease.rows)).unwrap_or_else(|| wrong_type(name));
            blocks.push(Leased { rows: table.rows_of(lease.block), width: table.width(), content });
        }
        blocks
    }

    /// In an evaluation: copies of all blocks of a table that the schedule leases by block, first rows first.
    ///
    /// # Panics
    /// When the step carries no copies of the table or it holds another element type: a mistake of the app.
    pub fn blocks<T: Element>(&mut self, name: &str) -> Vec<Block<T>> {
        let (id, _) = self.table(name);
        let (mine, others): (Vec<_>, _) =
            std::mem::take(&mut self.copies).into_iter().partition(|c| c.table == id);
        self.copies = others;
        if mine.iter().any(|copy| T::peek(&copy.rows).is_none()) {
            wrong_type(name);
        }
        let table = &self.tables[id.index()];
        let mut blocks: Vec<Block<T>> = mine
            .into_iter()
            .map(|copy| Block {
                rows: table.rows_of(copy.block),
                width: table.width(),
                content: copy.rows,
                of: PhantomData,
            })
            .collect();
        assert!(!blocks.is_empty(), "this step carries no copies of {name}: they come with evaluations");
        blocks.sort_by_key(|block| block.rows.start);
        blocks
    }

    /// The end of the step: its share of the objective, its updates and blocks.
    pub fn done(self, cost: f64) -> Outcome {
        self.found(Findings { cost, ..Findings::default() })
    }

    /// The end of a step that has more to tell the schedule than a cost.
    pub fn found(self, findings: Findings) -> Outcome {
        Outcome { result: Ok(findings), deltas: self.deltas, batches: self.batches, leases: self.leases }
    }

    /// The end of the run: the app cannot go on, and why, as a sentence for the user.
    pub fn failed(self, why: impl Into<String>) -> Outcome {
        Outcome { result: Err(why.into()), deltas: Vec::new(), batches: Vec::new(), leases: self.leases }
    }

    /// What the step reads of a table that is read by row.
    fn rows_of(&self, id: TableId) -> Option<&ReadRows> {
        self.rows.iter().find(|(read, _)| *read == id).map(|(_, rows)| rows)
    }

    fn table(&self, name: &str) -> (TableId, &Table) {
        let place = self.tables.iter().position(|table| table.name() == name);
        let place = place.unwrap_or_else(|| panic!("the job has no table {name}"));
        (TableId::at(place), &self.tables[place])
    }
}

/// A leased block in the hands of an app: exclusive, written in place.
#[derive(Debug)]
pub struct Leased<'a, T> {
    rows: std::ops::Range<usize>,
    width: usize,
    content: &'a mut crate::values::Content<T>,
}

impl<T: Element> Leased<'_, T> {
    /// The rows of the table that the block covers.
    pub fn rows(&self) -> std::ops::Range<usize> {
        self.rows.clone()
    }

    /// Dense rows, one after the other: `rows().len() × width` numbers.
    pub fn values(&mut self) -> &mut [T] {
        self.content.dense_mut()
    }

    /// One dense row, by its number in the block.
    pub fn row(&mut self, row: usize) -> &mut [T] {
        &mut self.content.dense_mut()[row * self.width..(row + 1) * self.width]
    }

    /// One sparse row, by its number in the block; keep its columns ascending.
    pub fn sparse_row(&mut self, row: usize) -> &mut Vec<(u32, T)> {
        &mut self.content.sparse_mut()[row]
    }
}

fn no_rows(name: &str) -> ! {
    panic!("this step carries no rows of {name}: read shared tables and lease leased ones")
}

fn wrong_type(name: &str) -> ! {
    panic!("table {name} holds another element type")
}
