//! `summary.json`: what was trained, with which settings, how long it took and how good it is.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};
use slackline_apps::catalog::{Request, Trained};

use super::SUMMARY;
use crate::Error;

/// Wall-clock seconds of the whole run.
pub(crate) struct Seconds {
    /// From the start of the process to its result, reading and evaluation included.
    pub(crate) total: f64,
}

/// The summary of a run.
pub(crate) fn summary(app: &str, request: &Request, trained: &Trained, seconds: &Seconds) -> Value {
    let mut summary = json!({
        "app": app,
        "version": env!("CARGO_PKG_VERSION"),
        "seconds": {
            "load": trained.load_seconds,
            "train": trained.train_seconds,
            "total": seconds.total,
        },
        "clocks": trained.clocks,
        "objective": trained.objective,
        "metrics": trained.metrics,
        "traffic": traffic(&trained.workers),
        "config": config(request, trained),
        "workers": trained.workers,
    });
    if trained.stopped {
        summary["stopped"] = true.into();
    }
    summary
}

/// Bytes by kind of message, over all workers. In one process they are counted from what messages carry.
fn traffic(workers: &[Value]) -> Map<String, Value> {
    let mut total: Map<String, Value> = Map::new();
    for (kind, bytes) in workers.iter().filter_map(|worker| worker["bytes"].as_object()).flatten() {
        let before = total.get(kind).and_then(Value::as_u64).unwrap_or(0);
        total.insert(kind.clone(), (before + bytes.as_u64().unwrap_or(0)).into());
    }
    total
}

/// The options that every app has, then the app's own as it checked them; an app's word counts more.
fn config(request: &Request, trained: &Trained) -> Map<String, Value> {
    let mut config = Map::new();
    config.insert("data".into(), request.data.to_string_lossy().into());
    if let Some(test) = &request.test {
        config.insert("test".into(), test.to_string_lossy().into());
    }
    config.insert("workers".into(), request.workers.into());
    config.insert("seed".into(), request.seed.into());
    for (key, value) in [("consistency", &request.consistency), ("schedule", &request.schedule)] {
        if let Some(value) = value {
            config.insert(key.into(), value.as_str().into());
        }
    }
    config.extend(trained.config.clone());
    config
}

/// Whether the run in `directory` was stopped before it was done, so that it may be replaced by the run that goes on.
pub(crate) fn was_stopped(directory: &Path) -> bool {
    let text = fs::read_to_string(directory.join(SUMMARY)).unwrap_or_default();
    serde_json::from_str::<Value>(&text).is_ok_and(|summary| summary["stopped"] == true)
}

/// The name of the app whose run is in `directory`.
///
/// # Errors
/// There is no finished run there.
pub(crate) fn app_of(directory: &Path) -> Result<String, Error> {
    let path = directory.join(SUMMARY);
    let problem = |problem: &str| Error::Run { path: path.clone(), problem: problem.into() };
    let text = fs::read_to_string(&path).map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound => {
            problem("no such file; a finished run leaves one in its --out directory")
        }
        _ => Error::File { path: path.clone(), source },
    })?;
    let summary: Value = serde_json::from_str(&text)
        .map_err(|error| problem(&format!("not the JSON that a finished run leaves: {error}")))?;
    match summary["app"].as_str() {
        Some(app) => Ok(app.to_owned()),
        None => Err(problem("does not name the app that was trained")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_has_the_keys_that_tools_read() {
        let request = Request { workers: 2, consistency: Some("ssp:3".into()), ..Request::on("a.svm") };
        let mut trained = Trained { objective: 0.5, stopped: true, ..Trained::default() };
        trained.workers = vec![json!({"bytes": {"push": 3}}), json!({"bytes": {"push": 4, "rows": 1}})];
        trained.config.insert("lambda".into(), 0.1.into());
        let summary = summary("lasso", &request, &trained, &Seconds { total: 1.0 });
        let keys: Vec<_> = summary.as_object().unwrap().keys().map(String::as_str).collect();
        let first =
            ["app", "version", "seconds", "clocks", "objective", "metrics", "traffic", "config", "workers"];
        assert_eq!(keys, [&first[..], &["stopped"]].concat());
        assert_eq!(summary["traffic"], json!({"push": 7, "rows": 1}));
        let config = json!({"data": "a.svm", "workers": 2, "seed": 0, "consistency": "ssp:3", "lambda": 0.1});
        assert_eq!(summary["config"], config);
    }
}
