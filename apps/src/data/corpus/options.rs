//! How documents are read: as written, then checked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{CorpusFormat, DocumentFrequency, HeldOut, StopWords, TextOptions};
use crate::Error;
use crate::catalog::OptionSpec;
use crate::run::refuse;

/// How to read documents.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CorpusOptions {
    /// The format; told by the content where absent.
    pub format: Option<CorpusFormat>,
    /// The words behind the numbers of the file, one a line.
    pub vocabulary: Option<PathBuf>,
    /// How words are chosen from text.
    pub text: TextOptions,
    /// Which documents are held out.
    pub held_out: HeldOut,
    /// A file of documents to hold out.
    pub test: Option<PathBuf>,
    /// How many threads parse; 0 is one for each core.
    pub threads: usize,
}

/// What an app that reads documents can be told.
pub const OPTIONS: [OptionSpec; 6] = [
    OptionSpec {
        name: "vocab",
        value: "FILE",
        default: "none",
        help: "the words behind the numbers of the data, one a line",
    },
    OptionSpec {
        name: "format",
        value: "docword|ldac|libsvm|text",
        default: "told by the content",
        help: "the format of the data; text is a document a line or a directory with a file for each",
    },
    OptionSpec {
        name: "stop-words",
        value: "FILE|english|none",
        default: "english",
        help: "words to leave out of text",
    },
    OptionSpec {
        name: "min-df",
        value: "N|SHARE",
        default: "1",
        help: "leave words out of text that are in fewer documents; 0.01 is a share of them",
    },
    OptionSpec {
        name: "max-df",
        value: "N|SHARE",
        default: "1.0",
        help: "leave words out of text that are in more documents; 0.5 is a share of them",
    },
    OptionSpec {
        name: "held-out",
        value: "FILE|N|none",
        default: "the .test file or heldout.txt beside the data, or else 10",
        help: "documents to measure on: their numbers in a file (from 1), or every Nth, 2 or more",
    },
];

impl CorpusOptions {
    /// Checks options as text; absent ones take their defaults.
    ///
    /// # Errors
    /// [`Error::Option`] names the first bad value and its rule.
    pub fn parse(options: &BTreeMap<String, String>) -> Result<Self, Error> {
        let text = |name: &str| options.get(name).map(String::as_str);
        let format = text("format")
            .map(|value| value.parse().map_err(|()| refuse("format", value, CorpusFormat::RULE)));
        let frequency = |name: &str| {
            let parse =
                |value: &str| value.parse().map_err(|()| refuse(name, value, DocumentFrequency::RULE));
            text(name).map(parse).transpose()
        };
        let words = TextOptions {
            stop_words: text("stop-words").map(StopWords::of),
            min_df: frequency("min-df")?,
            max_df: frequency("max-df")?,
        };
        Ok(Self {
            format: format.transpose()?,
            vocabulary: text("vocab").map(PathBuf::from),
            text: words,
            held_out: text("held-out").map_or(Ok(HeldOut::Auto), HeldOut::parse)?,
            test: None,
            threads: 0,
        })
    }

    /// Refuses options that say nothing about data of this format.
    pub(super) fn check_format(
        &self,
        path: &Path,
        format: CorpusFormat,
        directory: bool,
    ) -> Result<(), Error> {
        if directory && self.format.is_some_and(|told| told != CorpusFormat::Text) {
            let problem = "a directory, which can only be text with a file for each document; give a file";
            return Err(Error::Data { path: path.to_path_buf(), problem: problem.into() });
        }
        let given = |is: bool, name| is.then_some(name);
        let TextOptions { stop_words, min_df, max_df } = &self.text;
        let stray = if format == CorpusFormat::Text {
            given(self.vocabulary.is_some(), "--vocab")
        } else {
            given(stop_words.is_some(), "--stop-words")
                .or(given(min_df.is_some(), "--min-df"))
                .or(given(max_df.is_some(), "--max-df"))
        };
        match stray {
            None => Ok(()),
            Some(option) => {
                let problem =
                    format!("the data is {format}, which has no use for {option}; drop it, or say --format");
                Err(Error::Data { path: path.to_path_buf(), problem })
            }
        }
    }
}
