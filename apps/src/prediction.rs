//! What a trained model says of new data: named columns and a row for each thing it was asked about.

use std::path::PathBuf;

use crate::Error;

/// What is asked of a model beside the data.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Question {
    /// How many of the answers to give, the greatest first; all of them, in their own order, where absent.
    pub top: Option<usize>,
    /// The words behind the numbers of the data, one a line.
    pub vocabulary: Option<PathBuf>,
    /// What is said of users and items that the model does not know.
    pub cold: Option<Cold>,
}

/// What is said of a pair whose user or item the model does not know.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Cold {
    /// What is left: the mean, and the bias of the one that is known.
    #[default]
    Mean,
    /// Nothing: the pair is left out.
    Drop,
    /// It is an error.
    Error,
}

/// What is recommended, and to whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// Whom or what it is for.
    pub about: About,
    /// How many things each gets.
    pub top: usize,
    /// Whether what a user has rated already may be among them.
    pub include_rated: bool,
    /// What a user that the model does not know gets.
    pub unknown: Unknown,
}

/// Whom or what a recommendation is for, by id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum About {
    /// The items that suit each of these users best.
    Users(Vec<String>),
    /// The items that are most like each of these.
    Items(Vec<String>),
}

/// What a user that the model does not know is recommended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// It is an error.
    Error,
    /// Nothing: the user is left out.
    Drop,
    /// What most others have rated.
    Popular,
}

/// Rows of predictions, computed as they are taken.
pub struct Predictions {
    /// The columns: those that name the row first.
    pub columns: Vec<Column>,
    /// How many rows there are.
    pub n_rows: usize,
    /// The rows, in the order of the data; each has a cell for every column.
    pub rows: Box<dyn Iterator<Item = Vec<Cell>> + Send>,
}

/// A column of predictions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// What its cells are.
    pub kind: Kind,
}

/// What the cells of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// What the row is about, such as the id of a user: no prediction.
    Name,
    /// A prediction of double precision.
    Double,
    /// A prediction of single precision.
    Single,
}

/// A cell of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// A text: only in a column that names the row.
    Text(String),
    /// A number.
    Number(f64),
}

impl Column {
    /// A column that names the row.
    pub fn name(name: impl Into<String>) -> Self {
        Self { name: name.into(), kind: Kind::Name }
    }

    /// Predictions of double precision.
    pub fn double(name: impl Into<String>) -> Self {
        Self { name: name.into(), kind: Kind::Double }
    }

    /// Predictions of single precision.
    pub fn single(name: impl Into<String>) -> Self {
        Self { name: name.into(), kind: Kind::Single }
    }
}

impl Predictions {
    /// Numbers of double precision, a column for each name.
    pub fn numbers<const N: usize>(
        columns: [&str; N],
        rows: impl ExactSizeIterator<Item = [f64; N]> + Send + 'static,
    ) -> Self {
        let n_rows = rows.len();
        let rows = Box::new(rows.map(|row| row.map(Cell::Number).to_vec()));
        Self { columns: columns.map(Column::double).to_vec(), n_rows, rows }
    }
}

impl Question {
    /// Refuses every question but that for all answers.
    ///
    /// # Errors
    /// More is asked than `app` can answer.
    pub fn is_plain(&self, app: &str) -> Result<(), Error> {
        match self.cold {
            None => self.asks_only_cold(app),
            Some(_) => Err(Error::UnknownOption { app: app.into(), option: "--cold".into(), nearest: None }),
        }
    }

    /// Refuses every question but that for all answers and what is said of the unknown.
    ///
    /// # Errors
    /// More is asked than `app` can answer.
    pub fn asks_only_cold(&self, app: &str) -> Result<(), Error> {
        let given = self.top.map(|_| "--top").or(self.vocabulary.as_ref().map(|_| "--vocab"));
        match given {
            None => Ok(()),
            Some(option) => {
                Err(Error::UnknownOption { app: app.into(), option: option.into(), nearest: None })
            }
        }
    }
}
