//! What is a word of a text.
//!
//! A word is a longest run of letters, digits and the marks that combine with them (of any script, by Unicode), in lower
//! case, if it has at least two letters. So numbers, single letters and punctuation are no words, `don't` gives `don`, and
//! `state-of-the-art` gives four words. Text in a script that puts no blanks between words must be cut into words before.

/// Calls `word` with each word of `text`; `buffer` is room to work in.
pub(super) fn each_word(text: &str, buffer: &mut String, mut word: impl FnMut(&str)) {
    let mut letters = 0;
    buffer.clear();
    for c in text.chars() {
        if c.is_ascii_alphabetic() {
            buffer.push(c.to_ascii_lowercase());
            letters += 1;
        } else if c.is_ascii_digit() {
            buffer.push(c);
        } else if !c.is_ascii() && (c.is_alphanumeric() || is_mark(c)) {
            buffer.extend(c.to_lowercase());
            letters += usize::from(c.is_alphabetic());
        } else if c != SOFT_HYPHEN {
            if letters >= 2 {
                word(buffer);
            }
            buffer.clear();
            letters = 0;
        }
    }
    if letters >= 2 {
        word(buffer);
    }
}

/// Shows where a word may be cut, and is no part of it.
const SOFT_HYPHEN: char = '\u{AD}';

/// Whether this is a mark that combines with the letter before it but is no letter itself: accents that are characters
/// of their own, points and tone marks, signs that mute a vowel, joiners.
fn is_mark(c: char) -> bool {
    const MARKS: [(u32, u32); 28] = [
        (0x0300, 0x036F), // combining accents
        (0x0483, 0x0487), // Cyrillic
        (0x0591, 0x05C7), // Hebrew points
        (0x064B, 0x065F), // Arabic points
        (0x06DF, 0x06ED),
        (0x093C, 0x093C), // signs of the Indic scripts that mute a vowel or change a letter
        (0x094D, 0x094D),
        (0x09BC, 0x09BC),
        (0x09CD, 0x09CD),
        (0x0A3C, 0x0A3C),
        (0x0A4D, 0x0A4D),
        (0x0ABC, 0x0ABC),
        (0x0ACD, 0x0ACD),
        (0x0B3C, 0x0B3C),
        (0x0B4D, 0x0B4D),
        (0x0BCD, 0x0BCD),
        (0x0C4D, 0x0C4D),
        (0x0CCD, 0x0CCD),
        (0x0D4D, 0x0D4D),
        (0x0DCA, 0x0DCA),
        (0x0E47, 0x0E4E), // Thai and Lao tones
        (0x0EC8, 0x0ECD),
        (0x1037, 0x103A), // Burmese
        (0x17C9, 0x17D3), // Khmer
        (0x1DC0, 0x1DFF), // more accents
        (0x200C, 0x200D), // joiners
        (0xFE00, 0xFE0F), // variants of a character
        (0xFE20, 0xFE2F), // accents in halves
    ];
    MARKS.iter().any(|&(first, last)| (first..=last).contains(&u32::from(c)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let (mut buffer, mut words) = (String::new(), Vec::new());
        each_word(text, &mut buffer, |word| words.push(word.to_owned()));
        words
    }

    #[test]
    fn words_are_runs_of_letters_and_digits_with_two_letters_at_least() {
        assert_eq!(
            words("The U.S. don't export 30 MP3s, x86 or 1st-class (H2O)!"),
            ["the", "don", "export", "mp3s", "or", "1st", "class", "h2o"]
        );
        assert_eq!(words("\tfoo_bar  a,b;c\r"), ["foo", "bar"]);
        assert_eq!(words(""), [""; 0]);
        assert_eq!(words("42 7"), [""; 0]);
    }

    #[test]
    fn words_of_other_scripts_are_in_lower_case_and_keep_their_marks() {
        assert_eq!(words("Žluťoučký KŮŇ, ΛΌΓΟΣ"), ["žluťoučký", "kůň", "λόγοσ"]);
        assert_eq!(words("Cafe\u{301}s co\u{AD}operate"), ["cafe\u{301}s", "cooperate"]);
        assert_eq!(words("हिन्दी भाषा"), ["हिन्दी", "भाषा"]);
        assert_eq!(words("北京 大学"), ["北京", "大学"]);
        assert_eq!(words("“Straße”—naïve…"), ["straße", "naïve"]);
    }
}
