//! Against values made with NumPy 2.4 and SciPy 1.17, in Python, from the definitions.

use std::path::PathBuf;

use super::*;
use crate::data::Corpus;
use crate::data::corpus::{CorpusOptions, read_corpus};

const N_DOCS: usize = 6;
const N_WORDS: usize = 12;
const N_TOPICS: usize = 3;

/// Document d has word w `(7 d + 5 w + d w) mod 4` times; document 4 has word 3 once and nothing else.
fn corpus() -> Corpus {
    let mut corpus = Corpus { starts: vec![0], n_words: N_WORDS, ..Corpus::default() };
    for doc in 0..N_DOCS {
        for word in 0..N_WORDS {
            let count = if doc == 4 { usize::from(word == 3) } else { (doc * 7 + word * 5 + doc * word) % 4 };
            if count > 0 {
                corpus.words.push(word as u32);
                corpus.counts.push(count as u32);
            }
        }
        corpus.starts.push(corpus.words.len());
    }
    corpus
}

/// A table of words x topics of these weights, each topic scaled to add up to 1.
fn table(n_topics: usize, n_words: usize, weight: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    let sum = |topic| (0..n_words).map(|word| weight(topic, word)).sum::<f64>();
    let sums: Vec<f64> = (0..n_topics).map(sum).collect();
    (0..n_words * n_topics).map(|at| weight(at % n_topics, at / n_topics) / sums[at % n_topics]).collect()
}

fn near(ours: f64, expected: f64) {
    assert!((ours - expected).abs() <= 1e-12 * expected.abs(), "{ours} is not {expected}");
}

#[test]
fn documents_are_split_as_numpy_splits_them() {
    let observed = [
        [0, 1, 2, 2, 0, 0, 0, 1, 0, 1, 2, 0],
        [1, 0, 3, 1, 2, 0, 2, 1, 2, 0, 0, 0],
        [0, 0, 0, 2, 2, 0, 0, 0, 2, 1, 0, 2],
        [1, 0, 1, 0, 1, 1, 0, 0, 1, 0, 0, 1],
        [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0],
        [1, 1, 3, 1, 0, 0, 2, 1, 3, 0, 0, 0],
    ];
    let corpus = corpus();
    let split = Completion::new(&corpus);
    let row = |corpus: &Corpus, doc: usize| {
        let (words, counts) = corpus.doc(doc);
        let mut row = [0; N_WORDS];
        words.iter().zip(counts).for_each(|(&word, &count)| row[word as usize] = count);
        row
    };
    for (doc, observed) in observed.into_iter().enumerate() {
        let (whole, hidden) = (row(&corpus, doc), row(&split.hidden, doc));
        assert_eq!(row(&split.observed, doc), observed);
        assert!((0..N_WORDS).all(|word| observed[word] + hidden[word] == whole[word]));
    }
}

#[test]
fn perplexity_and_likelihood_are_those_of_numpy() {
    let table = table(N_TOPICS, N_WORDS, |topic, word| ((topic * 5 + word * 3) % 7) as f64 + 1.0);
    let (topics, corpus) = (DenseTopics::new(&table, N_TOPICS), corpus());
    let split = Completion::new(&corpus);
    let mut sum = split.measure(0..2, &topics);
    sum += split.measure(2..N_DOCS, &topics);
    near(sum.perplexity(), 15.240517340917984);
    near(sum.per_token(), -2.7239574959368);
    near(likelihood(&corpus, 0..N_DOCS, &topics).per_token(), -2.5063580876950025);
    let (words, counts) = corpus.doc(0);
    let mixture = FoldIn::new(&topics).mixture(words, counts).to_vec();
    for (ours, expected) in
        mixture.into_iter().zip([0.4081704413155674, 0.21600334461859297, 0.3758262140658396])
    {
        near(ours, expected);
    }
}

/// Topic k has `(5 k + 3 w) mod 7 · (w mod 3)` tokens of word w.
fn count(topic: usize, word: usize) -> u32 {
    ((topic * 5 + word * 3) % 7 * (word % 3)) as u32
}

const BETA: f64 = 0.1;

/// Topics as a sampler has them.
struct Counts {
    base: Vec<f64>,
}

impl Counts {
    fn new() -> Self {
        let total = |topic| (0..N_WORDS).map(|word| count(topic, word)).sum::<u32>();
        let base = |topic| 1.0 / (f64::from(total(topic)) + BETA * N_WORDS as f64);
        Self { base: (0..N_TOPICS).map(base).collect() }
    }
}

impl Topics for Counts {
    fn n_topics(&self) -> usize {
        N_TOPICS
    }

    fn n_words(&self) -> usize {
        N_WORDS
    }

    fn base(&self) -> &[f64] {
        &self.base
    }

    fn word(&self, word: u32, row: &mut WordRow) {
        row.smoothing(BETA);
        for topic in 0..N_TOPICS {
            let n = count(topic, word as usize);
            if n > 0 {
                row.add(topic as u32, f64::from(n) * self.base[topic]);
            }
        }
    }
}

#[test]
fn counts_measure_as_the_table_of_their_shares_does() {
    let table = table(N_TOPICS, N_WORDS, |topic, word| f64::from(count(topic, word)) + BETA);
    let (dense, counts, corpus) = (DenseTopics::new(&table, N_TOPICS), Counts::new(), corpus());
    let split = Completion::new(&corpus);
    near(split.measure(0..N_DOCS, &counts).perplexity(), 46.89648402245268);
    near(split.measure(0..N_DOCS, &dense).perplexity(), 46.89648402245268);
    near(likelihood(&corpus, 0..N_DOCS, &counts).per_token(), -3.4728358175298206);
}

#[test]
fn the_joint_likelihood_is_that_of_scipy() {
    let all = (0..N_TOPICS).flat_map(|topic| (0..N_WORDS).map(move |word| count(topic, word)));
    let totals: Vec<u64> =
        (0..N_TOPICS).map(|topic| (0..N_WORDS).map(|word| u64::from(count(topic, word))).sum()).collect();
    let tokens: u64 = totals.iter().sum();
    let log = joint::of_counts(all.filter(|&n| n > 0), BETA) + joint::of_totals(totals, N_WORDS, BETA);
    near(log / tokens as f64, -2.2267840163131165);
}

#[test]
fn coherence_is_the_mean_of_the_pairs() {
    let corpus = corpus();
    let tops: [&[u32]; 5] = [&[0, 1, 2, 3], &[4, 5, 6], &[3, 7, 11], &[8], &[]];
    let mut first = Coherence::new(tops, N_WORDS);
    let mut second = first.clone();
    first.count(&corpus, 0..4);
    second.count(&corpus, 4..N_DOCS);
    first.merge(&second);
    let each = first.npmi();
    // The mean of log(p / (p p)) / -log(p) over the pairs, in NumPy.
    for (ours, expected) in each.iter().zip([0.17820759583598253, 0.35641519167196506, 0.3333333333333333]) {
        near(ours.unwrap(), expected);
    }
    assert_eq!(each[3..], [None, None]);
    near(first.mean().unwrap(), (0.17820759583598253 + 0.35641519167196506 + 0.3333333333333333) / 3.0);
}

#[test]
fn words_that_never_meet_have_no_coherence() {
    let corpus = Corpus { starts: vec![0, 1, 2, 4], words: vec![0, 1, 2, 3], counts: vec![1; 4], n_words: 5 };
    let tops: [&[u32]; 3] = [&[0, 1], &[2, 3], &[0, 4]];
    let mut coherence = Coherence::new(tops, 5);
    coherence.count(&corpus, 0..3);
    assert_eq!(coherence.npmi(), [Some(-1.0), Some(1.0), Some(-1.0)]);
}

#[test]
fn top_words_are_in_order_and_parts_make_the_whole() {
    let counts = Counts::new();
    let top = TopWords::of(&counts, 0..N_WORDS as u32, 4);
    let words: Vec<Vec<u32>> =
        top.lists().iter().map(|list| list.iter().map(|&(word, _)| word).collect()).collect();
    for (topic, words) in words.iter().enumerate() {
        let mut all: Vec<u32> = (0..N_WORDS as u32).filter(|&word| count(topic, word as usize) > 0).collect();
        all.sort_by_key(|&word| std::cmp::Reverse(count(topic, word as usize)));
        assert_eq!(words[..], all[..4]);
    }
    let share = top.lists()[1][0];
    near(share.1, (f64::from(count(1, share.0 as usize)) + BETA) * counts.base[1]);
    let mut parts = TopWords::of(&counts, 6..12, 4);
    parts.merge(&TopWords::of(&counts, 0..6, 4));
    assert_eq!(parts, top);
    assert!(TopWords::of(&counts, 0..12, 0).lists().iter().all(Vec::is_empty));
}

/// The table `p(w | k)` in proportion to `1 + (7 w + 13 k) mod 101`, measured in Python on the same documents.
#[test]
fn the_shared_documents_measure_as_in_python() {
    let Some(folder) = std::env::var_os("SLACKLINE_DATA").map(PathBuf::from) else { return };
    let cases = [
        ("ap/docword.txt.zst", 10433.636825324573, -9.227067120443584),
        ("reuters395/reuters.ldac", 4273.762492765256, -8.332908198455927),
    ];
    for (name, perplexity, trained) in cases {
        let path = folder.join("topics").join(name);
        let all = read_corpus(&path, &CorpusOptions::default(), &|_| {}).unwrap();
        let n_words = all.train.corpus.n_words;
        let table = table(8, n_words, |topic, word| (1 + (word * 7 + topic * 13) % 101) as f64);
        let (topics, split) = (DenseTopics::new(&table, 8), Completion::new(&all.held_out.corpus));
        near(split.measure(0..split.n_docs(), &topics).perplexity(), perplexity);
        let n_docs = all.train.corpus.n_docs().min(1000);
        near(likelihood(&all.train.corpus, 0..n_docs, &topics).per_token(), trained);
    }
}
