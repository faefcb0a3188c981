//! Which format a file has.

use std::fmt;
use std::str::FromStr;

use crate::Error;
use crate::data::matrix_market::BANNER;
use crate::data::scan::Scan;
use crate::data::source::Source;

/// The format of a file of documents. Without being told it is found so, from the first 64 KiB:
///
/// 1. the banner of MatrixMarket, or three lines of a single whole number each: docword;
/// 2. most lines are pairs of whole numbers `word:count` behind at most one text: LDA-C if on most of these lines the
///    first number is that of the pairs, libsvm otherwise;
/// 3. most lines are three whole numbers: docword without its header, which is refused;
/// 4. anything else: text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CorpusFormat {
    /// UCI bag of words.
    Docword,
    /// MatrixMarket coordinates of documents x words.
    MatrixMarket,
    /// LDA-C of David Blei.
    LdaC,
    /// libsvm with counts as values.
    Libsvm,
    /// Plain text.
    Text,
}

impl CorpusFormat {
    /// The names that [`CorpusFormat::from_str`] knows.
    pub(super) const RULE: &str = "docword, ldac, libsvm or text";

    /// Looks at the first lines of `source`.
    pub(super) fn of(source: &mut Source) -> Result<Self, Error> {
        if source.starts_with(BANNER) {
            return Ok(Self::MatrixMarket);
        }
        source.peek_line()?;
        let head = source.head();
        let whole = memchr::memrchr(b'\n', head).map_or(head, |end| &head[..end]);
        let lines: Vec<Line> = whole.split(|&byte| byte == b'\n').map(Line::of).collect();
        let number = |line: Option<&Line>| line == Some(&Line::Numbers(1));
        let header = (0..3).all(|at| number(lines.get(at)));
        if header && !matches!(lines.get(3), Some(Line::Pairs { .. } | Line::Numbers(1))) {
            return Ok(Self::Docword);
        }
        let votes = |kind: fn(&Line) -> bool| lines.iter().filter(|line| kind(line)).count();
        let pairs = votes(|line| matches!(line, Line::Pairs { .. }));
        let (counted, triples) =
            (votes(|line| *line == Line::Pairs { counted: true }), votes(|line| *line == Line::Numbers(3)));
        let other = votes(|line| matches!(line, Line::Other | Line::Numbers(2..)));
        if pairs > other {
            return Ok(if 2 * counted > pairs { Self::LdaC } else { Self::Libsvm });
        }
        if triples > votes(|line| *line == Line::Other) + votes(|line| matches!(line, Line::Numbers(2 | 4..)))
        {
            return Err(source.data_error(
                "lines of three numbers as in docword, but without its header; put three lines before them: the numbers of \
                 documents, words and entries",
            ));
        }
        Ok(Self::Text)
    }
}

/// What a line looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Blank,
    /// So many whole numbers and nothing else.
    Numbers(usize),
    /// Pairs of whole numbers, and whether their number comes first.
    Pairs {
        counted: bool,
    },
    Other,
}

impl Line {
    fn of(line: &[u8]) -> Self {
        let line = line.split(|&byte| byte == b'#').next().unwrap_or_default();
        let mut tokens = line.split(u8::is_ascii_whitespace).filter(|token| !token.is_empty()).peekable();
        let label = tokens.next_if(|token| !token.contains(&b':'));
        let first = label.and_then(whole);
        let (mut numbers, mut pairs, mut other) = (usize::from(first.is_some()), 0, false);
        for token in tokens {
            if is_pair(token) {
                pairs += 1;
            } else if whole(token).is_some() {
                numbers += 1;
            } else {
                other |= !token.starts_with(b"qid:");
            }
        }
        match (numbers, pairs) {
            _ if other => Self::Other,
            (0, 0) if label.is_none() => Self::Blank,
            (0 | 1, 1..) => Self::Pairs { counted: first == Some(pairs) },
            (1.., 0) if first.is_some() => Self::Numbers(numbers),
            _ => Self::Other,
        }
    }
}

fn whole(token: &[u8]) -> Option<u64> {
    let digits = token.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(token).ok()?.parse().ok().filter(|_| digits)
}

/// Whether a token is a whole number, a colon and a number.
fn is_pair(token: &[u8]) -> bool {
    let Some(colon) = memchr::memchr(b':', token) else { return false };
    let (word, count) = (&token[..colon], &token[colon + 1..]);
    whole(word).is_some() && !count.is_empty() && {
        let mut scan = Scan::new(count);
        scan.real().is_ok() && scan.peek().is_none()
    }
}

impl FromStr for CorpusFormat {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "docword" => Ok(Self::Docword),
            "ldac" => Ok(Self::LdaC),
            "libsvm" => Ok(Self::Libsvm),
            "text" => Ok(Self::Text),
            _ => Err(()),
        }
    }
}

impl fmt::Display for CorpusFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Docword => "docword",
            Self::MatrixMarket => "MatrixMarket",
            Self::LdaC => "LDA-C",
            Self::Libsvm => "libsvm",
            Self::Text => "text",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_apart() {
        let counted = Line::Pairs { counted: true };
        let labelled = Line::Pairs { counted: false };
        let cases: [(&str, Line); 14] = [
            ("", Line::Blank),
            (" \r", Line::Blank),
            ("# a comment", Line::Blank),
            ("7\r", Line::Numbers(1)),
            ("1 116 1", Line::Numbers(3)),
            ("2 0:1 5:3", counted),
            ("+1 0:1 5:3", labelled),
            ("2 qid:3 4:1.5 # x", labelled),
            ("3:1 4:2", labelled),
            ("1,4 3:1 4:2", labelled),
            ("at 12:30 he came", Line::Other),
            ("a cat", Line::Other),
            ("word", Line::Other),
            ("1 2:1 x", Line::Other),
        ];
        for (line, kind) in cases {
            assert_eq!(Line::of(line.as_bytes()), kind, "{line}");
        }
    }
}
