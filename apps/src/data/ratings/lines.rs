//! The lines of a text of ratings.

use super::Separator;
use crate::Error;
use crate::data::ids::{Key, Texts};
use crate::data::pipeline::Chunk;
use crate::data::scan::{bad_number, excerpt};
use crate::data::source::Source;

/// What comes before the first rating, and what separates its fields.
pub(super) struct Head {
    pub(super) separator: Separator,
    pub(super) header: bool,
    pub(super) blank_lines: u64,
    pub(super) comment_lines: u64,
}

impl Default for Head {
    fn default() -> Self {
        Self { separator: Separator::Blanks, header: false, blank_lines: 0, comment_lines: 0 }
    }
}

impl Head {
    /// Reads `source` up to its first rating. Comments are known here only: further down, an id may start with `#`.
    pub(super) fn read(source: &mut Source) -> Result<Self, Error> {
        let mut head = Self::default();
        while let Some(line) = source.peek_line()? {
            let line = line.trim_ascii();
            if line.is_empty() {
                head.blank_lines += 1;
            } else if matches!(line[0], b'#' | b'%') {
                head.comment_lines += 1;
            } else if let Some(separator) = of_rating(line) {
                head.separator = separator;
                return Ok(head);
            } else if let Some(separator) = of_header(line).filter(|_| !head.header) {
                (head.separator, head.header) = (separator, true);
            } else {
                let problem = not_a_rating(line);
                return Err(source.line_error(source.lines() + 1, problem));
            }
            source.next_line()?;
        }
        Ok(head)
    }
}

/// The separator by which this line is a rating.
pub(super) fn of_rating(line: &[u8]) -> Option<Separator> {
    Separator::ALL
        .into_iter()
        .find(|separator| separator.fields(line).is_ok_and(|fields| check(fields).is_ok()))
}

/// The separator by which this line names the columns: three words at least and no number, which would be a rating gone
/// wrong.
pub(super) fn of_header(line: &[u8]) -> Option<Separator> {
    if has_number(line) {
        return None;
    }
    let is_header = |fields: [&[u8]; 3]| fields.into_iter().all(|field| !field.is_empty());
    Separator::ALL.into_iter().find(|separator| separator.fields(line).is_ok_and(is_header))
}

/// Whether a word of the line is a number.
pub(super) fn has_number(line: &[u8]) -> bool {
    let is_number = |word: &[u8]| fast_float2::parse::<f64, _>(word).is_ok();
    line.split(|byte| b"\t ;,:\"".contains(byte)).any(is_number)
}

fn not_a_rating(line: &[u8]) -> String {
    let split = Separator::ALL.into_iter().find_map(|separator| separator.fields(line).ok());
    split.and_then(|fields| check(fields).err()).unwrap_or_else(|| {
        let line = excerpt(line);
        format!("{line} is no rating, expected user, item and rating between tabs, commas, ::, semicolons or spaces")
    })
}

/// The rating of these fields, if none of them is missing.
fn check([user, item, value]: [&[u8]; 3]) -> Result<f32, String> {
    let value = rating(value)?;
    if user.is_empty() || item.is_empty() {
        let missing = if user.is_empty() { "user" } else { "item" };
        return Err(format!("the {missing} is missing, expected user, item and rating"));
    }
    Ok(value)
}

/// A finite rating.
fn rating(field: &[u8]) -> Result<f32, String> {
    match fast_float2::parse::<f32, _>(field) {
        Ok(value) if value.is_finite() => Ok(value),
        _ if field.is_empty() => Err("the rating is missing; the line may be cut short".into()),
        _ => Err(format!("the rating {}", bad_number(&excerpt(field)))),
    }
}

/// The ratings of one chunk.
#[derive(Default)]
pub(super) struct Lines {
    pub(super) users: Vec<Key>,
    pub(super) items: Vec<Key>,
    pub(super) values: Vec<f32>,
    pub(super) user_texts: Texts,
    pub(super) item_texts: Texts,
    pub(super) blank_lines: u64,
}

impl Chunk for Lines {
    type Context = Separator;

    fn clear(&mut self) {
        self.users.clear();
        self.items.clear();
        self.values.clear();
        self.user_texts.clear();
        self.item_texts.clear();
        self.blank_lines = 0;
    }

    fn line(&mut self, line: &[u8], _number: u64, separator: &Separator) -> Result<(), String> {
        match separator.fields(line) {
            Ok(fields @ [user, item, _]) => {
                let value = check(fields)?;
                self.users.push(self.user_texts.key(user)?);
                self.items.push(self.item_texts.key(item)?);
                self.values.push(value);
            }
            Err(_) if line.trim_ascii().is_empty() => self.blank_lines += 1,
            Err(n) => {
                let line = excerpt(line.trim_ascii());
                return Err(format!(
                    "{line} has {n} of the 3 fields user, item and rating between {separator}"
                ));
            }
        }
        Ok(())
    }
}
