//! libsvm text, also called svmlight: `label [qid:q] column:value … # comment`, one sample a line.
//!
//! Columns count from 1, in some files from 0. Which it is shows only at the end (a column 0 anywhere), so rows are stored
//! as written and shifted once all are there.

use super::facts::{Facts, Format, LabelSet};
use super::pipeline::{self, Chunk};
use super::rows::{self, Counts};
use super::scan::Scan;
use super::source::Source;
use super::{Csr, IndexBase, ReadOptions, Samples};
use crate::Error;
use crate::catalog::News;

/// Reads all samples of `source`.
pub(super) fn read(
    mut source: Source,
    options: &ReadOptions,
    tell: &(dyn Fn(News) + Sync),
) -> Result<Samples, Error> {
    if options.labels.is_some() {
        return Err(source.data_error("libsvm files hold their own labels; drop the file of labels"));
    }
    let ReadOptions { index_base: base, n_columns, unlabelled, .. } = *options;
    let context = Context { base, n_columns, unlabelled };
    let mut all = All::default();
    pipeline::parse(&mut source, options.threads, &context, tell, |rows, line| {
        all.append(rows, line);
        Ok(())
    })?;
    all.finish(&source, options)
}

/// More columns than this need some values to go with them: one for so many columns.
const MANY_COLUMNS: usize = 100_000_000;
const MANY_COLUMNS_EACH: usize = 1000;

struct Context {
    base: IndexBase,
    n_columns: Option<usize>,
    unlabelled: bool,
}

/// What was found beside the rows.
#[derive(Debug, Clone, Copy, Default)]
struct Found {
    counts: Counts,
    /// One more than the greatest column, zeros included.
    end_column: u64,
    column_zero: bool,
    blank_lines: u64,
    comment_lines: u64,
    query_ids: u64,
    unlabelled: u64,
    /// The first line with a column from `n_columns` on, and the first with one beyond, as written.
    at_limit: Option<u64>,
    past_limit: Option<u64>,
}

/// The samples of one chunk.
#[derive(Default)]
struct Rows {
    labels: Vec<f64>,
    /// Where each row ends in `columns` and `values`.
    ends: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
    found: Found,
}

impl Chunk for Rows {
    type Context = Context;

    fn clear(&mut self) {
        self.labels.clear();
        self.ends.clear();
        self.columns.clear();
        self.values.clear();
        self.found = Found::default();
    }

    fn line(&mut self, line: &[u8], number: u64, context: &Context) -> Result<(), String> {
        let mut scan = Scan::new(line);
        match scan.peek() {
            None => self.found.blank_lines += 1,
            Some(b'#') => self.found.comment_lines += 1,
            Some(_) => {
                let label = self.label(&mut scan, context)?;
                self.query_id(&mut scan)?;
                self.features(&mut scan, number, context)?;
                self.labels.push(label);
                self.ends.push(self.columns.len());
            }
        }
        Ok(())
    }
}

impl Rows {
    fn label(&mut self, scan: &mut Scan<'_>, context: &Context) -> Result<f64, String> {
        if context.unlabelled && scan.token().contains(':') {
            self.found.unlabelled += 1;
            return Ok(0.0);
        }
        label(scan)
    }

    fn query_id(&mut self, scan: &mut Scan<'_>) -> Result<(), String> {
        if scan.accept(b"qid:") {
            scan.real().map_err(|problem| format!("after qid: {problem}"))?;
            scan.skip_blanks();
            self.found.query_ids += 1;
        }
        Ok(())
    }

    fn features(&mut self, scan: &mut Scan<'_>, number: u64, context: &Context) -> Result<(), String> {
        let start = self.columns.len();
        let (mut clean, mut previous) = (true, None);
        while !scan.at_end(b'#') {
            let column = scan.index()?;
            if scan.peek() != Some(b':') {
                return Err(no_colon(column, scan));
            }
            scan.step();
            let value = scan.real().map_err(|problem| format!("after {column}: {problem}"))?;
            clean &= previous < Some(column) && value != 0.0;
            previous = Some(column);
            self.columns.push(column);
            self.values.push(value);
            scan.skip_blanks();
        }
        self.note_columns(start, number, context)?;
        if !clean {
            let (columns, values) = (&mut self.columns[start..], &mut self.values[start..]);
            let kept = rows::tidy(columns, values, &mut self.found.counts)?;
            self.columns.truncate(start + kept);
            self.values.truncate(start + kept);
        }
        Ok(())
    }

    /// Notes the least and the greatest column of the row from `start` on.
    fn note_columns(&mut self, start: usize, number: u64, context: &Context) -> Result<(), String> {
        let columns = &self.columns[start..];
        let sorted = columns.is_sorted();
        let least = if sorted { columns.first() } else { columns.iter().min() };
        let greatest = if sorted { columns.last() } else { columns.iter().max() };
        let (Some(&least), Some(&greatest)) = (least, greatest) else { return Ok(()) };
        if least == 0 && context.base == IndexBase::One {
            return Err("column 0, but columns were said to count from 1 (by --index-base, or since the \
                        training data do); train with --index-base 0"
                .into());
        }
        let found = &mut self.found;
        found.column_zero |= least == 0;
        found.end_column = found.end_column.max(u64::from(greatest) + 1);
        if context.n_columns.is_some_and(|limit| greatest as usize >= limit) {
            found.at_limit = found.at_limit.or(Some(number));
            let past = context.n_columns.is_some_and(|limit| greatest as usize > limit);
            found.past_limit = found.past_limit.or(past.then_some(number));
        }
        Ok(())
    }
}

/// The label at the start of a line.
fn label(scan: &mut Scan<'_>) -> Result<f64, String> {
    let start = *scan;
    let label = scan.real().map_err(|problem| match start.token() {
        token if token.contains(':') => {
            format!("the line starts with {token}, expected a label (a number) before the features")
        }
        _ => format!("the label {problem}"),
    })?;
    scan.skip_blanks();
    Ok(label)
}

#[cold]
fn no_colon(column: u32, scan: &Scan<'_>) -> String {
    let rest = scan.token();
    if rest.is_empty() {
        format!("{column} has no value, expected column:value; the line may be cut short")
    } else {
        format!("{column}{rest} is not column:value")
    }
}

/// The samples of the file so far.
struct All {
    labels: Vec<f64>,
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
    found: Found,
}

impl Default for All {
    fn default() -> Self {
        let found = Found::default();
        Self { labels: Vec::new(), starts: vec![0], columns: Vec::new(), values: Vec::new(), found }
    }
}

impl All {
    /// Appends the rows of the next chunk; `line` lines came before it.
    fn append(&mut self, rows: &Rows, line: u64) {
        let start = self.columns.len();
        self.labels.extend_from_slice(&rows.labels);
        self.starts.extend(rows.ends.iter().map(|end| start + end));
        self.columns.extend_from_slice(&rows.columns);
        self.values.extend_from_slice(&rows.values);
        let (all, new) = (&mut self.found, &rows.found);
        all.counts.add(&new.counts);
        all.end_column = all.end_column.max(new.end_column);
        all.column_zero |= new.column_zero;
        all.blank_lines += new.blank_lines;
        all.comment_lines += new.comment_lines;
        all.query_ids += new.query_ids;
        all.unlabelled += new.unlabelled;
        all.at_limit = all.at_limit.or(new.at_limit.map(|number| line + number + 1));
        all.past_limit = all.past_limit.or(new.past_limit.map(|number| line + number + 1));
    }

    fn finish(mut self, source: &Source, options: &ReadOptions) -> Result<Samples, Error> {
        if self.labels.is_empty() {
            return Err(source.data_error("no samples in the file, expected lines such as `1 3:0.5 7:2`"));
        }
        let base = match options.index_base {
            IndexBase::Auto if self.found.column_zero => IndexBase::Zero,
            IndexBase::Auto => IndexBase::One,
            told => told,
        };
        if base == IndexBase::One {
            self.columns.iter_mut().for_each(|column| *column -= 1);
            self.found.end_column = self.found.end_column.saturating_sub(1);
        }
        let found_columns = usize::try_from(self.found.end_column).unwrap_or(usize::MAX);
        if found_columns > u32::MAX as usize {
            return Err(source.data_error(format!("column {} is too large to count from 0", u32::MAX)));
        }
        let n_columns = options.n_columns.unwrap_or(found_columns);
        if n_columns > MANY_COLUMNS && n_columns / MANY_COLUMNS_EACH > self.values.len() {
            return Err(source.data_error(format!(
                "column {found_columns} in a file of {} values: a model of so many columns would not fit in memory; \
                 number the columns that occur from 1",
                self.values.len()
            )));
        }
        let beyond = if found_columns > n_columns {
            if !options.drop_beyond {
                return Err(self.beyond(source, base, n_columns));
            }
            rows::drop_beyond(&mut self.starts, &mut self.columns, &mut self.values, n_columns)
        } else {
            0
        };
        Ok(self.samples(source, base, n_columns, beyond))
    }

    fn beyond(&self, source: &Source, base: IndexBase, n_columns: usize) -> Error {
        let line = if base == IndexBase::One { self.found.past_limit } else { self.found.at_limit };
        let problem = format!("a column beyond the {n_columns} expected; is this the data of another model?");
        source.line_error(line.expect("a line with the greatest column was noted"), problem)
    }

    fn samples(mut self, source: &Source, index_base: IndexBase, columns: usize, beyond: u64) -> Samples {
        self.columns.shrink_to_fit();
        self.values.shrink_to_fit();
        let (rows, Found { counts, blank_lines, comment_lines, query_ids, unlabelled, .. }) =
            (self.labels.len(), self.found);
        let facts = Facts {
            format: Format::Libsvm,
            compression: source.compression(),
            index_base,
            rows,
            columns,
            non_zeros: self.values.len(),
            unsorted_rows: counts.unsorted_rows,
            duplicates: counts.duplicates,
            zeros: counts.zeros,
            beyond,
            blank_lines,
            comment_lines,
            query_ids,
            unlabelled,
            labels: LabelSet::of(&self.labels),
        };
        let features = Csr::new((rows, columns), self.starts, self.columns, self.values);
        Samples { features, labels: self.labels, facts }
    }
}
