//! From a file to documents: its format, its words, and what is wrong with both.

use std::path::Path;

use super::builder::Overflow;
use super::held_out::{self, Collection};
use super::{Corpus, CorpusFacts, CorpusFormat, CorpusOptions, Vocabulary, docword, pairs, text};
use crate::Error;
use crate::catalog::News;
use crate::data::facts::{Compression, grouped};
use crate::data::source::Source;

/// What is in a file, words as they came.
pub(super) struct Raw {
    pub(super) format: CorpusFormat,
    pub(super) compression: Compression,
    pub(super) corpus: Corpus,
    /// The words that the file speaks of, by their number in it: of text, or read from the file of the vocabulary.
    pub(super) vocabulary: Option<Vocabulary>,
    /// Words that the file speaks of.
    pub(super) n_words: usize,
    pub(super) zeros: u64,
    pub(super) scattered: u64,
    pub(super) stop_words: u64,
    pub(super) rare: u64,
    pub(super) frequent: u64,
}

/// More words than this need some entries to go with them: one for so many words.
const MANY_WORDS: usize = 100_000_000;
const MANY_WORDS_EACH: usize = 1000;

impl Raw {
    pub(super) fn new(format: CorpusFormat, compression: Compression, corpus: Corpus) -> Self {
        let (vocabulary, n_words) = (None, 0);
        let (zeros, scattered, stop_words, rare, frequent) = (0, 0, 0, 0, 0);
        Self {
            format,
            compression,
            corpus,
            vocabulary,
            n_words,
            zeros,
            scattered,
            stop_words,
            rare,
            frequent,
        }
    }

    /// Reads documents in whatever format; texts are cut with an eye on the known words.
    pub(super) fn read(
        path: &Path,
        options: &CorpusOptions,
        known: Option<&Vocabulary>,
        tell: &(dyn Fn(News) + Sync),
    ) -> Result<Self, Error> {
        if path.is_dir() {
            options.check_format(path, CorpusFormat::Text, true)?;
            return text::read_directory(path, &options.text, known, tell);
        }
        let mut source = Source::open(path)?;
        let format = match options.format {
            Some(format) => format,
            None => CorpusFormat::of(&mut source)?,
        };
        options.check_format(path, format, false)?;
        let vocabulary =
            options.vocabulary.as_deref().map(|path| Vocabulary::read(path, tell)).transpose()?;
        let (length, threads) = (vocabulary.as_ref().map(Vocabulary::len), options.threads);
        let mut raw = match format {
            CorpusFormat::Text => return text::read_file(source, &options.text, known, threads, tell),
            CorpusFormat::Docword | CorpusFormat::MatrixMarket => {
                docword::read(source, length, threads, tell)?
            }
            CorpusFormat::LdaC | CorpusFormat::Libsvm => pairs::read(source, format, length, threads, tell)?,
        };
        raw.check_words(path, vocabulary, tell)?;
        Ok(raw)
    }

    /// Compares the words of the file with its vocabulary.
    fn check_words(
        &mut self,
        path: &Path,
        vocabulary: Option<Vocabulary>,
        tell: &(dyn Fn(News) + Sync),
    ) -> Result<(), Error> {
        let (n_words, entries) = (self.n_words, self.corpus.words.len());
        if let Some(vocabulary) = vocabulary {
            let with_header = matches!(self.format, CorpusFormat::Docword | CorpusFormat::MatrixMarket);
            if with_header && n_words != vocabulary.len() {
                let (said, have) = (grouped(n_words as u64), grouped(vocabulary.len() as u64));
                tell(News::Warning(format!(
                    "{}: {said} words by the header, {have} in the vocabulary; check that they belong together",
                    path.display()
                )));
            }
            self.n_words = vocabulary.len();
            self.vocabulary = Some(vocabulary);
        } else if n_words > MANY_WORDS && n_words / MANY_WORDS_EACH > entries {
            let problem = format!(
                "word {n_words} in a file of {entries} entries: a model of so many words would not fit in memory; number \
                 the words that occur from the start"
            );
            return Err(Error::Data { path: path.to_path_buf(), problem });
        }
        Ok(())
    }

    /// Sorts and joins the words of each document.
    fn tidy(&mut self, path: &Path) -> Result<CorpusFacts, Error> {
        let joined = self.corpus.tidy().map_err(|Overflow { doc, word }| {
            let (doc, most) = (doc + 1, u32::MAX);
            let problem = format!("the counts of word {word} in document {doc} add up to more than {most}");
            Error::Data { path: path.to_path_buf(), problem }
        })?;
        self.corpus.n_words = self.n_words;
        Ok(self.facts(joined))
    }

    fn facts(&self, joined: u64) -> CorpusFacts {
        let Self { zeros, scattered, stop_words, rare, frequent, .. } = *self;
        let joined = if self.format == CorpusFormat::Text { 0 } else { joined };
        CorpusFacts {
            documents: self.corpus.n_docs(),
            words: self.n_words,
            tokens: self.corpus.n_tokens(),
            empty: self.corpus.starts.windows(2).filter(|bounds| bounds[0] == bounds[1]).count() as u64,
            joined,
            scattered,
            zeros,
            stop_words,
            rare,
            frequent,
            ..CorpusFacts::new(self.format, self.compression)
        }
    }

    /// The documents in the words of `known`.
    fn known(mut self, path: &Path, known: &Known<'_>) -> Result<NewDocuments, Error> {
        let (unknown_words, unknown_tokens) = self.meet(path, known)?;
        let facts = CorpusFacts { unknown_words, unknown_tokens, ..self.tidy(path)? };
        Ok(NewDocuments { corpus: self.corpus, facts })
    }

    /// The same for documents that are held out: numbers mean what they mean in the training data, and may be more.
    pub(super) fn held_out(mut self, path: &Path, known: &Known<'_>) -> Result<NewDocuments, Error> {
        if self.format == CorpusFormat::Text {
            return self.known(path, known);
        }
        self.n_words = self.n_words.max(known.n_words);
        let facts = self.tidy(path)?;
        Ok(NewDocuments { corpus: self.corpus, facts })
    }

    /// Takes the words of `known` for those of the file: by word where both have words, by number otherwise.
    fn meet(&mut self, path: &Path, known: &Known<'_>) -> Result<(u64, u64), Error> {
        let rows: Option<Vec<Option<u32>>> = match (&self.vocabulary, known.vocabulary) {
            (Some(own), Some(known)) => Some(own.iter().map(|word| known.row(word)).collect()),
            (Some(_), None) if self.format == CorpusFormat::Text => {
                let problem = "text, but the model was trained on numbers without words; train it with --vocab, or give \
                               counts of the same numbers";
                return Err(Error::Data { path: path.to_path_buf(), problem: problem.into() });
            }
            _ => None,
        };
        let (mut unknown, mut tokens) = (vec![false; self.n_words], 0);
        self.corpus.renumber(|word, count| {
            let row = match &rows {
                Some(rows) => rows[word as usize],
                None => Some(word).filter(|&word| (word as usize) < known.n_words),
            };
            if row.is_none() {
                unknown[word as usize] = true;
                tokens += u64::from(count);
            }
            row
        });
        self.n_words = known.n_words;
        Ok((unknown.iter().filter(|&&unknown| unknown).count() as u64, tokens))
    }
}

/// The words that a model knows.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// How many there are.
    pub n_words: usize,
    /// The words themselves, where the model has them.
    pub vocabulary: Option<&'a Vocabulary>,
}

/// Documents in the words of a model: as many as the file has, the empty ones too.
#[derive(Debug, Clone)]
pub struct NewDocuments {
    /// The documents.
    pub corpus: Corpus,
    /// What was found in the file.
    pub facts: CorpusFacts,
}

/// Reads documents to train on, and holds some out as `options` say ([`HeldOut`](super::HeldOut)).
///
/// Tells [`News::Loading`] while it reads, [`News::Warning`] for what the user should look at, and one [`News::Fact`] each
/// for the file and for the documents held out.
///
/// # Errors
/// A file that cannot be read, a line that is not what the format asks for, a header that is wrong, words beyond the
/// vocabulary, options that do not go with the format, or no document left to train on.
pub fn read_corpus(
    path: &Path,
    options: &CorpusOptions,
    tell: &(dyn Fn(News) + Sync),
) -> Result<Collection, Error> {
    let mut raw = Raw::read(path, options, None, tell)?;
    let facts = raw.tidy(path)?;
    tell(News::Fact(facts.to_string()));
    let whole = Collection::whole(raw.corpus, raw.vocabulary, facts);
    held_out::hold_out(whole, path, options, tell)
}

/// Reads documents in the words of a model; words that it does not know are counted and dropped.
///
/// Words meet by their text where both the model and the file have them (text, or counts with
/// [`CorpusOptions::vocabulary`]), by their numbers otherwise. What `options` say of held-out documents and of
/// `--min-df` and `--max-df` is not used.
///
/// # Errors
/// As [`read_corpus`]; and text for a model that has no words.
pub fn read_documents(
    path: &Path,
    known: &Known<'_>,
    options: &CorpusOptions,
    tell: &(dyn Fn(News) + Sync),
) -> Result<NewDocuments, Error> {
    let nothing = Vocabulary::default();
    let read =
        Raw::read(path, options, Some(known.vocabulary.unwrap_or(&nothing)), tell)?.known(path, known)?;
    tell(News::Fact(read.facts.to_string()));
    Ok(read)
}
