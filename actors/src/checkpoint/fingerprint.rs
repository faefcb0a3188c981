//! Which job a checkpoint is of: what must be the same for a run to go on from it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::table::{LeasedBy, Table, Usage};
use crate::values::Kind;

/// What must be the same for a run to go on from a checkpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// The job's name.
    pub job: String,
    /// What the app set, by name: its options and what tells its data.
    pub settings: BTreeMap<String, String>,
    /// The seed.
    pub seed: u64,
    /// The consistency, as it is written.
    pub consistency: String,
    /// The tables, in the order of declaration.
    pub tables: Vec<Shape>,
}

/// What a table looks like.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Shape {
    /// Its name.
    pub name: String,
    /// Its element type.
    pub kind: Kind,
    /// Rows.
    pub rows: usize,
    /// Numbers in a row, zeros included.
    pub width: usize,
    /// Whether its rows are lists of non-zeros.
    pub sparse: bool,
    /// How it is cut.
    pub layout: Layout,
}

/// How a table is cut.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Layout {
    /// Into so many pages of shared rows.
    Pages(usize),
    /// Into blocks that begin at these rows; leased by part, or else by block.
    Blocks {
        /// First row of each block.
        starts: Vec<u32>,
        /// Whether block `i` goes with part `i`.
        by_part: bool,
    },
}

impl Shape {
    /// The shape of a table.
    pub fn of(table: &Table) -> Self {
        let layout = match table.usage() {
            Usage::Shared => Layout::Pages(table.geometry().n_pages()),
            Usage::Leased { starts, by } => {
                Layout::Blocks { starts: starts.clone(), by_part: *by == LeasedBy::Part }
            }
        };
        let (name, kind, sparse) = (table.name().to_owned(), table.kind(), table.is_sparse());
        Self { name, kind, rows: table.n_rows(), width: table.width(), sparse, layout }
    }
}

impl Fingerprint {
    /// What differs from `now`, the job that wants to go on, as a sentence about the first difference; what users set
    /// comes before what follows from it.
    pub fn difference(&self, now: &Self) -> Option<String> {
        let said = |what: &str, theirs: &str, mine: &str| {
            Some(format!("{what} is {mine}, but {theirs} in the checkpoint: it belongs to another run"))
        };
        if self.job != now.job {
            return said("the job", &self.job, &now.job);
        }
        let names = self.settings.keys().chain(now.settings.keys());
        for name in names {
            let of = |settings: &BTreeMap<String, String>| {
                settings.get(name).map_or_else(|| "not set".to_owned(), String::clone)
            };
            let (theirs, mine) = (of(&self.settings), of(&now.settings));
            if theirs != mine {
                return said(name, &theirs, &mine);
            }
        }
        if self.seed != now.seed {
            return said("seed", &self.seed.to_string(), &now.seed.to_string());
        }
        if self.consistency != now.consistency {
            return said("consistency", &self.consistency, &now.consistency);
        }
        if self.tables.len() != now.tables.len() {
            let (theirs, mine) = (self.tables.len().to_string(), now.tables.len().to_string());
            return said("the number of tables", &theirs, &mine);
        }
        let (theirs, mine) = self.tables.iter().zip(&now.tables).find(|(theirs, mine)| theirs != mine)?;
        said(&format!("table {}", mine.name), &theirs.describe(), &mine.describe())
    }
}

impl Shape {
    fn describe(&self) -> String {
        let layout = if self.sparse { "sparse" } else { "dense" };
        let cut = match &self.layout {
            Layout::Pages(pages) => format!("{pages} pages"),
            Layout::Blocks { starts, .. } => format!("{} blocks", starts.len()),
        };
        format!("{} ({} x {} {layout} {:?} in {cut})", self.name, self.rows, self.width, self.kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fingerprint() -> Fingerprint {
        Fingerprint {
            job: "mf".to_owned(),
            settings: BTreeMap::from([("rank".to_owned(), "8".to_owned())]),
            seed: 1,
            consistency: "bsp".to_owned(),
            tables: vec![Shape::of(&Table::dense("users", 10, 8).leased_by_part(&[0, 5]))],
        }
    }

    #[test]
    fn the_first_difference_is_named_with_both_values() {
        let saved = fingerprint();
        assert_eq!(saved.difference(&saved.clone()), None);
        let other = |change: fn(&mut Fingerprint)| {
            let mut now = fingerprint();
            change(&mut now);
            saved.difference(&now).expect("a difference")
        };
        let rank = other(|now| drop(now.settings.insert("rank".to_owned(), "16".to_owned())));
        assert_eq!(rank, "rank is 16, but 8 in the checkpoint: it belongs to another run");
        assert!(other(|now| now.settings.clear()).starts_with("rank is not set, but 8 in"));
        assert!(other(|now| now.seed = 2).starts_with("seed is 2, but 1 in"));
        assert!(
            other(|now| now.consistency = "ssp:1".to_owned()).starts_with("consistency is ssp:1, but bsp")
        );
        let table = other(|now| now.tables[0] = Shape::of(&Table::dense("users", 9, 8).leased_by_part(&[0])));
        let expected =
            "table users is users (9 x 8 dense F32 in 1 blocks), but users (10 x 8 dense F32 in 2 blocks)";
        assert!(table.starts_with(expected), "{table}");
    }
}
