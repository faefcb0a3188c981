//! The mixture of topics of new documents, topics held fixed.

use std::path::Path;

use ndarray::Array2;
use rayon::prelude::*;

use super::evaluation::{FoldIn, ROUNDS, Topics, WordRow};
use super::explore::TopicModel;
use crate::Error;
use crate::catalog::News;
use crate::data::Corpus;
use crate::data::corpus::{CorpusOptions, Known, NewDocuments, Vocabulary, read_documents};
use crate::prediction::{Cell, Column, Predictions, Question};

/// Documents folded in before any of them is given out, on all cores.
const BATCH: usize = 256;

/// The mixtures of the documents of `data` under the model of the run in `directory`: a row a document, numbered from 1.
///
/// A mixture is a share of each topic, in sum 1 (`topic_0`, `topic_1`, … by rows of `topic_word.npy`): what the fixed
/// point of [`FoldIn`] gives with the prior of the model. With [`Question::top`] the columns are the numbers and the shares
/// of the largest topics, the largest first. Words that the model does not know are dropped and counted in what is told; a
/// document without any other has the mean of the prior. Words meet by their text where the data is text or
/// [`Question::vocabulary`] names the words behind its numbers.
///
/// # Errors
/// A missing or foreign model, or data that cannot be read.
pub(super) fn predict(
    directory: &Path,
    data: &Path,
    question: &Question,
    tell: &(dyn Fn(News) + Sync),
) -> Result<Predictions, Error> {
    let TopicModel { topic_word, alpha, words, .. } = TopicModel::read(directory)?;
    let (n_topics, n_words) = topic_word.dim();
    let vocabulary = (!are_numbers(&words)).then(|| words.iter().collect::<Vocabulary>());
    let known = Known { n_words, vocabulary: vocabulary.as_ref() };
    let options = CorpusOptions { vocabulary: question.vocabulary.clone(), ..CorpusOptions::default() };
    let NewDocuments { corpus, .. } = read_documents(data, &known, &options, tell)?;
    let topics = ByWord(topic_word.t().as_standard_layout().into_owned());
    drop(topic_word);
    let top = question.top.map(|top| top.min(n_topics));
    let n_rows = corpus.n_docs();
    let folder = Folder { topics, alpha, corpus };
    let batch = move |start: usize| folder.fold(start..(start + BATCH).min(n_rows), top);
    let rows = Box::new((0..n_rows).step_by(BATCH).flat_map(batch));
    Ok(Predictions { columns: columns(n_topics, top), n_rows, rows })
}

/// Whether the words are numbers one after the other, from 0 or 1: what a model of numbers without words has for a vocabulary.
fn are_numbers(words: &[String]) -> bool {
    let first = usize::from(words.first().is_none_or(|word| word != "0"));
    words.iter().zip(first..).all(|(word, number)| *word == number.to_string())
}

fn columns(n_topics: usize, top: Option<usize>) -> Vec<Column> {
    let document = [Column::name("document")].into_iter();
    match top {
        None => document.chain((0..n_topics).map(|topic| Column::single(format!("topic_{topic}")))).collect(),
        Some(top) => {
            let of = |what: &'static str| move |rank: usize| Column::single(format!("{what}#{rank}"));
            document.chain((1..=top).flat_map(|rank| [of("topic")(rank), of("share")(rank)])).collect()
        }
    }
}

/// What the rows are computed from.
struct Folder {
    topics: ByWord,
    alpha: Vec<f64>,
    corpus: Corpus,
}

impl Folder {
    /// The rows of some documents.
    fn fold(&self, docs: std::ops::Range<usize>, top: Option<usize>) -> Vec<Vec<Cell>> {
        let fold = || FoldIn::with(&self.topics, self.alpha.clone(), ROUNDS);
        let row = |fold: &mut FoldIn<'_, ByWord>, doc: usize| {
            let (words, counts) = self.corpus.doc(doc);
            row(doc, fold.mixture(words, counts), top)
        };
        docs.into_par_iter().map_init(fold, row).collect()
    }
}

fn row(doc: usize, mixture: &[f64], top: Option<usize>) -> Vec<Cell> {
    let mut cells = vec![Cell::Number((doc + 1) as f64)];
    let Some(top) = top else {
        cells.extend(mixture.iter().copied().map(Cell::Number));
        return cells;
    };
    let mut order: Vec<usize> = (0..mixture.len()).collect();
    let larger = |a: &usize, b: &usize| mixture[*b].total_cmp(&mixture[*a]).then(a.cmp(b));
    if top < order.len() {
        order.select_nth_unstable_by(top, larger);
        order.truncate(top);
    }
    order.sort_unstable_by(larger);
    cells.extend(order.into_iter().flat_map(|k| [Cell::Number(k as f64), Cell::Number(mixture[k])]));
    cells
}

/// p(word | topic) as words x topics.
struct ByWord(Array2<f32>);

impl Topics for ByWord {
    fn n_topics(&self) -> usize {
        self.0.ncols()
    }

    fn n_words(&self) -> usize {
        self.0.nrows()
    }

    fn base(&self) -> &[f64] {
        &[]
    }

    fn word(&self, word: u32, row: &mut WordRow) {
        for (to, from) in row.dense().iter_mut().zip(self.0.row(word as usize)) {
            *to = f64::from(*from);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::catalog::Array;
    use crate::data::npy;

    /// Names of columns, rows, and what was told.
    type Answer = (Vec<String>, Vec<Vec<f64>>, String);

    /// A run with three topics over four words.
    fn run(words: &str) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path().join("model");
        fs::create_dir(&folder).unwrap();
        let put = |name: &str, array: Array| npy::write(&folder.join(name), &array).unwrap();
        let topic_word = [[0.5, 0.3, 0.1, 0.1], [0.1, 0.1, 0.6, 0.2], [0.25, 0.25, 0.25, 0.25]];
        put("topic_word.npy", Array::F32(ndarray::arr2(&topic_word).into_dyn()));
        put("alpha.npy", Array::F64(ndarray::arr1(&[0.1, 0.2, 0.3]).into_dyn()));
        put("topic_counts.npy", Array::I64(ndarray::arr1(&[5, 4, 1]).into_dyn()));
        put("word_counts.npy", Array::I64(ndarray::arr1(&[4, 3, 2, 1]).into_dyn()));
        fs::write(folder.join("vocab.txt"), words).unwrap();
        directory
    }

    fn ask(run: &Path, data: &str, question: &Question) -> Result<Answer, Error> {
        let path = run.join("data.txt");
        fs::write(&path, data).unwrap();
        let told = std::sync::Mutex::new(String::new());
        let tell = |news: News| {
            if let News::Fact(fact) = news {
                told.lock().unwrap().push_str(&fact);
            }
        };
        let predictions = predict(run, &path, question, &tell)?;
        let number = |cell: Cell| match cell {
            Cell::Number(number) => number,
            Cell::Text(text) => panic!("{text}"),
        };
        let rows: Vec<Vec<f64>> = predictions.rows.map(|row| row.into_iter().map(number).collect()).collect();
        assert_eq!(rows.len(), predictions.n_rows);
        let names = predictions.columns.into_iter().map(|column| column.name).collect();
        Ok((names, rows, told.into_inner().unwrap()))
    }

    const WORDS: &str = "apple\nbread\ncloud\ndrum\n";
    const TEXT: &str = "Apple bread apple, apple!\nzebra\ncloud drum cloud zebra\n";

    #[test]
    fn mixtures_are_those_of_the_fixed_point_in_numpy() {
        let run = run(WORDS);
        let (names, rows, told) = ask(run.path(), TEXT, &Question::default()).unwrap();
        assert_eq!(names, ["document", "topic_0", "topic_1", "topic_2"]);
        // numpy, 50 times: r = n / (th @ P); th = al + th * (P @ r); th /= th.sum(), from 1/3, with P = phi + 1e-12
        let expected = [
            [0.794423722930202, 0.056132800656522853, 0.14944347641327524],
            [1.0 / 6.0, 1.0 / 3.0, 0.5],
            [0.03673252450568266, 0.7498897568642663, 0.21337771863005114],
        ];
        for ((row, expected), document) in rows.iter().zip(expected).zip([1.0, 2.0, 3.0]) {
            assert_eq!(row[0], document);
            for (found, expected) in row[1..].iter().zip(expected) {
                assert!((found - expected).abs() < 1e-6, "{row:?} against {expected}");
            }
        }
        assert!(told.contains("of 1 unknown word"), "{told}");
    }

    #[test]
    fn the_largest_topics_come_largest_first_and_words_meet_by_their_text() {
        let run = run(WORDS);
        let question = Question { top: Some(2), ..Question::default() };
        let (names, rows, _) = ask(run.path(), TEXT, &question).unwrap();
        assert_eq!(names, ["document", "topic#1", "share#1", "topic#2", "share#2"]);
        assert_eq!([rows[0][1], rows[1][1], rows[2][1], rows[2][3]], [0.0, 2.0, 1.0, 2.0]);
        assert!(rows[0][2] > rows[0][4]);
        let vocabulary = run.path().join("other.txt");
        fs::write(&vocabulary, "cloud\nzebra\napple\n").unwrap();
        let question = Question { top: Some(9), vocabulary: Some(vocabulary), ..Question::default() };
        let (names, other, _) = ask(run.path(), "2\n3\n2\n1 3 4\n2 1 1\n", &question).unwrap();
        assert_eq!((names.len(), other[0][1], other[1][1]), (7, 0.0, 1.0));
    }

    #[test]
    fn a_model_of_numbers_takes_numbers_and_no_text() {
        let run = run("1\n2\n3\n4\n");
        let (_, rows, _) = ask(run.path(), "1\n4\n1\n1 3 2\n", &Question::default()).unwrap();
        assert!(rows[0][2] > rows[0][1], "word 3 is of topic 1");
        let error = ask(run.path(), TEXT, &Question::default()).unwrap_err().to_string();
        assert!(error.contains("the model was trained on numbers without words"), "{error}");
    }
}
