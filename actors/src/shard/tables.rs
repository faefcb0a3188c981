//! The rows that a shard owns: pages of shared tables and blocks of leased ones.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::id::{BlockId, PageId, ShardId, TableId, WorkerId};
use crate::message::{Lease, Page, Snapshot};
use crate::placement::Placement;
use crate::table::{Table, Usage};
use crate::values::Buffer;

/// Every table's share of one shard.
pub(super) struct Tables {
    tables: Arc<Vec<Table>>,
    pages: Vec<BTreeMap<PageId, Versions>>,
    blocks: Vec<BTreeMap<BlockId, Slot>>,
}

/// A page as it is, and the version before it.
///
/// Readers keep the version that they have read, so an update cannot be folded into it. By the time of the next
/// update they have moved on as a rule, and the memory of the version before serves again; without this, updates
/// of large tables spend half of their time in the allocator and on fresh memory (`benches/shard.rs`).
struct Versions {
    now: Arc<Buffer>,
    before: Option<Arc<Buffer>>,
}

impl Versions {
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

/// Where a leased block is.
#[derive(Debug)]
enum Slot {
    Home(Buffer),
    Out(WorkerId),
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
                    .map(|page| (page, Versions { now: Arc::new(starting_page(table, page)), before: None }))
                    .collect(),
            );
            blocks.push(
                (0..table.n_blocks())
                    .map(BlockId::at)
                    .filter(|block| placement.of_block(id, *block) == shard)
                    .map(|block| (block, Slot::Home(table.start(table.rows_of(block), 0..table.width()))))
                    .collect(),
            );
        }
        Self { tables, pages, blocks }
    }

    /// A page as it is now, sharing memory.
    pub(super) fn page(&self, table: TableId, page: PageId) -> Page {
        Page { table, page, rows: Arc::clone(&self.pages[table.index()][&page].now) }
    }

    /// Folds an update in; readers that hold the page keep what they read.
    pub(super) fn fold(&mut self, delta: &Page) {
        let page =
            self.pages[delta.table.index()].get_mut(&delta.page).expect("an update goes to the page's shard");
        self.tables[delta.table.index()].update_rule().fold(page.writable(), &delta.rows);
    }

    /// Whether a block is here.
    pub(super) fn is_home(&self, table: TableId, block: BlockId) -> bool {
        matches!(self.blocks[table.index()].get(&block), Some(Slot::Home(_)))
    }

    /// Hands a block out.
    ///
    /// # Panics
    /// When it is not home.
    pub(super) fn lend(&mut self, table: TableId, block: BlockId, to: WorkerId) -> Lease {
        let slot = self.blocks[table.index()].get_mut(&block).expect("a lease goes to the block's shard");
        match std::mem::replace(slot, Slot::Out(to)) {
            Slot::Home(rows) => Lease { table, block, rows },
            Slot::Out(holder) => panic!("block {block} is leased to worker {holder} and cannot go to {to}"),
        }
    }

    /// A copy of a block that is home.
    pub(super) fn copy(&self, table: TableId, block: BlockId) -> Option<Lease> {
        match self.blocks[table.index()].get(&block) {
            Some(Slot::Home(rows)) => Some(Lease { table, block, rows: rows.clone() }),
            _ => None,
        }
    }

    /// Takes a block back from its holder.
    ///
    /// # Panics
    /// When `from` does not hold it.
    pub(super) fn take_back(&mut self, lease: Lease, from: WorkerId) {
        let slot =
            self.blocks[lease.table.index()].get_mut(&lease.block).expect("a block returns to its shard");
        assert!(matches!(slot, Slot::Out(holder) if *holder == from), "only its holder returns a block");
        *slot = Slot::Home(lease.rows);
    }

    /// The rows of a table that are here, and the blocks that are out.
    pub(super) fn snapshot(&self, table: TableId) -> (Snapshot, Vec<BlockId>) {
        let pages =
            self.pages[table.index()].iter().map(|(page, rows)| (*page, Arc::clone(&rows.now))).collect();
        let mut out = Vec::new();
        let mut blocks = Vec::new();
        for (block, slot) in &self.blocks[table.index()] {
            match slot {
                Slot::Home(rows) => blocks.push((*block, rows.clone())),
                Slot::Out(_) => out.push(*block),
            }
        }
        (Snapshot { pages, blocks }, out)
    }
}

fn starting_page(table: &Table, page: PageId) -> Buffer {
    table.start(table.geometry().rows(page), table.geometry().columns(page))
}
