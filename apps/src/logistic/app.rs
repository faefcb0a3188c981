//! Logistic regression as an entry of the catalog: two classes by coordinate descent, more by mini-batch SGD.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use serde_json::{Map, Value};

use super::classes::Classes;
use super::model::Model;
use super::params::{OPTIONS, Params};
use super::{binary, multiclass};
use crate::catalog::{App, Array, News, OptionSpec, Request, Trained, Watch};
use crate::data::Samples;
use crate::prediction::{Predictions, Question};
use crate::run::Origin;
use crate::{Error, run, samples};

/// `slackline train logistic`.
pub struct Logistic;

/// A trained model: coefficients (classes × p, or one row for two classes) and intercepts.
pub(super) struct Fitted {
    pub(super) trained: slackline::Trained,
    /// Row after row.
    pub(super) coefficients: ndarray::Array2<f64>,
    pub(super) intercepts: Vec<f64>,
    pub(super) metrics: BTreeMap<String, f64>,
    pub(super) objective: f64,
    pub(super) common: Map<String, Value>,
}

/// What both ways of training need.
pub(super) struct Problem<'a> {
    pub(super) request: &'a Request,
    pub(super) watch: &'a Watch,
    pub(super) params: &'a Params,
    pub(super) samples: Samples,
    pub(super) classes: &'a Classes,
    /// Where it begins; what must be the same is still to be said.
    pub(super) origin: Origin,
}

impl App for Logistic {
    fn name(&self) -> &'static str {
        "logistic"
    }

    fn about(&self) -> &'static str {
        "logistic regression, L1 and L2: two classes by coordinate descent, more by mini-batch SGD"
    }

    fn options(&self) -> &'static [OptionSpec] {
        OPTIONS
    }

    fn train(&self, request: &Request, watch: &Watch) -> Result<Trained, Error> {
        run::only_known(self.name(), request, OPTIONS)?;
        let origin = Origin::find(request, watch)?;
        let request = &origin.inherit(request, &["parts"]);
        let params = Params::parse(request)?;
        run::consistency(request, slackline::Consistency::Bsp)?; // refused before the data is read
        run::schedule(request, &[binary::SCHEDULES, multiclass::SCHEDULES].concat())?;
        let begun = Instant::now();
        let samples = samples::read(request, watch)?;
        let classes = Classes::of(&samples.labels, &request.data)?;
        let (base, n_columns) = (samples.facts.index_base, samples.features.cols());
        let held_out = request.test.as_ref();
        let held_out =
            held_out.map(|path| samples::read_held_out(path, base, n_columns, &watch.tell)).transpose()?;
        let problem = Problem { request, watch, params: &params, samples, classes: &classes, origin };
        let prepared = begun.elapsed().as_secs_f64();
        let (fitted, more) =
            if classes.n() == 2 { binary::train(problem) } else { multiclass::train(problem) }?;
        let mut metrics = fitted.metrics;
        if let Some(held_out) = held_out {
            let scores = scores(&held_out, &classes, &fitted.coefficients, &fitted.intercepts);
            metrics.extend(scores.into_iter().map(|(name, score)| (format!("test_{name}"), score)));
        }
        let mut config = fitted.common;
        config.extend(params.config(classes.n()));
        let coefficients = match classes.n() {
            2 => fitted.coefficients.row(0).to_owned().into_dyn(),
            _ => fitted.coefficients.into_dyn(),
        };
        Ok(Trained {
            objective: fitted.objective,
            load_seconds: prepared + more,
            metrics,
            arrays: vec![
                ("coefficients".to_owned(), Array::F64(coefficients)),
                ("intercept".to_owned(), Array::F64(ndarray::Array1::from(fitted.intercepts).into_dyn())),
            ],
            texts: vec![samples::base_text(base), classes.text()],
            ..run::finished(&fitted.trained, config)
        })
    }

    fn evaluate(&self, directory: &Path, data: &Path) -> Result<BTreeMap<String, f64>, Error> {
        let Model { base, classes, coefficients, intercepts } = Model::read(directory)?;
        let held_out = samples::read_held_out(data, base, coefficients.ncols(), &|_| {})?;
        Ok(scores(&held_out, &classes, &coefficients, &intercepts))
    }

    fn predict(
        &self,
        directory: &Path,
        data: &Path,
        question: &Question,
        tell: &(dyn Fn(News) + Sync),
    ) -> Result<Predictions, Error> {
        question.is_plain(self.name())?;
        let model = Model::read(directory)?;
        let features = samples::read_new(data, model.base, model.coefficients.ncols(), tell)?;
        Ok(model.predict(features))
    }
}

/// Accuracy and mean log-loss; samples of a class that was not trained count as wrong, and not in the log-loss.
fn scores(
    held_out: &Samples,
    classes: &Classes,
    coefficients: &ndarray::Array2<f64>,
    intercepts: &[f64],
) -> BTreeMap<String, f64> {
    let of_row = |row: ndarray::ArrayView1<'_, f64>, intercept: f64| {
        samples::scores(&held_out.features, &row.to_vec(), intercept)
    };
    let mut logits: Vec<Vec<f64>> =
        coefficients.outer_iter().zip(intercepts).map(|(row, intercept)| of_row(row, *intercept)).collect();
    if logits.len() == 1 {
        logits.insert(0, vec![0.0; held_out.labels.len()]); // one logit: that of the second class over the first
    }
    let (mut correct, mut loss, mut known) = (0usize, 0.0, 0usize);
    for (sample, label) in held_out.labels.iter().enumerate() {
        let most = logits.iter().map(|logits| logits[sample]).fold(f64::NEG_INFINITY, f64::max);
        let Some(class) = classes.class(*label) else { continue };
        let own = logits[class as usize][sample];
        let best = logits.iter().position(|logits| logits[sample] == most);
        correct += usize::from(best == Some(class as usize));
        loss += logits.iter().map(|logits| (logits[sample] - most).exp()).sum::<f64>().ln() + most - own;
        known += 1;
    }
    let n = held_out.labels.len();
    let unknown = (n - known) as f64;
    let mut scores = BTreeMap::from([("accuracy".to_owned(), correct as f64 / n as f64)]);
    if known > 0 {
        scores.insert("log_loss".to_owned(), loss / known as f64);
    }
    if unknown > 0.0 {
        scores.insert("samples_of_unknown_class".to_owned(), unknown);
    }
    scores
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_no_sample_is_of_a_known_class_there_is_no_log_loss() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let mut request = Request::on(write("train.svm", "1 1:2 2:1\n-1 1:3\n1 2:1\n"));
        request.test = Some(write("test.svm", "0 1:2 2:3\n3 1:1\n"));
        let metrics = Logistic.train(&request, &Watch::nobody()).unwrap().metrics;
        assert_eq!(metrics["test_samples_of_unknown_class"], 2.0);
        assert!(!metrics.contains_key("test_log_loss"), "0 would be the best there is");
    }
}
