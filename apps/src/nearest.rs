//! The known word that an unknown one was probably meant to be.

/// Below this similarity a guess would confuse more than it helps; `clap` uses the same bound for flags.
const SIMILAR: f64 = 0.7;

/// The most similar of `known`, where one is similar at all.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|candidate| (strsim::jaro(word, candidate), candidate))
        .filter(|(similarity, _)| *similarity > SIMILAR)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_finds_its_word_and_nonsense_finds_none() {
        let known = ["workers", "seed", "lambda", "lambda-ratio"];
        assert_eq!(nearest("wrokers", known), Some("workers"));
        assert_eq!(nearest("lamda_ratio", known), Some("lambda-ratio"));
        assert_eq!(nearest("Workers", known), Some("workers"));
        assert_eq!(nearest("qqq", known), None);
    }
}
