//! A trained net: how it is written, read back, scored on other rows and asked about new ones.

use std::collections::BTreeMap;
use std::path::Path;

use ndarray::{Array2, s};
use serde_json::{Value, json};

use super::activation::Activation;
use super::loss::{Loss, Score, Targets, largest, softmax};
use super::net::{Layer, Net, Room};
use super::tables::{bias_name, weights_name};
use crate::catalog::{Array, News};
use crate::data::points::{Features, Labels, Points, PointsOptions, Standard, Wanted, read_points};
use crate::data::{IndexBase, npy, text};
use crate::prediction::{Cell, Column, Predictions};
use crate::{Error, samples};

/// The file that says what numbers cannot.
const META: &str = "meta.json";
/// The names of the classes, in the order of outputs.
const CLASSES: &str = "classes.txt";
/// Rows that are scored at once.
const AT_ONCE: usize = 256;

/// A net with its weights, and how rows become inputs.
pub(super) struct Model {
    pub(super) net: Net,
    /// Weights and bias of each layer.
    pub(super) layers: Vec<(Array2<f32>, Vec<f32>)>,
    /// Of rows as they are in files.
    pub(super) standard: Standard,
    /// The names of the classes; none where numbers are predicted.
    pub(super) classes: Option<Vec<String>>,
    /// How columns were counted.
    pub(super) index_base: IndexBase,
}

/// Brings rows that a reader multiplied by `unit` to a standard of rows as they are in files.
pub(super) fn standardise(features: &mut Features, standard: &Standard, unit: f32) {
    rescaled(standard, unit).apply(features);
}

/// A standard for rows that are multiplied by `factor`.
pub(super) fn rescaled(standard: &Standard, factor: f32) -> Standard {
    let times = |values: &[f32]| values.iter().map(|value| value * factor).collect();
    Standard { mean: times(&standard.mean), scale: times(&standard.scale) }
}

/// Sums of some rows, and how many were of a class that the net does not know.
pub(super) fn metrics(score: Score, unknown: f64, numbers: bool) -> Vec<(&'static str, f64)> {
    let rows = score.rows + unknown;
    let mut metrics = Vec::new();
    if score.rows > 0.0 {
        metrics.push(("loss", score.loss / score.rows));
    }
    match numbers {
        true => metrics.push(("rmse", (score.hits / rows).sqrt())),
        false => metrics.push(("accuracy", score.hits / rows)),
    }
    if unknown > 0.0 {
        metrics.push(("rows_of_unknown_class", unknown));
    }
    metrics
}

impl Model {
    /// The arrays of `model/`.
    pub(super) fn arrays(&self) -> Vec<(String, Array)> {
        let mut arrays = Vec::from(self.standard.arrays());
        for (number, (weights, bias)) in self.layers.iter().enumerate() {
            arrays.push((weights_name(number), Array::F32(weights.clone().into_dyn())));
            arrays.push((bias_name(number), Array::F32(ndarray::arr1(bias).into_dyn())));
        }
        arrays
    }

    /// The text files of `model/`.
    pub(super) fn texts(&self) -> Vec<(String, Vec<String>)> {
        let activation = match self.net.activation {
            Activation::Sigmoid => "logistic",
            other => other.name(),
        };
        let meta = json!({
            "activation": activation,
            "loss": self.net.loss.name(),
            "targets": if self.classes.is_some() { "classes" } else { "numbers" },
        });
        let mut texts = vec![samples::base_text(self.index_base), (META.to_owned(), vec![meta.to_string()])];
        texts.extend(self.classes.clone().map(|names| (CLASSES.to_owned(), names)));
        texts
    }

    /// Reads the model of the run in `directory`.
    ///
    /// # Errors
    /// A folder that holds no such model.
    pub(super) fn read(directory: &Path) -> Result<Self, Error> {
        let folder = directory.join("model");
        let refuse =
            |name: &str, problem: &str| Error::Data { path: folder.join(name), problem: problem.to_owned() };
        let meta: Value = serde_json::from_str(&text::read_lines(&folder.join(META))?.join("\n"))
            .map_err(|_| refuse(META, "is not the JSON of a net's model; train again"))?;
        let activation = match meta["activation"].as_str() {
            Some("relu") => Activation::Relu,
            Some("logistic") => Activation::Sigmoid,
            Some("tanh") => Activation::Tanh,
            _ => return Err(refuse(META, "has no activation relu, logistic or tanh; train again")),
        };
        let loss = if meta["loss"] == "squared" { Loss::Squared } else { Loss::Softmax };
        let numbers = meta["targets"] == "numbers";
        let classes = if numbers { None } else { Some(text::read_lines(&folder.join(CLASSES))?) };
        let mut layers = Vec::new();
        loop {
            let file = format!("{}.npy", weights_name(layers.len()));
            if !layers.is_empty() && !folder.join(&file).is_file() {
                break;
            }
            let weights = npy::read_f32(&folder.join(&file))?.into_dimensionality();
            let weights: Array2<f32> = weights.map_err(|_| refuse(&file, "is no matrix; train again"))?;
            let bias_file = format!("{}.npy", bias_name(layers.len()));
            let bias: Vec<f32> = npy::read_f32(&folder.join(&bias_file))?.into_iter().collect();
            let before = layers.last().map(|(weights, _): &(Array2<f32>, Vec<f32>)| weights.nrows());
            if bias.len() != weights.nrows() || before.is_some_and(|before| before != weights.ncols()) {
                return Err(refuse(&file, "does not fit the layer before it or its bias; train again"));
            }
            layers.push((weights.as_standard_layout().into_owned(), bias));
        }
        let inputs = layers[0].0.ncols();
        let sizes: Vec<usize> =
            std::iter::once(inputs).chain(layers.iter().map(|(_, bias)| bias.len())).collect();
        let standard = Standard::read(&folder)?;
        let standard =
            standard.unwrap_or_else(|| Standard { mean: vec![0.0; inputs], scale: vec![1.0; inputs] });
        let n_outputs = classes.as_ref().map_or(1, Vec::len);
        if standard.mean.len() != inputs || sizes.last() != Some(&n_outputs) {
            return Err(refuse(META, "does not fit the arrays beside it; train again"));
        }
        let net = Net { sizes, activation, loss, dropout: 0.0 };
        Ok(Self { net, layers, standard, classes, index_base: samples::read_base(&folder)? })
    }

    /// Reads rows for this net: inputs are as it was trained on.
    fn rows(&self, data: &Path, unlabelled: bool, tell: &(dyn Fn(News) + Sync)) -> Result<Points, Error> {
        let options = PointsOptions {
            wanted: match &self.classes {
                _ if unlabelled => Wanted::Nothing,
                Some(_) => Wanted::Classes,
                None => Wanted::Numbers,
            },
            classes: self.classes.clone(),
            index_base: self.index_base,
            n_columns: Some(self.net.sizes[0]),
            unlabelled,
            ..PointsOptions::default()
        };
        let mut points = read_points(data, &options, tell)?;
        standardise(&mut points.features, &self.standard, points.unit);
        Ok(points)
    }

    /// Outputs of some rows.
    fn outputs(&self, features: &Features, rows: &[u32], room: &mut Room) -> Array2<f32> {
        let layers = self.layers.iter().map(|(weights, bias)| Layer::whole(weights, bias.clone()));
        let to = room.inputs.slice_mut(s![..rows.len(), ..]);
        features.gather(rows, to.into_slice().expect("rows of a whole array lie one after the other"));
        self.net.forward(&layers.collect::<Vec<_>>(), room, rows.len()).to_owned()
    }

    /// Named metrics on a file of rows with labels.
    pub(super) fn evaluate(&self, data: &Path) -> Result<BTreeMap<String, f64>, Error> {
        let points = self.rows(data, false, &|_| {})?;
        let labels = points.labels.expect("they were asked for");
        let (mut room, mut score) = (Room::new(&self.net, AT_ONCE), Score::default());
        let known = known(&labels, self.classes.as_ref().map_or(1, Vec::len));
        for rows in known.chunks(AT_ONCE) {
            let outputs = self.outputs(&points.features, rows, &mut room);
            score += match &labels {
                Labels::Classes { of, .. } => {
                    let of: Vec<u32> = rows.iter().map(|row| of[*row as usize]).collect();
                    self.net.loss.score(&outputs.view(), Targets::Classes(&of))
                }
                Labels::Numbers(of) => {
                    let of: Vec<f32> = rows.iter().map(|row| of[*row as usize]).collect();
                    self.net.loss.score(&outputs.view(), Targets::Numbers(&of))
                }
            };
        }
        let unknown = (points.features.n_rows() - known.len()) as f64;
        let metrics = metrics(score, unknown, self.classes.is_none()).into_iter();
        Ok(metrics.map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// What the net says of new rows: the class and the probability of each, or outputs where they are none.
    pub(super) fn predict(self, data: &Path, tell: &(dyn Fn(News) + Sync)) -> Result<Predictions, Error> {
        let features = self.rows(data, true, tell)?.features;
        let n_rows = features.n_rows();
        let columns = match &self.classes {
            None => vec![Column::single("prediction")],
            Some(names) => {
                let label =
                    if self.labels().is_some() { Column::double("label") } else { Column::name("label") };
                let what = if self.net.loss == Loss::Softmax { "p" } else { "output" };
                let each = names.iter().map(|name| Column::single(format!("{what}({name})")));
                std::iter::once(label).chain(each).collect()
            }
        };
        let labels = self.labels();
        let mut room = Room::new(&self.net, AT_ONCE);
        let rows = (0..n_rows.div_ceil(AT_ONCE)).flat_map(move |chunk| {
            let rows: Vec<u32> =
                (chunk * AT_ONCE..((chunk + 1) * AT_ONCE).min(n_rows)).map(|row| row as u32).collect();
            let outputs = self.outputs(&features, &rows, &mut room);
            let row = |z: ndarray::ArrayView1<'_, f32>| self.cells(z.to_vec(), labels.as_deref());
            outputs.outer_iter().map(row).collect::<Vec<_>>()
        });
        Ok(Predictions { columns, n_rows, rows: Box::new(rows) })
    }

    /// The names of the classes as numbers, where all are.
    fn labels(&self) -> Option<Vec<f64>> {
        self.classes.as_ref()?.iter().map(|name| name.parse().ok().filter(|x: &f64| x.is_finite())).collect()
    }

    fn cells(&self, mut z: Vec<f32>, labels: Option<&[f64]>) -> Vec<Cell> {
        let best = largest(&z);
        let label = match (&self.classes, labels) {
            (None, _) => None,
            (Some(_), Some(labels)) => Some(Cell::Number(labels[best])),
            (Some(names), None) => Some(Cell::Text(names[best].clone())),
        };
        if self.net.loss == Loss::Softmax {
            softmax(&mut z);
        }
        label.into_iter().chain(z.into_iter().map(|z| Cell::Number(f64::from(z)))).collect()
    }
}

/// The rows whose class is one of the first `n`.
pub(super) fn known(labels: &Labels, n: usize) -> Vec<u32> {
    match labels {
        Labels::Classes { of, .. } => {
            let rows = of.iter().enumerate().filter(|(_, class)| (**class as usize) < n);
            rows.map(|(row, _)| row as u32).collect()
        }
        Labels::Numbers(of) => (0..of.len() as u32).collect(),
    }
}
