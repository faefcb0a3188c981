//! Labels: classes by name, or numbers.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt;
use std::path::Path;

use super::super::facts::grouped;
use super::super::matrix_market::{self, BANNER};
use super::super::scan::{bad_number, excerpt};
use super::super::source::Source;
use super::{PointsOptions, Wanted, array, idx};
use crate::Error;

/// One label a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Labels {
    /// Classes.
    Classes {
        /// The names of the classes, in natural order (9 before 10); those of the model first, where it has some, and
        /// after them what it does not know.
        names: Vec<String>,
        /// The class of each row, as a place in `names`.
        of: Vec<u32>,
    },
    /// Numbers, all finite.
    Numbers(Vec<f32>),
}

impl fmt::Display for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Classes { names, .. } => match names.len() {
                1 => write!(f, "one class"),
                n => write!(f, "{} classes", grouped(n as u64)),
            },
            Self::Numbers(numbers) => {
                let least = numbers.iter().copied().fold(f32::INFINITY, f32::min);
                let most = numbers.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                write!(f, "labels from {least} to {most}")
            }
        }
    }
}

/// Labels as a file has them.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Raw {
    Texts(Vec<String>),
    Numbers(Vec<f64>),
}

impl Raw {
    fn len(&self) -> usize {
        match self {
            Self::Texts(texts) => texts.len(),
            Self::Numbers(numbers) => numbers.len(),
        }
    }

    /// The labels that are wanted.
    pub(super) fn finish(self, options: &PointsOptions, path: &Path) -> Result<Labels, Error> {
        let refuse = |row: usize, found: &str| Error::Data {
            path: path.to_path_buf(),
            problem: format!("the label of row {}: {}", row + 1, bad_number(found)),
        };
        if options.wanted == Wanted::Numbers {
            let number = |(row, text): (usize, &String)| {
                let number = text.trim().parse().ok().filter(|number: &f32| number.is_finite());
                number.ok_or_else(|| refuse(row, &excerpt(text.as_bytes())))
            };
            let finite = |(row, number): (usize, f64)| {
                let single = number as f32;
                if single.is_finite() { Ok(single) } else { Err(refuse(row, &number.to_string())) }
            };
            let numbers: Result<Vec<f32>, Error> = match self {
                Self::Texts(texts) => texts.iter().enumerate().map(number).collect(),
                Self::Numbers(numbers) => numbers.into_iter().enumerate().map(finite).collect(),
            };
            return numbers.map(Labels::Numbers);
        }
        let texts = match self {
            Self::Texts(texts) => texts,
            Self::Numbers(numbers) => {
                if let Some(row) = numbers.iter().position(|number| !number.is_finite()) {
                    return Err(refuse(row, &numbers[row].to_string()));
                }
                numbers.iter().map(|number| (number + 0.0).to_string()).collect() // -0 becomes 0
            }
        };
        Ok(classes(texts, options.classes.as_deref()))
    }
}

/// Names in natural order and the class of each row.
fn classes(texts: Vec<String>, known: Option<&[String]>) -> Labels {
    let mut names: Vec<String> = known.map(<[String]>::to_vec).unwrap_or_default();
    let of_model = names.len();
    let mut places: HashMap<String, u32> =
        names.iter().enumerate().map(|(place, name)| (name.clone(), place as u32)).collect();
    let mut of: Vec<u32> = Vec::with_capacity(texts.len());
    for text in texts {
        let place = places.get(&text).copied().unwrap_or_else(|| {
            names.push(text.clone());
            places.insert(text, names.len() as u32 - 1);
            names.len() as u32 - 1
        });
        of.push(place);
    }
    // Those that are new are put in order; `to` has where each went.
    let mut order: Vec<usize> = (of_model..names.len()).collect();
    order.sort_by(|a, b| natural(&names[*a], &names[*b]));
    let mut to: Vec<u32> = (0..names.len() as u32).collect();
    for (rank, place) in order.iter().enumerate() {
        to[*place] = (of_model + rank) as u32;
    }
    of.iter_mut().for_each(|place| *place = to[*place as usize]);
    let mut sorted: Vec<String> = names[..of_model].to_vec();
    sorted.extend(order.into_iter().map(|place| names[place].clone()));
    Labels::Classes { names: sorted, of }
}

/// The order of people: numbers by value, runs of digits inside a name too, all else by letter.
fn natural(a: &str, b: &str) -> Ordering {
    match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(x), Ok(y)) => x.total_cmp(&y).then_with(|| a.cmp(b)),
        (Ok(_), Err(_)) => Ordering::Less,
        (Err(_), Ok(_)) => Ordering::Greater,
        (Err(_), Err(_)) => runs(a).cmp(&runs(b)).then_with(|| a.cmp(b)),
    }
}

/// A name cut into letters and runs of digits, each run by its length without zeros at its front, then its digits.
fn runs(name: &str) -> Vec<(usize, String)> {
    let mut runs: Vec<(usize, String)> = Vec::new();
    let mut in_digits = false;
    for letter in name.chars() {
        if !letter.is_ascii_digit() {
            runs.push((letter as usize + 1_000, String::new()));
        } else if in_digits {
            let run = runs.last_mut().expect("a run is under way");
            if run.1 == "0" {
                run.1.clear();
            }
            run.1.push(letter);
            run.0 = run.1.len();
        } else {
            runs.push((1, letter.to_string()));
        }
        in_digits = letter.is_ascii_digit();
    }
    runs
}

/// A label as written, so that 1.0, +1 and 1 are one class.
pub(super) fn tidy(text: &str) -> String {
    let other_form = text.contains(['.', 'e', 'E']) || text.starts_with('+');
    match text.parse::<f64>() {
        Ok(number) if other_form && number.is_finite() => (number + 0.0).to_string(),
        _ => text.to_owned(),
    }
}

/// Reads `n_rows` labels from a file of their own.
pub(super) fn read(path: &Path, n_rows: usize, options: &PointsOptions) -> Result<Raw, Error> {
    let mut source = Source::open_any(path)?;
    let raw = if idx::is_idx(source.head()) {
        idx::read_labels(source)?
    } else if array::is_npy(source.head()) {
        array::read_labels(source)?
    } else {
        source.look_at_head()?;
        if source.starts_with(BANNER) {
            Raw::Numbers(matrix_market::read_labels(path, n_rows, options.threads)?)
        } else {
            lines(source)?
        }
    };
    if raw.len() == n_rows {
        return Ok(raw);
    }
    let problem = format!("{} labels, expected one for each of the {n_rows} rows", raw.len());
    Err(Error::Data { path: path.to_path_buf(), problem })
}

/// One label a line; blank lines at the end do not count.
fn lines(mut source: Source) -> Result<Raw, Error> {
    let mut texts = Vec::new();
    let mut blank = None;
    while let Some(line) = source.next_line()? {
        let text = std::str::from_utf8(&line).map_err(|_| {
            source.line_error(source.lines(), "not UTF-8 text; convert the file with iconv -t UTF-8")
        })?;
        let text = text.trim();
        if text.is_empty() {
            blank = blank.or(Some(source.lines()));
            continue;
        }
        if let Some(line) = blank {
            return Err(source.line_error(line, "a blank line, expected a label"));
        }
        texts.push(tidy(text));
    }
    Ok(Raw::Texts(texts))
}
