//! The options of nets: as written, then checked.

use std::collections::BTreeMap;

use super::activation::Activation;
use super::loss::Loss;
use super::optimizer::{Course, Optimizer};
use crate::Error;
use crate::catalog::OptionSpec;
use crate::options::Options;
use crate::run::refuse;

/// What `slackline train mlp` can be told.
pub const OPTIONS: &[OptionSpec] = &[
    option("layers", "N,N,…", "256,128", "hidden units of each layer, 1 or more each; none: a linear model"),
    option("epochs", "N", "10", "passes over the rows, 1 or more"),
    option("batch", "N", "128", "rows of a step, 1 or more; in place of --parts"),
    option("parts", "N", "rows / batch", "steps of a pass, 1 or more; in place of --batch"),
    option("optimizer", "sgd|adagrad|adam|adarevision", "adam", "how gradients move weights"),
    option(
        "rate",
        "X",
        "0.001; adagrad 0.01; adarevision 0.3; sgd 0.1 x (1 - momentum)",
        "the first rate, more than 0; with W workers each gradient of a batch is a step of its own at this rate",
    ),
    option("momentum", "X", "0", "of sgd: what stays of the last step, from 0 to less than 1"),
    option("step", "cosine|constant|decay", "cosine", "how the rate goes on: half a cosine ends at 0"),
    option(
        "step-decay",
        "X",
        "0.9",
        "with --step decay: what a pass multiplies the rate by, more than 0, at most 1",
    ),
    option("activation", "relu|sigmoid|tanh", "relu", "what hidden units make of their sums"),
    option(
        "loss",
        "softmax|squared",
        "softmax, for numbers squared",
        "cross-entropy, or half the squared distance",
    ),
    option(
        "targets",
        "classes|numbers",
        "classes",
        "what labels are: names of classes, or numbers to predict",
    ),
    option("dropout", "X", "0", "share of hidden units left out in a training step, from 0 to less than 1"),
    option(
        "decay",
        "X",
        "0",
        "weight decay: half of this times the squared weights is added to the loss, 0 or more",
    ),
    option(
        "standardize",
        "",
        "false",
        "bring every column to mean 0 and deviation 1 as the training rows have them",
    ),
    option(
        "hold-out",
        "X",
        "0",
        "share of the rows to hold out; the weights kept are the best on them; 0 to 0.9",
    ),
    option(
        "patience",
        "N",
        "5",
        "with --hold-out: evaluations without a better one before the run ends, 1 or more",
    ),
    option(
        "evaluate-every",
        "N",
        "1",
        "passes between evaluations, which do not count as training time; 1 or more",
    ),
    option("labels", "FILE", "beside the data, or in it", "the labels of the rows: IDX, .npy, or one a line"),
    option("test-labels", "FILE", "beside the test data, or in it", "the labels of --test"),
    option("label-column", "first|last|none|NAME", "first", "where in the lines of a table the label is"),
    crate::samples::INDEX_BASE,
];

const fn option(
    name: &'static str,
    value: &'static str,
    default: &'static str,
    help: &'static str,
) -> OptionSpec {
    OptionSpec { name, value, default, help }
}

/// Checked options.
#[derive(Debug, Clone, PartialEq)]
pub struct Params {
    /// Hidden units of each layer.
    pub layers: Vec<usize>,
    /// Passes over the rows.
    pub epochs: usize,
    /// Rows of a step.
    pub batch: usize,
    /// Steps of a pass, in place of `batch`.
    pub parts: Option<usize>,
    /// How gradients move weights.
    pub optimizer: Optimizer,
    /// The first rate.
    pub rate: f64,
    /// How it goes on.
    pub course: Course,
    /// Of hidden units.
    pub activation: Activation,
    /// Of outputs.
    pub loss: Loss,
    /// Whether labels are numbers.
    pub numbers: bool,
    /// Share of hidden units left out.
    pub dropout: f32,
    /// Weight decay.
    pub decay: f32,
    /// Whether columns are standardised.
    pub standardize: bool,
    /// Share of the rows held out.
    pub hold_out: f64,
    /// Evaluations without a better one before the run ends.
    pub patience: u64,
    /// Passes between evaluations.
    pub evaluate_every: usize,
}

const LAYERS: &str = "whole numbers from 1 to 1000000 with commas between, or none";
const SHARE: &str = "a number from 0 to less than 1";

impl Params {
    /// Checks options as text; absent ones take their defaults.
    ///
    /// # Errors
    /// [`Error::Option`] names the first bad value and its rule.
    pub fn parse(given: &BTreeMap<String, String>) -> Result<Self, Error> {
        let options = Options(given);
        let count = |name, default| Ok::<_, Error>(options.count(name)?.unwrap_or(default));
        let share = |name| options.given(name, SHARE, |x: &f32| (0.0..1.0).contains(x));
        let (parts, batch) = (options.count("parts")?, options.count("batch")?);
        if let (Some(_), Some(text)) = (parts, options.text("batch")) {
            return Err(refuse("batch", text, "absent where --parts is given"));
        }
        let optimizer = optimizer(options, share("momentum")?)?;
        let numbers = one_of(options, "targets", &[("classes", false), ("numbers", true)])?;
        let losses = [("softmax", Loss::Softmax), ("squared", Loss::Squared)];
        let loss = match options.text("loss") {
            None if numbers => Loss::Squared,
            _ => one_of(options, "loss", &losses)?,
        };
        if numbers && loss == Loss::Softmax {
            return Err(refuse("loss", "softmax", "squared where --targets is numbers"));
        }
        let hold_out =
            options.given("hold-out", "a number from 0 to 0.9", |x: &f64| (0.0..=0.9).contains(x))?;
        Ok(Self {
            layers: layers(options.text("layers"))?,
            epochs: count("epochs", 10)?,
            batch: batch.unwrap_or(128),
            parts,
            optimizer,
            rate: options.positive("rate")?.unwrap_or(optimizer.default_rate()),
            course: course(options)?,
            activation: one_of(options, "activation", &Activation::ALL.map(|a| (a.name(), a)))?,
            loss,
            numbers,
            dropout: share("dropout")?.unwrap_or(0.0),
            decay: options.penalty("decay")?.unwrap_or(0.0) as f32,
            standardize: options.switch("standardize")?.unwrap_or(false),
            hold_out: hold_out.unwrap_or(0.0),
            patience: count("patience", 5)? as u64,
            evaluate_every: count("evaluate-every", 1)?,
        })
    }

    /// The options with their values, as the record of a run has them.
    pub fn config(&self) -> Vec<(&'static str, serde_json::Value)> {
        let layers: Vec<String> = self.layers.iter().map(ToString::to_string).collect();
        let (step, factor) = match self.course {
            Course::Constant => ("constant", None),
            Course::Decay(factor) => ("decay", Some(factor)),
            Course::Cosine => ("cosine", None),
        };
        let mut config = vec![
            ("layers", if layers.is_empty() { "none".into() } else { layers.join(",").into() }),
            ("epochs", self.epochs.into()),
            match self.parts {
                Some(parts) => ("parts", parts.into()),
                None => ("batch", self.batch.into()),
            },
            ("optimizer", self.optimizer.name().into()),
            ("rate", self.rate.into()),
            ("step", step.into()),
            ("activation", self.activation.name().into()),
            ("loss", self.loss.name().into()),
            ("targets", if self.numbers { "numbers" } else { "classes" }.into()),
            ("dropout", self.dropout.into()),
            ("decay", self.decay.into()),
            ("standardize", self.standardize.into()),
            ("hold-out", self.hold_out.into()),
            ("evaluate-every", self.evaluate_every.into()),
        ];
        if let Optimizer::Sgd { momentum } = self.optimizer {
            config.push(("momentum", momentum.into()));
        }
        config.extend(factor.map(|factor| ("step-decay", factor.into())));
        if self.hold_out > 0.0 {
            config.push(("patience", self.patience.into()));
        }
        config
    }

    /// What must be the same for a run to go on from a checkpoint.
    pub(super) fn settings(&self) -> Vec<(&'static str, String)> {
        self.config().into_iter().map(|(name, value)| (name, value.to_string())).collect()
    }
}

/// One of several words, the first where none is given.
fn one_of<T: Copy>(options: Options<'_>, name: &str, words: &[(&str, T)]) -> Result<T, Error> {
    let Some(text) = options.text(name) else { return Ok(words[0].1) };
    let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
    let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    found.ok_or_else(|| refuse(name, text, &names.join(" or ")))
}

fn layers(text: Option<&str>) -> Result<Vec<usize>, Error> {
    let Some(text) = text else { return Ok(vec![256, 128]) };
    if text == "none" {
        return Ok(Vec::new());
    }
    let size = |text: &str| text.trim().parse().ok().filter(|n| (1..=1_000_000).contains(n));
    let sizes: Option<Vec<usize>> = text.split(',').map(size).collect();
    sizes.ok_or_else(|| refuse("layers", text, LAYERS))
}

fn optimizer(options: Options<'_>, momentum: Option<f32>) -> Result<Optimizer, Error> {
    let sgd = Optimizer::Sgd { momentum: momentum.unwrap_or(0.0) };
    let all = [Optimizer::Adam, sgd, Optimizer::AdaGrad, Optimizer::AdaRevision];
    let optimizer = one_of(options, "optimizer", &all.map(|optimizer| (optimizer.name(), optimizer)))?;
    match options.text("momentum") {
        Some(text) if optimizer != sgd => Err(refuse("momentum", text, "absent but with --optimizer sgd")),
        _ => Ok(optimizer),
    }
}

fn course(options: Options<'_>) -> Result<Course, Error> {
    let factor = options
        .given("step-decay", "a number more than 0, at most 1", |x: &f64| *x > 0.0 && *x <= 1.0)?
        .unwrap_or(0.9);
    let all = [("cosine", Course::Cosine), ("constant", Course::Constant), ("decay", Course::Decay(factor))];
    one_of(options, "step", &all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(options: &[(&str, &str)]) -> Result<Params, Error> {
        let options = options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Params::parse(&options.collect())
    }

    #[test]
    fn what_is_not_given_has_its_default() {
        let params = parse(&[]).unwrap();
        assert_eq!((params.layers, params.optimizer, params.rate), (vec![256, 128], Optimizer::Adam, 0.001));
        let params = parse(&[("optimizer", "sgd"), ("momentum", "0.9"), ("targets", "numbers")]).unwrap();
        assert!((params.rate - 0.01).abs() < 1e-6 && params.loss == Loss::Squared, "{params:?}");
        assert_eq!(parse(&[("layers", "512, 256")]).unwrap().layers, [512, 256]);
        assert!(parse(&[("layers", "none")]).unwrap().layers.is_empty());
    }

    #[test]
    fn bad_values_and_those_that_do_not_go_together_are_refused() {
        let refused = |options: &[(&str, &str)]| parse(options).unwrap_err().to_string();
        let bad = [("layers", "512,x"), ("layers", ""), ("batch", "0"), ("dropout", "1"), ("momentum", "1")];
        let more =
            [("decay", "-1"), ("hold-out", "0.95"), ("step", "up"), ("step-decay", "0"), ("patience", "0")];
        for (name, value) in bad.into_iter().chain(more) {
            let said = refused(&[(name, value)]);
            assert!(said.starts_with(&format!("--{name} is {value}, must be ")), "{said}");
        }
        let said = refused(&[("momentum", "0.9")]);
        assert_eq!(said, "--momentum is 0.9, must be absent but with --optimizer sgd");
        let said = refused(&[("loss", "softmax"), ("targets", "numbers")]);
        assert_eq!(said, "--loss is softmax, must be squared where --targets is numbers");
        assert!(refused(&[("batch", "3"), ("parts", "4")]).contains("absent where --parts is given"));
    }
}
