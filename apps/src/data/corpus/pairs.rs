//! A document a line as pairs `word:count`: LDA-C and libsvm.
//!
//! LDA-C writes `n word:count …` with `n` pairs and words from 0 (Blei, Ng and Jordan 2003). libsvm writes
//! `label word:count … # comment` with words from 1; labels are not used and may be any text or missing. A blank line is an
//! empty document; a line that is a comment is none.

use super::builder::Builder;
use super::numbers::{self, Limit};
use super::{CorpusFormat, Raw};
use crate::Error;
use crate::catalog::News;
use crate::data::pipeline::{self, Chunk};
use crate::data::scan::{Scan, is_blank};
use crate::data::source::Source;

struct Context {
    libsvm: bool,
    limit: Limit,
}

/// Reads all documents of `source`; words are below the length of the vocabulary where it is known.
pub(super) fn read(
    mut source: Source,
    format: CorpusFormat,
    vocabulary: Option<usize>,
    threads: usize,
    tell: &(dyn Fn(News) + Sync),
) -> Result<Raw, Error> {
    let limit = vocabulary.map_or(Limit::None, Limit::Vocabulary);
    let context = Context { libsvm: format == CorpusFormat::Libsvm, limit };
    let (mut builder, mut zeros, mut n_words) = (Builder::default(), 0, 0);
    pipeline::parse(&mut source, threads, &context, tell, |lines: &Lines, _| {
        builder.documents(&lines.ends, &lines.words, &lines.counts);
        zeros += lines.zeros;
        n_words = n_words.max(lines.n_words);
        Ok(())
    })?;
    let (corpus, _) = builder.finish(0);
    Ok(Raw { zeros, n_words, ..Raw::new(format, source.compression(), corpus) })
}

/// The documents of one chunk.
#[derive(Default)]
struct Lines {
    /// Where each document ends.
    ends: Vec<usize>,
    words: Vec<u32>,
    counts: Vec<u32>,
    /// One more than the greatest word, with those of count 0.
    n_words: usize,
    zeros: u64,
}

impl Chunk for Lines {
    type Context = Context;

    fn clear(&mut self) {
        self.ends.clear();
        self.words.clear();
        self.counts.clear();
        (self.n_words, self.zeros) = (0, 0);
    }

    fn line(&mut self, line: &[u8], _number: u64, context: &Context) -> Result<(), String> {
        let mut scan = Scan::new(line);
        if context.libsvm {
            if scan.peek() == Some(b'#') {
                return Ok(());
            }
            skip_label(&mut scan)?;
            self.pairs(&mut scan, context)?;
        } else if scan.peek().is_some() {
            let promised = numbers::id(&mut scan, "number of pairs", None)?;
            scan.skip_blanks();
            let n = self.pairs(&mut scan, context)?;
            if n != promised as usize {
                let problem = "the line may be cut short, or the file is libsvm (--format libsvm)";
                return Err(format!("{promised} pairs word:count are promised, there are {n}; {problem}"));
            }
        }
        self.ends.push(self.words.len());
        Ok(())
    }
}

impl Lines {
    /// Reads pairs to the end of the line; returns how many there are.
    fn pairs(&mut self, scan: &mut Scan<'_>, context: &Context) -> Result<usize, String> {
        let mut n = 0;
        while scan.peek().is_some() && !(context.libsvm && scan.peek() == Some(b'#')) {
            let shown = word(scan)?;
            let word = if context.libsvm { from_one(shown)? } else { shown };
            context.limit.check(word, shown)?;
            let count = numbers::count(scan).map_err(|problem| format!("word {shown}: {problem}"))?;
            scan.skip_blanks();
            self.n_words = self.n_words.max(word as usize + 1);
            if count == 0 {
                self.zeros += 1;
            } else {
                self.words.push(word);
                self.counts.push(count);
            }
            n += 1;
        }
        Ok(n)
    }
}

/// The word of a pair, with its colon.
#[inline]
fn word(scan: &mut Scan<'_>) -> Result<u32, String> {
    let start = *scan;
    let word = numbers::id(scan, "word", Some(b':'))
        .map_err(|_| format!("{} is no pair word:count of whole numbers", start.token()))?;
    scan.step();
    Ok(word)
}

#[inline]
fn from_one(word: u32) -> Result<u32, String> {
    word.checked_sub(1).ok_or_else(|| {
        "word 0, but words count from 1 in libsvm text; add 1 to all of them, or give --format ldac if each line starts \
         with its number of pairs"
            .to_owned()
    })
}

/// Goes past a label, a text without a colon, and a `qid:`.
fn skip_label(scan: &mut Scan<'_>) -> Result<(), String> {
    let start = *scan;
    while scan.peek().is_some_and(|byte| !is_blank(byte)) {
        if scan.peek() == Some(b':') {
            *scan = start;
            break;
        }
        scan.step();
    }
    scan.skip_blanks();
    if scan.accept(b"qid:") {
        scan.real().map_err(|problem| format!("after qid: {problem}"))?;
        scan.skip_blanks();
    }
    Ok(())
}
