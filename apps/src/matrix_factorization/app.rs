//! Matrix factorisation as an entry of the catalog.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use super::als::{self, params::OPTIONS as ALTERNATING};
use super::params::{DESCENT, SHARED};
use super::{answers, recommend, sgd};
use crate::Error;
use crate::catalog::{App, News, OptionSpec, Request, Trained, Watch};
use crate::options::Options;
use crate::prediction::{Predictions, Question, Wish};
use crate::run::{only_known, refuse};

/// `slackline train mf`.
pub struct MatrixFactorization;

/// Those of both methods, and of each.
static OPTIONS: LazyLock<Vec<OptionSpec>> =
    LazyLock::new(|| SHARED.iter().chain(DESCENT).chain(ALTERNATING).copied().collect());

impl App for MatrixFactorization {
    fn name(&self) -> &'static str {
        "mf"
    }

    fn about(&self) -> &'static str {
        "matrix factorisation of ratings or choices, by stochastic gradient descent over rotating blocks or by alternating \
         least squares"
    }

    fn options(&self) -> &'static [OptionSpec] {
        &OPTIONS
    }

    fn train(&self, request: &Request, watch: &Watch) -> Result<Trained, Error> {
        only_known(self.name(), request, &OPTIONS)?;
        match Options(&request.options).text("method").unwrap_or("sgd") {
            "sgd" => {
                none_of(ALTERNATING, request, "sgd")?;
                sgd::train(request, watch)
            }
            "als" => {
                none_of(DESCENT, request, "als")?;
                als::app::train(request, watch)
            }
            other => Err(refuse("method", other, "sgd or als")),
        }
    }

    fn evaluate(&self, directory: &Path, data: &Path) -> Result<BTreeMap<String, f64>, Error> {
        self.evaluate_with(directory, data, &Question::default(), &|_| {})
    }

    fn evaluate_with(
        &self,
        directory: &Path,
        data: &Path,
        question: &Question,
        tell: &(dyn Fn(News) + Sync),
    ) -> Result<BTreeMap<String, f64>, Error> {
        question.asks_only_cold(self.name())?;
        answers::evaluate(directory, data, question.cold.unwrap_or_default(), tell)
    }

    fn predict(
        &self,
        directory: &Path,
        data: &Path,
        question: &Question,
        tell: &(dyn Fn(News) + Sync),
    ) -> Result<Predictions, Error> {
        question.asks_only_cold(self.name())?;
        answers::predict(directory, data, question.cold.unwrap_or_default(), tell)
    }

    fn recommend(
        &self,
        directory: &Path,
        wish: &Wish,
        tell: &(dyn Fn(News) + Sync),
    ) -> Result<Predictions, Error> {
        recommend::recommend(directory, wish, tell)
    }
}

/// Refuses the options of the other method.
fn none_of(other: &[OptionSpec], request: &Request, method: &str) -> Result<(), Error> {
    match other.iter().find_map(|option| Some((option.name, request.options.get(option.name)?))) {
        None => Ok(()),
        Some((name, value)) => Err(refuse(name, value, &format!("absent: it is none of --method {method}"))),
    }
}
