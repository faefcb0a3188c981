//! What the nodes say, read back from their lines.

use std::collections::BTreeMap;

use serde_json::Value;
use slackline_apps::catalog::{News, Progress};

/// A line that a node printed.
#[derive(Debug)]
pub(super) enum Heard {
    /// It listens on this address, as this process.
    Listening(String),
    /// News of the run.
    News(News),
    /// How far a node is with its data.
    Loading(String, f64),
    /// Something about a member, as a sentence.
    Member(Option<String>),
    /// The result.
    Summary(Value),
    /// None of ours.
    Other,
}

impl Heard {
    pub(super) fn read(line: &str) -> Self {
        let Ok(object) = serde_json::from_str::<Value>(line) else { return Self::Other };
        let text = |key: &str| object[key].as_str().map(str::to_owned);
        match object["event"].as_str() {
            Some("listening") => Self::Listening(text("listening").unwrap_or_default()),
            Some("fact") => Self::News(News::Fact(text("fact").unwrap_or_default())),
            Some("warning") => Self::News(News::Warning(text("warning").unwrap_or_default())),
            Some("resumed") => Self::News(News::Resumed {
                path: text("checkpoint").unwrap_or_default().into(),
                seconds: object["seconds"].as_f64().unwrap_or_default(),
                history: Vec::new(),
            }),
            Some("loading") => {
                let number = |key: &str| object[key].as_u64().unwrap_or_default();
                Self::News(News::Loading { read: number("read"), of: number("of") })
            }
            Some("progress") => Self::News(News::Progress(progress(&object))),
            Some("member") if object["change"] == "loading" => {
                Self::Loading(text("node").unwrap_or_default(), object["share"].as_f64().unwrap_or_default())
            }
            Some("member") => Self::Member(text("text")),
            Some("summary") => Self::Summary(object),
            _ => Self::Other,
        }
    }
}

fn progress(object: &Value) -> Progress {
    const NAMED: [&str; 7] = ["event", "done", "seconds", "clock", "epoch", "objective", "staleness"];
    let number = |key: &str| object[key].as_f64().unwrap_or(f64::NAN);
    let metrics = object.as_object().into_iter().flatten();
    let metrics = metrics.filter(|(key, _)| !NAMED.contains(&key.as_str()));
    Progress {
        seconds: number("seconds"),
        clock: object["clock"].as_u64().unwrap_or_default(),
        epoch: number("epoch"),
        objective: number("objective"),
        done: object["done"].as_f64(),
        staleness: object["staleness"].as_u64().unwrap_or_default(),
        metrics: metrics.map(|(key, value)| (key.clone(), value.as_f64().unwrap_or(f64::NAN))).collect(),
    }
}

/// How far the slowest node is with its data.
#[derive(Default)]
pub(super) struct Loading(BTreeMap<String, f64>);

impl Loading {
    /// The whole cluster's loading as one piece of news.
    pub(super) fn update(&mut self, node: &str, share: f64) -> News {
        const WHOLE: f64 = 1000.0;
        self.0.insert(node.to_owned(), share.clamp(0.0, 1.0));
        let slowest = self.0.values().copied().fold(1.0, f64::min);
        News::Loading { read: (slowest * WHOLE) as u64, of: WHOLE as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_reads_as_it_was_written() {
        let line = r#"{"event":"progress","done":0.5,"seconds":1.5,"clock":7,"epoch":2.0,"objective":0.25,"staleness":1,"gap":0.1}"#;
        let Heard::News(News::Progress(progress)) = Heard::read(line) else { panic!() };
        assert_eq!((progress.clock, progress.objective, progress.done), (7, 0.25, Some(0.5)));
        assert_eq!(progress.metrics, [("gap".to_owned(), 0.1)]);
        assert!(matches!(Heard::read("thread panicked"), Heard::Other));
        assert!(matches!(
            Heard::read(r#"{"event":"member","change":"lost","text":"x"}"#),
            Heard::Member(Some(_))
        ));
    }

    #[test]
    fn the_slowest_node_says_how_far_all_are() {
        let mut loading = Loading::default();
        loading.update("a", 0.9);
        let News::Loading { read, of } = loading.update("b", 0.25) else { panic!() };
        assert_eq!((read, of), (250, 1000));
    }
}
