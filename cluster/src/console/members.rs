//! What happens to the nodes of a cluster, as a sentence and as JSON.

use serde_json::{Value, json};
use slackline::cluster::MemberNews;

/// News as a sentence, if it is worth one in a log.
pub(super) fn sentence(news: &MemberNews) -> Option<String> {
    match news {
        MemberNews::Came(node) => Some(format!("node {node} has come")),
        MemberNews::Left(node) => Some(format!("node {node} has left")),
        MemberNews::Lost { node, why, remedy } => Some(format!("node {node} is lost ({why}): {remedy}")),
        MemberNews::WaitingFor(nodes) if nodes.is_empty() => None,
        MemberNews::WaitingFor(nodes) if nodes.len() == 1 => Some(format!("waiting for node {}", nodes[0])),
        MemberNews::WaitingFor(nodes) => Some(format!("waiting for nodes {}", nodes.join(", "))),
        MemberNews::KeptBackLost { workers } => Some(format!(
            "small updates that {workers} workers kept back are lost: of each page at most the error that bounded_error \
             allows, for each of them"
        )),
        _ => None, // loading moves a bar
    }
}

/// News as an object; `text` is its sentence.
pub(super) fn object(news: &MemberNews) -> Value {
    let mut object = match news {
        MemberNews::Came(node) => json!({"event": "member", "change": "came", "node": node}),
        MemberNews::Left(node) => json!({"event": "member", "change": "left", "node": node}),
        MemberNews::Lost { node, why, remedy } => {
            json!({"event": "member", "change": "lost", "node": node, "why": why, "remedy": remedy})
        }
        MemberNews::Loading(node, share) => {
            json!({"event": "member", "change": "loading", "node": node, "share": share})
        }
        MemberNews::WaitingFor(nodes) => json!({"event": "member", "change": "waiting", "nodes": nodes}),
        MemberNews::KeptBackLost { workers } => {
            json!({"event": "member", "change": "kept_back_lost", "workers": workers})
        }
        _ => json!({"event": "member"}),
    };
    if let Some(text) = sentence(news) {
        object["text"] = text.into();
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_says_who_why_and_what_is_done() {
        let news = MemberNews::Lost {
            node: "b".into(),
            why: "nothing heard for 2 s".into(),
            remedy: "its parts are handed out again".into(),
        };
        let text = "node b is lost (nothing heard for 2 s): its parts are handed out again";
        assert_eq!(sentence(&news).as_deref(), Some(text));
        assert_eq!(
            (object(&news)["text"].as_str(), object(&news)["change"].as_str()),
            (Some(text), Some("lost"))
        );
        assert_eq!(
            sentence(&MemberNews::WaitingFor(vec!["b".into(), "c".into()])).unwrap(),
            "waiting for nodes b, c"
        );
    }
}
