//! The only list of apps, and what an app is to those who start one by name: its options, `train`, `evaluate` and `predict`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use slackline::cluster::Seat;

use crate::kmeans::KMeans;
use crate::lasso::Lasso;
use crate::lda::Lda;
use crate::logistic::Logistic;
use crate::matrix_factorization::MatrixFactorization;
use crate::metric_learning::MetricLearning;
use crate::mlp::Mlp;
use crate::prediction::{Predictions, Question, Wish};
use crate::{Error, StopSwitch};

/// Every app, in the order `slackline apps` shows them.
pub fn apps() -> &'static [&'static dyn App] {
    &[&Lasso, &Logistic, &MatrixFactorization, &Lda, &KMeans, &Mlp, &MetricLearning]
}

/// The app of this name.
pub fn find(name: &str) -> Option<&'static dyn App> {
    apps().iter().copied().find(|app| app.name() == name)
}

/// An app that can be trained by name.
pub trait App: Sync {
    /// The name on the command line, such as `lasso`.
    fn name(&self) -> &'static str;
    /// One line: what it fits and how.
    fn about(&self) -> &'static str;
    /// What it can be told, beyond the options that every app has.
    fn options(&self) -> &'static [OptionSpec];
    /// Trains a model.
    ///
    /// # Errors
    /// Bad data, bad options, or a run that could not go on.
    fn train(&self, request: &Request, watch: &Watch) -> Result<Trained, Error>;
    /// Scores the trained model in `directory` (a run directory) on a data file: named metrics.
    ///
    /// # Errors
    /// A missing or foreign model, or bad data.
    fn evaluate(&self, directory: &Path, data: &Path) -> Result<BTreeMap<String, f64>, Error>;
    /// The same with what is asked beside the data; facts about it go to `tell`. An app that does not say otherwise is
    /// asked for nothing but the data.
    ///
    /// # Errors
    /// As [`App::evaluate`], or a question that the app cannot answer.
    fn evaluate_with(
        &self,
        directory: &Path,
        data: &Path,
        question: &Question,
        tell: &(dyn Fn(News) + Sync),
    ) -> Result<BTreeMap<String, f64>, Error> {
        let _ = tell;
        question.is_plain(self.name())?;
        self.evaluate(directory, data)
    }
    /// What the trained model in `directory` (a run directory) says of new data; facts about the data, such as how much of
    /// it the model does not know, go to `tell`. An app that does not say how has nothing to predict.
    ///
    /// # Errors
    /// A missing or foreign model, bad data, or a question that the app cannot answer.
    fn predict(
        &self,
        directory: &Path,
        data: &Path,
        question: &Question,
        tell: &(dyn Fn(News) + Sync),
    ) -> Result<Predictions, Error> {
        let _ = (data, question, tell);
        let problem = format!("holds a run of {}, which predicts nothing", self.name());
        Err(Error::Data { path: directory.to_path_buf(), problem })
    }
    /// What the trained model in `directory` (a run directory) recommends: a row for each thing, the best first of each
    /// that was asked about. An app that does not say how has nothing to recommend.
    ///
    /// # Errors
    /// A missing or foreign model, or something asked about that the model does not know.
    fn recommend(
        &self,
        directory: &Path,
        wish: &Wish,
        tell: &(dyn Fn(News) + Sync),
    ) -> Result<Predictions, Error> {
        let _ = (wish, tell);
        let problem = format!("holds a run of {}, which recommends nothing; mf does", self.name());
        Err(Error::Data { path: directory.to_path_buf(), problem })
    }
}

/// One option of an app.
#[derive(Debug, Clone, Copy)]
pub struct OptionSpec {
    /// The long name without dashes, such as `lambda-ratio`; the key of the YAML file is the same.
    pub name: &'static str,
    /// What stands for the value in the help, such as `R`.
    pub value: &'static str,
    /// The default as the help shows it.
    pub default: &'static str,
    /// What it does and its range.
    pub help: &'static str,
}

/// What a user asks for: the options that every app has, and the app's own as text.
#[derive(Debug, Clone)]
pub struct Request {
    /// The training data.
    pub data: PathBuf,
    /// Held-out data.
    pub test: Option<PathBuf>,
    /// How many workers compute.
    pub workers: usize,
    /// Every random number of the run comes from it.
    pub seed: u64,
    /// The consistency (`bsp`, `ssp:3`, `essp:3`, `bounded_error:0.01,3`, `adaptive:0,8`, `async`); the app's own default where absent.
    pub consistency: Option<String>,
    /// The schedule (`fixed`, `shuffled`, `priority`, `dependency`, `rotation`); the app's own default where absent.
    pub schedule: Option<String>,
    /// The app's own options, by long name.
    pub options: BTreeMap<String, String>,
    /// Passes every message between actors through its encoding, as between machines: slow, for tests.
    pub encoded: bool,
    /// Where to record what is read, sent and folded in, to prove the promises of the run from.
    pub audit: Option<PathBuf>,
    /// Bytes a second on the way between a shard and its readers for what may wait (`Job::bandwidth`); no bound where absent.
    pub bandwidth: Option<u64>,
    /// This process's place in a cluster, where it is one of several that train the model.
    pub seat: Option<Seat>,
    /// Where checkpoints go, where they are kept.
    pub checkpoint: Option<Checkpointing>,
}

/// Where the checkpoints of a run go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpointing {
    /// The directory; the newest two are kept.
    pub directory: PathBuf,
    /// The time between two.
    pub every: Duration,
    /// Whether the run goes on from the newest one that is whole; without any it starts from the beginning.
    pub resume: bool,
}

impl Request {
    /// Trains on `data` with one worker, seed 0, and everything else as the app likes it.
    pub fn on(data: impl Into<PathBuf>) -> Self {
        Self {
            data: data.into(),
            test: None,
            workers: 1,
            seed: 0,
            consistency: None,
            schedule: None,
            options: BTreeMap::new(),
            encoded: false,
            audit: None,
            bandwidth: None,
            seat: None,
            checkpoint: None,
        }
    }

    /// The same with an option of the app.
    #[must_use]
    pub fn with(mut self, option: &str, value: impl std::fmt::Display) -> Self {
        self.options.insert(option.to_owned(), format!("{value}"));
        self
    }
}

/// Where a run tells how it goes, and where it is told to stop.
pub struct Watch {
    /// Called for everything worth telling, from one thread at a time.
    pub tell: Box<dyn Fn(News) + Send + Sync>,
    /// Thrown from outside to stop the run at the next clock.
    pub stop: StopSwitch,
}

impl Watch {
    /// Tells nobody; never stops.
    pub fn nobody() -> Self {
        Self { tell: Box::new(|_| {}), stop: StopSwitch::default() }
    }
}

/// Something worth telling while a run goes on.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum News {
    /// A fact about the input, such as `57,034 rows x 54,782 columns, 3,816,296 non-zeros, 1-based`.
    Fact(String),
    /// Reading: bytes read and all bytes.
    Loading {
        /// Bytes of the file read so far.
        read: u64,
        /// Bytes of the file.
        of: u64,
    },
    /// One evaluation of the objective.
    Progress(Progress),
    /// The run goes on from a checkpoint; what was evaluated until then.
    Resumed {
        /// The checkpoint.
        path: PathBuf,
        /// Training time until then in seconds.
        seconds: f64,
        /// The evaluations until then.
        history: Vec<Progress>,
    },
    /// A checkpoint has been written.
    Checkpoint {
        /// Its file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// Seconds in which workers ran dry, one after the other.
        drained: f64,
        /// Seconds after that in which nobody worked.
        paused: f64,
        /// Seconds that writing took, beside training.
        written: f64,
    },
    /// Something that the user should look after, while the run goes on.
    Warning(String),
}

/// One evaluation: a line of `metrics.jsonl` and a step of the progress bar.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    /// Training time so far in seconds, evaluation not counted.
    pub seconds: f64,
    /// The smallest clock over the workers.
    pub clock: u64,
    /// Passes over the data so far.
    pub epoch: f64,
    /// The objective.
    pub objective: f64,
    /// The share of the run that is done, 0 to 1, where it is known.
    pub done: Option<f64>,
    /// Largest staleness of a read since the last evaluation, in clocks.
    pub staleness: u64,
    /// What else the app measures, by name.
    pub metrics: Vec<(String, f64)>,
}

/// A finished run.
#[derive(Debug, Clone, Default)]
pub struct Trained {
    /// The objective at the end.
    pub objective: f64,
    /// Clocks that every worker completed.
    pub clocks: u64,
    /// Seconds spent reading the data.
    pub load_seconds: f64,
    /// Seconds spent training, evaluation not counted.
    pub train_seconds: f64,
    /// Named results, such as `gap` or `test_rmse`.
    pub metrics: BTreeMap<String, f64>,
    /// The options as checked, defaults filled in.
    pub config: serde_json::Map<String, serde_json::Value>,
    /// One object per worker: steps, seconds computing, seconds waiting.
    pub workers: Vec<serde_json::Value>,
    /// Arrays of `model/`, by name without `.npy`.
    pub arrays: Vec<(String, Array)>,
    /// Text files of `model/`, by name, as lines.
    pub texts: Vec<(String, Vec<String>)>,
    /// Whether it was stopped from outside before it was done.
    pub stopped: bool,
}

/// An array of a model.
#[derive(Debug, Clone)]
pub enum Array {
    /// Single precision.
    F32(ndarray::ArrayD<f32>),
    /// Double precision.
    F64(ndarray::ArrayD<f64>),
    /// Integers of 32 bits.
    I32(ndarray::ArrayD<i32>),
    /// Integers.
    I64(ndarray::ArrayD<i64>),
}
