//! How far topics are from each other: the Jensen-Shannon divergence of their distributions over words (Lin 1991),
//!
//! ```text
//! JS(p, q) = ½ Σ p log (p / m) + ½ Σ q log (q / m),   m = (p + q) / 2,   0 to log 2
//! ```
//!
//! K topics over V words have K²/2 pairs and would take K²V/2 logarithms. Of each pair only the heads are looked at word by
//! word: the most probable words of either that make up 99.9 % of it, and no more than keep the whole within [`BUDGET`].
//! All other words count as one. To merge words can only make a divergence smaller, and if at most ε of each topic is
//! outside its head, by no more than ε log 2.

use ndarray::{Array2, ArrayView1};
use rayon::prelude::*;

/// The share of a topic that its head makes up, unless that takes too many words.
const COVER: f64 = 0.999;
/// Words looked at, over all pairs: some seconds of one core.
const BUDGET: usize = 400_000_000;
/// However many topics there are, a head has as many words as this.
const LEAST_HEAD: usize = 100;

/// The divergences between topics.
#[derive(Debug, Clone)]
pub struct Divergences {
    /// Jensen-Shannon divergences in nats, 0 to log 2: topics x topics, symmetric, 0 on the diagonal.
    pub matrix: Array2<f64>,
    /// The share of each topic that was looked at word by word, of the topic where it is least. No divergence is too small by
    /// more than `(1 − covered) log 2`.
    pub covered: f64,
}

/// The divergences between these topics, rows of `topic_word` (K x V) in the order given.
pub fn divergences(topic_word: &Array2<f32>, topics: &[usize]) -> Divergences {
    let pairs = (topics.len() * topics.len()).max(1);
    with_heads(topic_word, topics, (BUDGET / pairs).max(LEAST_HEAD))
}

/// The same with heads of at most so many words.
pub(super) fn with_heads(topic_word: &Array2<f32>, topics: &[usize], most: usize) -> Divergences {
    let n = topics.len();
    let heads: Vec<Head> = topics.par_iter().map(|&topic| Head::of(&topic_word.row(topic), most)).collect();
    let of_row = |row: usize| -> Vec<f64> {
        let pair = |other: usize| {
            let rows = (topic_word.row(topics[row]), topic_word.row(topics[other]));
            between(rows, (&heads[row].words, &heads[other].words))
        };
        (0..row).map(pair).collect()
    };
    let below: Vec<Vec<f64>> = (0..n).into_par_iter().map(of_row).collect();
    let matrix = Array2::from_shape_fn((n, n), |(row, column)| match row.cmp(&column) {
        std::cmp::Ordering::Equal => 0.0,
        std::cmp::Ordering::Less => below[column][row],
        std::cmp::Ordering::Greater => below[row][column],
    });
    let covered = heads.iter().map(|head| head.covered).fold(1.0, f64::min);
    Divergences { matrix, covered }
}

/// The most probable words of a topic.
struct Head {
    /// Ascending.
    words: Vec<usize>,
    /// How much of the topic they are.
    covered: f64,
}

impl Head {
    fn of(topic: &ArrayView1<'_, f32>, most: usize) -> Self {
        let mut words: Vec<usize> = (0..topic.len()).collect();
        let order = |a: &usize, b: &usize| topic[*b].total_cmp(&topic[*a]).then(a.cmp(b));
        if most < words.len() {
            words.select_nth_unstable_by(most, order);
            words.truncate(most);
        }
        words.sort_unstable_by(order);
        let (mut covered, mut kept) = (0.0, 0);
        while kept < words.len() && covered < COVER {
            covered += f64::from(topic[words[kept]]);
            kept += 1;
        }
        words.truncate(kept);
        words.sort_unstable();
        Self { words, covered }
    }
}

/// The divergence of two topics over the words of both heads, all others as one.
fn between(
    (p, q): (ArrayView1<'_, f32>, ArrayView1<'_, f32>),
    (mut of_p, mut of_q): (&[usize], &[usize]),
) -> f64 {
    let (mut rest_p, mut rest_q, mut sum) = (1.0, 1.0, 0.0);
    loop {
        let word = match (of_p.first(), of_q.first()) {
            (Some(a), Some(b)) => *a.min(b),
            (Some(one), None) | (None, Some(one)) => *one,
            (None, None) => break,
        };
        of_p = of_p.strip_prefix(&[word]).unwrap_or(of_p);
        of_q = of_q.strip_prefix(&[word]).unwrap_or(of_q);
        let (a, b) = (f64::from(p[word]), f64::from(q[word]));
        rest_p -= a;
        rest_q -= b;
        sum += share(a, b);
    }
    (sum + share(rest_p.max(0.0), rest_q.max(0.0))).clamp(0.0, std::f64::consts::LN_2)
}

/// What one word adds to the divergence.
fn share(p: f64, q: f64) -> f64 {
    let mean = 0.5 * (p + q);
    let of = |x: f64| if x > 0.0 { x * (x / mean).ln() } else { 0.0 };
    0.5 * (of(p) + of(q))
}
