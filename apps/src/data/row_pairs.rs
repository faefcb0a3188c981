//! Pairs of rows: `i j same` a line, rows from 0, with tabs, blanks, commas or semicolons between.

use std::path::Path;

use super::pipeline::{self, Chunk};
use super::scan::Scan;
use super::source::Source;
use crate::Error;
use crate::catalog::News;

/// Two rows and whether they are similar.
type Row = ([u32; 2], bool);

#[derive(Default)]
struct Lines(Vec<Row>);

impl Chunk for Lines {
    /// How many rows there are to pair.
    type Context = usize;

    fn clear(&mut self) {
        self.0.clear();
    }

    fn line(&mut self, line: &[u8], _: u64, n_rows: &usize) -> Result<(), String> {
        let mut scan = Scan::new(line);
        if scan.at_end(b'#') {
            return Ok(());
        }
        let mut pair = [0; 2];
        for row in &mut pair {
            let token = scan.token();
            *row = scan
                .index()
                .map_err(|_| format!("{token} is not a row, expected `i j same` with rows from 0"))?;
            if *row as usize >= *n_rows {
                return Err(format!("row {row}, but the data have {n_rows} rows, the first of which is 0"));
            }
            skip_separator(&mut scan);
        }
        let (token, same) = (scan.token(), scan.real());
        scan.skip_blanks();
        match same {
            Ok(1.0) if scan.at_end(b'#') => self.0.push((pair, true)),
            Ok(0.0 | -1.0) if scan.at_end(b'#') => self.0.push((pair, false)),
            _ => return Err(format!("after two rows {token:?}, expected 1 if they are similar, else 0")),
        }
        Ok(())
    }
}

fn skip_separator(scan: &mut Scan<'_>) {
    scan.skip_blanks();
    if matches!(scan.peek(), Some(b',' | b';')) {
        scan.step();
        scan.skip_blanks();
    }
}

/// Reads all pairs of a file about `n_rows` rows.
///
/// # Errors
/// A file that cannot be read, a line that is no pair, or a row that is not there.
pub fn read_row_pairs(path: &Path, n_rows: usize, tell: &(dyn Fn(News) + Sync)) -> Result<Vec<Row>, Error> {
    let mut source = Source::open(path)?;
    let mut pairs = Vec::new();
    pipeline::parse(&mut source, 0, &n_rows, tell, |lines: &Lines, _| {
        pairs.extend_from_slice(&lines.0);
        Ok(())
    })?;
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Row>, Error> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pairs");
        std::fs::write(&path, text).unwrap();
        read_row_pairs(&path, 10, &|_| {})
    }

    #[test]
    fn pairs_are_read_whatever_separates_them() {
        let expected = [([0, 9], true), ([3, 4], false), ([5, 5], false)];
        assert_eq!(read("0\t9\t1\n3\t4\t0\n5\t5\t-1\n").unwrap(), expected);
        assert_eq!(read("# i j same\r\n0, 9, 1\r\n\r\n3;4;0\n 5 5 0 # a comment\n").unwrap(), expected);
    }

    #[test]
    fn a_fault_is_named_with_its_line() {
        let cases = [
            ("0 1 1\n0 10 1\n", ":2: row 10, but the data have 10 rows, the first of which is 0"),
            ("0 1 2\n", ":1: after two rows \"2\", expected 1 if they are similar, else 0"),
            ("0 1\n", ":1: after two rows \"\", expected 1"),
            ("0 1 1 1\n", ":1: after two rows \"1\", expected 1"),
            ("i j same\n", ":1: i is not a row, expected `i j same` with rows from 0"),
            ("-1 2 1\n", ":1: -1 is not a row"),
        ];
        for (text, expected) in cases {
            let said = read(text).unwrap_err().to_string();
            assert!(said.contains(expected), "{text:?}: {said}");
        }
    }
}
