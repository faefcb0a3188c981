//! Matrix factorisation as an entry of the catalog.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value};
use slackline::prelude::*;

use super::Model;
use super::actor::{Factorizer, Setup};
use super::params::{OPTIONS, Params};
use crate::catalog::{App, Array, News, OptionSpec, Request, Trained, Watch};
use crate::data::{Ids, read_pairs, read_ratings, read_ratings_with, text};
use crate::prediction::{Cell, Column, Predictions, Question};
use crate::run::Origin;
use crate::{Error, run};

/// `slackline train mf`.
pub struct MatrixFactorization;

impl App for MatrixFactorization {
    fn name(&self) -> &'static str {
        "mf"
    }

    fn about(&self) -> &'static str {
        "matrix factorisation of ratings with biases, by stochastic gradient descent over rotating blocks"
    }

    fn options(&self) -> &'static [OptionSpec] {
        OPTIONS
    }

    fn train(&self, request: &Request, watch: &Watch) -> Result<Trained, Error> {
        run::only_known(self.name(), request, OPTIONS)?;
        let origin = Origin::find(request, watch)?;
        let request = &origin.inherit(request, &["parts", "blocks"]);
        let params = Params::parse(&request.options, request.workers)?;
        let consistency = run::consistency(request, Consistency::Ssp(3))?;
        let schedule = run::schedule(request, &["rotation"])?;
        let origin = origin.settle((self.name(), consistency), request, params.settings())?;
        let begun = Instant::now();
        let ratings = read_ratings(&request.data, &watch.tell)?;
        let held_out = request.test.as_ref();
        let held_out = held_out
            .map(|path| read_ratings_with(path, &ratings.user_ids, &ratings.item_ids, &watch.tell))
            .transpose()?;
        let setup = Arc::new(Setup::new(&ratings, held_out.as_ref(), params.clone(), request.seed)?);
        let counts = (ratings.values.len(), held_out.map_or(0, |held_out| held_out.values.len()));
        let load_seconds = begun.elapsed().as_secs_f64();

        let job = run::job(self.name(), request, consistency, origin);
        let job = filled(job, &setup, counts, request.seed);
        let workers_setup = Arc::clone(&setup);
        let trained = run::run(job, watch, move |_| Factorizer(Arc::clone(&workers_setup)))?;
        let model = setup.model(&trained.model);
        let mark = trained.history.last().map(|progress| progress.mark.clone()).unwrap_or_default();
        Ok(Trained {
            objective: mark.objective,
            clocks: trained.clocks.0,
            load_seconds,
            train_seconds: trained.seconds,
            metrics: mark.metrics.into_iter().collect(),
            config: config(&params, setup.solver.l2(), run::common(consistency, schedule)),
            workers: run::records(&trained.workers),
            arrays: arrays(model),
            texts: vec![
                ("users.txt".to_owned(), lines(&ratings.user_ids)),
                ("items.txt".to_owned(), lines(&ratings.item_ids)),
            ],
            stopped: trained.stopped,
        })
    }

    fn evaluate(&self, directory: &Path, data: &Path) -> Result<BTreeMap<String, f64>, Error> {
        let folder = directory.join("model");
        let (users, items) = ids(&folder)?;
        let ratings = read_ratings_with(data, &users, &items, &|_| {})?;
        let model = Model::read(&folder)?;
        let mut squares = 0.0;
        for ((user, item), value) in ratings.users.iter().zip(&ratings.items).zip(&ratings.values) {
            squares += (model.predict(dense(*user), dense(*item)) - f64::from(*value)).powi(2);
        }
        let n = ratings.values.len();
        let unseen = |ids: &[Option<u32>]| ids.iter().filter(|id| id.is_none()).count() as f64;
        Ok(BTreeMap::from([
            ("rmse".to_owned(), (squares / n.max(1) as f64).sqrt()),
            ("ratings".to_owned(), n as f64),
            ("ratings_of_unknown_users".to_owned(), unseen(&ratings.users)),
            ("ratings_of_unknown_items".to_owned(), unseen(&ratings.items)),
        ]))
    }

    fn predict(
        &self,
        directory: &Path,
        data: &Path,
        question: &Question,
        tell: &(dyn Fn(News) + Sync),
    ) -> Result<Predictions, Error> {
        question.is_plain(self.name())?;
        let folder = directory.join("model");
        let (users, items) = ids(&folder)?;
        let model = Model::read(&folder)?;
        let pairs = read_pairs(data, &users, &items, tell)?;
        let n_rows = pairs.len();
        let row = move |row: usize| {
            let [user, item] = pairs.pair(row);
            let rating = model.predict(dense(user.index), dense(item.index));
            let names = [user.id, item.id].map(|id| Cell::Text(id.into_owned()));
            names.into_iter().chain([Cell::Number(rating)]).collect()
        };
        let columns = vec![Column::name("user"), Column::name("item"), Column::single("rating")];
        Ok(Predictions { columns, n_rows, rows: Box::new((0..n_rows).map(row)) })
    }
}

/// The users and the items of a written model.
fn ids(folder: &Path) -> Result<(Ids, Ids), Error> {
    let ids = |name: &str| Ok(Ids::from_lines(&text::read_lines(&folder.join(name))?));
    Ok((ids("users.txt")?, ids("items.txt")?))
}

/// An index as the model takes it: one that is not known is beyond all others.
fn dense(index: Option<u32>) -> usize {
    index.map_or(usize::MAX, |index| index as usize)
}

/// The job with its tables and schedule; `counts` are the training and the held-out ratings.
fn filled(job: Job, setup: &Arc<Setup>, counts: (usize, usize), seed: u64) -> Job {
    let (n_parts, n_blocks) = setup.shape();
    let params = setup.solver.params();
    let rotation = Rotation::new(n_parts, n_blocks, params.epochs as u64, seed);
    let measure = move |objective: f64, sums: &[f64]| {
        let rmse = |squares: f64, n: usize| (squares / n as f64).sqrt();
        let mut metrics = vec![("train_rmse".to_owned(), rmse(sums[0], counts.0))];
        if counts.1 > 0 {
            metrics.push(("test_rmse".to_owned(), rmse(sums[1], counts.1)));
        }
        (objective, metrics)
    };
    let [users, items] = setup.tables();
    job.table(users).table(items).schedule(Evaluated::new(
        rotation,
        n_parts,
        params.evaluate_every as u64,
        Box::new(measure),
    ))
}

fn lines(ids: &Ids) -> Vec<String> {
    ids.iter().map(std::borrow::Cow::into_owned).collect()
}

fn arrays(model: Model) -> Vec<(String, Array)> {
    let (least, most) = model.range;
    vec![
        ("user_factors".to_owned(), Array::F32(model.user_factors.into_dyn())),
        ("item_factors".to_owned(), Array::F32(model.item_factors.into_dyn())),
        ("user_bias".to_owned(), Array::F32(model.user_bias.into_dyn())),
        ("item_bias".to_owned(), Array::F32(model.item_bias.into_dyn())),
        ("mean".to_owned(), Array::F64(ndarray::arr1(&[model.mean]).into_dyn())),
        ("range".to_owned(), Array::F32(ndarray::arr1(&[least, most]).into_dyn())),
    ]
}

fn config(params: &Params, l2: f64, mut config: Map<String, Value>) -> Map<String, Value> {
    let entries: [(&str, Value); 9] = [
        ("rank", params.rank.into()),
        ("epochs", params.epochs.into()),
        ("l2", l2.into()),
        ("l2-bias", params.l2_bias.into()),
        ("prior", params.prior.into()),
        ("step", params.step.name().into()),
        ("rate", params.rate.into()),
        ("parts", params.parts.into()),
        ("blocks", params.blocks.into()),
    ];
    config.extend(entries.map(|(name, value)| (name.to_owned(), value)));
    config
}
