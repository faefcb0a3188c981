//! The trained factors in the units of the ratings, and what they predict.

use std::path::Path;

use ndarray::{Array1, Array2};

use super::solver::{Solver, dot};
use crate::Error;
use crate::data::npy;
use crate::deal::Deal;
use crate::kernel::sgd::HEADER;

/// `r ≈ mean + user_bias + item_bias + user_factors · item_factors`, by dense id.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// users × rank
    pub user_factors: Array2<f32>,
    /// items × rank
    pub item_factors: Array2<f32>,
    /// One per user.
    pub user_bias: Array1<f32>,
    /// One per item.
    pub item_bias: Array1<f32>,
    /// Mean of the training ratings.
    pub mean: f64,
    /// Smallest and largest training rating: predictions stay between them. No bounds where feedback is implicit.
    pub range: (f32, f32),
    /// Where feedback is implicit, what the confidence of a choice grows with; then predictions are preferences.
    pub confidence: Option<f64>,
}

/// One side's rows and who they belong to.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    /// Which ids are in which group.
    pub deal: &'a Deal,
    /// The rows of each group, as [`Solver::visit`] left them.
    pub groups: &'a [Vec<f32>],
}

impl Model {
    /// Reads a model back from the `model/` folder of a run.
    ///
    /// # Errors
    /// An array that is missing or has not the shape of a model.
    pub fn read(folder: &Path) -> Result<Self, Error> {
        let array = |name: &str| npy::read_f32(&folder.join(format!("{name}.npy")));
        let wrong = |_| Error::Data { path: folder.to_owned(), problem: "is not a model of mf".to_owned() };
        let mean = npy::read_f64(&folder.join("mean.npy"))?;
        let range = array("range")?;
        let confidence = folder.join("confidence.npy");
        let confidence = if confidence.exists() { Some(npy::read_f64(&confidence)?) } else { None };
        let model = Self {
            user_factors: array("user_factors")?.into_dimensionality().map_err(wrong)?,
            item_factors: array("item_factors")?.into_dimensionality().map_err(wrong)?,
            user_bias: array("user_bias")?.into_dimensionality().map_err(wrong)?,
            item_bias: array("item_bias")?.into_dimensionality().map_err(wrong)?,
            mean: mean.first().copied().unwrap_or(0.0),
            range: (
                range.first().copied().unwrap_or(f32::NEG_INFINITY),
                range.iter().nth(1).copied().unwrap_or(f32::INFINITY),
            ),
            confidence: confidence.and_then(|alpha| alpha.first().copied()),
        };
        model.fits().then_some(model).ok_or_else(|| {
            let problem = "has factors and biases of different sizes; copy the model again";
            Error::Data { path: folder.to_owned(), problem: problem.to_owned() }
        })
    }

    /// Whether its arrays belong together.
    fn fits(&self) -> bool {
        self.user_factors.ncols() == self.item_factors.ncols()
            && self.user_factors.nrows() == self.user_bias.len()
            && self.item_factors.nrows() == self.item_bias.len()
    }

    /// Collects the rows of all parts and blocks.
    pub fn collect(solver: &Solver, users: Rows<'_>, items: Rows<'_>) -> Self {
        let (user_factors, user_bias) = side(solver, users);
        let (item_factors, item_bias) = side(solver, items);
        let summary = solver.summary();
        Self {
            user_factors,
            item_factors,
            user_bias,
            item_bias,
            mean: summary.mean,
            range: (summary.least, summary.most),
            confidence: None,
        }
    }

    /// The predicted rating, clipped to the range of the training ratings. Ids beyond the model are unknown: what is
    /// left is the mean and the bias of the side that is known.
    pub fn predict(&self, user: usize, item: usize) -> f64 {
        let (least, most) = self.range;
        let bias = |biases: &Array1<f32>, id: usize| f64::from(biases.get(id).copied().unwrap_or(0.0));
        let known = user < self.user_bias.len() && item < self.item_bias.len();
        let product = if known {
            let (p, q) = (self.user_factors.row(user), self.item_factors.row(item));
            match (p.as_slice(), q.as_slice()) {
                (Some(p), Some(q)) => dot(p, q),
                _ => p.dot(&q),
            }
        } else {
            0.0
        };
        let rating =
            self.mean + bias(&self.user_bias, user) + bias(&self.item_bias, item) + f64::from(product);
        rating.clamp(f64::from(least), f64::from(most))
    }

    /// The root of the mean squared error over ratings, given as dense ids and values; 0 where there are none.
    pub fn rmse(&self, users: &[u32], items: &[u32], values: &[f32]) -> f64 {
        let squares = users.iter().zip(items).zip(values);
        let total: f64 = squares
            .map(|((&user, &item), &value)| {
                (self.predict(user as usize, item as usize) - f64::from(value)).powi(2)
            })
            .sum();
        (total / values.len().max(1) as f64).sqrt()
    }
}

/// Factors and biases of one side, by id.
fn side(solver: &Solver, rows: Rows<'_>) -> (Array2<f32>, Array1<f32>) {
    let (rank, width) = (solver.params().rank, solver.width());
    let deviation = solver.summary().deviation;
    let mut factors = Array2::zeros((rows.deal.group.len(), rank));
    let mut biases = Array1::zeros(rows.deal.group.len());
    for (members, group) in rows.deal.members.iter().zip(rows.groups) {
        for (&id, row) in members.iter().zip(group.chunks_exact(width)) {
            biases[id as usize] = (f64::from(row[0]) * deviation) as f32;
            for (to, from) in factors.row_mut(id as usize).iter_mut().zip(&row[HEADER..]) {
                *to = (f64::from(*from) * deviation.sqrt()) as f32;
            }
        }
    }
    (factors, biases)
}
