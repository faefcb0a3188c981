//! Reads numbers out of a line of bytes, and says what is wrong in words.
//!
//! Numbers are read by `fast-float2`, which rounds as `str::parse` does, to the last bit, and works on bytes.

/// A place in a line.
#[derive(Clone, Copy)]
pub(super) struct Scan<'a> {
    line: &'a [u8],
    at: usize,
}

impl<'a> Scan<'a> {
    /// Starts at the first byte that is not blank.
    pub(super) fn new(line: &'a [u8]) -> Self {
        let mut scan = Self { line, at: 0 };
        scan.skip_blanks();
        scan
    }

    /// The byte here, if the line goes on.
    #[inline]
    pub(super) fn peek(&self) -> Option<u8> {
        self.line.get(self.at).copied()
    }

    /// Goes on by one byte.
    #[inline]
    pub(super) fn step(&mut self) {
        self.at += 1;
    }

    /// Goes past spaces, tabs and the `\r` of a line from Windows.
    #[inline]
    pub(super) fn skip_blanks(&mut self) {
        while self.peek().is_some_and(is_blank) {
            self.at += 1;
        }
    }

    /// Whether nothing or a comment follows.
    #[inline]
    pub(super) fn at_end(&self, comment: u8) -> bool {
        self.peek().is_none_or(|byte| byte == comment)
    }

    /// Goes past `text` if it comes next.
    #[inline]
    pub(super) fn accept(&mut self, text: &[u8]) -> bool {
        let found = self.line[self.at..].starts_with(text);
        self.at += if found { text.len() } else { 0 };
        found
    }

    /// A finite number that ends at a blank, at the end of the line or before a comment.
    #[inline]
    pub(super) fn real(&mut self) -> Result<f64, String> {
        let rest = &self.line[self.at..];
        match fast_float2::parse_partial::<f64, _>(rest) {
            Ok((value, n)) if value.is_finite() && ends_number(rest.get(n)) => {
                self.at += n;
                Ok(value)
            }
            _ => Err(self.bad_number()),
        }
    }

    /// Digits, at most `u32::MAX`; stops at the first byte that is none.
    #[inline]
    pub(super) fn index(&mut self) -> Result<u32, String> {
        let start = self.at;
        let mut value = 0_u64;
        while let Some(digit) = self.peek().map(|byte| byte.wrapping_sub(b'0')).filter(|&digit| digit < 10) {
            value = value * 10 + u64::from(digit);
            if value > u64::from(u32::MAX) {
                self.at = start;
                return Err(format!(
                    "column {} is too large, at most {} is possible",
                    self.token(),
                    u32::MAX
                ));
            }
            self.at += 1;
        }
        if self.at == start {
            return Err(self.bad_index());
        }
        Ok(value as u32) // checked above
    }

    /// What is here, up to the next blank, for a message.
    pub(super) fn token(&self) -> String {
        let rest = &self.line[self.at..];
        let end = rest.iter().position(|&byte| is_blank(byte)).unwrap_or(rest.len());
        excerpt(&rest[..end])
    }

    #[cold]
    fn bad_number(&self) -> String {
        bad_number(&self.token())
    }

    #[cold]
    fn bad_index(&self) -> String {
        let token = self.token();
        let negative = token.starts_with('-') && token[1..].starts_with(|c: char| c.is_ascii_digit());
        if negative {
            format!("column {token} is negative, columns count from 0 or 1")
        } else {
            format!("{token} is not a column number, expected column:value")
        }
    }
}

/// Why a token was not taken as a number.
pub(super) fn bad_number(token: &str) -> String {
    if token.is_empty() {
        return "a number is missing; the line may be cut short".to_string();
    }
    match token.parse::<f64>() {
        Ok(_) => format!("{token} is not a finite number; drop the line or put a number in its place"),
        Err(_) => format!("{token} is not a number"),
    }
}

/// Bytes as text for a message, cut when they are many.
pub(super) fn excerpt(bytes: &[u8]) -> String {
    const MOST: usize = 40;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * MOST)]);
    let mut short: String = text.chars().take(MOST).flat_map(char::escape_debug).collect();
    if text.chars().nth(MOST).is_some() {
        short.push('…');
    }
    short
}

#[inline]
pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

#[inline]
fn ends_number(byte: Option<&u8>) -> bool {
    byte.is_none_or(|&byte| is_blank(byte) || byte == b'#' || byte == b'%')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn same_as_std(text: &str) {
        let ours = Scan::new(text.as_bytes()).real().ok().map(f64::to_bits);
        let std = text.parse::<f64>().ok().filter(|value| value.is_finite()).map(f64::to_bits);
        assert_eq!(ours, std, "{text}");
    }

    #[test]
    fn odd_numbers_are_read_as_the_standard_library_reads_them() {
        let odd = "0 -0 +1 1. .5 -.5 . + - e5 1e 1e+ 1e5 1E-5 1e400 -1e400 1e-400 4.9e-324 2.4e-324 nan inf -inf \
                   infinity NaN 0x10 1_000 1,5 00012 9007199254740993 -0.5790999999999999 179769313486231580793e289 \
                   0.1000000000000000055511151231257827021181583404541015625 1e22 1e23 8.5e15 1f 1d0 ++1 --1 1-1 ١";
        for text in odd.split_whitespace() {
            same_as_std(text);
        }
    }

    proptest! {
        #[test]
        fn any_number_is_read_to_the_last_bit(bits in any::<u64>()) {
            let value = f64::from_bits(bits);
            same_as_std(&format!("{value}"));
            same_as_std(&format!("{value:e}"));
        }

        #[test]
        fn any_digits_are_read_to_the_last_bit(text in "[+-]?[0-9]{0,25}(\\.[0-9]{0,25})?([eE][+-]?[0-9]{1,3})?") {
            same_as_std(&text);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = Scan::new(&bytes).real();
            let _ = Scan::new(&bytes).index();
        }
    }

    #[test]
    fn a_message_shows_a_long_or_binary_token_in_part() {
        assert_eq!(excerpt("é".repeat(100).as_bytes()), format!("{}…", "é".repeat(40)));
        assert_eq!(excerpt(b"a\0\x1B"), "a\\0\\u{1b}");
    }
}
