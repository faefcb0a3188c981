//! The options of the sampler: as written, then checked.

use std::collections::BTreeMap;

use super::gibbs::priors::Fit;
use crate::Error;
use crate::catalog::OptionSpec;
use crate::options::Options;
use crate::run::refuse;

/// What both methods can be told.
pub(super) const SHARED: &[OptionSpec] = &[
    OptionSpec {
        name: "method",
        value: "gibbs|svi",
        default: "gibbs",
        help: "collapsed Gibbs sampling, or stochastic variational inference",
    },
    OptionSpec { name: "topics", value: "K", default: "100", help: "topics, 1 to 1000000" },
    OptionSpec {
        name: "alpha",
        value: "A",
        default: "0.1",
        help: "Dirichlet prior of each topic in a document, more than 0",
    },
    OptionSpec {
        name: "beta",
        value: "B",
        default: "0.01",
        help: "Dirichlet prior of each word in a topic, more than 0",
    },
    OptionSpec {
        name: "evaluate-every",
        value: "N",
        default: "10 sweeps, or 1 epoch with svi",
        help: "sweeps or epochs between evaluations, which do not count as training time; 1 or more",
    },
    OptionSpec {
        name: "top-words",
        value: "N",
        default: "20",
        help: "words of each topic in top_words.tsv, 1 to 1000",
    },
];

/// What the sampler can be told beyond that.
pub(super) const GIBBS: &[OptionSpec] = &[
    OptionSpec {
        name: "sweeps",
        value: "N",
        default: "200",
        help: "times that the topic of every token is drawn, 1 or more",
    },
    OptionSpec {
        name: "optimize",
        value: "none|alpha|both",
        default: "none",
        help: "fit an alpha for each topic, or beta too, by a step of Minka's fixed point a sweep",
    },
    OptionSpec {
        name: "burn-in",
        value: "N",
        default: "a quarter of the sweeps",
        help: "sweeps before priors are fitted, 0 or more",
    },
    OptionSpec {
        name: "samples",
        value: "N",
        default: "1",
        help: "the model is the mean over so many last sweeps, 1 or more",
    },
    OptionSpec {
        name: "tol",
        value: "T",
        default: "0",
        help: "end when perplexity fell by less than this share over three evaluations; 0 never does",
    },
    OptionSpec {
        name: "doc-topic",
        value: "true|false",
        default: "false",
        help: "write the mixture of topics of every document, doc_topic.npy",
    },
    OptionSpec {
        name: "parts",
        value: "N",
        default: "2 x workers; 16 under bsp",
        help: "parts of the documents, 1 or more",
    },
    OptionSpec {
        name: "blocks",
        value: "N",
        default: "2 x workers + 1; as many as parts under bsp",
        help: "blocks of the words, 1 or more",
    },
];

/// Checked options of both methods.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shared {
    /// Topics.
    pub topics: usize,
    /// Prior of a topic in a document.
    pub alpha: f64,
    /// Prior of a word in a topic.
    pub beta: f64,
    /// Sweeps or epochs between evaluations, where it is said.
    pub evaluate_every: Option<usize>,
    /// Words of a topic in `top_words.tsv`.
    pub top_words: usize,
}

impl Shared {
    /// Checks options as text; absent ones take their defaults.
    ///
    /// # Errors
    /// [`Error::Option`] names the first bad value and its rule.
    pub fn parse(options: &BTreeMap<String, String>) -> Result<Self, Error> {
        let given = Options(options);
        let prior = |name: &str| {
            let rule = "a number more than 0, at most 1000";
            given.given(name, rule, |x: &f64| *x >= 1e-7 && *x <= 1e3)
        };
        let rule = "a whole number from 1 to 1000000";
        let words = "a whole number from 1 to 1000";
        Ok(Self {
            topics: given.given("topics", rule, |k| (1..=1_000_000).contains(k))?.unwrap_or(100),
            alpha: prior("alpha")?.unwrap_or(0.1),
            beta: prior("beta")?.unwrap_or(0.01),
            evaluate_every: given.count("evaluate-every")?,
            top_words: given.given("top-words", words, |n| (1..=1000).contains(n))?.unwrap_or(20),
        })
    }

    /// What must be the same for a run to go on from a checkpoint.
    pub(super) fn settings(&self) -> Vec<(&'static str, String)> {
        let every = self.evaluate_every.map_or_else(|| "its default".to_owned(), |every| every.to_string());
        vec![
            ("topics", self.topics.to_string()),
            ("alpha", self.alpha.to_string()),
            ("beta", self.beta.to_string()),
            ("evaluate-every", every),
        ]
    }
}

/// Checked options of the sampler.
#[derive(Debug, Clone, PartialEq)]
pub struct Params {
    /// Those of both methods.
    pub shared: Shared,
    /// Passes after the first, which gives tokens their topics.
    pub sweeps: usize,
    /// Which priors are fitted.
    pub fit: Fit,
    /// Sweeps before they are.
    pub burn_in: usize,
    /// Last sweeps that the model is the mean of.
    pub samples: usize,
    /// Least gain of three evaluations.
    pub tolerance: f64,
    /// Whether mixtures of documents are written.
    pub doc_topic: bool,
    /// Parts of the documents.
    pub parts: usize,
    /// Blocks of the words.
    pub blocks: usize,
}

/// Parts of a run in rounds, whatever the workers.
const ROUNDS_PARTS: usize = 16;

impl Params {
    /// Checks options as text; absent ones take their defaults, which for parts and blocks depend on `workers` where the
    /// schedule does not go in rounds.
    ///
    /// # Errors
    /// [`Error::Option`] names the first bad value and its rule.
    pub fn parse(options: &BTreeMap<String, String>, workers: usize, in_rounds: bool) -> Result<Self, Error> {
        let given = Options(options);
        let fit = match given.text("optimize").unwrap_or("none") {
            "none" => Fit::Nothing,
            "alpha" => Fit::Alpha,
            "both" => Fit::Both,
            other => return Err(refuse("optimize", other, "none, alpha or both")),
        };
        let sweeps = given.count("sweeps")?.unwrap_or(200);
        let burn_in = given.given("burn-in", "a whole number, 0 or more", |_| true)?;
        let (of_parts, of_blocks) =
            if in_rounds { (ROUNDS_PARTS, None) } else { (2 * workers.max(1), Some(2 * workers.max(1) + 1)) };
        let groups = |name: &str| {
            given.given(name, "a whole number from 1 to 65536", |n: &usize| (1..=65_536).contains(n))
        };
        let parts = groups("parts")?.unwrap_or(of_parts);
        let blocks = groups("blocks")?.unwrap_or(of_blocks.unwrap_or(parts));
        if in_rounds && blocks != parts {
            let rule = format!("as many as --parts ({parts}) where the schedule goes in rounds");
            return Err(refuse("blocks", &blocks.to_string(), &rule));
        }
        Ok(Self {
            shared: Shared::parse(options)?,
            sweeps,
            fit,
            burn_in: burn_in.unwrap_or(sweeps / 4),
            samples: given.count("samples")?.unwrap_or(1),
            tolerance: given.penalty("tol")?.unwrap_or(0.0),
            doc_topic: given.switch("doc-topic")?.unwrap_or(false),
            parts,
            blocks,
        })
    }

    /// What must be the same for a run to go on from a checkpoint.
    pub(super) fn settings(&self) -> Vec<(&'static str, String)> {
        let mut settings = self.shared.settings();
        settings.extend([
            ("sweeps", self.sweeps.to_string()),
            ("optimize", self.fit.name().to_owned()),
            ("burn-in", self.burn_in.to_string()),
            ("samples", self.samples.to_string()),
            ("tol", self.tolerance.to_string()),
            ("parts", self.parts.to_string()),
            ("blocks", self.blocks.to_string()),
        ]);
        settings
    }
}
