//! What the readers found out about a file, for one line that tells the user.

use std::fmt;

use super::IndexBase;

/// How a file is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Plain text.
    None,
    /// gzip, one member or several.
    Gzip,
    /// zstd, one frame or several.
    Zstd,
}

/// The format of a file of samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// libsvm, also called svmlight.
    Libsvm,
    /// MatrixMarket.
    MatrixMarket,
}

/// The labels of a file in a few words.
#[derive(Debug, Clone, PartialEq)]
pub enum LabelSet {
    /// The distinct labels, ascending: at most [`LabelSet::FEW`], whole numbers all.
    Few(Vec<f64>),
    /// Too many or no whole numbers: a target of regression.
    Many {
        /// The least label.
        min: f64,
        /// The greatest label.
        max: f64,
    },
}

/// What was found in a file of samples.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// The format.
    pub format: Format,
    /// How the file is packed.
    pub compression: Compression,
    /// The number of the first column in the file: `Zero` or `One`, never `Auto`. Read a test file with the base
    /// of its training file.
    pub index_base: IndexBase,
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// Stored values, all of them different from zero.
    pub non_zeros: usize,
    /// Rows whose columns were not in ascending order.
    pub unsorted_rows: u64,
    /// Values added to an earlier one of the same row and column.
    pub duplicates: u64,
    /// Values dropped since they were zero (as written or in sum).
    pub zeros: u64,
    /// Values dropped since their column is beyond `n_columns`.
    pub beyond: u64,
    /// Lines with nothing in them.
    pub blank_lines: u64,
    /// Lines with nothing but a comment.
    pub comment_lines: u64,
    /// Rows with a `qid:`, which is not used.
    pub query_ids: u64,
    /// Rows without a label, where they may come without.
    pub unlabelled: u64,
    /// The labels.
    pub labels: LabelSet,
}

impl LabelSet {
    /// More distinct labels than this are not listed.
    pub const FEW: usize = 1000;

    /// The set of these labels, which must be finite.
    pub fn of(labels: &[f64]) -> Self {
        let min = labels.iter().copied().fold(f64::INFINITY, f64::min);
        let max = labels.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut few: Vec<f64> = Vec::new();
        for &label in labels {
            if few.last() == Some(&label) {
                continue;
            }
            if let Err(at) = few.binary_search_by(|known| known.total_cmp(&(label + 0.0))) {
                if few.len() == Self::FEW || label.fract() != 0.0 {
                    return Self::Many { min, max };
                }
                few.insert(at, label + 0.0); // -0 becomes 0
            }
        }
        Self::Few(few)
    }
}

impl fmt::Display for LabelSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Few(labels) if labels.len() <= 4 => {
                let labels: Vec<String> = labels.iter().map(|label| short(*label)).collect();
                write!(f, "labels {}", labels.join(" "))
            }
            Self::Few(labels) => {
                let (first, last) = (short(labels[0]), short(labels[labels.len() - 1]));
                write!(f, "{} distinct labels from {first} to {last}", grouped(labels.len() as u64))
            }
            Self::Many { min, max } => write!(f, "labels from {} to {}", short(*min), short(*max)),
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "plain",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        })
    }
}

impl fmt::Display for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.format {
            Format::Libsvm => "libsvm",
            Format::MatrixMarket => "MatrixMarket",
        })?;
        if self.compression != Compression::None {
            write!(f, ", {}", self.compression)?;
        }
        f.write_str(if self.index_base == IndexBase::Zero { ", 0-based" } else { ", 1-based" })?;
        let (rows, columns) = (grouped(self.rows as u64), grouped(self.columns as u64));
        write!(f, ", {rows} rows x {columns} columns, {} non-zeros", grouped(self.non_zeros as u64))?;
        if self.unlabelled < self.rows as u64 {
            write!(f, ", {}", self.labels)?;
        }
        some(f, self.unsorted_rows, "unsorted row", " sorted")?;
        some(f, self.duplicates, "duplicate", " summed")?;
        some(f, self.zeros, "zero", " dropped")?;
        some(f, self.beyond, "value", " in unknown columns dropped")?;
        some(f, self.blank_lines, "blank line", "")?;
        some(f, self.comment_lines, "comment line", "")?;
        some(f, self.query_ids, "row", " with a qid (not used)")?;
        some(f, self.unlabelled, "row", " without a label")
    }
}

/// A label without hundreds of zeros.
fn short(label: f64) -> String {
    let plain = label == 0.0 || (1e-6..1e16).contains(&label.abs());
    if plain { label.to_string() } else { format!("{label:e}") }
}

/// Writes `, 12 rows sorted` (for `row` and ` sorted`) unless there are none.
pub(super) fn some(f: &mut fmt::Formatter<'_>, count: u64, one: &str, how: &str) -> fmt::Result {
    let plural = if count == 1 { "" } else { "s" };
    if count == 0 { Ok(()) } else { write!(f, ", {} {one}{plural}{how}", grouped(count)) }
}

/// A count with commas between thousands.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_commas_between_thousands() {
        let cases = [(0, "0"), (999, "999"), (1000, "1,000"), (54_782, "54,782"), (1_234_567, "1,234,567")];
        for (count, text) in cases {
            assert_eq!(grouped(count), text);
        }
    }

    #[test]
    fn labels_are_listed_when_they_are_few_whole_numbers() {
        assert_eq!(LabelSet::of(&[1.0, -1.0, 1.0]).to_string(), "labels -1 1");
        assert_eq!(LabelSet::of(&[0.0, -0.0]), LabelSet::Few(vec![0.0]));
        assert_eq!(LabelSet::of(&[1.0, 2.0, 3.0, 4.0, 5.0]).to_string(), "5 distinct labels from 1 to 5");
        assert_eq!(LabelSet::of(&[0.5, 2.0]).to_string(), "labels from 0.5 to 2");
        assert_eq!(LabelSet::of(&[1e300, -1e-300, 3.0]).to_string(), "labels from -1e-300 to 1e300");
        assert_eq!(LabelSet::of(&[1e300, -1e300]).to_string(), "labels -1e300 1e300");
        let many: Vec<f64> = (0..=LabelSet::FEW).map(|k| k as f64).collect();
        assert_eq!(LabelSet::of(&many), LabelSet::Many { min: 0.0, max: 1000.0 });
    }
}
