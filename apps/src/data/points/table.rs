//! CSV and its like: one row a line, a number a field, the label in a field of its own; a header or none.

use super::super::pipeline::{self, Chunk};
use super::super::scan::{excerpt, is_blank};
use super::super::source::Source;
use super::fields::{Separator, for_each_field, is_odd, number};
use super::labels::{Raw, tidy};
use super::{IndexBase, LabelColumn, PointsOptions, Read, Wanted, features};
use crate::Error;
use crate::catalog::News;
use crate::run::refuse;

/// The name of the format.
pub(super) const FORMAT: &str = "table";

/// What the parser of a line needs to know.
struct Context {
    separator: Separator,
    /// Names of the columns, where there is a header.
    header: Option<Vec<String>>,
    /// Fields of a line.
    n_fields: usize,
    label: Option<usize>,
    wanted: Wanted,
}

impl Context {
    /// A column as a user knows it.
    fn column(&self, field: usize) -> String {
        match self.header.as_ref().and_then(|names| names.get(field)) {
            Some(name) => format!("column {} ({name})", field + 1),
            None => format!("column {}", field + 1),
        }
    }
}

/// The rows of one chunk.
#[derive(Default)]
struct Rows {
    values: Vec<f32>,
    texts: Vec<String>,
    n_rows: usize,
}

impl Chunk for Rows {
    type Context = Context;

    fn clear(&mut self) {
        self.values.clear();
        self.texts.clear();
        self.n_rows = 0;
    }

    fn line(&mut self, line: &[u8], _: u64, context: &Context) -> Result<(), String> {
        if is_aside(line) {
            return Ok(());
        }
        let mut field = 0;
        for_each_field(line, context.separator, |text| {
            if field < context.n_fields {
                self.field(text, field, context)
                    .map_err(|problem| format!("{}: {problem}", context.column(field)))?;
            }
            field += 1;
            Ok::<(), String>(())
        })?;
        if field != context.n_fields {
            return Err(format!(
                "{field} fields, expected {} as in the first line; a field may be missing or the line cut short",
                context.n_fields
            ));
        }
        self.n_rows += 1;
        Ok(())
    }
}

impl Rows {
    fn field(&mut self, text: &[u8], field: usize, context: &Context) -> Result<(), String> {
        if context.label != Some(field) {
            self.values.push(number(text)?);
            return Ok(());
        }
        match context.wanted {
            Wanted::Nothing => return Ok(()),
            Wanted::Numbers => drop(number(text)?),
            Wanted::Classes => {}
        }
        if text.is_empty() {
            return Err("no label".to_owned());
        }
        let text =
            std::str::from_utf8(text).map_err(|_| "not UTF-8 text; convert the file with iconv -t UTF-8")?;
        self.texts.push(tidy(text));
        Ok(())
    }
}

/// Whether a line holds nothing, or a comment.
fn is_aside(line: &[u8]) -> bool {
    line.iter().find(|byte| !is_blank(**byte)).is_none_or(|byte| *byte == b'#')
}

/// Reads all rows of `source`.
pub(super) fn read(
    mut source: Source,
    options: &PointsOptions,
    tell: &(dyn Fn(News) + Sync),
) -> Result<Read, Error> {
    while source.peek_line()?.is_some_and(is_aside) {
        source.next_line()?;
    }
    let Some(first) = source.peek_line()?.map(<[u8]>::to_vec) else {
        return Err(source
            .data_error("no rows in the file, expected numbers with commas, tabs or spaces between them"));
    };
    let context = context(&first, options)?;
    if context.header.is_some() {
        source.next_line()?;
    }
    let (mut values, mut texts, mut n_rows) = (Vec::new(), Vec::new(), 0);
    pipeline::parse(&mut source, options.threads, &context, tell, |rows: &Rows, _| {
        values.extend_from_slice(&rows.values);
        texts.extend_from_slice(&rows.texts);
        n_rows += rows.n_rows;
        Ok(())
    })?;
    let n_columns = context.n_fields - usize::from(context.label.is_some());
    let features = features::dense((n_rows, n_columns), values, |problem| source.data_error(problem))?;
    let labels = context.label.filter(|_| options.wanted != Wanted::Nothing).map(|_| Raw::Texts(texts));
    Ok(Read { format: FORMAT, features, labels, index_base: IndexBase::One, unit: 1.0, more: String::new() })
}

/// What the first line tells about all of them.
fn context(first: &[u8], options: &PointsOptions) -> Result<Context, Error> {
    let separator = Separator::of(first);
    let mut fields: Vec<Vec<u8>> = Vec::new();
    let _ = for_each_field(first, separator, |field| {
        fields.push(field.to_vec());
        Ok::<(), ()>(())
    });
    let n_fields = fields.len();
    let whole = options.unlabelled && options.n_columns == Some(n_fields);
    let place = match &options.label_column {
        _ if whole || options.labels.is_some() => None,
        LabelColumn::None => None,
        LabelColumn::First => Some(0),
        LabelColumn::Last => Some(n_fields - 1),
        LabelColumn::Named(name) => fields.iter().position(|field| field == name.as_bytes()),
    };
    let no_number = |(field, text): (usize, &Vec<u8>)| {
        Some(field) != place
            && number(text).is_err()
            && text.iter().any(u8::is_ascii_alphabetic)
            && !is_odd(text)
    };
    let by_name = matches!(&options.label_column, LabelColumn::Named(_)) && place.is_some();
    let has_header = by_name || fields.iter().enumerate().any(no_number);
    if let (LabelColumn::Named(name), None, false, None) =
        (&options.label_column, place, whole, &options.labels)
    {
        let known: Vec<String> = fields.iter().take(20).map(|field| excerpt(field)).collect();
        let rule = format!("first, last, none or one of {}", known.join(" "));
        return Err(refuse("label-column", name, &rule));
    }
    let names = || fields.iter().map(|field| excerpt(field)).collect();
    Ok(Context { separator, header: has_header.then(names), n_fields, label: place, wanted: options.wanted })
}
