//! Dense numbers for the ids of users and items.

use std::borrow::Cow;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::names::Names;

/// The ids behind dense indices 0, 1, 2, …: eight bytes an id where all are whole numbers, their text otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ids(Kind);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    /// Ascending.
    Integers(Vec<u64>),
    /// In order of first appearance.
    Texts(Names),
}

impl Ids {
    /// Ids in this order, as read from `users.txt` of a model.
    pub fn from_lines<S: AsRef<str>>(lines: &[S]) -> Self {
        let integers: Option<Vec<u64>> = lines.iter().map(|line| integer(line.as_ref().as_bytes())).collect();
        match integers {
            Some(integers) if integers.is_sorted_by(|a, b| a < b) => Self(Kind::Integers(integers)),
            _ => Self(Kind::Texts(lines.iter().collect())),
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        match &self.0 {
            Kind::Integers(integers) => integers.len(),
            Kind::Texts(names) => names.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The dense index of an id, if it is known.
    pub fn index(&self, id: &str) -> Option<u32> {
        match &self.0 {
            Kind::Integers(integers) => integers.binary_search(&integer(id.as_bytes())?).ok().map(dense),
            Kind::Texts(names) => names.index(id),
        }
    }

    /// The id of a dense index, which must be less than [`Ids::len`].
    pub fn id(&self, index: u32) -> Cow<'_, str> {
        match &self.0 {
            Kind::Integers(integers) => Cow::Owned(integers[index as usize].to_string()),
            Kind::Texts(names) => Cow::Borrowed(names.get(index)),
        }
    }

    /// All ids in the order of their dense indices.
    pub fn iter(&self) -> impl Iterator<Item = Cow<'_, str>> {
        (0..dense(self.len())).map(|index| self.id(index))
    }
}

/// An index of 32 bits.
pub(super) fn dense(n: usize) -> u32 {
    u32::try_from(n).expect("memory ends before there are 2^32 distinct ids")
}

/// A whole number below 2^63 that is written the way we would write it, so that its text can be made again.
fn integer(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 19 || (text[0] == b'0' && text.len() > 1) {
        return None;
    }
    let mut value = 0_u64;
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + u64::from(digit);
    }
    (value < 1 << 63).then_some(value)
}

/// An id as it was met: the number itself, or with the top bit set the index of a text kept elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key(pub(super) u64);

/// The texts of one chunk that are no whole numbers.
#[derive(Debug, Default)]
pub(super) struct Texts {
    names: Vec<Arc<str>>,
    indices: FxHashMap<Arc<str>, u32>,
}

impl Texts {
    const TEXT: u64 = 1 << 63;

    pub(super) fn clear(&mut self) {
        self.names.clear();
        self.indices.clear();
    }

    /// The key of an id.
    pub(super) fn key(&mut self, id: &[u8]) -> Result<Key, String> {
        if let Some(integer) = integer(id) {
            return Ok(Key(integer));
        }
        let id = std::str::from_utf8(id)
            .map_err(|_| "the id is not UTF-8 text; convert the file with iconv -t UTF-8".to_string())?;
        if let Some(&index) = self.indices.get(id) {
            return Ok(Key(Self::TEXT | u64::from(index)));
        }
        let (name, index) = (Arc::<str>::from(id), dense(self.names.len()));
        self.names.push(Arc::clone(&name));
        self.indices.insert(name, index);
        Ok(Key(Self::TEXT | u64::from(index)))
    }
}

/// Numbers ids in the order in which they come.
#[derive(Debug, Default)]
pub(super) struct Interner {
    /// The index of the small whole numbers by themselves, `UNSEEN` where they did not come.
    small: Vec<u32>,
    large: FxHashMap<u64, u32>,
    texts: FxHashMap<Arc<str>, u32>,
    names: Vec<Name>,
}

#[derive(Debug, Clone)]
enum Name {
    Integer(u64),
    Text(Arc<str>),
}

impl Interner {
    const UNSEEN: u32 = u32::MAX;
    /// Whole numbers below this are looked up in a table of at most 16 MiB.
    const SMALL: u64 = 1 << 22;

    /// Numbers the keys of one chunk and appends the numbers to `to`.
    pub(super) fn extend(&mut self, keys: &[Key], texts: &Texts, to: &mut Vec<u32>) {
        let mut known = vec![Self::UNSEEN; texts.names.len()];
        for &Key(key) in keys {
            let index = if key & Texts::TEXT == 0 {
                self.integer(key)
            } else {
                let at = (key & !Texts::TEXT) as usize;
                if known[at] == Self::UNSEEN {
                    known[at] = self.text(&texts.names[at]);
                }
                known[at]
            };
            to.push(index);
        }
    }

    /// How many distinct ids came.
    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// Numbers a whole number.
    pub(super) fn integer(&mut self, integer: u64) -> u32 {
        let next = dense(self.names.len());
        let index = if integer < Self::SMALL {
            let at = integer as usize;
            if at >= self.small.len() {
                self.small.resize((at + 1).next_power_of_two(), Self::UNSEEN);
            }
            let index = &mut self.small[at];
            *index = if *index == Self::UNSEEN { next } else { *index };
            *index
        } else {
            *self.large.entry(integer).or_insert(next)
        };
        if index == next {
            self.names.push(Name::Integer(integer));
        }
        index
    }

    fn text(&mut self, text: &Arc<str>) -> u32 {
        if let Some(&index) = self.texts.get(text) {
            return index;
        }
        let index = dense(self.names.len());
        self.texts.insert(Arc::clone(text), index);
        self.names.push(Name::Text(Arc::clone(text)));
        index
    }

    /// The ids and, where their order is not that of coming, the dense index of each number given so far.
    pub(super) fn finish(self) -> (Ids, Option<Vec<u32>>) {
        let integers: Option<Vec<u64>> = self.names.iter().map(Name::integer).collect();
        let Some(mut integers) = integers else {
            let names: Vec<Cow<'_, str>> = self.names.iter().map(Name::text).collect();
            return (Ids(Kind::Texts(names.iter().collect())), None);
        };
        let mut order: Vec<u32> = (0..dense(integers.len())).collect();
        order.sort_unstable_by_key(|&index| integers[index as usize]);
        let mut renumbered = vec![0; order.len()];
        for (new, &old) in (0..).zip(&order) {
            renumbered[old as usize] = new;
        }
        integers.sort_unstable();
        (Ids(Kind::Integers(integers)), Some(renumbered))
    }

    /// The id of a number given so far.
    pub(super) fn name(&self, number: u32) -> Cow<'_, str> {
        self.names[number as usize].text()
    }

    /// For each number given so far, the index of its id in `ids`.
    pub(super) fn find_in(&self, ids: &Ids) -> Vec<Option<u32>> {
        self.names.iter().map(|name| ids.index(&name.text())).collect()
    }
}

impl Name {
    fn integer(&self) -> Option<u64> {
        match self {
            Self::Integer(integer) => Some(*integer),
            Self::Text(_) => None,
        }
    }

    fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Integer(integer) => Cow::Owned(integer.to_string()),
            Self::Text(text) => Cow::Borrowed(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_kept_in_ascending_order() {
        let (mut interner, mut texts, mut numbers) = (Interner::default(), Texts::default(), Vec::new());
        let keys: Vec<Key> = ["30", "5000000", "7", "30"].map(|id| texts.key(id.as_bytes()).unwrap()).into();
        interner.extend(&keys, &texts, &mut numbers);
        assert_eq!(numbers, [0, 1, 2, 0]);
        let (ids, renumbered) = interner.finish();
        assert_eq!(renumbered, Some(vec![1, 2, 0]));
        assert_eq!(ids.iter().collect::<Vec<_>>(), ["7", "30", "5000000"]);
        assert_eq!((ids.index("30"), ids.index("030"), ids.index("x")), (Some(1), None, None));
    }

    #[test]
    fn one_text_makes_all_ids_texts_in_order_of_appearance() {
        let (mut interner, mut texts, mut numbers) = (Interner::default(), Texts::default(), Vec::new());
        let names = ["30", "bob", "7", "007", "bob", "18446744073709551615"];
        let keys: Vec<Key> = names.map(|id| texts.key(id.as_bytes()).unwrap()).into();
        interner.extend(&keys, &texts, &mut numbers);
        assert_eq!(numbers, [0, 1, 2, 3, 1, 4]);
        let (ids, renumbered) = interner.finish();
        assert_eq!(renumbered, None);
        let all = ["30", "bob", "7", "007", "18446744073709551615"];
        assert_eq!(ids.iter().collect::<Vec<_>>(), all);
        assert!((0..).zip(all).all(|(index, id)| ids.index(id) == Some(index)));
        assert_eq!(Ids::from_lines(&all), ids);
    }

    #[test]
    fn ids_read_back_from_lines_keep_their_order() {
        let ids = Ids::from_lines(&["9", "10", "2"]);
        assert_eq!((ids.index("9"), ids.index("2"), ids.id(1)), (Some(0), Some(2), "10".into()));
        assert_eq!(Ids::from_lines(&["2", "9"]).len(), 2);
    }
}
