//! Numbers, durations and tables as people read them.

use std::borrow::Cow;

/// Six significant digits, without trailing zeros.
pub(crate) fn number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.abs().to_string().replace("inf", if value < 0.0 { "-inf" } else { "inf" });
    }
    let magnitude = value.abs().log10().floor();
    if !(-4.0..9.0).contains(&magnitude) {
        return format!("{value:.3e}");
    }
    let decimals = (5.0 - magnitude).max(0.0) as usize;
    let text = format!("{value:.decimals$}");
    if decimals == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').to_owned() }
}

/// `0.3 s`, `12 s`, `3 min 20 s`, `2 h 05 min`.
pub(crate) fn duration(seconds: f64) -> String {
    let whole = seconds.round().max(0.0) as u64;
    match whole {
        0..10 => format!("{seconds:.1} s"),
        10..60 => format!("{whole} s"),
        60..3600 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3600, whole / 60 % 60),
    }
}

/// A text from a file as a terminal may show it: what would move the cursor or change a colour is spelled out.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return text.into();
    }
    let shown = |c: char| if c.is_control() { c.escape_unicode().to_string() } else { c.to_string() };
    text.chars().map(shown).collect::<String>().into()
}

/// Two columns, the second one aligned.
pub(crate) fn table(rows: &[(String, String)]) -> String {
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    rows.iter().map(|(name, value)| format!("{name:<width$}  {value}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_six_digits_and_no_trailing_zeros() {
        let shown = [0.0, 37.0, 0.512345678, 123456789.0, 1.5e-7, -2.5, f64::NAN, f64::NEG_INFINITY];
        let expected = ["0", "37", "0.512346", "123456789", "1.500e-7", "-2.5", "NaN", "-inf"];
        assert_eq!(shown.map(number), expected);
    }

    #[test]
    fn durations_read_like_speech() {
        assert_eq!([0.26, 12.4, 200.0, 7500.0].map(duration), ["0.3 s", "12 s", "3 min 20 s", "2 h 05 min"]);
    }
}
