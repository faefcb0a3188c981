//! A cluster as its user writes it, checked: a job file with `nodes`, and what else a cluster can be told.
//!
//! The job's keys (`app`, `data`, the app's options) go the way of every job file, through [`Layer`]; the keys of the
//! cluster are read here. Every value is checked as it was written, and a refusal names file and line.

mod fields;
mod nodes;
mod rules;
mod secret;
mod tree;
mod write;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use slackline::cluster::{Timing, Tls};
use slackline_apps::catalog::{App, Checkpointing};

pub(crate) use fields::name_rule;
pub(crate) use nodes::{Address, Node, Start};
pub(crate) use rules::check_open;
pub(crate) use secret::{configured, generated};
pub(crate) use write::{Renamed, quoted, rewritten};

use crate::Error;
use crate::settings::{Layer, Settings, key_of_app};
use fields::Fields;
use tree::{Kind, Tree};

/// The keys of a topology that are none of the job's.
const KEYS: [&str; 9] =
    ["cluster", "nodes", "workers", "replicas", "checkpoint", "tls", "token-file", "timing", "stream-data"];

/// A cluster and its job.
#[derive(Debug, Clone)]
pub(crate) struct Topology {
    /// The file it was read from, as it was given.
    pub(crate) file: String,
    /// What the file holds.
    pub(crate) text: String,
    /// The cluster's name.
    pub(crate) cluster: String,
    /// Every node, in the order of the file.
    pub(crate) nodes: Vec<Node>,
    /// Which of them leads.
    lead: usize,
    /// Copies of each shard on other nodes: 0 or 1.
    pub(crate) replicas: usize,
    /// Where and how often the run is written down, if it is.
    pub(crate) checkpoint: Option<Checkpointing>,
    /// Certificates, where connections are encrypted.
    pub(crate) tls: Option<Tls>,
    /// The file with the token.
    pub(crate) token_file: Option<PathBuf>,
    /// How long to wait for what.
    pub(crate) timing: Timing,
    /// Whether the launcher sends the data to nodes on other machines.
    pub(crate) stream_data: bool,
    /// The job's keys.
    job: Layer,
}

/// Without `every`: seldom enough to cost nothing, often enough to lose little.
const EVERY: Duration = Duration::from_secs(60);

impl Topology {
    /// Reads a topology.
    ///
    /// # Errors
    /// It cannot be read, or breaks a rule: see [`Self::from_text`].
    pub(crate) fn read(path: &Path) -> Result<Self, Error> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| Error::Usage(format!("{name}: {error}")))?;
        Self::from_text(&name, &text)
    }

    /// The topology in `text`; `file` is its name in messages.
    ///
    /// # Errors
    /// A key that is not known, a value that breaks its rule, or nodes that cannot be one cluster: with file and line.
    pub(crate) fn from_text(file: &str, text: &str) -> Result<Self, Error> {
        let text = text.trim_start_matches('\u{feff}');
        let job = Layer::text(file, text)?; // refuses broken YAML and keys given twice
        let tree = Tree::read(text).map_err(|problem| Error::Usage(format!("{file}: {problem}")))?;
        let fields = top(file, &tree)?;
        let workers = fields.whole("workers", 0, nodes::MOST)?.unwrap_or(1);
        let list = fields.list("nodes")?.unwrap_or_default();
        let (nodes, lead) = nodes::read(file, list, workers)?;
        let topology = Self {
            file: file.to_owned(),
            text: text.to_owned(),
            cluster: fields.name("cluster")?.unwrap_or_else(|| name_from(file)),
            replicas: fields.whole("replicas", 0, 1)?.unwrap_or(0),
            checkpoint: checkpoint(&fields)?,
            tls: tls(&fields)?,
            token_file: fields.path("token-file")?,
            timing: timing(&fields)?,
            stream_data: fields.flag("stream-data")?.unwrap_or(false),
            job: job.without(&KEYS),
            nodes,
            lead,
        };
        rules::check(&topology, &fields)?;
        Ok(topology)
    }

    /// The node that leads.
    pub(crate) fn lead(&self) -> &Node {
        &self.nodes[self.lead]
    }

    /// The nodes that follow.
    pub(crate) fn others(&self) -> impl Iterator<Item = &Node> {
        let lead = self.lead;
        self.nodes.iter().enumerate().filter(move |(index, _)| *index != lead).map(|(_, node)| node)
    }

    /// The node of this name.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn node(&self, name: &str) -> Result<&Node, Error> {
        self.nodes.iter().find(|node| node.name == name).ok_or_else(|| {
            let names: Vec<_> = self.nodes.iter().map(|node| node.name.as_str()).collect();
            Error::Usage(format!(
                "{} has no node called {name}; its nodes are {}",
                self.file,
                names.join(", ")
            ))
        })
    }

    /// The workers of all nodes.
    pub(crate) fn workers(&self) -> usize {
        self.nodes.iter().map(|node| node.workers).sum()
    }

    /// The run directory that the file names.
    pub(crate) fn out(&self) -> Option<PathBuf> {
        self.job.text_of("out").map(PathBuf::from)
    }

    /// The job: its app and what it is told by the file and by `variables` of the environment.
    ///
    /// # Errors
    /// No app, one that is not in `apps`, or a setting that it refuses.
    pub(crate) fn job<'a>(
        &self,
        apps: &[&'a dyn App],
        variables: impl Iterator<Item = (OsString, OsString)>,
    ) -> Result<(&'a dyn App, Settings), Error> {
        let environment = Layer::environment(variables)?;
        if let Some(origin) = environment.origin_of("workers") {
            let problem = "has no say in a cluster: the topology gives each node its workers";
            return Err(Error::Usage(format!("{origin} {problem}")));
        }
        let app = self.app(apps, &environment)?;
        let mut settings = Settings::new(app, &[self.job.clone(), environment])?;
        settings.request.workers = self.workers();
        let ours = || self.checkpoint.clone();
        settings.request.checkpoint = settings.request.checkpoint.or_else(ours);
        Ok((app, settings))
    }

    fn app<'a>(&self, apps: &[&'a dyn App], environment: &Layer) -> Result<&'a dyn App, Error> {
        let Some((name, origin)) = key_of_app(&[&self.job, environment]) else {
            return Err(Error::Usage(format!("{}: the key app is missing; add app: NAME", self.file)));
        };
        crate::cli::find(apps, &name).map_err(|error| Error::Usage(format!("{origin}: {error}")))
    }
}

/// The top of the file. Its unknown keys are refused by [`Topology::job`], which knows the app's.
fn top<'a>(file: &'a str, tree: &'a Tree) -> Result<Fields<'a>, Error> {
    let Kind::Mapping(entries) = &tree.kind else {
        return Err(Error::Usage(format!("{file} is not a mapping of keys to values")));
    };
    let keys: Vec<&str> = entries.iter().map(|entry| entry.key.as_str()).collect();
    let meant = entries.iter().find(|entry| slackline_apps::nearest(&entry.key, KEYS) == Some("nodes"));
    match (keys.contains(&"nodes"), meant) {
        (true, _) => Fields::new(file, "a topology", tree, &keys),
        (false, Some(entry)) => {
            let problem = format!("{} is not a key of a topology; did you mean nodes?", entry.key);
            Err(fields::at(file, entry.line, &problem))
        }
        (false, None) => {
            let problem = "has no nodes: add `nodes:`, and a line `  - name: NAME` for each process";
            Err(Error::Usage(format!("{file} {problem}")))
        }
    }
}

/// A cluster is called as its file is, unless it says otherwise.
fn name_from(file: &str) -> String {
    let stem = Path::new(file).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let stem = stem.unwrap_or_default();
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') { c } else { '-' };
    let name: String = stem.chars().take(63).map(plain).collect();
    if name_rule(&name).is_none() { name } else { "slackline".to_owned() }
}

/// As a mapping, or as in a job file.
fn checkpoint(fields: &Fields<'_>) -> Result<Option<Checkpointing>, Error> {
    let made = |directory, every: Option<Duration>| Checkpointing {
        directory,
        every: every.unwrap_or(EVERY),
        resume: false,
    };
    if fields.is_plain("checkpoint") {
        let directory = fields.path("checkpoint")?;
        let every = fields.duration("checkpoint-every")?;
        return Ok(directory.map(|directory| made(directory, every)));
    }
    let Some(inner) = fields.mapping("checkpoint", "checkpoint", &["directory", "every"])? else {
        return Ok(None);
    };
    match inner.path("directory")? {
        Some(directory) => Ok(Some(made(directory, inner.duration("every")?))),
        None => Err(fields.problem("checkpoint", "checkpoint has no directory: add `directory: DIR`")),
    }
}

fn tls(fields: &Fields<'_>) -> Result<Option<Tls>, Error> {
    const PARTS: [&str; 3] = ["certificate", "key", "authority"];
    let Some(inner) = fields.mapping("tls", "tls", &PARTS)? else { return Ok(None) };
    let path = |part: &str| {
        let missing = || fields.problem("tls", &format!("tls has no {part}: add `{part}: FILE` (PEM)"));
        inner.path(part)?.ok_or_else(missing)
    };
    Ok(Some(Tls { certificate: path("certificate")?, key: path("key")?, authority: path("authority")? }))
}

fn timing(fields: &Fields<'_>) -> Result<Timing, Error> {
    let usual = Timing::default();
    let Some(inner) = fields.mapping("timing", "timing", &["pulse", "dead", "patience"])? else {
        return Ok(usual);
    };
    let timing = Timing {
        pulse: inner.duration("pulse")?.unwrap_or(usual.pulse),
        dead: inner.duration("dead")?.unwrap_or(usual.dead),
        patience: inner.duration("patience")?.unwrap_or(usual.patience),
        ..usual
    };
    if timing.dead < 2 * timing.pulse {
        let rule = format!("at least twice the pulse, which is {:?}", timing.pulse);
        return Err(inner.refuse("dead", &format!("{:?}", timing.dead), &rule));
    }
    Ok(timing)
}

#[cfg(test)]
mod tests;
