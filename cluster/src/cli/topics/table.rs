//! Topics as a table for a terminal and as JSON.

use serde_json::{Value, json};
use slackline_apps::data::grouped;
use slackline_apps::lda::explore::{RankedWord, TopicModel};
use unicode_width::UnicodeWidthStr;

use crate::console::printable;

/// Columns that are left for words on a terminal that is narrower than the table needs.
const LEAST_COLUMNS: usize = 24;
/// What stands between two columns and between two words.
const GAP: &str = "  ";

/// A topic and its words.
pub(super) type Topic = (usize, Vec<RankedWord>);

/// A line for each topic, on a terminal of `width` columns with its words wrapped.
pub(super) fn text(model: &TopicModel, topics: &[Topic], width: Option<usize>) -> String {
    let row = |(topic, words): &Topic| -> ([String; 3], Vec<String>) {
        let share = format!("{:.1} %", 100.0 * model.share(*topic));
        let cells = [topic.to_string(), share, grouped(model.topic_tokens[*topic])];
        (cells, words.iter().map(|ranked| weighted(model, ranked)).collect())
    };
    let head = ["topic", "share", "tokens"].map(str::to_owned);
    let rows: Vec<_> = topics.iter().map(row).collect();
    let mut widths = head.each_ref().map(String::len);
    for (cells, _) in &rows {
        for (width, cell) in widths.iter_mut().zip(cells) {
            *width = (*width).max(cell.len());
        }
    }
    let aligned = |cells: &[String; 3]| -> String {
        cells.iter().zip(widths).map(|(cell, width)| format!("{cell:>width$}{GAP}")).collect()
    };
    let indent = widths.iter().sum::<usize>() + 3 * GAP.len();
    let room = width.map_or(usize::MAX, |width| width.saturating_sub(indent).max(LEAST_COLUMNS));
    let mut lines = vec![aligned(&head) + "words"];
    for (cells, words) in &rows {
        let start = std::iter::once(aligned(cells)).chain(std::iter::repeat(" ".repeat(indent)));
        lines.extend(
            start.zip(wrapped(words, room)).map(|(start, line)| (start + &line).trim_end().to_owned()),
        );
    }
    lines.join("\n")
}

/// A topic with all that is known of it.
pub(super) fn json(model: &TopicModel, topic: usize, words: &[RankedWord]) -> Value {
    let word = |ranked: &RankedWord| {
        json!({
            "word": model.words[ranked.word],
            "weight": ranked.weight,
            "relevance": ranked.relevance,
            "tokens": model.word_tokens[ranked.word],
        })
    };
    json!({
        "topic": topic,
        "share": model.share(topic),
        "tokens": model.topic_tokens[topic],
        "alpha": model.alpha[topic],
        "words": words.iter().map(word).collect::<Vec<_>>(),
    })
}

/// `ship 0.0312`: a word and its probability in the topic, with three digits.
fn weighted(model: &TopicModel, ranked: &RankedWord) -> String {
    let (word, weight) = (printable(&model.words[ranked.word]), ranked.weight);
    if weight < 1e-5 {
        return format!("{word} {weight:.2e}");
    }
    let decimals = (2.0 - weight.log10().floor()) as usize;
    format!("{word} {weight:.decimals$}")
}

/// Words joined to lines of at most `room` columns; a word that is wider has a line of its own.
fn wrapped(words: &[String], room: usize) -> Vec<String> {
    let (mut lines, mut line, mut taken) = (Vec::new(), String::new(), 0);
    for word in words {
        let columns = word.width();
        if taken > 0 && taken + GAP.len() + columns > room {
            lines.push(std::mem::take(&mut line));
            taken = 0;
        }
        if taken > 0 {
            line.push_str(GAP);
            taken += GAP.len();
        }
        line.push_str(word);
        taken += columns;
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model() -> TopicModel {
        TopicModel {
            topic_word: ndarray::arr2(&[[0.5, 0.25, 0.2499997, 3e-7], [0.25; 4]]),
            alpha: vec![0.5, 0.25],
            words: ["ship", "日本", "a\u{1b}[2J", "x"].map(str::to_owned).into(),
            topic_tokens: vec![1234, 5],
            word_tokens: vec![600, 300, 338, 1],
        }
    }

    fn ranked(words: &[usize]) -> Vec<RankedWord> {
        let of = |&word: &usize| RankedWord { word, weight: model().topic_word[[0, word]], relevance: -1.0 };
        words.iter().map(of).collect()
    }

    #[test]
    fn a_topic_is_a_line_and_what_would_move_the_cursor_is_spelled_out() {
        let text = text(&model(), &[(0, ranked(&[0, 1, 2, 3])), (1, ranked(&[0]))], None);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "topic   share  tokens  words");
        assert_eq!(lines[1], r"    0  99.6 %   1,234  ship 0.500  日本 0.250  a\u{1b}[2J 0.250  x 3.00e-7");
        assert_eq!(lines[2], "    1   0.4 %       5  ship 0.500");
    }

    #[test]
    fn words_are_wrapped_by_the_columns_they_take() {
        let text = text(&model(), &[(0, ranked(&[0, 1, 0]))], Some(46));
        let lines: Vec<_> = text.lines().skip(1).collect();
        assert_eq!(lines, ["    0  99.6 %   1,234  ship 0.500  日本 0.250", &format!("{:23}ship 0.500", "")]);
        assert_eq!(lines[0].width(), 45);
    }

    #[test]
    fn json_has_words_as_they_are() {
        let object = json(&model(), 0, &ranked(&[2]));
        assert_eq!((object["tokens"].as_u64(), object["alpha"].as_f64()), (Some(1234), Some(0.5)));
        assert_eq!(object["words"][0]["word"].as_str(), Some("a\u{1b}[2J"));
        assert_eq!(object["words"][0]["tokens"].as_u64(), Some(338));
    }
}
