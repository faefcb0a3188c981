//! Plain text: a document a line, or a directory with a file for each document.
//!
//! Of a directory all files are read, those in directories within it too, in the order of their paths; names that start with
//! a point are skipped. The vocabulary is the set of words that are left, sorted by their characters (by code point, as
//! UTF-8 sorts), so that it depends on nothing but the text.

use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::builder::Builder;
use super::{CorpusFormat, Raw, Vocabulary};
use crate::Error;
use crate::catalog::News;
use crate::data::facts::Compression;
use crate::data::pipeline;
use crate::data::source::Source;

mod frequency;
mod lines;
mod stop_words;
mod tokens;

pub use frequency::DocumentFrequency;
use lines::{Dictionary, Texts};
pub use stop_words::StopWords;
use stop_words::Words;

/// How words are chosen from text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TextOptions {
    /// Words that are left out; the English ones where absent.
    pub stop_words: Option<StopWords>,
    /// Words in fewer documents are left out; none where absent.
    pub min_df: Option<DocumentFrequency>,
    /// Words in more documents are left out; none where absent.
    pub max_df: Option<DocumentFrequency>,
}

/// Files that are read one after the other into the same table of words.
const FILES: usize = 64;

/// Reads a document a line.
pub(super) fn read_file(
    mut source: Source,
    options: &TextOptions,
    known: Option<&Vocabulary>,
    threads: usize,
    tell: &(dyn Fn(News) + Sync),
) -> Result<Raw, Error> {
    let stop_words = stop_words(options, known)?;
    let mut all = All::default();
    pipeline::parse(&mut source, threads, &stop_words, tell, |texts: &Texts, _| {
        all.append(texts);
        Ok(())
    })?;
    let raw = all.finish(source.compression(), options, known);
    raw.ok_or_else(|| source.data_error(NO_WORDS))
}

/// Reads a directory with a file for each document.
pub(super) fn read_directory(
    path: &Path,
    options: &TextOptions,
    known: Option<&Vocabulary>,
    tell: &(dyn Fn(News) + Sync),
) -> Result<Raw, Error> {
    let stop_words = stop_words(options, known)?;
    let files = files(path)?;
    let of = files.iter().map(|(_, bytes)| bytes).sum();
    let (mut all, mut read) = (All::default(), 0);
    for batch in files.chunks(FILES * pipeline::available_threads()) {
        let texts: Vec<Result<Texts, Error>> =
            batch.par_chunks(FILES).map(|files| of_files(files, &stop_words)).collect();
        for texts in texts {
            all.append(&texts?);
        }
        read += batch.iter().map(|(_, bytes)| bytes).sum::<u64>();
        tell(News::Loading { read, of });
    }
    let raw = all.finish(Compression::None, options, known);
    raw.ok_or_else(|| Error::Data { path: path.to_path_buf(), problem: NO_WORDS.into() })
}

const NO_WORDS: &str = "no words are left, expected text of a document a line or a file, or counts as docword, LDA-C or \
                        libsvm text; give --format if they are, or other --stop-words, --min-df and --max-df";

/// The words to leave out; what is in the known vocabulary is not left out.
fn stop_words(options: &TextOptions, known: Option<&Vocabulary>) -> Result<Words, Error> {
    let mut words = options.stop_words.clone().unwrap_or_default().words()?;
    if let Some(known) = known {
        words.retain(|word| known.row(word).is_none());
    }
    Ok(words)
}

/// The files of a directory by their path, and their bytes.
fn files(path: &Path) -> Result<Vec<(PathBuf, u64)>, Error> {
    let (mut folders, mut files) = (vec![path.to_path_buf()], Vec::new());
    while let Some(folder) = folders.pop() {
        let file_error = |source| Error::File { path: folder.clone(), source };
        for entry in std::fs::read_dir(&folder).map_err(file_error)? {
            let entry = entry.map_err(file_error)?;
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let path = entry.path();
            let file_error = |source| Error::File { path: path.clone(), source };
            if entry.file_type().map_err(file_error)?.is_dir() {
                folders.push(path);
            } else {
                let bytes = std::fs::metadata(&path).map_err(file_error)?.len();
                files.push((path, bytes));
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Reads a document from each file.
fn of_files(files: &[(PathBuf, u64)], stop_words: &Words) -> Result<Texts, Error> {
    let (mut texts, mut text) = (Texts::default(), Vec::new());
    for (path, _) in files {
        let mut source = Source::open(path)?;
        let mut line_number = 0;
        while source.next_chunk(&mut text)? {
            for line in text.split_inclusive(|&byte| byte == b'\n') {
                line_number += 1;
                texts.add(line, stop_words).map_err(|problem| source.line_error(line_number, problem))?;
            }
        }
        texts.end_document().map_err(|problem| source.data_error(problem))?;
    }
    Ok(texts)
}

/// The texts so far.
#[derive(Default)]
struct All {
    builder: Builder,
    dictionary: Dictionary,
    stop_words: u64,
    words: Vec<u32>,
}

impl All {
    fn append(&mut self, texts: &Texts) {
        self.dictionary.number(texts, &mut self.words);
        self.builder.documents(&texts.ends, &self.words, &texts.counts);
        self.stop_words += texts.stop_words;
    }

    /// The corpus with its vocabulary, or with the words still to be found in the known one; `None` if none are left.
    fn finish(
        self,
        compression: Compression,
        options: &TextOptions,
        known: Option<&Vocabulary>,
    ) -> Option<Raw> {
        let (mut corpus, _) = self.builder.finish(0);
        let n_docs = corpus.n_docs();
        let documents = self.dictionary.documents.clone();
        let names = self.dictionary.into_names();
        let mut raw = Raw {
            stop_words: self.stop_words,
            ..Raw::new(CorpusFormat::Text, compression, super::Corpus::default())
        };
        if known.is_none() {
            let chosen = frequency::choose(&documents, n_docs, options);
            (raw.rare, raw.frequent) = (chosen.rare, chosen.frequent);
            let mut kept: Vec<u32> = chosen.words;
            if kept.is_empty() {
                return None;
            }
            kept.sort_unstable_by(|&a, &b| names[a as usize].cmp(&names[b as usize]));
            let mut rows = vec![None; names.len()];
            for (row, &number) in (0..).zip(&kept) {
                rows[number as usize] = Some(row);
            }
            corpus.renumber(|word, _| rows[word as usize]);
            raw.n_words = kept.len();
            raw.vocabulary = Some(kept.iter().map(|&number| &names[number as usize]).collect());
        } else {
            raw.n_words = names.len();
            raw.vocabulary = Some(names.into_iter().collect());
        }
        raw.corpus = corpus;
        Some(raw)
    }
}
