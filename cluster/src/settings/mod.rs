//! From what was written to what is meant: defaults, job file, environment and flags become one checked request.
//!
//! Later layers win: defaults ← YAML ← `SLACKLINE__…` ← flags. The `config` crate reads and merges them; it also
//! rounds `2.7` to 3 and passes large integers through `f64`, so every value is checked here as it was written, and
//! every refusal names the place: `job.yaml:3: workers is 2.7, must be …`.

pub(crate) mod check;
mod layer;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use config::{Config, Map, Value};
use slackline_apps::catalog::{App, Checkpointing, Request};

pub(crate) use layer::{Layer, key_of_app};

use crate::Error;

/// The keys that every app has, in a job file, in the environment (in capitals) and as flags.
pub(crate) const COMMON: [&str; 14] = [
    "data",
    "test",
    "out",
    "workers",
    "seed",
    "consistency",
    "schedule",
    "bandwidth",
    "checkpoint",
    "checkpoint-every",
    "resume",
    "audit",
    "quiet",
    "json",
];

/// The time between two checkpoints unless told otherwise.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(60);

/// Where in a run directory the audit record is.
pub(crate) const AUDIT: &str = "audit";

/// More workers than this on one machine are a typo.
const MOST_WORKERS: u64 = 1024;

/// What a training run is told, checked.
#[derive(Debug)]
pub(crate) struct Settings {
    /// What the app is told.
    pub(crate) request: Request,
    /// The run directory; the model is not kept without one.
    pub(crate) out: Option<PathBuf>,
    /// The setting that asks for an audit record, if one does.
    audited: Option<String>,
    /// Show nothing but errors.
    pub(crate) quiet: bool,
    /// Show news and the summary as JSON lines on stdout.
    pub(crate) json: bool,
}

impl Settings {
    /// Merges `layers`, later ones over earlier ones, and checks the result.
    ///
    /// # Errors
    /// A key that `app` does not have, or a value that breaks its rule.
    pub(crate) fn new(app: &dyn App, layers: &[Layer]) -> Result<Self, Error> {
        let mut builder = Config::builder();
        for layer in layers {
            layer.check_keys(app)?;
            builder = builder.add_source(layer.clone());
        }
        let merged = builder
            .build()
            .and_then(|merged| merged.cache.into_table())
            .map_err(|error| Error::Usage(error.to_string()))?;
        let mut values = Values(merged);
        Ok(Self {
            audited: values.audited()?,
            out: values.optional("out", check::path)?,
            quiet: values.optional("quiet", check::flag)?.unwrap_or(false),
            json: values.optional("json", check::flag)?.unwrap_or(false),
            request: values.request(app)?,
        })
    }

    /// Puts the audit record, if one is asked for, into the run directory, which is known by now.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn place_audit(&mut self) -> Result<(), Error> {
        let Some(origin) = &self.audited else { return Ok(()) };
        let Some(out) = &self.out else {
            return Err(Error::Usage(format!("{origin} needs a directory for its record: give --out DIR")));
        };
        self.request.audit = Some(out.join(AUDIT));
        Ok(())
    }
}

/// The merged values, taken out one by one.
struct Values(Map<String, Value>);

impl Values {
    fn optional<T>(
        &mut self,
        key: &str,
        check: impl FnOnce(&Value) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        let given = self.0.remove(key).filter(|value| !check::is_absent(value));
        given.map(|value| check(&value)).transpose()
    }

    /// Where checkpoints go; the keys that say more about them need the one that says where.
    fn checkpoint(&mut self) -> Result<Option<Checkpointing>, Error> {
        let more = ["checkpoint-every", "resume"].map(|key| self.0.get(key).cloned());
        let every = self.optional("checkpoint-every", check::duration)?.unwrap_or(CHECKPOINT_EVERY);
        let resume = self.optional("resume", check::flag)?.unwrap_or(false);
        let Some(directory) = self.optional("checkpoint", check::path)? else {
            let [given_every, given_resume] =
                more.map(|value| value.filter(|value| !check::is_absent(value)));
            let more = given_resume.filter(|_| resume).or(given_every);
            return more.map_or(Ok(None), |more| {
                let origin = more.origin().unwrap_or("a setting").to_owned();
                let problem = "needs the directory of the checkpoints: give --checkpoint DIR";
                Err(Error::Usage(format!("{origin} {problem}")))
            });
        };
        Ok(Some(Checkpointing { directory, every, resume }))
    }

    /// The setting that asks for an audit record, if one does.
    fn audited(&mut self) -> Result<Option<String>, Error> {
        let origin = self.0.get("audit").and_then(Value::origin).unwrap_or("audit").to_owned();
        Ok(self.optional("audit", check::flag)?.unwrap_or(false).then_some(origin))
    }

    fn request(&mut self, app: &dyn App) -> Result<Request, Error> {
        let Some(data) = self.optional("data", check::path)? else {
            let problem = format!("{} needs training data: give --data FILE", app.name());
            return Err(Error::Usage(problem));
        };
        let mut options = BTreeMap::new();
        for option in app.options() {
            if let Some(value) = self.optional(option.name, check::text)? {
                options.insert(option.name.to_owned(), value);
            }
        }
        let workers = self.optional("workers", |value| check::whole(value, 1, MOST_WORKERS))?;
        Ok(Request {
            data,
            test: self.optional("test", check::path)?,
            workers: workers.map_or_else(available_workers, |workers| workers as usize),
            seed: self.optional("seed", |value| check::whole(value, 0, i64::MAX as u64))?.unwrap_or(0),
            consistency: self.optional("consistency", check::text)?,
            schedule: self.optional("schedule", check::text)?,
            options,
            encoded: false,
            audit: None,
            bandwidth: self.optional("bandwidth", check::size)?,
            seat: None,
            checkpoint: self.checkpoint()?,
        })
    }
}

/// One worker per core that this process may use.
pub(crate) fn available_workers() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests;
