//! The fields of a line of a table: what separates them, and what is a number.

use super::super::scan::{bad_number, excerpt, is_blank};

/// What stands between two fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Separator {
    /// One such byte: a comma, a semicolon or a tab.
    Byte(u8),
    /// Any blanks.
    Blanks,
}

/// Whether a file with this head is libsvm text: among its first lines is one with `column:value`.
pub(super) fn looks_like_libsvm(head: &[u8]) -> bool {
    let pair = |token: &[u8]| {
        let colon = memchr::memchr(b':', token);
        colon.is_some_and(|at| at > 0 && token[..at].iter().all(u8::is_ascii_digit) && at + 1 < token.len())
    };
    let blank = |byte: &u8| is_blank(*byte);
    let lines = head.split(|byte| *byte == b'\n').filter(|line| !line.starts_with(b"#")).take(20);
    lines.into_iter().any(|line| line.split(blank).skip_while(|token| token.is_empty()).take(3).any(pair))
}

impl Separator {
    /// The separator of a table whose first line this is.
    pub(super) fn of(line: &[u8]) -> Self {
        let found = [b'\t', b',', b';'].into_iter().find(|byte| memchr::memchr(*byte, line).is_some());
        found.map_or(Self::Blanks, Self::Byte)
    }
}

/// Calls `each` with every field of a line, blanks and quotes around it taken off; ends at its first error.
pub(super) fn for_each_field<E>(
    line: &[u8],
    separator: Separator,
    mut each: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let line = trim(line);
    match separator {
        Separator::Blanks => {
            line.split(|byte| is_blank(*byte)).filter(|field| !field.is_empty()).try_for_each(each)
        }
        Separator::Byte(byte) if memchr::memchr(b'"', line).is_none() => {
            line.split(|at| *at == byte).try_for_each(|field| each(trim(field)))
        }
        Separator::Byte(byte) => {
            let (mut start, mut quoted) = (0, false);
            for (at, letter) in line.iter().enumerate() {
                quoted ^= *letter == b'"';
                if *letter == byte && !quoted {
                    each(unquoted(&line[start..at]))?;
                    start = at + 1;
                }
            }
            each(unquoted(&line[start..]))
        }
    }
}

/// A finite number of single precision.
pub(super) fn number(field: &[u8]) -> Result<f32, String> {
    match fast_float2::parse::<f64, _>(field) {
        Ok(value) if (value as f32).is_finite() => Ok(value as f32),
        Ok(value) if value.is_finite() => {
            Err(format!("{} is beyond single precision; scale the column", excerpt(field)))
        }
        _ => Err(match field {
            [] => "no number".to_owned(),
            field if field.iter().any(u8::is_ascii_alphabetic) && !is_odd(field) => {
                format!("{} is not a number; --label-column says where the label is", excerpt(field))
            }
            field => bad_number(&excerpt(field)),
        }),
    }
}

/// Whether a text is how programs write a number that is none.
pub(super) fn is_odd(text: &[u8]) -> bool {
    let odd: [&[u8]; 5] = [b"nan", b"inf", b"infinity", b"na", b"null"];
    let unsigned = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
    odd.iter().any(|word| unsigned.eq_ignore_ascii_case(word))
}

fn unquoted(field: &[u8]) -> &[u8] {
    match trim(field) {
        [b'"', inner @ .., b'"'] => inner,
        plain => plain,
    }
}

fn trim(text: &[u8]) -> &[u8] {
    let blank = |byte: &u8| *byte == b' ' || *byte == b'\r';
    let start = text.iter().position(|byte| !blank(byte)).unwrap_or(text.len());
    let end = text.iter().rposition(|byte| !blank(byte)).map_or(start, |last| last + 1);
    &text[start..end]
}
