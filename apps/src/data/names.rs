//! A list of texts in one piece of memory, with look-up by text.

/// Texts in their order: their bytes, and a dozen bytes for each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Names {
    /// One after the other.
    text: String,
    /// Where each ends.
    ends: Vec<usize>,
    /// Their indices by text, equal ones by index.
    sorted: Vec<u32>,
}

impl<S: AsRef<str>> FromIterator<S> for Names {
    fn from_iter<I: IntoIterator<Item = S>>(names: I) -> Self {
        let (mut text, mut ends) = (String::new(), Vec::new());
        for name in names {
            text.push_str(name.as_ref());
            ends.push(text.len());
        }
        let mut names = Self { text, ends, sorted: Vec::new() };
        let mut sorted: Vec<u32> = (0..super::ids::dense(names.len())).collect();
        sorted.sort_by_key(|&index| names.get(index));
        names.sorted = sorted;
        names
    }
}

impl Names {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The text of an index, which must be less than [`Names::len`].
    pub(super) fn get(&self, index: u32) -> &str {
        let index = index as usize;
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.text[start..self.ends[index]]
    }

    /// The index of a text, the first where it occurs several times.
    pub(super) fn index(&self, name: &str) -> Option<u32> {
        let at = self.sorted.partition_point(|&index| self.get(index) < name);
        self.sorted.get(at).copied().filter(|&index| self.get(index) == name)
    }

    /// Indices whose text is that of an earlier one, each after the one before it.
    pub(super) fn repeated(&self) -> impl Iterator<Item = (u32, u32)> {
        let pairs = self.sorted.windows(2).map(|pair| (pair[0], pair[1]));
        pairs.filter(|&(first, second)| self.get(first) == self.get(second))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_found_by_index_and_indices_by_text() {
        let names: Names = ["new york", "", "zebra", "new york", "é"].into_iter().collect();
        assert_eq!((names.len(), names.get(0), names.get(1), names.get(4)), (5, "new york", "", "é"));
        assert_eq!((names.index("new york"), names.index("é"), names.index("new")), (Some(0), Some(4), None));
        assert_eq!((names.index(""), names.index("zz")), (Some(1), None));
        assert_eq!(names.repeated().collect::<Vec<_>>(), [(0, 3)]);
    }
}
