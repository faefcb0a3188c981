//! A training run shown and kept: what `train` and the node that leads a cluster have in common.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use serde_json::Value;
use slackline::cluster::{MemberNews, Seat};
use slackline_apps::StopSwitch;
use slackline_apps::catalog::{App, News, Trained, Watch};

use crate::Error;
use crate::cli::checkpoint;
use crate::console::{self, Console, Screen};
use crate::run_directory::{MetricsLog, RunDirectory, Seconds, summary};
use crate::settings::Settings;
use crate::signals::Signals;

/// A run that may begin.
pub(crate) struct Training<'a> {
    pub(crate) app: &'a dyn App,
    pub(crate) settings: Settings,
    /// Where the run is kept, if it is.
    pub(crate) directory: Option<RunDirectory>,
    pub(crate) screen: Screen,
    /// When the process started.
    pub(crate) started: Instant,
}

/// Who hears the news of a run.
pub(crate) struct Listeners {
    console: Console,
    metrics: Option<MetricsLog>,
    /// The newest checkpoint that is known to be whole.
    checkpoint: Option<PathBuf>,
    /// The cluster that is told how this node's loading goes.
    seat: Option<Seat>,
}

/// Shared by the threads that have news.
pub(crate) type Shared = Arc<Mutex<Listeners>>;

impl Listeners {
    fn tell(&mut self, news: &News) {
        self.console.tell(news);
        match (news, &mut self.metrics) {
            (News::Progress(progress), Some(metrics)) => metrics.push(progress),
            (News::Resumed { history, .. }, Some(metrics)) => metrics.go_back(history),
            _ => {}
        }
        if let News::Checkpoint { path, .. } | News::Resumed { path, .. } = news {
            let at_the_start = path.as_os_str().is_empty();
            self.checkpoint = (!at_the_start).then(|| path.clone());
        }
        if let (News::Loading { read, of }, Some(seat)) = (news, &self.seat) {
            seat.loading(*read as f64 / (*of).max(1) as f64);
        }
    }
}

/// Shows what happened to a member of the cluster.
pub(crate) fn tell_member(listeners: &Shared, news: &MemberNews) {
    lock(listeners).console.tell_member(news);
}

fn lock(listeners: &Shared) -> std::sync::MutexGuard<'_, Listeners> {
    listeners.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Training<'_> {
    /// Who will hear of this run.
    pub(crate) fn listeners(&self) -> Shared {
        Arc::new(Mutex::new(Listeners {
            console: Console::new(self.settings.quiet, self.settings.json, &self.screen),
            metrics: self.directory.as_ref().map(RunDirectory::metrics_log),
            checkpoint: None,
            seat: self.settings.request.seat.clone(),
        }))
    }

    /// Trains, shows and keeps: the exit code, which says whether `stop` or a signal ended it early.
    ///
    /// # Errors
    /// What the app refuses, a run that diverged, or a result that could not be written.
    pub(crate) fn go(&self, listeners: &Shared, stop: StopSwitch, signals: &Signals) -> Result<u8, Error> {
        let heard = Arc::clone(listeners);
        let tell = move |news: News| lock(&heard).tell(&news);
        let trained = self.app.train(&self.settings.request, &Watch { tell: Box::new(tell), stop });
        let mut listeners = lock(listeners);
        listeners.console.finish();
        listeners.seat = None; // whoever watches the seat is held by it
        let trained = trained.map_err(Error::from).and_then(|trained| self.accept(trained));
        let trained =
            trained.map_err(|error| checkpoint::with_remedy(error, listeners.checkpoint.as_deref()))?;
        let seconds = Seconds { total: self.started.elapsed().as_secs_f64() };
        let summary = summary(self.app.name(), &self.settings.request, &trained, &seconds);
        let written = self.keep(&trained, &summary, &mut listeners);
        let kept = self.settings.out.as_deref().filter(|_| written.is_ok());
        show(&self.settings, &self.screen, &summary, kept);
        written?;
        match listeners.checkpoint.as_deref().filter(|_| trained.stopped) {
            Some(path) => Ok(checkpoint::left(path, (!self.settings.quiet).then_some(&self.screen))),
            None => Ok(if trained.stopped { signals.exit_code() } else { 0 }),
        }
    }

    /// The result of a run, if it is one.
    fn accept(&self, trained: Trained) -> Result<Trained, Error> {
        if self.settings.request.seat.as_ref().is_some_and(|seat| !seat.is_enlisted()) {
            return Err(Error::cluster(format!(
                "app {} trains in one process only: it did not take its place in the cluster; give its job the request's \
                 seat, as `slackline_apps::run::job` does, or train it with `slackline train`",
                self.app.name()
            )));
        }
        let diverged = !trained.objective.is_finite() && !trained.stopped;
        if diverged { Err(Error::Diverged(trained.objective)) } else { Ok(trained) }
    }

    fn keep(&self, trained: &Trained, summary: &Value, listeners: &mut Listeners) -> Result<(), Error> {
        if let Some(metrics) = &mut listeners.metrics {
            metrics.finish()?;
        }
        self.directory.as_ref().map_or(Ok(()), |directory| directory.finish(trained, summary))
    }
}

/// The result on stdout; a directory that could not be written (`kept` is absent) does not hide it.
pub(crate) fn show(settings: &Settings, screen: &Screen, summary: &Value, kept: Option<&Path>) {
    if settings.json {
        console::result(&console::summary_line(summary));
    } else if !settings.quiet {
        console::result(&report(summary, kept));
        if settings.out.is_none() {
            screen.say("the model was not kept: give --out DIR to keep it");
        }
    }
}

/// A summary as people read it.
pub(crate) fn report(summary: &Value, kept: Option<&Path>) -> String {
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN); // JSON has no word for what is not finite
    let time = |part: &str| console::duration(number(&summary["seconds"][part]));
    let stopped = if summary["stopped"] == true { ", stopped early" } else { "" };
    let mut rows = vec![
        ("app".to_owned(), summary["app"].as_str().unwrap_or_default().to_owned()),
        ("objective".into(), console::number(number(&summary["objective"]))),
        ("clocks".into(), format!("{}{stopped}", summary["clocks"])),
        ("time".into(), format!("{} (reading {}, training {})", time("total"), time("load"), time("train"))),
    ];
    let metrics = summary["metrics"].as_object().into_iter().flatten();
    rows.extend(metrics.map(|(name, value)| (name.clone(), console::number(number(value)))));
    if let Some(path) = kept {
        rows.push(("kept in".into(), path.display().to_string()));
    }
    console::table(&rows)
}
