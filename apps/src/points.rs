//! What the apps that learn from points share: the options that say how to read them, kept with the model.

use std::path::{Path, PathBuf};

use crate::Error;
use crate::catalog::{OptionSpec, Request};
use crate::data::points::{LabelColumn, Points, PointsOptions, Wanted};
use crate::data::{IndexBase, text};
use crate::options::Options;
use crate::run::refuse;
use crate::samples;

/// Where in the lines of a table the label is.
pub const LABEL_COLUMN: OptionSpec = OptionSpec {
    name: "label-column",
    value: "first|last|none|NAME",
    default: "first",
    help: "the column of a CSV file or the like that holds the label",
};

/// The file in `model/` that says where the label is.
const LABEL_FILE: &str = "label_column.txt";

/// How to read the training rows of a request.
///
/// # Errors
/// A bad option.
pub fn reading(request: &Request, wanted: Wanted, default: LabelColumn) -> Result<PointsOptions, Error> {
    let options = Options(&request.options);
    let index_base = match options.text("index-base") {
        None | Some("auto") => IndexBase::Auto,
        Some("0") => IndexBase::Zero,
        Some("1") => IndexBase::One,
        Some(other) => return Err(refuse("index-base", other, "auto, 0 or 1")),
    };
    let label_column = match options.text("label-column") {
        Some(column) => column.parse().unwrap_or_default(),
        None => default,
    };
    let labels = options.text("labels").map(PathBuf::from);
    if let Some(path) = labels.as_ref().filter(|path| !path.is_file()) {
        return Err(refuse("labels", &path.display().to_string(), "a file that exists"));
    }
    Ok(PointsOptions { labels, wanted, index_base, label_column, ..PointsOptions::default() })
}

/// How to read rows as those of `points`, which were read with `options`: held-out ones, or new ones that may have no labels.
pub fn like(options: &PointsOptions, points: &Points) -> PointsOptions {
    PointsOptions {
        labels: None,
        index_base: points.index_base,
        n_columns: Some(points.features.n_columns()),
        ..options.clone()
    }
}

/// How the rows were read, as text files of the model.
pub fn texts(options: &PointsOptions, points: &Points) -> Vec<(String, Vec<String>)> {
    let column = match &options.label_column {
        LabelColumn::First => "first",
        LabelColumn::Last => "last",
        LabelColumn::None => "none",
        LabelColumn::Named(name) => name,
    };
    vec![samples::base_text(points.index_base), (LABEL_FILE.to_owned(), vec![column.to_owned()])]
}

/// How to read new rows for the model in `folder`, whose training rows had `n_columns` columns.
///
/// # Errors
/// A folder that holds no model.
pub fn reading_of_model(folder: &Path, wanted: Wanted, n_columns: usize) -> Result<PointsOptions, Error> {
    let column = text::read_lines(&folder.join(LABEL_FILE))?;
    Ok(PointsOptions {
        wanted,
        index_base: samples::read_base(folder)?,
        label_column: column.first().map(String::as_str).unwrap_or_default().parse().unwrap_or_default(),
        n_columns: Some(n_columns),
        unlabelled: true,
        ..PointsOptions::default()
    })
}

/// How the rows are read, as far as a run that goes on must read them the same.
pub(crate) fn settings(request: &Request) -> Vec<(&'static str, String)> {
    let names = ["index-base", "label-column", "labels"];
    let given = |name: &'static str| Options(&request.options).text(name).map(|text| (name, text.to_owned()));
    names.into_iter().filter_map(given).collect()
}
