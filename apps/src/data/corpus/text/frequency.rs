//! Which words are kept, by the number of documents that have them.

use std::str::FromStr;

use super::TextOptions;

/// A number of documents.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DocumentFrequency {
    /// So many.
    Count(u32),
    /// This share of all documents, from 0 to 1.
    Share(f64),
}

impl DocumentFrequency {
    /// The rule that [`DocumentFrequency::from_str`] asks for.
    pub(in crate::data::corpus) const RULE: &str =
        "a number of documents, such as 5, or a share of them with a decimal point from 0.0 to 1.0";

    /// Documents of `n_docs`, in general no whole number.
    fn of(self, n_docs: usize) -> f64 {
        match self {
            Self::Count(count) => f64::from(count),
            Self::Share(share) => share * n_docs as f64,
        }
    }
}

impl FromStr for DocumentFrequency {
    type Err = ();

    /// Digits are a count; with a decimal point it is a share, so that `1.0` is all documents.
    fn from_str(text: &str) -> Result<Self, ()> {
        if let Ok(count) = text.parse() {
            return Ok(Self::Count(count));
        }
        text.parse().ok().filter(|share| (0.0..=1.0).contains(share)).map(Self::Share).ok_or(())
    }
}

/// The words that are kept, ascending, and how many are not.
pub(super) struct Chosen {
    pub(super) words: Vec<u32>,
    pub(super) rare: u64,
    pub(super) frequent: u64,
}

/// Chooses words that are in enough documents and not in too many of the `n_docs`.
pub(super) fn choose(documents: &[u32], n_docs: usize, options: &TextOptions) -> Chosen {
    let least = options.min_df.map_or(0.0, |df| df.of(n_docs));
    let most = options.max_df.map_or(f64::INFINITY, |df| df.of(n_docs));
    let mut chosen = Chosen { words: Vec::new(), rare: 0, frequent: 0 };
    for (word, &n) in (0..).zip(documents) {
        if f64::from(n) < least {
            chosen.rare += 1;
        } else if f64::from(n) > most {
            chosen.frequent += 1;
        } else {
            chosen.words.push(word);
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_documents_and_a_decimal_point_makes_a_share() {
        assert_eq!("5".parse(), Ok(DocumentFrequency::Count(5)));
        assert_eq!("1.0".parse(), Ok(DocumentFrequency::Share(1.0)));
        assert_eq!(".5".parse(), Ok(DocumentFrequency::Share(0.5)));
        for text in ["", "-1", "1.5", "nan", "half"] {
            assert_eq!(text.parse::<DocumentFrequency>(), Err(()), "{text}");
        }
    }
}
