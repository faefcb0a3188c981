//! The body: entries as they come, those that follow by symmetry added.

use super::header::{Header, Layout, Symmetry};
use crate::Error;
use crate::catalog::News;
use crate::data::pipeline::{self, Chunk};
use crate::data::scan::Scan;
use crate::data::source::Source;

/// Entries in the order of the file, rows and columns from 0.
#[derive(Debug, Default, PartialEq)]
pub(in crate::data) struct Entries {
    pub(in crate::data) rows: Vec<u32>,
    pub(in crate::data) columns: Vec<u32>,
    pub(in crate::data) values: Vec<f64>,
    pub(in crate::data) blank_lines: u64,
    pub(in crate::data) comment_lines: u64,
}

impl Chunk for Entries {
    type Context = Header;

    fn clear(&mut self) {
        self.rows.clear();
        self.columns.clear();
        self.values.clear();
        (self.blank_lines, self.comment_lines) = (0, 0);
    }

    fn line(&mut self, line: &[u8], _number: u64, header: &Header) -> Result<(), String> {
        let mut scan = Scan::new(line);
        match scan.peek() {
            None => {
                self.blank_lines += 1;
                return Ok(());
            }
            Some(b'%') => {
                self.comment_lines += 1;
                return Ok(());
            }
            Some(_) => {}
        }
        if header.layout != Layout::Array {
            self.place(&mut scan, header)?;
        }
        let value = if header.pattern { 1.0 } else { scan.real()? };
        if header.integer && value.fract() != 0.0 {
            return Err(format!("{value} is not a whole number, the banner says integer"));
        }
        self.values.push(value);
        scan.skip_blanks();
        if scan.at_end(b'%') {
            Ok(())
        } else {
            Err(format!("{} is left over at the end of the entry", scan.token()))
        }
    }
}

impl Entries {
    /// Reads the row and the column of an entry.
    fn place(&mut self, scan: &mut Scan<'_>, header: &Header) -> Result<(), String> {
        let row = ordinal(scan, header.n_rows, "row")?;
        let column = ordinal(scan, header.n_columns, "column")?;
        let problem = match header.symmetry {
            Symmetry::Symmetric if row < column => {
                "above the diagonal, a symmetric file holds the lower half only"
            }
            Symmetry::Skew if row <= column => {
                "not below the diagonal, where a skew-symmetric file has its entries"
            }
            _ => {
                self.rows.push(row);
                self.columns.push(column);
                return Ok(());
            }
        };
        Err(format!("entry ({}, {}) is {problem}", row + 1, column + 1))
    }

    /// Appends a chunk; the places of an array follow from the order of its values.
    fn append(&mut self, chunk: &Self, header: &Header, place: &mut (u32, u32)) {
        self.blank_lines += chunk.blank_lines;
        self.comment_lines += chunk.comment_lines;
        if header.layout != Layout::Array && header.symmetry == Symmetry::General {
            self.rows.extend_from_slice(&chunk.rows);
            self.columns.extend_from_slice(&chunk.columns);
            self.values.extend_from_slice(&chunk.values);
            return;
        }
        for (at, &value) in chunk.values.iter().enumerate() {
            let (row, column) = match header.layout {
                Layout::Coordinate { .. } => (chunk.rows[at], chunk.columns[at]),
                Layout::Array => next_place(place, header),
            };
            self.push(row, column, value);
            match header.symmetry {
                Symmetry::Symmetric if row != column => self.push(column, row, value),
                Symmetry::Skew => self.push(column, row, -value),
                _ => {}
            }
        }
    }

    fn push(&mut self, row: u32, column: u32, value: f64) {
        self.rows.push(row);
        self.columns.push(column);
        self.values.push(value);
    }
}

/// A number from 1 to `most`, made to count from 0.
fn ordinal(scan: &mut Scan<'_>, most: usize, what: &str) -> Result<u32, String> {
    if scan.at_end(b'%') {
        return Err(format!("the {what} is missing; the line may be cut short"));
    }
    let start = *scan;
    let wrong = || format!("{what} {}, must be 1 to {most} by the line of sizes", start.token());
    let number = scan.index().map_err(|_| wrong())?;
    let ends = scan.peek().is_none_or(crate::data::scan::is_blank);
    if !ends || number == 0 || number as usize > most {
        return Err(wrong());
    }
    scan.skip_blanks();
    Ok(number - 1)
}

/// The place of the next value of an array, which goes down the columns (from the diagonal on, where only half is written).
fn next_place(place: &mut (u32, u32), header: &Header) -> (u32, u32) {
    let (row, column) = *place;
    *place = if (row as usize) + 1 < header.n_rows {
        (row + 1, column)
    } else {
        let next = column + 1;
        (first_row(header.symmetry, next), next)
    };
    (row, column)
}

fn first_row(symmetry: Symmetry, column: u32) -> u32 {
    match symmetry {
        Symmetry::General => 0,
        Symmetry::Symmetric => column,
        Symmetry::Skew => column + 1,
    }
}

/// Reads the body that follows `header`.
pub(in crate::data) fn read_entries(
    source: &mut Source,
    header: &Header,
    threads: usize,
    tell: &(dyn Fn(News) + Sync),
) -> Result<Entries, Error> {
    let (promised, mut found) = (header.n_entries(), 0);
    let mut all = Entries::default();
    let mut place = (first_row(header.symmetry, 0), 0);
    pipeline::parse(source, threads, header, tell, |chunk: &Entries, _| {
        found += chunk.values.len() as u64;
        if found <= promised {
            all.append(chunk, header, &mut place);
        }
        Ok(())
    })?;
    if found != promised {
        let cause = if found < promised {
            "it is cut short or its size line is wrong"
        } else {
            "its size line is wrong"
        };
        return Err(source.data_error(format!("{found} entries, but the file promises {promised}; {cause}")));
    }
    Ok(all)
}
