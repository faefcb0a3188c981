//! Ids and counts in a line, and what is wrong with them in words.

use crate::data::scan::{Scan, is_blank};

/// Goes past an id up to `u32::MAX` that ends before `end`, or without one at a blank or the end of the line.
#[inline]
pub(super) fn id(scan: &mut Scan<'_>, what: &str, end: Option<u8>) -> Result<u32, String> {
    let start = *scan;
    match scan.index() {
        Ok(id) if ends(scan, end) => Ok(id),
        _ => Err(no_id(&start, what)),
    }
}

#[inline]
fn ends(scan: &Scan<'_>, end: Option<u8>) -> bool {
    match end {
        Some(end) => scan.peek() == Some(end),
        None => scan.peek().is_none_or(is_blank),
    }
}

#[cold]
fn no_id(start: &Scan<'_>, what: &str) -> String {
    let token = start.token();
    if token.is_empty() {
        format!("the {what} is missing; the line may be cut short")
    } else {
        format!("{token} is not a {what}, expected a whole number up to {}", u32::MAX)
    }
}

/// Goes past the count of a word: a whole number up to `u32::MAX`, 0 too, however it is written.
#[inline]
pub(super) fn count(scan: &mut Scan<'_>) -> Result<u32, String> {
    let start = *scan;
    match scan.index() {
        Ok(count) if ends(scan, None) => Ok(count),
        _ => {
            *scan = start;
            written_as_real(scan)
        }
    }
}

#[cold]
fn written_as_real(scan: &mut Scan<'_>) -> Result<u32, String> {
    let token = scan.token();
    let count = scan.real().map_err(|problem| format!("the count: {problem}"))?;
    if count < 0.0 {
        return Err(format!("the count {token} is negative, expected a whole number"));
    }
    if count.fract() != 0.0 {
        return Err(format!(
            "the count {token} is no whole number; topic models take counts of words, not weights such as tf-idf"
        ));
    }
    if count > f64::from(u32::MAX) {
        return Err(format!("the count {token} is too large, at most {} is possible", u32::MAX));
    }
    Ok(count as u32) // checked above
}

/// The words that a file may name, and who says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    /// As many as there are.
    None,
    /// The length of the vocabulary.
    Vocabulary(usize),
    /// What the header says.
    Header(usize),
}

impl Limit {
    /// Refuses a word, counted from 0, that is beyond the limit; `shown` is its number in the file.
    #[inline]
    pub(super) fn check(self, word: u32, shown: u32) -> Result<(), String> {
        match self {
            Self::Vocabulary(n) | Self::Header(n) if word as usize >= n => Err(self.beyond(shown)),
            _ => Ok(()),
        }
    }

    #[cold]
    fn beyond(self, shown: u32) -> String {
        match self {
            Self::Header(n) => format!(
                "word {shown}, but the header says that there are {n} words; correct the header or fetch the file again"
            ),
            Self::Vocabulary(n) => {
                format!(
                    "word {shown} is beyond the {n} words of the vocabulary; is it that of another corpus?"
                )
            }
            Self::None => format!("word {shown} is too large"),
        }
    }
}
