//! The page of `--html`: `page.html` with the data of a model in its place.
//!
//! The data is JSON in a script element that is no script. Every `<` in it is written `\u003c`, so that no word can end the
//! element; the page itself puts words in as text only.

use serde_json::json;
use slackline_apps::lda::explore::Picture;

const TEMPLATE: &str = include_str!("page.html");
/// Where the data goes.
const PLACE: &str = "{{data}}";

/// The page, in the order to write.
pub(super) fn parts(name: &str, picture: &Picture, lambda: f64) -> [String; 3] {
    let (before, after) = TEMPLATE.split_once(PLACE).expect("the template has a place for the data");
    let data = json!({"name": name, "lambda": lambda, "picture": picture}).to_string();
    [before.to_owned(), data.replace('<', "\\u003c"), after.to_owned()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use slackline_apps::lda::explore::TopicModel;

    #[test]
    fn no_word_can_end_the_data_and_all_come_back() {
        let words = ["</script><script>alert(1)</script>", "<!--", "\"'&\u{2028}日本 \\"];
        let model = TopicModel {
            topic_word: ndarray::arr2(&[[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]]),
            alpha: vec![0.5, 0.25],
            words: words.map(str::to_owned).into(),
            topic_tokens: vec![3, 5],
            word_tokens: vec![4, 2, 2],
        };
        let [before, data, after] = parts("a<b", &Picture::of(&model, 30), 0.6);
        assert!(before.ends_with("<script id=\"data\" type=\"application/json\">") && !data.contains('<'));
        assert!(after.starts_with("</script>") && !before.contains("://") && !after.contains("src="));
        let data: serde_json::Value = serde_json::from_str(&data).unwrap();
        let found = data["picture"]["words"].as_array().unwrap().iter();
        assert_eq!(found.map(|entry| entry["word"].as_str().unwrap()).collect::<Vec<_>>(), words);
        assert_eq!(data["name"].as_str(), Some("a<b"));
    }
}
