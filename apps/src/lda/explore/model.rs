//! The model of an `lda` run, read back and checked.

use std::path::Path;

use ndarray::{Array2, ArrayView1};

use crate::Error;
use crate::data::{npy, text};

/// A row of `topic_word.npy` may miss 1 by this much before it counts as no distribution.
const SLACK: f64 = 1e-3;

/// K topics over V words. A topic is known by its row in `topic_word.npy`, from 0.
#[derive(Debug, Clone)]
pub struct TopicModel {
    /// p(word | topic), K x V: every row sums to 1.
    pub topic_word: Array2<f32>,
    /// The prior weight of each topic in a document, K.
    pub alpha: Vec<f64>,
    /// The vocabulary, V.
    pub words: Vec<String>,
    /// Tokens of the training data in each topic, K.
    pub topic_tokens: Vec<u64>,
    /// How often each word occurs in the training data, V.
    pub word_tokens: Vec<u64>,
}

impl TopicModel {
    /// Reads the model of the run in `directory` (its `--out`).
    ///
    /// # Errors
    /// A file of the model that is missing, torn or no part of this model: named, with what was expected.
    pub fn read(directory: &Path) -> Result<Self, Error> {
        let folder = directory.join("model");
        let (path, alpha_path) = (folder.join("topic_word.npy"), folder.join("alpha.npy"));
        let topic_word = npy::read_f32(&path)?.into_dimensionality().map_err(|_| {
            refused(&path, "has not the two dimensions topics x words: is this a model of lda?".to_owned())
        })?;
        let model = Self {
            topic_word,
            alpha: npy::read_real(&alpha_path)?.into_iter().collect(),
            words: text::read_lines(&folder.join("vocab.txt"))?,
            topic_tokens: counts(&folder.join("topic_counts.npy"))?,
            word_tokens: counts(&folder.join("word_counts.npy"))?,
        };
        model.check(&folder)?;
        Ok(model)
    }

    /// How many topics there are.
    pub fn n_topics(&self) -> usize {
        self.topic_word.nrows()
    }

    /// How many words the vocabulary has.
    pub fn n_words(&self) -> usize {
        self.topic_word.ncols()
    }

    /// Tokens of the training data.
    pub fn n_tokens(&self) -> u64 {
        self.word_tokens.iter().sum()
    }

    /// p(word | topic) of every word.
    pub fn topic(&self, topic: usize) -> ArrayView1<'_, f32> {
        self.topic_word.row(topic)
    }

    /// p(topic): the share of the tokens that are in it.
    pub fn share(&self, topic: usize) -> f64 {
        self.topic_tokens[topic] as f64 / self.topic_tokens.iter().sum::<u64>().max(1) as f64
    }

    /// All topics, those with most tokens first.
    pub fn by_frequency(&self) -> Vec<usize> {
        let mut topics: Vec<usize> = (0..self.n_topics()).collect();
        topics.sort_by_key(|&topic| (std::cmp::Reverse(self.topic_tokens[topic]), topic));
        topics
    }

    fn check(&self, folder: &Path) -> Result<(), Error> {
        let (topics, words) = self.topic_word.dim();
        if topics == 0 || words == 0 {
            return Err(refused(
                &folder.join("topic_word.npy"),
                format!("is {topics} topics x {words} words"),
            ));
        }
        let lengths = [
            ("alpha.npy", self.alpha.len(), topics, "topics"),
            ("topic_counts.npy", self.topic_tokens.len(), topics, "topics"),
            ("word_counts.npy", self.word_tokens.len(), words, "words"),
            ("vocab.txt", self.words.len(), words, "words"),
        ];
        for (name, found, expected, what) in lengths {
            if found != expected {
                let problem = format!(
                    "is about {found} {what}, expected the {expected} of topic_word.npy; the files are of different models"
                );
                return Err(refused(&folder.join(name), problem));
            }
        }
        if self.alpha.iter().any(|alpha| !alpha.is_finite() || *alpha <= 0.0) {
            let problem = "has a weight that is not more than 0, expected a prior".to_owned();
            return Err(refused(&folder.join("alpha.npy"), problem));
        }
        for (topic, row) in self.topic_word.outer_iter().enumerate() {
            let sum: f64 = row.iter().map(|&p| f64::from(p)).sum();
            if row.iter().any(|p| p.is_nan() || *p < 0.0) || (sum - 1.0).abs() > SLACK {
                let problem =
                    format!("topic {topic} is no distribution: its weights must be 0 or more and sum to 1");
                return Err(refused(&folder.join("topic_word.npy"), problem));
            }
        }
        Ok(())
    }
}

/// Whole numbers, 0 or more.
fn counts(path: &Path) -> Result<Vec<u64>, Error> {
    let count = |count: i64| u64::try_from(count).ok();
    let counts: Option<Vec<u64>> = npy::read_i64(path)?.into_iter().map(count).collect();
    counts.ok_or_else(|| refused(path, "has a number below 0, expected counts of tokens".to_owned()))
}

fn refused(path: &Path, problem: String) -> Error {
    Error::Data { path: path.to_owned(), problem }
}
