//! Texts as counts of their words, numbered as they come.

use rustc_hash::FxHashMap;

use super::stop_words::Words;
use super::tokens::each_word;
use crate::data::ids::dense;
use crate::data::pipeline::Chunk;

/// Some documents, their words numbered for themselves.
#[derive(Debug, Default)]
pub(super) struct Texts {
    /// Where each document ends.
    pub(super) ends: Vec<usize>,
    pub(super) words: Vec<u32>,
    pub(super) counts: Vec<u32>,
    /// Tokens dropped since they are stop words.
    pub(super) stop_words: u64,
    /// The number of each word.
    numbers: FxHashMap<Box<str>, u32>,
    /// The tokens of the document that has not ended yet.
    tokens: Vec<u32>,
    buffer: String,
}

impl Chunk for Texts {
    type Context = Words;

    fn clear(&mut self) {
        self.ends.clear();
        self.words.clear();
        self.counts.clear();
        self.numbers.clear();
        self.tokens.clear();
        self.stop_words = 0;
    }

    fn line(&mut self, line: &[u8], _number: u64, stop_words: &Words) -> Result<(), String> {
        self.add(line, stop_words)?;
        self.end_document()
    }
}

impl Texts {
    /// Adds the words of a line to the document that has not ended yet.
    pub(super) fn add(&mut self, line: &[u8], stop_words: &Words) -> Result<(), String> {
        let line = std::str::from_utf8(line)
            .map_err(|_| "not UTF-8 text; convert the file with iconv -t UTF-8".to_owned())?;
        let Self { numbers, tokens, buffer, stop_words: stopped, .. } = self;
        each_word(line, buffer, |word| {
            if stop_words.contains(word) {
                *stopped += 1;
            } else if let Some(&number) = numbers.get(word) {
                tokens.push(number);
            } else {
                let number = dense(numbers.len());
                numbers.insert(word.into(), number);
                tokens.push(number);
            }
        });
        Ok(())
    }

    /// Counts the words of the document, which ends here.
    pub(super) fn end_document(&mut self) -> Result<(), String> {
        self.tokens.sort_unstable();
        for same in self.tokens.chunk_by(|a, b| a == b) {
            let count =
                u32::try_from(same.len()).map_err(|_| "a document of more than 2^32 tokens".to_owned())?;
            self.words.push(same[0]);
            self.counts.push(count);
        }
        self.tokens.clear();
        self.ends.push(self.words.len());
        Ok(())
    }
}

/// All words so far, numbered in the order in which they came, and in how many documents each is.
#[derive(Debug, Default)]
pub(super) struct Dictionary {
    numbers: FxHashMap<Box<str>, u32>,
    /// Documents that have the word.
    pub(super) documents: Vec<u32>,
}

impl Dictionary {
    /// Gives the entries of `texts` the numbers of this dictionary and counts their documents.
    pub(super) fn number(&mut self, texts: &Texts, words: &mut Vec<u32>) {
        // In the order in which they came, so that numbers do not depend on the order in a table.
        let mut names = vec![""; texts.numbers.len()];
        for (name, &number) in &texts.numbers {
            names[number as usize] = name;
        }
        let numbers: Vec<u32> = names.into_iter().map(|name| self.number_of(name)).collect();
        words.clear();
        words.extend(texts.words.iter().map(|&word| numbers[word as usize]));
        for &word in &*words {
            self.documents[word as usize] += 1;
        }
    }

    fn number_of(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = dense(self.documents.len());
        self.numbers.insert(name.into(), number);
        self.documents.push(0);
        number
    }

    /// The words in the order of their numbers.
    pub(super) fn into_names(self) -> Vec<Box<str>> {
        let mut names = vec![Box::<str>::default(); self.documents.len()];
        for (name, number) in self.numbers {
            names[number as usize] = name;
        }
        names
    }
}
