//! Documents held out of training, to measure on.

use std::path::{Path, PathBuf};

use super::read::{Known, Raw};
use super::{Corpus, CorpusFacts, CorpusOptions, Vocabulary};
use crate::Error;
use crate::catalog::News;
use crate::data::facts::grouped;
use crate::data::text::read_lines;
use crate::run::refuse;

/// Which documents are held out of training.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum HeldOut {
    /// Those of a test file beside a training file (`x.test.txt` of `x.train.txt`, `test.txt` of `train.txt`); else those
    /// whose numbers are in `heldout.txt` beside the data; else every tenth.
    #[default]
    Auto,
    /// None.
    None,
    /// Every so many, the last of each group.
    Every(usize),
    /// Those whose numbers, from 1, are in a file.
    Listed(PathBuf),
}

impl HeldOut {
    /// `none`, a number, or the path of a file of numbers.
    pub(super) fn parse(text: &str) -> Result<Self, Error> {
        match text.parse::<usize>() {
            Ok(n) if n >= 2 => Ok(Self::Every(n)),
            Err(_) if text == "none" => Ok(Self::None),
            Err(_) if text.parse::<f64>().is_err() && !text.is_empty() => Ok(Self::Listed(text.into())),
            _ => Err(refuse(
                "held-out",
                text,
                "2 or more to hold out every Nth document, a file of numbers, or none",
            )),
        }
    }
}

/// Documents that are not empty, and where they come from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Documents {
    /// The documents.
    pub corpus: Corpus,
    /// The number of each in its file, from 0.
    pub numbers: Vec<u32>,
}

/// Documents to train on and documents held out, in the same words; none of them is empty.
#[derive(Debug, Clone)]
pub struct Collection {
    /// Documents to train on, one or more.
    pub train: Documents,
    /// Documents to measure on; there may be none.
    pub held_out: Documents,
    /// The words, where they are known.
    pub vocabulary: Option<Vocabulary>,
    /// What was found in the file of the data, before documents were held out.
    pub facts: CorpusFacts,
}

impl Collection {
    /// Everything is there to train on, empty documents too.
    pub(super) fn whole(corpus: Corpus, vocabulary: Option<Vocabulary>, facts: CorpusFacts) -> Self {
        let numbers = (0..).take(corpus.n_docs()).collect();
        Self { train: Documents { corpus, numbers }, held_out: Documents::default(), vocabulary, facts }
    }
}

/// Where held-out documents come from.
enum Choice {
    None,
    Every(usize),
    Listed(PathBuf),
    File(PathBuf),
}

/// Moves documents out of those to train on, and drops empty ones.
pub(super) fn hold_out(
    mut all: Collection,
    path: &Path,
    options: &CorpusOptions,
    tell: &(dyn Fn(News) + Sync),
) -> Result<Collection, Error> {
    let choice = choose(path, options)?;
    let n_docs = all.train.corpus.n_docs();
    let (held_out, from) = match &choice {
        Choice::None => (vec![false; n_docs], String::new()),
        Choice::Every(n) => {
            ((1..=n_docs).map(|number| number % n == 0).collect(), format!("one document of {n}"))
        }
        Choice::Listed(list) => (listed(list, n_docs)?, format!("listed in {}", list.display())),
        Choice::File(test) => {
            all.read_held_out(test, options, tell)?;
            (vec![false; n_docs], test.display().to_string())
        }
    };
    if !matches!(choice, Choice::File(_)) {
        all.held_out = all.train.copy(|doc| held_out[doc]);
    }
    all.train.retain(|doc| !held_out[doc]);
    if all.train.corpus.n_docs() == 0 {
        let problem = "no document with a word in it is left to train on";
        return Err(Error::Data { path: path.to_path_buf(), problem: problem.into() });
    }
    if !matches!(choice, Choice::None) {
        tell(News::Fact(all.held_out.facts(&from)));
    }
    Ok(all)
}

/// Follows the options, or what lies beside the data.
fn choose(path: &Path, options: &CorpusOptions) -> Result<Choice, Error> {
    match (&options.test, &options.held_out) {
        (Some(test), HeldOut::Auto) => Ok(Choice::File(test.clone())),
        (Some(_), _) => {
            Err(refuse("held-out", "given with --test", "absent when --test names the held-out documents"))
        }
        (None, HeldOut::None) => Ok(Choice::None),
        (None, HeldOut::Every(n)) => Ok(Choice::Every(*n)),
        (None, HeldOut::Listed(list)) => Ok(Choice::Listed(list.clone())),
        (None, HeldOut::Auto) => Ok(beside(path)),
    }
}

fn beside(path: &Path) -> Choice {
    if let Some(test) = test_of(path).filter(|test| test.exists()) {
        return Choice::File(test);
    }
    let list = path.with_file_name("heldout.txt");
    if list.is_file() { Choice::Listed(list) } else { Choice::Every(10) }
}

/// The name that the test file of a training file has.
fn test_of(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let test = match name.strip_prefix("train") {
        Some(rest) => format!("test{rest}"),
        None => name.replace(".train", ".test"),
    };
    (test != name).then(|| path.with_file_name(test))
}

/// Which of the documents are in a list of numbers from 1.
fn listed(list: &Path, n_docs: usize) -> Result<Vec<bool>, Error> {
    let mut held_out = vec![false; n_docs];
    for (line, text) in (1..).zip(read_lines(list)?) {
        let text = text.split('#').next().unwrap_or_default();
        for number in text.split_ascii_whitespace() {
            let doc = number.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            let Some(held_out) = doc.and_then(|doc| held_out.get_mut(doc)) else {
                let problem = format!("{number} is not the number of a document, expected 1 to {n_docs}");
                return Err(Error::Line { path: list.to_path_buf(), line, problem });
            };
            *held_out = true;
        }
    }
    Ok(held_out)
}

impl Collection {
    /// Reads held-out documents from a file of their own: text by its words, counts by their numbers, of which there
    /// may then be more.
    fn read_held_out(
        &mut self,
        test: &Path,
        options: &CorpusOptions,
        tell: &(dyn Fn(News) + Sync),
    ) -> Result<(), Error> {
        let known = Known { n_words: self.train.corpus.n_words, vocabulary: self.vocabulary.as_ref() };
        let nothing = Vocabulary::default();
        let words = Some(known.vocabulary.unwrap_or(&nothing));
        let read = Raw::read(test, options, words, tell)?.held_out(test, &known)?;
        tell(News::Fact(read.facts.to_string()));
        self.train.corpus.n_words = read.corpus.n_words;
        self.held_out = Self::whole(read.corpus, None, read.facts).train;
        self.held_out.retain(|_| true);
        Ok(())
    }
}

impl Documents {
    fn is_empty(&self, doc: usize) -> bool {
        self.corpus.starts[doc] == self.corpus.starts[doc + 1]
    }

    /// A copy of some documents, without the empty ones.
    fn copy(&self, takes: impl Fn(usize) -> bool) -> Self {
        let corpus = Corpus { starts: vec![0], n_words: self.corpus.n_words, ..Corpus::default() };
        let mut taken = Self { corpus, numbers: Vec::new() };
        for doc in (0..self.corpus.n_docs()).filter(|&doc| takes(doc) && !self.is_empty(doc)) {
            let (words, counts) = self.corpus.doc(doc);
            taken.corpus.words.extend_from_slice(words);
            taken.corpus.counts.extend_from_slice(counts);
            taken.corpus.starts.push(taken.corpus.words.len());
            taken.numbers.push(self.numbers[doc]);
        }
        taken
    }

    /// Keeps some documents in place, and none that is empty.
    fn retain(&mut self, keeps: impl Fn(usize) -> bool) {
        let (mut docs, mut kept) = (0, 0);
        for doc in 0..self.corpus.n_docs() {
            if !keeps(doc) || self.is_empty(doc) {
                continue;
            }
            let entries = self.corpus.starts[doc]..self.corpus.starts[doc + 1];
            let end = kept + entries.len();
            self.corpus.words.copy_within(entries.clone(), kept);
            self.corpus.counts.copy_within(entries, kept);
            self.numbers[docs] = self.numbers[doc];
            (docs, kept) = (docs + 1, end);
            self.corpus.starts[docs] = end; // of a document that is done with
        }
        self.corpus.starts.truncate(docs + 1);
        self.numbers.truncate(docs);
        self.corpus.truncate(kept);
    }

    /// In words for the user.
    fn facts(&self, from: &str) -> String {
        let (n_docs, tokens) = (grouped(self.corpus.n_docs() as u64), grouped(self.corpus.n_tokens()));
        format!("held out: {from}, {n_docs} documents, {tokens} tokens")
    }
}
