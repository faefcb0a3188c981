//! Words that say nothing about what a text is about.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use rustc_hash::FxBuildHasher;

use super::tokens::each_word;
use crate::Error;
use crate::data::text::read_lines;

/// Words that are left out of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum StopWords {
    /// A list of common English function words.
    #[default]
    English,
    /// None.
    None,
    /// Those of a file: words between blanks or line ends.
    File(PathBuf),
}

/// A set of words.
pub(super) type Words = HashSet<Box<str>, FxBuildHasher>;

impl StopWords {
    /// `english`, `none`, or the path of a file.
    pub(in crate::data::corpus) fn of(text: &str) -> Self {
        match text {
            "english" => Self::English,
            "none" => Self::None,
            path => Self::File(path.into()),
        }
    }

    /// The words, cut and in lower case as those of the text are.
    pub(super) fn words(&self) -> Result<Words, Error> {
        match self {
            Self::English => Ok(ENGLISH.split_ascii_whitespace().map(Into::into).collect()),
            Self::None => Ok(Words::default()),
            Self::File(path) => read(path),
        }
    }
}

fn read(path: &Path) -> Result<Words, Error> {
    let (mut words, mut buffer) = (Words::default(), String::new());
    for line in read_lines(path)? {
        each_word(&line, &mut buffer, |word| {
            words.insert(word.into());
        });
    }
    if words.is_empty() {
        let problem =
            "no words of two letters or more in the file, expected stop words; --stop-words none uses none";
        return Err(Error::Data { path: path.to_path_buf(), problem: problem.into() });
    }
    Ok(words)
}

/// Articles, pronouns, prepositions, conjunctions, auxiliary verbs, common adverbs and numerals, and what is left of
/// contractions when they are cut at the apostrophe. Single letters are no words anyway.
const ENGLISH: &str = "\
    about above across after afterwards again against ago all almost alone along already also although \
    always am amid among amongst an and another any anybody anyhow anyone anything anyway anywhere are aren \
    around as at away back be became because become becomes becoming been before beforehand behind being \
    below beneath beside besides between beyond both but by came can cannot cant come comes coming could \
    couldn despite did didn do does doesn doing don done down due during each eg eight either eleven else \
    elsewhere enough especially etc even ever every everybody everyone everything everywhere except few \
    fifteen fifth fifty first five for former formerly forty four fourth from further furthermore gave get \
    gets getting give given gives go goes going gone got gotten had hadn half hardly has hasn have haven \
    having he hello hence her here hereby herein hers herself hi him himself his how however hundred ie if \
    in indeed inside instead into is isn it its itself just keep keeps kept knew know known knows last \
    lately later latter least less let lets like likely ll ltd made mainly make makes making many may maybe \
    me meanwhile merely might mightn mine more moreover most mostly mr mrs ms much must mustn my myself \
    namely near nearly needn neither never nevertheless next nine no nobody none nonetheless noone nor not \
    nothing now nowhere obviously of off often oh ok okay on once one ones only onto or other others \
    otherwise ought our ours ourselves out outside over own particularly per perhaps please possibly \
    probably put quite rather re really recently regarding said same saw say saying says second see seem \
    seemed seeming seems seen several shall shan she should shouldn since six sixty so some somebody somehow \
    someone something sometime sometimes somewhat somewhere soon still such take taken takes taking ten than \
    that the their theirs them themselves then thence there thereafter thereby therefore therein thereupon \
    these they third thirty this those though thousand three through throughout thru thus till to together \
    too took toward towards tried tries try trying twelve twenty twice two under unless unlike unlikely \
    until up upon us use used uses using usually various ve versus very via viz vs was wasn way we well went \
    were weren what whatever when whence whenever where whereas whereby wherein wherever whether which \
    whichever while whither who whoever whole whom whose why will with within without won would wouldn yes \
    yet you your yours yourself yourselves";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_english_words_are_words_each_once() {
        let words: Vec<&str> = ENGLISH.split_ascii_whitespace().collect();
        assert!(words.is_sorted_by(|a, b| a < b), "sorted and distinct");
        let mut again = Vec::new();
        each_word(ENGLISH, &mut String::new(), |word| again.push(word.to_owned()));
        assert_eq!(words, again);
    }
}
