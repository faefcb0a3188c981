//! Everything that a page about a topic model shows: a map of topics and, for each, the words that a slider over λ can bring up.

use std::collections::BTreeMap;

use rayon::prelude::*;
use serde::Serialize;

use super::candidates::Candidates;
use super::saliency::most_salient;
use super::{TopicModel, divergences, plane};

/// More topics than this are not seen on a map: the least frequent are left out.
const MOST_TOPICS: usize = 1000;
/// Steps of the slider over λ.
const STEPS: u32 = 100;
/// A word is at home in the topics that have this share of it, and in no more than so many.
const LEAST_SHARE: f64 = 0.01;
const MOST_HOMES: usize = 30;

/// A model to look at. Words are numbered from 0 in `words`, topics in `topics`.
#[derive(Debug, Clone, Serialize)]
pub struct Picture {
    /// The topics, the most frequent first.
    pub topics: Vec<Circle>,
    /// The words that are shown anywhere.
    pub words: Vec<Entry>,
    /// The words that tell most about topics (saliency), the first first.
    pub salient: Vec<usize>,
    /// How many words are shown at once.
    pub shown: usize,
    /// Topics of the model.
    pub n_topics: usize,
    /// Words of its vocabulary.
    pub n_words: usize,
    /// Tokens of its training data.
    pub n_tokens: u64,
    /// The share of every topic at least that the map's distances are about, word by word.
    pub covered: f64,
}

/// A topic on the map.
#[derive(Debug, Clone, Serialize)]
pub struct Circle {
    /// Its row in `topic_word.npy`, from 0.
    pub topic: usize,
    /// The share of the tokens that are in it.
    pub share: f64,
    /// Tokens in it.
    pub tokens: u64,
    /// Its prior weight in a document.
    pub alpha: f64,
    /// Its place: distances are near to the roots of Jensen-Shannon divergences.
    pub x: f64,
    /// Its place.
    pub y: f64,
    /// Words that are among the first at some λ.
    pub words: Vec<usize>,
    /// p(word | topic) of each.
    pub weights: Vec<f64>,
}

/// A word that is shown.
#[derive(Debug, Clone, Serialize)]
pub struct Entry {
    /// The word.
    pub word: String,
    /// How often it occurs in the training data.
    pub tokens: u64,
    /// Topics that have a share of it, and p(topic | word): the largest share first.
    pub homes: Vec<(usize, f64)>,
}

impl Picture {
    /// Looks at a model; `shown` words of a topic at once.
    pub fn of(model: &TopicModel, shown: usize) -> Self {
        let mut order = model.by_frequency();
        order.truncate(MOST_TOPICS);
        let divergences = divergences(&model.topic_word, &order);
        // The root of the divergence is a distance of points in a space of many dimensions (Endres and Schindelin 2003;
        // Fuglede and Topsoe 2004), which is what classical scaling projects.
        let places = plane(&divergences.matrix);
        let candidates = Candidates::new(model, shown, STEPS);
        let of_topics: Vec<Vec<usize>> = order.par_iter().map(|&topic| candidates.of(topic)).collect();
        let salient = most_salient(model, shown);
        let numbers: BTreeMap<usize, usize> =
            of_topics.iter().flatten().chain(&salient).map(|&w| (w, 0)).collect();
        let numbers: BTreeMap<usize, usize> = numbers.into_keys().zip(0..).collect();
        let circle = |((&topic, words), [x, y]): ((&usize, &Vec<usize>), [f64; 2])| Circle {
            topic,
            share: rounded(model.share(topic)),
            tokens: model.topic_tokens[topic],
            alpha: rounded(model.alpha[topic]),
            x: rounded(x),
            y: rounded(y),
            words: words.iter().map(|word| numbers[word]).collect(),
            weights: words.iter().map(|&word| rounded(f64::from(model.topic(topic)[word]))).collect(),
        };
        let shares: Vec<f64> = order.iter().map(|&topic| model.share(topic)).collect();
        let words: Vec<usize> = numbers.keys().copied().collect();
        Self {
            topics: order.iter().zip(&of_topics).zip(places).map(circle).collect(),
            words: words.into_par_iter().map(|word| entry(model, word, (&order, &shares))).collect(),
            salient: salient.iter().map(|word| numbers[word]).collect(),
            shown,
            n_topics: model.n_topics(),
            n_words: model.n_words(),
            n_tokens: model.n_tokens(),
            covered: divergences.covered,
        }
    }
}

/// A word and the topics that it is at home in, by p(topic | word) ∝ p(topic) p(word | topic).
fn entry(model: &TopicModel, word: usize, (order, shares): (&[usize], &[f64])) -> Entry {
    let joint = |(&topic, share): (&usize, &f64)| share * f64::from(model.topic_word[[topic, word]]);
    let joint: Vec<f64> = order.iter().zip(shares).map(joint).collect();
    let whole = joint.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let mut homes: Vec<(usize, f64)> = joint
        .iter()
        .map(|joint| joint / whole)
        .enumerate()
        .filter(|(_, share)| *share >= LEAST_SHARE)
        .collect();
    homes.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    homes.truncate(MOST_HOMES);
    let homes = homes.into_iter().map(|(topic, share)| (topic, (share * 1e3).round() / 1e3)).collect();
    Entry { word: model.words[word].clone(), tokens: model.word_tokens[word], homes }
}

/// Five significant digits: what a page needs, in as few bytes.
fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    let scale = 10_f64.powf(4.0 - value.abs().log10().floor());
    if scale.is_finite() { (value * scale).round() / scale } else { value }
}
