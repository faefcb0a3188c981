//! Variational inference as an actor: rows of words and their totals are shared and blended by the shard, documents stay with
//! the worker.

use std::sync::Arc;

use actix::prelude::*;
use ndarray::Array2;
use slackline::prelude::*;
use slackline::scheduler::policy::Measure;

use super::batches::{Batch, batches};
use super::params::Params;
use super::rows::MOST_STEPS;
use super::schedule::Steps;
use super::scoring::{Scoring, Topics};
use super::solver::{Change, Read, Room, Solver};
use crate::Error;
use crate::data::Corpus;
use crate::run::refuse;

/// The table of words: one row a word.
const WORDS: &str = "words";
/// The table of one row: the totals of all words.
const TOTALS: &str = "totals";
/// In batch inference: γ of every document, where its next fit begins.
const DOCUMENTS: &str = "documents";

/// Everything that workers share and nobody changes: constants, the documents of each batch, and what scores them.
pub struct Setup {
    solver: Solver,
    batches: Vec<Batch>,
    scoring: Option<Arc<dyn Scoring>>,
    n_words: usize,
    seed: u64,
}

impl Setup {
    /// Deals the documents to batches.
    ///
    /// # Errors
    /// A corpus without a word, or more steps than a run can have.
    pub fn new(
        corpus: &Corpus,
        params: Params,
        scoring: Option<Arc<dyn Scoring>>,
        seed: u64,
    ) -> Result<Self, Error> {
        if corpus.words.is_empty() {
            return Err(Error::Run("the documents have no words, expected at least one".to_owned()));
        }
        let size = params.batch_size;
        let n_batches = |docs: usize| if size == 0 { params.parts } else { docs.div_ceil(size) };
        let batches = batches(corpus, n_batches, seed);
        let n_docs = batches.iter().map(Batch::n_docs).sum();
        let n_steps = params.epochs.saturating_mul(if params.is_batch() { 1 } else { batches.len() });
        if n_steps >= MOST_STEPS {
            let rule = format!(
                "less: {} batches a pass make {n_steps} steps, and a run has fewer than {MOST_STEPS}",
                batches.len()
            );
            return Err(refuse("epochs", &params.epochs.to_string(), &rule));
        }
        let solver = Solver::new(params, (corpus.n_words, n_docs), batches.len(), seed);
        Ok(Self { solver, batches, scoring, n_words: corpus.n_words, seed })
    }

    /// The constants.
    pub fn solver(&self) -> &Solver {
        &self.solver
    }

    /// The documents of each batch.
    pub fn batches(&self) -> &[Batch] {
        &self.batches
    }

    /// Words of the vocabulary.
    pub fn n_words(&self) -> usize {
        self.n_words
    }

    /// Parts that evaluations score; they come before the batches.
    fn n_scored(&self) -> usize {
        self.scoring.as_ref().map_or(0, |scoring| scoring.n_parts())
    }

    /// The words that a step on a part reads.
    fn reads(&self, part: usize) -> Vec<u32> {
        match (part.checked_sub(self.n_scored()), &self.scoring) {
            (Some(batch), _) => self.batches[batch].words.clone(),
            (None, Some(scoring)) => scoring.words(part),
            (None, None) => Vec::new(),
        }
    }

    /// The tables, each row at its start.
    pub fn tables(self: &Arc<Self>) -> Vec<Table> {
        let width = self.solver.rows().width();
        let rule = Rule::Custom(Arc::new(self.solver.rows().clone()));
        let (setup, readers, of_totals) = (Arc::clone(self), Arc::clone(self), Arc::clone(self));
        let words = Table::dense(WORDS, self.n_words, width);
        let totals = Table::dense(TOTALS, 1, width).of::<f64>();
        let mut tables = vec![
            whole_rows(words)
                .rule(rule.clone())
                .reading(move |part| readers.reads(part.index()))
                .starting(move |word, row: &mut [f32]| setup.solver.first_row(word, row)),
            whole_rows(totals)
                .rule(rule)
                .reading(|_| vec![0]) // by row, so that every step has them as fresh as the words
                .starting(move |_, row: &mut [f64]| of_totals.solver.first_totals(row)),
        ];
        if self.solver.params().is_batch() {
            let sizes = self.batches.iter().map(Batch::n_docs);
            let mut starts = vec![0; self.n_scored()];
            let n_docs = sizes.fold(0, |start, size| {
                starts.push(start as u32);
                start + size
            });
            let documents = Table::dense(DOCUMENTS, n_docs, self.solver.params().prior.n_topics());
            tables.push(documents.leased_by_part(&starts));
        }
        tables
    }

    /// The steps of all passes; with a scoring, an evaluation after every `every` of them and at the end, of which `measure`
    /// makes the objective and metrics.
    pub fn schedule(&self, every: u64, measure: Measure) -> Box<dyn Schedule> {
        let params = self.solver.params();
        let (first, whole) = (self.n_scored(), params.is_batch());
        let steps = Steps::new(self.batches.len(), params.epochs as u64, first, whole, self.seed);
        match first {
            0 => Box::new(steps),
            n_parts => Box::new(Evaluated::new(steps, n_parts, every, measure)),
        }
    }

    /// λ of all words, topics × words, from the tables of a run.
    pub fn model(&self, tables: &slackline::Model) -> Array2<f32> {
        let (words, totals) = (tables.dense::<f32>(WORDS), tables.dense::<f64>(TOTALS));
        self.solver.model(&words.view(), totals.as_slice().expect("one row"))
    }
}

/// A table whose rows are never cut.
fn whole_rows(table: Table) -> Table {
    const PAGE: usize = 16 * 1024;
    let width = table.width();
    table.paged(PAGE.max(width))
}

/// The app of one worker.
pub struct Inference {
    setup: Arc<Setup>,
    room: Room,
}

impl Inference {
    /// An app that works on batches of `setup`.
    pub fn new(setup: Arc<Setup>) -> Self {
        let room = setup.solver.room();
        Self { setup, room }
    }

    /// Fits the documents of a batch and blends what they say into the topics.
    fn train(&mut self, mut step: Step) -> Outcome {
        let batch = &self.setup.batches[step.part().index() - self.setup.n_scored()];
        let number = step.orders()[1] as usize;
        let (words, totals) = (step.read::<f32>(WORDS), step.read::<f64>(TOTALS));
        let read = Read { words: words.gathered(), totals: totals.gathered() };
        let (mut of_words, mut of_totals) = (step.delta::<f32>(WORDS), step.delta::<f64>(TOTALS));
        let mut change = Change { words: of_words.gathered(), totals: of_totals.gathered() };
        let found = if self.setup.solver.params().is_batch() {
            let [mut gammas] = step.lease::<f32, 1>([DOCUMENTS]);
            self.setup.solver.step(
                (batch, number),
                read,
                &mut self.room,
                (&mut change, Some(gammas.values())),
            )
        } else {
            self.setup.solver.step((batch, number), read, &mut self.room, (&mut change, None))
        };
        match found {
            Ok(rounds) => {
                step.add(of_words);
                step.add(of_totals);
                step.found(Findings { sums: vec![rounds as f64], ..Findings::default() })
            }
            Err(error) => step.failed(error.to_string()),
        }
    }

    /// Scores the documents of a part.
    fn score(&self, step: Step) -> Outcome {
        let (part, scoring) = (step.part().index(), self.setup.scoring.as_ref());
        let scoring = scoring.expect("only with a scoring are there evaluations");
        let (words, totals) = (step.read::<f32>(WORDS), step.read::<f64>(TOTALS));
        let read = Read { words: words.gathered(), totals: totals.gathered() };
        let expected = self.setup.solver.expected(read);
        let names = self.setup.reads(part);
        let n_topics = self.setup.solver.params().prior.n_topics();
        let sums = scoring.score(part, &Topics { words: &names, n_topics, weights: &expected });
        step.found(Findings { sums, ..Findings::default() })
    }
}

impl Actor for Inference {
    type Context = Context<Self>;
}

impl Handler<Step> for Inference {
    type Result = Outcome;
    fn handle(&mut self, step: Step, _: &mut Self::Context) -> Outcome {
        match step.phase() {
            Phase::Train => self.train(step),
            Phase::Evaluate => self.score(step),
        }
    }
}
