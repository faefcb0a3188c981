//! The banner and the line of sizes.

use crate::Error;
use crate::data::scan::excerpt;
use crate::data::source::Source;

/// How every MatrixMarket file starts.
pub(in crate::data) const BANNER: &[u8] = b"%%MatrixMarket";

/// How the entries are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::data) enum Layout {
    /// `row column value`, those not named are 0.
    Coordinate {
        /// How many the size line promises.
        n_entries: u64,
    },
    /// Every value, column by column.
    Array,
}

/// Which entries follow from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::data) enum Symmetry {
    General,
    Symmetric,
    Skew,
}

/// What the head of a file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::data) struct Header {
    pub(in crate::data) layout: Layout,
    /// Whether entries have no value, which then is 1.
    pub(in crate::data) pattern: bool,
    /// Whether values are whole numbers.
    pub(in crate::data) integer: bool,
    pub(in crate::data) symmetry: Symmetry,
    pub(in crate::data) n_rows: usize,
    pub(in crate::data) n_columns: usize,
}

impl Header {
    /// Reads the head of `source` up to the line of sizes.
    pub(in crate::data) fn read(source: &mut Source) -> Result<Self, Error> {
        let banner = source.next_line()?.unwrap_or_default();
        let kind = Kind::parse(&banner).map_err(|problem| source.line_error(1, problem))?;
        while let Some(line) = source.next_line()? {
            let text = line.trim_ascii();
            if text.is_empty() || text[0] == b'%' {
                continue;
            }
            return kind.sizes(text).map_err(|problem| source.line_error(source.lines(), problem));
        }
        Err(source.data_error("the file ends before its line of sizes; it is cut short"))
    }

    /// How many numbered entries the body must have, saturating.
    pub(in crate::data) fn n_entries(&self) -> u64 {
        let (rows, columns) = (self.n_rows as u64, self.n_columns as u64);
        match (self.layout, self.symmetry) {
            (Layout::Coordinate { n_entries }, _) => n_entries,
            (Layout::Array, Symmetry::General) => rows.saturating_mul(columns),
            (Layout::Array, Symmetry::Symmetric) => rows.saturating_mul(rows + 1) / 2,
            (Layout::Array, Symmetry::Skew) => rows.saturating_mul(rows.saturating_sub(1)) / 2,
        }
    }
}

/// The banner.
struct Kind {
    coordinate: bool,
    pattern: bool,
    integer: bool,
    symmetry: Symmetry,
}

impl Kind {
    fn parse(banner: &[u8]) -> Result<Self, String> {
        let text = String::from_utf8_lossy(banner).to_ascii_lowercase();
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        let &[_, object, layout, field, symmetry] = words.as_slice() else {
            return Err(format!(
                "{} is not a whole banner, expected `%%MatrixMarket matrix coordinate real general`",
                excerpt(banner)
            ));
        };
        if object != "matrix" {
            return Err(format!("the object is {object}, only matrix can be read"));
        }
        let coordinate = match layout {
            "coordinate" => true,
            "array" => false,
            _ => return Err(format!("the layout is {layout}, must be coordinate or array")),
        };
        let (pattern, integer) = match field {
            "real" | "double" => (false, false),
            "integer" => (false, true),
            "pattern" if coordinate => (true, false),
            "pattern" => {
                return Err("a pattern without coordinates has no values, expected coordinate".into());
            }
            "complex" => {
                return Err("the values are complex, expected real ones; keep one part of them".into());
            }
            _ => return Err(format!("the field is {field}, must be real, integer or pattern")),
        };
        let symmetry = match symmetry {
            "general" => Symmetry::General,
            "symmetric" => Symmetry::Symmetric,
            "skew-symmetric" if pattern => return Err("a pattern cannot be skew-symmetric".into()),
            "skew-symmetric" => Symmetry::Skew,
            _ => {
                return Err(format!(
                    "the symmetry is {symmetry}, must be general, symmetric or skew-symmetric"
                ));
            }
        };
        Ok(Self { coordinate, pattern, integer, symmetry })
    }

    fn sizes(&self, line: &[u8]) -> Result<Header, String> {
        let wanted = if self.coordinate { "rows, columns and entries" } else { "rows and columns" };
        let wrong =
            || format!("{} is not the line of sizes, expected the numbers of {wanted}", excerpt(line));
        let sizes: Vec<u64> = std::str::from_utf8(line)
            .map_err(|_| wrong())?
            .split_ascii_whitespace()
            .map(|word| word.parse().map_err(|_| wrong()))
            .collect::<Result<_, _>>()?;
        let (n_rows, n_columns, layout) = match *sizes.as_slice() {
            [rows, columns, n_entries] if self.coordinate => {
                (rows, columns, Layout::Coordinate { n_entries })
            }
            [rows, columns] if !self.coordinate => (rows, columns, Layout::Array),
            _ => return Err(wrong()),
        };
        if n_rows.max(n_columns) > u64::from(u32::MAX) {
            return Err(format!(
                "{n_rows} x {n_columns} is too large, at most {} rows and columns",
                u32::MAX
            ));
        }
        if self.symmetry != Symmetry::General && n_rows != n_columns {
            return Err(format!("{n_rows} x {n_columns} is not square, a symmetric matrix must be"));
        }
        let (pattern, integer, symmetry) = (self.pattern, self.integer, self.symmetry);
        Ok(Header {
            layout,
            pattern,
            integer,
            symmetry,
            n_rows: n_rows as usize,
            n_columns: n_columns as usize,
        })
    }
}
