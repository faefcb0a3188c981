//! What stands between the fields of a line of ratings.

use std::fmt;

use crate::data::scan::is_blank;

/// What stands between user, item and rating.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Separator {
    /// A tab.
    Tab,
    /// Two colons, as in MovieLens 1M.
    Colons,
    /// A semicolon.
    Semicolon,
    /// A comma.
    Comma,
    /// Spaces or tabs, any number of them.
    Blanks,
}

impl Separator {
    /// In the order in which they are tried.
    pub(super) const ALL: [Self; 5] = [Self::Tab, Self::Colons, Self::Semicolon, Self::Comma, Self::Blanks];

    /// The first N fields of a line, and how many there are if they are less.
    pub(super) fn fields<const N: usize>(self, line: &[u8]) -> Result<[&[u8]; N], usize> {
        let mut fields: [&[u8]; N] = [&[]; N];
        let mut rest = Some(line.trim_ascii());
        for (n, field) in fields.iter_mut().enumerate() {
            let Some(text) = rest else { return Err(n) };
            (*field, rest) = self.split(text);
        }
        Ok(fields)
    }

    /// The first field without blanks and quotes around it, and what follows its separator.
    fn split(self, text: &[u8]) -> (&[u8], Option<&[u8]>) {
        let quoted = text.first() == Some(&b'"');
        let closing = if quoted { memchr::memchr(b'"', &text[1..]).map(|n| n + 1) } else { None };
        let from = closing.map_or(0, |n| n + 1);
        let Some(end) = self.find(&text[from..]).map(|n| from + n) else {
            return (unquoted(text), None);
        };
        let rest = match self {
            Self::Blanks => text[end..].trim_ascii_start(),
            Self::Colons => &text[end + 2..],
            _ => &text[end + 1..],
        };
        let rest = if self == Self::Tab || self == Self::Blanks { rest } else { rest.trim_ascii_start() };
        (unquoted(&text[..end]), Some(rest))
    }

    fn find(self, text: &[u8]) -> Option<usize> {
        match self {
            Self::Tab => text.iter().position(|&byte| byte == b'\t'),
            Self::Colons => text.windows(2).position(|pair| pair == b"::"),
            Self::Semicolon => text.iter().position(|&byte| byte == b';'),
            Self::Comma => text.iter().position(|&byte| byte == b','),
            Self::Blanks => text.iter().position(|&byte| is_blank(byte)),
        }
    }
}

fn unquoted(field: &[u8]) -> &[u8] {
    let field = field.trim_ascii();
    field.strip_prefix(b"\"").and_then(|field| field.strip_suffix(b"\"")).unwrap_or(field)
}

impl fmt::Display for Separator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tab => "tabs",
            Self::Colons => "::",
            Self::Semicolon => "semicolons",
            Self::Comma => "commas",
            Self::Blanks => "spaces",
        })
    }
}
