//! What is written of a model, whichever way it was trained.

use std::collections::BTreeMap;

use ndarray::{Array1, Array2};

use super::evaluation::{Coherence, TopWords, Topics, WordRow};
use crate::catalog::Array;
use crate::data::Corpus;
use crate::data::corpus::{Collection, CorpusFormat};

/// Metrics, arrays and texts of a run.
#[derive(Debug, Default)]
pub(super) struct Output {
    pub(super) metrics: BTreeMap<String, f64>,
    pub(super) arrays: Vec<(String, Array)>,
    pub(super) texts: Vec<(String, Vec<String>)>,
}

/// Words of a topic that its coherence is measured on.
const COHERENT: usize = 10;

impl Output {
    /// The topics, their priors and their tokens; `n_top` words of each are listed.
    pub(super) fn new(
        topics: &impl Topics,
        documents: &Collection,
        (alpha, totals): (&[f64], &[i64]),
        n_top: usize,
    ) -> Self {
        let corpus = &documents.train.corpus;
        let all = 0..topics.n_words() as u32;
        let top = TopWords::of(topics, all, n_top.max(COHERENT));
        let words = words(documents, topics.n_words());
        let arrays = vec![
            ("topic_word".to_owned(), Array::F32(topic_word(topics).into_dyn())),
            ("alpha".to_owned(), Array::F64(Array1::from(alpha.to_vec()).into_dyn())),
            ("topic_counts".to_owned(), Array::I64(Array1::from(totals.to_vec()).into_dyn())),
            ("word_counts".to_owned(), Array::I64(Array1::from(frequencies(corpus)).into_dyn())),
        ];
        let lists = table(&top, &words, n_top);
        let texts = vec![("top_words.tsv".to_owned(), lists), ("vocab.txt".to_owned(), words)];
        let coherence = coherence(&top, corpus);
        let metrics = coherence.map(|npmi| ("coherence_npmi".to_owned(), npmi)).into_iter().collect();
        Self { metrics, arrays, texts }
    }
}

/// The words by row, or their numbers as the data has them.
fn words(documents: &Collection, n_words: usize) -> Vec<String> {
    match &documents.vocabulary {
        Some(vocabulary) => vocabulary.iter().map(str::to_owned).collect(),
        None => {
            let first = usize::from(documents.facts.format != CorpusFormat::LdaC);
            (first..first + n_words).map(|number| number.to_string()).collect()
        }
    }
}

/// `p(w | k)`: topics x words.
fn topic_word(topics: &impl Topics) -> Array2<f32> {
    let mut table = Array2::zeros((topics.n_topics(), topics.n_words()));
    let (mut row, mut shares) = (WordRow::new(topics.n_topics()), vec![0.0; topics.n_topics()]);
    for (word, mut column) in table.columns_mut().into_iter().enumerate() {
        row.clear();
        topics.word(word as u32, &mut row);
        row.shares(topics.base(), &mut shares);
        column.iter_mut().zip(&shares).for_each(|(to, share)| *to = *share as f32);
    }
    table
}

/// How often each word occurs.
fn frequencies(corpus: &Corpus) -> Vec<i64> {
    let mut frequencies = vec![0; corpus.n_words];
    let entries = corpus.words.iter().zip(&corpus.counts);
    entries.for_each(|(word, count)| frequencies[*word as usize] += i64::from(*count));
    frequencies
}

/// A line for each top word of each topic: topic, rank, word, `p(w | k)`.
fn table(top: &TopWords, words: &[String], n_top: usize) -> Vec<String> {
    let mut lines = vec!["topic\trank\tword\tweight".to_owned()];
    for (topic, list) in top.lists().iter().enumerate() {
        for (rank, (word, weight)) in (1..=n_top).zip(list) {
            lines.push(format!("{topic}\t{rank}\t{}\t{weight:.6}", words[*word as usize]));
        }
    }
    lines
}

/// The mean coherence of the topics on the documents trained on.
fn coherence(top: &TopWords, corpus: &Corpus) -> Option<f64> {
    let lists: Vec<Vec<u32>> =
        top.lists().iter().map(|list| list.iter().take(COHERENT).map(|entry| entry.0).collect()).collect();
    let mut coherence = Coherence::new(lists.iter().map(Vec::as_slice), corpus.n_words);
    coherence.count(corpus, 0..corpus.n_docs());
    coherence.mean()
}
