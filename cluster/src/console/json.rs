//! News as JSON, one object a line, for programs that start a run and follow it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use slackline_apps::catalog::News;

use crate::run_directory::progress_json;

/// Reading is reported at most once in this time, and at its end.
const BETWEEN: Duration = Duration::from_secs(1);

/// Turns news into lines; every line has the key `event`.
#[derive(Default)]
pub(crate) struct JsonLines {
    /// When reading was last reported.
    reading: Option<Instant>,
}

impl JsonLines {
    /// The line for this news, if it is worth one.
    pub(crate) fn tell(&mut self, news: &News, now: Instant) -> Option<String> {
        let object = match news {
            News::Fact(fact) => json!({"event": "fact", "fact": fact}),
            News::Warning(warning) => json!({"event": "warning", "warning": warning}),
            News::Resumed { path, seconds, .. } => {
                json!({"event": "resumed", "checkpoint": path, "seconds": seconds})
            }
            News::Checkpoint { path, bytes, paused, written } => json!({
                "event": "checkpoint",
                "checkpoint": path,
                "bytes": bytes,
                "seconds_paused": paused,
                "seconds_written": written,
            }),
            News::Loading { read, of } => {
                if read < of && self.reading.is_some_and(|last| now.duration_since(last) < BETWEEN) {
                    return None;
                }
                self.reading = Some(now);
                json!({"event": "loading", "read": read, "of": of})
            }
            News::Progress(progress) => {
                let mut object = json!({"event": "progress"});
                object["done"] = progress.done.map_or(Value::Null, Value::from);
                merge(object, progress_json(progress))
            }
            _ => return None,
        };
        Some(object.to_string())
    }
}

/// The summary as the last line.
pub(crate) fn summary_line(summary: &Value) -> String {
    merge(json!({"event": "summary"}), summary.clone()).to_string()
}

fn merge(mut into: Value, from: Value) -> Value {
    if let (Value::Object(into), Value::Object(from)) = (&mut into, from) {
        into.extend(from);
    }
    into
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_an_object_that_names_its_event() {
        let mut json = JsonLines::default();
        let line = json.tell(&News::Loading { read: 1, of: 2 }, Instant::now()).expect("a line");
        assert_eq!(line, r#"{"event":"loading","read":1,"of":2}"#);
        let line = json.tell(&News::Progress(Default::default()), Instant::now()).expect("a line");
        assert!(line.starts_with(r#"{"event":"progress","done":null,"seconds":0.0,"clock":0"#), "{line}");
    }
}
