//! Lines `document word count`, both counted from 1: docword of the UCI bag-of-words sets, whose first three lines are the
//! numbers of documents, words and entries, and MatrixMarket, as gensim and SciPy write it.

use super::builder::Builder;
use super::numbers::{self, Limit};
use super::{CorpusFormat, Raw};
use crate::Error;
use crate::catalog::News;
use crate::data::matrix_market::{self, Layout, Symmetry};
use crate::data::pipeline::{self, Chunk};
use crate::data::scan::{Scan, excerpt};
use crate::data::source::Source;

/// What the file says about itself.
#[derive(Debug, Clone, Copy)]
struct Header {
    documents: usize,
    words: usize,
    entries: u64,
    limit: Limit,
}

/// More documents than this need some entries to go with them: one for so many documents.
const MANY_DOCUMENTS: usize = 100_000_000;
const MANY_DOCUMENTS_EACH: u64 = 1000;

/// Reads all documents of `source`; words are below the length of the vocabulary where it is known.
pub(super) fn read(
    mut source: Source,
    vocabulary: Option<usize>,
    threads: usize,
    tell: &(dyn Fn(News) + Sync),
) -> Result<Raw, Error> {
    let matrix = source.starts_with(matrix_market::BANNER);
    let header = if matrix { Header::of_matrix(&mut source)? } else { Header::read(&mut source)? };
    let limit = vocabulary.map_or(header.limit, Limit::Vocabulary);
    let header = header.checked(&source)?.limited(limit);
    let (mut builder, mut found, mut zeros) = (Builder::default(), 0, 0);
    pipeline::parse(&mut source, threads, &header, tell, |triples: &Triples, _| {
        let mut start = 0;
        for &(doc, end) in &triples.runs {
            builder.entries(doc, &triples.words[start..end], &triples.counts[start..end]);
            start = end;
        }
        zeros += triples.zeros;
        found += triples.words.len() as u64 + triples.zeros;
        Ok(())
    })?;
    if found != header.entries {
        let promised = header.entries;
        let cause = if found < promised { "the file is cut short or " } else { "" };
        return Err(source.data_error(format!(
            "{found} entries, but the header promises {promised}; {cause}the header is wrong: fetch the file again, or \
             write {found} there if it is whole"
        )));
    }
    let format = if matrix { CorpusFormat::MatrixMarket } else { CorpusFormat::Docword };
    let (corpus, scattered) = builder.finish(header.documents);
    Ok(Raw { zeros, scattered, n_words: header.words, ..Raw::new(format, source.compression(), corpus) })
}

impl Header {
    /// Reads the three lines of a docword file.
    fn read(source: &mut Source) -> Result<Self, Error> {
        let mut numbers = [0; 3];
        for (number, what) in numbers.iter_mut().zip(["documents", "words", "entries"]) {
            let line = source.next_line()?.unwrap_or_default();
            let text = std::str::from_utf8(&line).ok().map(str::trim);
            *number = text.and_then(|text| text.parse::<u64>().ok()).ok_or_else(|| {
                let problem = format!(
                    "{:?} is not the number of {what}; a docword file begins with three lines: the numbers of documents, \
                     words and entries",
                    excerpt(line.trim_ascii())
                );
                source.line_error(source.lines().max(1), problem)
            })?;
        }
        let [documents, words, entries] = numbers;
        if documents.max(words) > u64::from(u32::MAX) {
            return Err(source.data_error(format!(
                "{documents} documents and {words} words by the header, at most {} are possible",
                u32::MAX
            )));
        }
        Ok(Self::new(documents as usize, words as usize, entries)) // checked above
    }

    /// Reads the head of a matrix of documents x words.
    fn of_matrix(source: &mut Source) -> Result<Self, Error> {
        let header = matrix_market::Header::read(source)?;
        let Layout::Coordinate { n_entries } = header.layout else {
            return Err(source.data_error("a dense matrix, expected coordinates of documents x words"));
        };
        if header.pattern || header.symmetry != Symmetry::General {
            return Err(source.data_error("expected a general matrix of documents x words, with counts"));
        }
        Ok(Self::new(header.n_rows, header.n_columns, n_entries))
    }

    fn new(documents: usize, words: usize, entries: u64) -> Self {
        Self { documents, words, entries, limit: Limit::Header(words) }
    }

    fn checked(self, source: &Source) -> Result<Self, Error> {
        let Self { documents, entries, .. } = self;
        if documents > MANY_DOCUMENTS && documents as u64 / MANY_DOCUMENTS_EACH > entries {
            let problem = format!("{documents} documents of {entries} entries by the header; correct it");
            return Err(source.data_error(problem));
        }
        Ok(self)
    }

    fn limited(self, limit: Limit) -> Self {
        Self { limit, ..self }
    }
}

/// The entries of one chunk.
#[derive(Default)]
struct Triples {
    /// Runs of entries of one document, from 0, and where each ends.
    runs: Vec<(u32, usize)>,
    words: Vec<u32>,
    counts: Vec<u32>,
    zeros: u64,
}

impl Chunk for Triples {
    type Context = Header;

    fn clear(&mut self) {
        self.runs.clear();
        self.words.clear();
        self.counts.clear();
        self.zeros = 0;
    }

    fn line(&mut self, line: &[u8], _number: u64, header: &Header) -> Result<(), String> {
        let mut scan = Scan::new(line);
        if scan.at_end(b'%') {
            return Ok(());
        }
        let doc = from_one(&mut scan, "document")?;
        if doc as usize >= header.documents {
            let (shown, n) = (u64::from(doc) + 1, header.documents);
            return Err(format!(
                "document {shown}, but the header says that there are {n}; correct the header or fetch the file again"
            ));
        }
        let word = from_one(&mut scan, "word")?;
        header.limit.check(word, word + 1)?;
        let count = numbers::count(&mut scan)?;
        scan.skip_blanks();
        if scan.peek().is_some() {
            return Err(format!(
                "{} is left over at the end of the line, expected document, word and count",
                scan.token()
            ));
        }
        if count == 0 {
            self.zeros += 1;
            return Ok(());
        }
        self.words.push(word);
        self.counts.push(count);
        match self.runs.last_mut() {
            Some((last, end)) if *last == doc => *end = self.words.len(),
            _ => self.runs.push((doc, self.words.len())),
        }
        Ok(())
    }
}

/// A number from 1 up, made to count from 0, and the blanks behind it.
#[inline]
fn from_one(scan: &mut Scan<'_>, what: &str) -> Result<u32, String> {
    let number = numbers::id(scan, what, None)?;
    scan.skip_blanks();
    number.checked_sub(1).ok_or_else(|| format!("{what} 0, but {what}s count from 1"))
}
