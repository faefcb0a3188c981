//! MatrixMarket text: a banner, comments, a line of sizes, then one entry a line.
//!
//! `%%MatrixMarket matrix {coordinate|array} {real|integer|pattern} {general|symmetric|skew-symmetric}`; see Boisvert, Pozo
//! and Remington, "The Matrix Market Exchange Formats", NISTIR 5935 (1996). A design has no labels: they come from a file of
//! their own.

use std::path::Path;

use super::facts::{Facts, Format, LabelSet};
use super::rows::{self, Counts};
use super::scan::Scan;
use super::source::Source;
use super::{Csr, IndexBase, ReadOptions, Samples};
use crate::Error;
use crate::catalog::News;

mod entries;
mod header;

use entries::Entries;
pub(super) use entries::read_entries;
pub(super) use header::{BANNER, Header, Layout, Symmetry};

/// Reads a design from `source` and its labels from the file that the options name.
pub(super) fn read_samples(
    mut source: Source,
    options: &ReadOptions,
    tell: &(dyn Fn(News) + Sync),
) -> Result<Samples, Error> {
    if options.labels.is_none() && !options.unlabelled {
        return Err(source.data_error(
            "a MatrixMarket file holds no labels; --labels names the file that does (a MatrixMarket vector, or one number \
             a line), for training data only: data to score a model on must be libsvm",
        ));
    }
    if options.index_base == IndexBase::Zero {
        return Err(
            source.data_error("MatrixMarket counts from 1, but the columns were said to count from 0")
        );
    }
    let header = Header::read(&mut source)?;
    if header.n_rows == 0 {
        return Err(source.data_error("no samples in the file: its size line says 0 rows"));
    }
    let labels = match &options.labels {
        Some(path) => read_labels(path, header.n_rows, options.threads)?,
        None => vec![0.0; header.n_rows],
    };
    let n_columns = options.n_columns.unwrap_or(header.n_columns);
    if header.n_columns > n_columns && !options.drop_beyond {
        let found = header.n_columns;
        return Err(source.data_error(format!(
            "{found} columns, expected {n_columns} at most; is this the data of another model?"
        )));
    }
    let entries = read_entries(&mut source, &header, options.threads, tell)?;
    let (comment_lines, blank_lines) = (entries.comment_lines, entries.blank_lines);
    let (mut starts, mut columns, mut values, counts) = compress(&source, header.n_rows, entries)?;
    let beyond = rows::drop_beyond(&mut starts, &mut columns, &mut values, n_columns);
    let facts = Facts {
        format: Format::MatrixMarket,
        compression: source.compression(),
        index_base: IndexBase::One,
        rows: header.n_rows,
        columns: n_columns,
        non_zeros: values.len(),
        unsorted_rows: 0, // entries come in any order
        duplicates: counts.duplicates,
        zeros: counts.zeros,
        beyond,
        blank_lines,
        comment_lines,
        query_ids: 0,
        unlabelled: if options.labels.is_none() { header.n_rows as u64 } else { 0 },
        labels: LabelSet::of(&labels),
    };
    let features = Csr::new((header.n_rows, n_columns), starts, columns, values);
    Ok(Samples { features, labels, facts })
}

type Compressed = (Vec<usize>, Vec<u32>, Vec<f64>, Counts);

/// Entries in any order to compressed rows, giving each array back as soon as its successor is there.
fn compress(source: &Source, n_rows: usize, entries: Entries) -> Result<Compressed, Error> {
    let Entries { rows, columns, values, .. } = entries;
    let mut starts = vec![0; n_rows + 1];
    for &row in &rows {
        starts[row as usize + 1] += 1;
    }
    for row in 0..n_rows {
        starts[row + 1] += starts[row];
    }
    let mut columns = scatter(&rows, columns, &starts);
    let mut values = scatter(&rows, values, &starts);
    drop(rows);
    let (mut counts, mut kept, mut start) = (Counts::default(), 0, 0);
    for row in 0..n_rows {
        let end = starts[row + 1];
        let n = rows::tidy(&mut columns[start..end], &mut values[start..end], &mut counts)
            .map_err(|problem| source.data_error(format!("row {}: {problem}", row + 1)))?;
        columns.copy_within(start..start + n, kept);
        values.copy_within(start..start + n, kept);
        kept += n;
        (start, starts[row + 1]) = (end, kept);
    }
    columns.truncate(kept);
    values.truncate(kept);
    Ok((starts, columns, values, counts))
}

/// Puts what belongs to each row in one stretch, in the order it came.
fn scatter<T: Copy + Default>(rows: &[u32], from: Vec<T>, starts: &[usize]) -> Vec<T> {
    let mut next = starts.to_vec();
    let mut to = vec![T::default(); from.len()];
    for (&row, value) in rows.iter().zip(from) {
        to[next[row as usize]] = value;
        next[row as usize] += 1;
    }
    to
}

/// Reads `n_rows` labels: a MatrixMarket vector, or one number a line.
pub(super) fn read_labels(path: &Path, n_rows: usize, threads: usize) -> Result<Vec<f64>, Error> {
    let mut source = Source::open(path)?;
    let wrong_number = |source: &Source, found: usize| {
        source.data_error(format!("{found} labels, expected one for each of the {n_rows} rows of the design"))
    };
    if !source.starts_with(BANNER) {
        let labels = read_plain_labels(&mut source)?;
        return if labels.len() == n_rows { Ok(labels) } else { Err(wrong_number(&source, labels.len())) };
    }
    let header = Header::read(&mut source)?;
    let (rows, columns) = (header.n_rows, header.n_columns);
    if rows.min(columns) != 1 {
        return Err(source.data_error(format!("a {rows} x {columns} matrix, expected a vector of labels")));
    }
    if rows.max(columns) != n_rows {
        return Err(wrong_number(&source, rows.max(columns)));
    }
    let entries = read_entries(&mut source, &header, threads, &|_| {})?;
    let mut labels = vec![0.0; n_rows];
    let mut given = vec![false; n_rows];
    for ((row, column), value) in entries.rows.iter().zip(&entries.columns).zip(entries.values) {
        let at = row.max(column).to_owned() as usize;
        if std::mem::replace(&mut given[at], true) {
            return Err(source.data_error(format!("label {} is given twice", at + 1)));
        }
        labels[at] = value;
    }
    Ok(labels)
}

fn read_plain_labels(source: &mut Source) -> Result<Vec<f64>, Error> {
    let mut labels = Vec::new();
    while let Some(line) = source.next_line()? {
        let mut scan = Scan::new(&line);
        if scan.at_end(b'#') {
            continue;
        }
        let label = scan.real().map_err(|problem| source.line_error(source.lines(), problem))?;
        scan.skip_blanks();
        if !scan.at_end(b'#') {
            return Err(source.line_error(source.lines(), "more than a number, expected one label a line"));
        }
        labels.push(label);
    }
    Ok(labels)
}
