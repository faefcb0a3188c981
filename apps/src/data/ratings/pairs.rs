//! Users and items to predict a rating of: a pair a line, whatever follows it, or the entries of a MatrixMarket matrix.
//!
//! A first line whose words are no numbers and are neither a user nor an item of the model is taken for a header.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;

use super::Separator;
use super::lines::{has_number, of_header, of_rating};
use crate::Error;
use crate::catalog::News;
use crate::data::facts::{Compression, grouped, some};
use crate::data::ids::{Ids, Interner, Key, Texts};
use crate::data::matrix_market::{self, Header};
use crate::data::pipeline::{self, Chunk};
use crate::data::scan::excerpt;
use crate::data::source::Source;

/// Pairs of a user and an item in the order of their file, by the indices of the training data.
#[derive(Debug)]
pub struct Pairs {
    /// The users and the items.
    sides: [Side; 2],
}

/// The users or the items of all pairs.
#[derive(Debug, Default)]
struct Side {
    /// The number of the name of each pair.
    numbers: Vec<u32>,
    names: Interner,
    /// For each name, its index in the training data.
    known: Vec<Option<u32>>,
}

/// A user or an item of a pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named<'a> {
    /// As the file has it.
    pub id: Cow<'a, str>,
    /// Its index in the training data, if it was there.
    pub index: Option<u32>,
}

impl Pairs {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.sides[0].numbers.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The user and the item of a pair, from 0.
    pub fn pair(&self, pair: usize) -> [Named<'_>; 2] {
        self.sides.each_ref().map(|side| {
            let number = side.numbers[pair];
            Named { id: side.names.name(number), index: side.known[number as usize] }
        })
    }

    /// Pairs whose user is not in the training data, and those whose item is not.
    pub fn unknown(&self) -> [u64; 2] {
        self.sides.each_ref().map(|side| {
            let unknown = side.numbers.iter().filter(|&&number| side.known[number as usize].is_none());
            unknown.count() as u64
        })
    }
}

/// Reads pairs against the ids of the training data.
///
/// Tells [`News::Loading`] while it reads and one [`News::Fact`] at the end, from this thread.
///
/// # Errors
/// A file that cannot be read, a line that is no pair, or a file without pairs.
pub fn read_pairs(
    path: &Path,
    users: &Ids,
    items: &Ids,
    tell: &(dyn Fn(News) + Sync),
) -> Result<Pairs, Error> {
    let mut source = Source::open(path)?;
    let mut sides = [Side::default(), Side::default()];
    let (mut head, mut blank_lines) = (Head::default(), 0);
    if source.starts_with(matrix_market::BANNER) {
        let header = Header::read(&mut source)?;
        let entries = matrix_market::read_entries(&mut source, &header, 0, tell)?;
        for (side, places) in sides.iter_mut().zip([&entries.rows, &entries.columns]) {
            side.numbers = places.iter().map(|&place| side.names.integer(u64::from(place) + 1)).collect();
        }
    } else {
        head = Head::read(&mut source, users, items)?;
        let separator = head.separator.unwrap_or(Separator::Blanks);
        pipeline::parse(&mut source, 0, &separator, tell, |lines: &Lines, _| {
            for (side, (keys, texts)) in sides.iter_mut().zip(&lines.sides) {
                side.names.extend(keys, texts, &mut side.numbers);
            }
            blank_lines += lines.blank_lines;
            Ok(())
        })?;
    }
    for (side, ids) in sides.iter_mut().zip([users, items]) {
        side.known = side.names.find_in(ids);
    }
    let pairs = Pairs { sides };
    if pairs.is_empty() {
        return Err(source.data_error("no pairs in the file, expected lines such as `user item`"));
    }
    head.blank_lines += blank_lines;
    tell(News::Fact(Facts { pairs: &pairs, head, compression: source.compression() }.to_string()));
    Ok(pairs)
}

/// What was found in the file.
struct Facts<'a> {
    pairs: &'a Pairs,
    head: Head,
    compression: Compression,
}

impl fmt::Display for Facts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pairs, head, compression } = self;
        match head.separator {
            Some(separator) => write!(f, "pairs between {separator}")?,
            None => f.write_str("MatrixMarket pairs")?,
        }
        if *compression != Compression::None {
            write!(f, ", {compression}")?;
        }
        f.write_str(if head.header { ", header line" } else { "" })?;
        let [users, items] = pairs.sides.each_ref().map(|side| grouped(side.names.len() as u64));
        write!(f, ", {users} users x {items} items, {} pairs", grouped(pairs.len() as u64))?;
        let [of_users, of_items] = pairs.unknown();
        some(f, of_users, "pair", " of users not in the training data")?;
        some(f, of_items, "pair", " of items not in the training data")?;
        some(f, head.blank_lines, "blank line", "")?;
        some(f, head.comment_lines, "comment line", "")
    }
}

/// What comes before the first pair, and what separates its fields; no separator in a MatrixMarket file.
#[derive(Default)]
struct Head {
    separator: Option<Separator>,
    header: bool,
    blank_lines: u64,
    comment_lines: u64,
}

impl Head {
    /// Reads `source` up to its first pair.
    fn read(source: &mut Source, users: &Ids, items: &Ids) -> Result<Self, Error> {
        let mut head = Self::default();
        while let Some(line) = source.peek_line()? {
            let line = line.trim_ascii();
            let found = of_rating(line).or_else(|| of_header(line)).or_else(|| of_pair(line));
            if line.is_empty() {
                head.blank_lines += 1;
            } else if matches!(line[0], b'#' | b'%') {
                head.comment_lines += 1;
            } else if let Some(separator) = found {
                head.separator = Some(separator);
                if head.header || has_number(line) || is_known(line, separator, [users, items]) {
                    return Ok(head);
                }
                head.header = true;
            } else {
                let problem = format!("{}, expected a user and an item", excerpt(line));
                return Err(source.line_error(source.lines() + 1, problem));
            }
            source.next_line()?;
        }
        Ok(head)
    }
}

/// The separator by which this line is a pair.
fn of_pair(line: &[u8]) -> Option<Separator> {
    let whole = |fields: [&[u8]; 2]| fields.into_iter().all(|field| !field.is_empty());
    Separator::ALL.into_iter().find(|separator| separator.fields(line).is_ok_and(whole))
}

/// Whether the user or the item of the line is one of the training data.
fn is_known(line: &[u8], separator: Separator, ids: [&Ids; 2]) -> bool {
    let fields = separator.fields::<2>(line).unwrap_or_default();
    let known =
        |(field, ids): (&[u8], &Ids)| std::str::from_utf8(field).is_ok_and(|id| ids.index(id).is_some());
    fields.into_iter().zip(ids).any(known)
}

/// The pairs of one chunk.
#[derive(Default)]
struct Lines {
    sides: [(Vec<Key>, Texts); 2],
    blank_lines: u64,
}

impl Chunk for Lines {
    type Context = Separator;

    fn clear(&mut self) {
        for (keys, texts) in &mut self.sides {
            keys.clear();
            texts.clear();
        }
        self.blank_lines = 0;
    }

    fn line(&mut self, line: &[u8], _number: u64, separator: &Separator) -> Result<(), String> {
        match separator.fields::<2>(line) {
            Ok(fields) => {
                for (missing, field) in ["user", "item"].iter().zip(fields) {
                    if field.is_empty() {
                        return Err(format!("the {missing} is missing, expected user and item"));
                    }
                }
                for ((keys, texts), field) in self.sides.iter_mut().zip(fields) {
                    keys.push(texts.key(field)?);
                }
            }
            Err(_) if line.trim_ascii().is_empty() => self.blank_lines += 1,
            Err(_) => {
                let line = excerpt(line.trim_ascii());
                return Err(format!("{line} is no pair of user and item between {separator}"));
            }
        }
        Ok(())
    }
}
