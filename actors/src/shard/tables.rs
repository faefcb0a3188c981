//! The rows that a shard owns: pages of shared tables and blocks of leased ones.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::memory::Memory;
use crate::id::{BlockId, BlockKey, PageId, ShardId, TableId, WorkerId};
use crate::message::{Lease, Page, RowBatch, Snapshot, Version};
use crate::placement::Placement;
use crate::rule::{Beside, Rule};
use crate::table::{Table, Usage};
use crate::values::{Buffer, Content, Element, Kind};

/// Every table's share of one shard.
#[derive(Clone)]
pub(super) struct Tables {
    tables: Arc<Vec<Table>>,
    pages: Vec<BTreeMap<PageId, Versions>>,
    blocks: Vec<BTreeMap<BlockId, Block>>,
    /// What a rule has that keeps nothing.
    none: Buffer,
}

/// A page as it is, and the version before it.
///
/// Readers keep the version that they have read, so an update cannot be folded into it. By the time of the next
/// update they have moved on as a rule, and the memory of the version before serves again; without this, updates
/// of large tables spend half of their time in the allocator and on fresh memory (`benches/shard.rs`).
#[derive(Clone)]
struct Versions {
    now: Arc<Buffer>,
    before: Option<Arc<Buffer>>,
    /// What the update rule has beside it.
    memory: Option<Memory>,
}

impl Versions {
    fn of(now: Arc<Buffer>, memory: Option<Memory>) -> Self {
        Self { now, before: None, memory }
    }

    /// The page, to fold an update in, where no reader sees it.
    fn writable(&mut self) -> &mut Buffer {
        if Arc::get_mut(&mut self.now).is_none() {
            let mut next = self.before.take();
            match next.as_mut().and_then(Arc::get_mut) {
                Some(memory) => memory.copy_from(&self.now),
                None => next = Some(Arc::new(Buffer::clone(&self.now))),
            }
            self.before = next.map(|next| std::mem::replace(&mut self.now, next));
        }
        Arc::get_mut(&mut self.now).expect("no reader has it yet")
    }
}

/// A leased block, and memory for the next copy of it.
#[derive(Debug, Clone)]
struct Block {
    slot: Slot,
    version: Version,
    spare: Option<Arc<Buffer>>,
}

/// Where a leased block is.
#[derive(Debug, Clone)]
enum Slot {
    Home(Arc<Buffer>),
    /// With a worker; `kept` is what it got, in case the step never counts.
    Out {
        to: WorkerId,
        kept: Option<Arc<Buffer>>,
    },
}

impl Block {
    fn home(rows: Buffer) -> Self {
        Self { slot: Slot::Home(Arc::new(rows)), version: Version::default(), spare: None }
    }

    /// The rows to keep while they are lent: a copy in memory that served before, or the same memory, which the borrower
    /// copies if it writes here.
    fn keep(&mut self, rows: &Arc<Buffer>) -> Arc<Buffer> {
        match self.spare.take() {
            Some(mut spare) => match Arc::get_mut(&mut spare) {
                Some(memory) => {
                    memory.copy_from(rows);
                    spare
                }
                None => Arc::clone(rows),
            },
            None => Arc::clone(rows),
        }
    }
}

impl Tables {
    /// The starting rows of everything that `placement` gives to `shard`.
    pub(super) fn new(shard: ShardId, placement: Placement, tables: Arc<Vec<Table>>) -> Self {
        let mut pages = Vec::new();
        let mut blocks = Vec::new();
        for (number, table) in tables.iter().enumerate() {
            let id = TableId::at(number);
            let shared = *table.usage() == Usage::Shared;
            let n_pages = if shared { table.geometry().n_pages() } else { 0 };
            pages.push(
                (0..n_pages)
                    .map(PageId::at)
                    .filter(|page| placement.of_page(id, *page) == shard)
                    .map(|page| {
                        let memory = table.n_kept(page).map(|n| Memory::of(table.numbers(n)));
                        (page, Versions::of(Arc::new(starting_page(table, page)), memory))
                    })
                    .collect(),
            );
            blocks.push(
                (0..table.n_blocks())
                    .map(BlockId::at)
                    .filter(|block| placement.of_block(*block) == shard)
                    .map(|block| (block, Block::home(table.start(table.rows_of(block), 0..table.width()))))
                    .collect(),
            );
        }
        Self { tables, pages, blocks, none: Buffer::zero(Kind::F32, false, 0, 0) }
    }

    /// A page as it is now, sharing memory.
    pub(super) fn page(&self, table: TableId, page: PageId) -> Page {
        Page { table, page, seen: 0, rows: Arc::clone(&self.pages[table.index()][&page].now) }
    }

    /// Folds an update of a worker in, number so many of this shard; readers that hold the page keep what they read.
    pub(super) fn fold(&mut self, delta: &Page, (worker, number): (WorkerId, u64)) {
        let page =
            self.pages[delta.table.index()].get_mut(&delta.page).expect("an update goes to the page's shard");
        let table = &self.tables[delta.table.index()];
        if matches!(table.update_rule(), Rule::Assign) && !table.is_sparse() {
            // The update is the page from now on: nothing is copied, and nobody writes to memory that others hold.
            (page.now, page.before) = (Arc::clone(&delta.rows), None);
            return;
        }
        let mut memory = page.memory.take();
        match (table.update_rule(), &mut memory) {
            (Rule::Custom(rule), Some(memory)) => {
                memory.fold(&**rule, page.writable(), delta, (worker, number));
            }
            (Rule::Custom(rule), None) => {
                rule.fold(page.writable(), &delta.rows, nothing(&mut self.none));
            }
            (known, _) => known.fold(page.writable(), &delta.rows),
        }
        page.memory = memory;
    }

    /// Whether updates of a table are added.
    pub(super) fn is_additive(&self, table: TableId) -> bool {
        self.tables[table.index()].update_rule().is_additive()
    }

    /// Single rows as they are now, copied.
    pub(super) fn gather(&self, table: TableId, rows: &Arc<Vec<u32>>) -> RowBatch {
        let values = match self.tables[table.index()].kind() {
            Kind::F32 => self.gather_of::<f32>(table, rows),
            Kind::F64 => self.gather_of::<f64>(table, rows),
            Kind::I32 => self.gather_of::<i32>(table, rows),
        };
        RowBatch { table, rows: Arc::clone(rows), values: Arc::new(values) }
    }

    fn gather_of<T: Element>(&self, id: TableId, rows: &[u32]) -> Buffer {
        let (table, pages) = (&self.tables[id.index()], &self.pages[id.index()]);
        let width = table.width();
        let mut values = Vec::with_capacity(rows.len() * width);
        let mut held: Option<(PageId, &[T])> = None;
        for row in rows {
            let (page, number) = table.geometry().locate(*row as usize);
            if held.is_none_or(|(held, _)| held != page) {
                let content = T::peek(&pages[&page].now).expect("a page holds its table's element type");
                held = Some((page, content.dense()));
            }
            let page = held.expect("just held").1;
            values.extend_from_slice(&page[number * width..(number + 1) * width]);
        }
        T::erase(Content::Dense(values))
    }

    /// Folds updates of single rows in.
    pub(super) fn fold_rows(&mut self, batch: &RowBatch) {
        if let Rule::Custom(rule) = self.tables[batch.table.index()].update_rule().clone() {
            let mut rows = self.gather(batch.table, &batch.rows).values;
            rule.fold(Arc::make_mut(&mut rows), &batch.values, nothing(&mut self.none));
            return self.put_rows(&RowBatch { values: rows, ..batch.clone() }, true);
        }
        let assign = matches!(self.tables[batch.table.index()].update_rule(), Rule::Assign);
        self.put_rows(batch, assign);
    }

    fn put_rows(&mut self, batch: &RowBatch, assign: bool) {
        match &*batch.values {
            Buffer::F32(values) => self.put_of(batch, values.dense(), assign),
            Buffer::F64(values) => self.put_of(batch, values.dense(), assign),
            Buffer::I32(values) => self.put_of(batch, values.dense(), assign),
        }
    }

    fn put_of<T: Element>(&mut self, batch: &RowBatch, values: &[T], assign: bool) {
        let (table, pages) = (&self.tables[batch.table.index()], &mut self.pages[batch.table.index()]);
        let width = table.width();
        let mut rows = batch.rows.iter().zip(values.chunks_exact(width.max(1))).peekable();
        while let Some((row, _)) = rows.peek() {
            let page = table.geometry().locate(**row as usize).0;
            let here = table.geometry().rows(page);
            let content = pages.get_mut(&page).expect("an update goes to the row's shard").writable();
            let content = T::peek_mut(content).expect("an update has its table's element type").dense_mut();
            while let Some((row, values)) = rows.next_if(|(row, _)| here.contains(&(**row as usize))) {
                let number = *row as usize - here.start;
                let to = &mut content[number * width..(number + 1) * width];
                match assign {
                    true => to.copy_from_slice(values),
                    false => to.iter_mut().zip(values).for_each(|(to, more)| *to += *more),
                }
            }
        }
    }

    /// Whether a block is here.
    pub(super) fn is_home(&self, table: TableId, block: BlockId) -> bool {
        self.blocks[table.index()].get(&block).is_some_and(|block| matches!(block.slot, Slot::Home(_)))
    }

    /// Hands a block out; with `keep` a copy stays here until it comes back.
    ///
    /// # Panics
    /// When it is not home.
    pub(super) fn lend(&mut self, table: TableId, block: BlockId, to: WorkerId, keep: bool) -> Lease {
        let held = self.blocks[table.index()].get_mut(&block).expect("a lease goes to the block's shard");
        match std::mem::replace(&mut held.slot, Slot::Out { to, kept: None }) {
            Slot::Home(rows) => {
                let kept = keep.then(|| held.keep(&rows));
                held.slot = Slot::Out { to, kept };
                Lease { table, block, version: held.version, rows }
            }
            Slot::Out { to: holder, .. } => {
                panic!("block {block} is leased to worker {holder} and cannot go to {to}")
            }
        }
    }

    /// Hands a block out to a worker whose node has its rows: they stay here.
    ///
    /// # Panics
    /// When it is not home.
    pub(super) fn lend_known(&mut self, (table, block): BlockKey, to: WorkerId) {
        let held = self.blocks[table.index()].get_mut(&block).expect("a lease goes to the block's shard");
        match std::mem::replace(&mut held.slot, Slot::Out { to, kept: None }) {
            Slot::Home(rows) => held.slot = Slot::Out { to, kept: Some(rows) },
            Slot::Out { to: holder, .. } => {
                panic!("block {block} is leased to worker {holder} and cannot go to {to}")
            }
        }
    }

    /// Which state of a block is the present one.
    pub(super) fn version(&self, (table, block): BlockKey) -> Option<Version> {
        Some(self.blocks[table.index()].get(&block)?.version)
    }

    /// A block that is home, sharing memory.
    pub(super) fn copy(&self, table: TableId, block: BlockId) -> Option<Lease> {
        let held = self.blocks[table.index()].get(&block)?;
        match &held.slot {
            Slot::Home(rows) => Some(Lease { table, block, version: held.version, rows: Arc::clone(rows) }),
            Slot::Out { .. } => None,
        }
    }

    /// Takes a block back from its holder. A backup, which lends nothing, takes in what came back to its shard.
    ///
    /// # Panics
    /// When it is with another worker.
    pub(super) fn take_back(&mut self, lease: Lease, (from, sequence): (WorkerId, u64)) {
        let block =
            self.blocks[lease.table.index()].get_mut(&lease.block).expect("a block returns to its shard");
        block.version = Version(Some((from, sequence)));
        block.spare = match std::mem::replace(&mut block.slot, Slot::Home(lease.rows)) {
            Slot::Home(before) => Some(before),
            Slot::Out { to, kept } => {
                assert_eq!(to, from, "only its holder returns a block");
                kept
            }
        };
    }

    /// Takes every block home as it was lent: the steps that hold them never count. Its versions begin anew, and rules have
    /// nothing to look back on.
    ///
    /// # Panics
    /// When a block was lent without a copy being kept.
    pub(super) fn bring_home(&mut self) {
        let pages = self.pages.iter_mut().flat_map(BTreeMap::values_mut);
        pages.filter_map(|page| page.memory.as_mut()).for_each(Memory::begin_anew);
        for block in self.blocks.iter_mut().flat_map(BTreeMap::values_mut) {
            block.version = Version::default();
            if let Slot::Out { kept, .. } = &mut block.slot {
                let kept = kept.take().expect("a shard that may have to take blocks home keeps copies");
                block.slot = Slot::Home(kept);
            }
        }
    }

    /// Puts these rows in the place of those that are here; blocks that were out are home then. Returns whether they
    /// are all that belongs here, and changes nothing where they are not.
    pub(super) fn restore(&mut self, tables: Vec<(TableId, Snapshot)>) -> bool {
        let is_all = |(id, table): &(TableId, Snapshot)| {
            let (pages, blocks) = (self.pages.get(id.index()), self.blocks.get(id.index()));
            pages.is_some_and(|pages| is_all(&table.pages, pages) && is_all_kept(&table.kept, pages))
                && blocks.is_some_and(|blocks| is_all(&table.blocks, blocks))
        };
        let ids: BTreeSet<TableId> = tables.iter().map(|(id, _)| *id).collect();
        if ids.len() != self.tables.len() || tables.len() != self.tables.len() || !tables.iter().all(is_all) {
            return false;
        }
        for (id, table) in tables {
            let mut kept: BTreeMap<PageId, Buffer> = table.kept.into_iter().collect();
            let mut versions = |(page, now)| (page, Versions::of(now, kept.remove(&page).map(Memory::of)));
            self.pages[id.index()] = table.pages.into_iter().map(&mut versions).collect();
            let home = table.blocks.into_iter().map(|(block, rows)| (block, Block::home(rows)));
            self.blocks[id.index()] = home.collect();
        }
        true
    }

    /// The rows of a table that are here, and the blocks that are out.
    pub(super) fn snapshot(&self, table: TableId) -> (Snapshot, Vec<BlockId>) {
        let pages =
            self.pages[table.index()].iter().map(|(page, rows)| (*page, Arc::clone(&rows.now))).collect();
        let memories = self.pages[table.index()].iter();
        let kept = memories.filter_map(|(page, rows)| Some((*page, rows.memory.as_ref()?.kept.clone())));
        let kept = kept.collect();
        let mut out = Vec::new();
        let mut blocks = Vec::new();
        for (block, held) in &self.blocks[table.index()] {
            match &held.slot {
                Slot::Home(rows) => blocks.push((*block, Buffer::clone(rows))),
                Slot::Out { .. } => out.push(*block),
            }
        }
        (Snapshot { pages, kept, blocks }, out)
    }
}

/// Whether a list has all the keys of a map, each once.
fn is_all<K: Ord, A, B>(list: &[(K, A)], map: &BTreeMap<K, B>) -> bool {
    let keys: BTreeSet<&K> = list.iter().map(|(key, _)| key).collect();
    list.len() == map.len() && keys.into_iter().eq(map.keys())
}

/// Whether what is kept beside pages is there for those that have it, each once.
fn is_all_kept(list: &[(PageId, Buffer)], pages: &BTreeMap<PageId, Versions>) -> bool {
    let having = pages.iter().filter(|(_, page)| page.memory.is_some()).map(|(page, _)| *page);
    let keys: BTreeSet<PageId> = list.iter().map(|(key, _)| *key).collect();
    list.len() == keys.len() && keys.into_iter().eq(having)
}

fn nothing(none: &mut Buffer) -> Beside<'_> {
    Beside { kept: none, since: &[] }
}

fn starting_page(table: &Table, page: PageId) -> Buffer {
    table.start(table.geometry().rows(page), table.geometry().columns(page))
}
