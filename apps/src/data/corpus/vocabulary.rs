//! The words behind the numbers.

use std::path::Path;

use crate::Error;
use crate::catalog::News;
use crate::data::names::Names;
use crate::data::source::Source;
use crate::data::text;

/// The words of a corpus by their rows 0, 1, 2, …: their bytes, and a dozen bytes for each. A word is any text of one
/// line, blanks within it too.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Vocabulary(Names);

impl<S: AsRef<str>> FromIterator<S> for Vocabulary {
    fn from_iter<I: IntoIterator<Item = S>>(words: I) -> Self {
        Self(words.into_iter().collect())
    }
}

impl Vocabulary {
    /// Reads a word a line, plain or packed: the first line is row 0. What follows a tab is not part of the word.
    ///
    /// Tells [`News::Warning`] when a word occurs in several lines; each of them stays a row of its own.
    ///
    /// # Errors
    /// The file cannot be read, is not UTF-8, or has no words.
    pub fn read(path: &Path, tell: &(dyn Fn(News) + Sync)) -> Result<Self, Error> {
        let mut source = Source::open(path)?;
        let mut words = Vec::new();
        while let Some(line) = source.next_line()? {
            words.push(word(&line).map_err(|problem| source.line_error(source.lines(), problem))?);
        }
        while words.last().is_some_and(String::is_empty) {
            words.pop();
        }
        if words.is_empty() {
            return Err(source.data_error("no words in the file, expected a word a line"));
        }
        let vocabulary: Self = words.iter().collect();
        vocabulary.tell_repeated(path, tell);
        Ok(vocabulary)
    }

    /// Writes a word a line, so that [`Vocabulary::read`] gives the same rows.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        text::write_lines(path, self.iter())
    }

    /// How many words there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The word of a row, which must be less than [`Vocabulary::len`].
    pub fn word(&self, row: u32) -> &str {
        self.0.get(row)
    }

    /// The row of a word, the first where it has several.
    pub fn row(&self, word: &str) -> Option<u32> {
        self.0.index(word)
    }

    /// All words in the order of their rows.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..).map(|row| self.word(row)).take(self.len())
    }

    fn tell_repeated(&self, path: &Path, tell: &(dyn Fn(News) + Sync)) {
        let Some((first, again)) = self.0.repeated().next() else { return };
        let (word, n) = (self.word(first), self.0.repeated().count());
        let (lines, first, again) =
            (if n == 1 { "line repeats" } else { "lines repeat" }, first + 1, again + 1);
        tell(News::Warning(format!(
            "{}: {n} {lines} a word, such as {word:?} in lines {first} and {again}; each stays a word of its own",
            path.display()
        )));
    }
}

/// The word of a line.
fn word(line: &[u8]) -> Result<String, &'static str> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let word = line.split(|&byte| byte == b'\t').next().unwrap_or_default();
    let word = std::str::from_utf8(word);
    word.map(str::to_owned).map_err(|_| "not UTF-8 text; convert the file with iconv -t UTF-8")
}
