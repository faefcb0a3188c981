//! The sampler as an actor: documents stay with the worker, their topics are leased by part, the counts of words by block.

use std::sync::{Arc, Mutex, PoisonError};

use actix::prelude::*;
use slackline::prelude::*;

use super::grid::Grid;
use super::likelihood::log_of_documents;
use super::plan::Orders;
use super::priors::{Digammas, Fit};
use super::solver::{Assignment, Cell, Documents, random, with};
use super::tables::{
    All, Counted, Counts, FREQUENT, FREQUENT_SUMS, Layout, PRIORS, RARE, RARE_SUMS, ROUNDS_ROWS, STAMP,
    TOPICS, TOTALS,
};
use crate::data::Corpus;
use crate::kernel::gibbs::{Priors, Sampler};
use crate::lda::evaluation::{Completion, joint};

/// What workers share and nobody changes, and the topics of documents, which follow from those of their tokens.
pub(super) struct Setup {
    pub(super) grid: Grid,
    pub(super) layout: Arc<Layout>,
    pub(super) priors: Priors,
    pub(super) held_out: Option<Completion>,
    pub(super) fit: Fit,
    pub(super) in_rounds: bool,
    seed: u64,
    /// The topics of the documents of each part, as the last visit in this process left them.
    documents: Vec<Mutex<Option<Kept>>>,
}

/// Topics of documents, and of which state of the tokens they are.
struct Kept {
    stamp: [i32; STAMP],
    documents: Documents,
}

impl Setup {
    pub(super) fn new(
        (grid, held_out): (Grid, &Corpus),
        priors: Priors,
        (fit, in_rounds): (Fit, bool),
        seed: u64,
    ) -> Self {
        let layout = Arc::new(Layout::new(&grid, priors.alpha.len()));
        let documents = grid.parts.iter().map(|_| Mutex::new(None)).collect();
        let held_out = (held_out.n_docs() > 0).then(|| Completion::new(held_out));
        Self { grid, layout, priors, held_out, fit, in_rounds, seed, documents }
    }

    /// The tables of a run; sums where samples are kept.
    pub(super) fn tables(&self, sums: bool) -> Vec<Table> {
        let mut tables = self.layout.tables(self.in_rounds, sums);
        if self.fit != Fit::Nothing {
            let first: Vec<f64> = self.priors.alpha.iter().copied().chain([self.priors.beta]).collect();
            let table = Table::dense(PRIORS, 1, first.len()).of::<f64>().rule(Rule::Assign);
            tables.push(table.starting(move |_, row: &mut [f64]| row.copy_from_slice(&first)));
        }
        tables
    }

    /// Does something with the topics of the documents of a part, which `topics` and its stamp say; afterwards they are
    /// of the stamp that is then there.
    fn with_documents<R>(
        &self,
        part: usize,
        rows: &mut [i32],
        act: impl FnOnce(&mut [i32], &mut Documents) -> R,
    ) -> R {
        let mut kept = self.documents[part].lock().unwrap_or_else(PoisonError::into_inner);
        let (topics, stamp) = rows.split_at_mut(rows.len() - STAMP);
        let mut documents = match kept.take() {
            Some(kept) if kept.stamp == stamp => kept.documents,
            other => {
                let made = || Documents::new(&self.grid.parts[part], self.priors.alpha.len());
                let mut documents = other.map_or_else(made, |kept| kept.documents);
                let topics = Assignment::of(topics, self.priors.alpha.len());
                documents.rebuild(&self.grid.parts[part], &topics);
                documents
            }
        };
        let result = act(rows, &mut documents);
        let stamp = rows[rows.len() - STAMP..].try_into().expect("so many rows");
        *kept = Some(Kept { stamp, documents });
        result
    }
}

/// The app of one worker.
pub(super) struct Gibbs {
    setup: Arc<Setup>,
    sampler: Sampler,
    priors: Priors,
}

impl Gibbs {
    pub(super) fn new(setup: &Arc<Setup>) -> Self {
        Self { setup: Arc::clone(setup), sampler: Sampler::new(&setup.priors), priors: setup.priors.clone() }
    }

    /// Takes up the priors of a task.
    fn take_up(&mut self, orders: &Orders) {
        if let Some((alpha, beta)) = &orders.priors
            && (*alpha != self.priors.alpha || *beta != self.priors.beta)
        {
            self.priors.alpha.clone_from(alpha);
            self.priors.beta = *beta;
            self.sampler.set(&self.priors);
        }
    }
}

impl Actor for Gibbs {
    type Context = Context<Self>;
}

impl Handler<Step> for Gibbs {
    type Result = Outcome;
    fn handle(&mut self, step: Step, _: &mut Self::Context) -> Outcome {
        self.take_up(&Orders::read(step.orders()));
        match step.phase() {
            Phase::Train => self.visit(step),
            Phase::Evaluate => self.score(step),
        }
    }
}

/// The rows of the totals that a round adds to, and that the round before it added to.
fn rows_of(round: u64) -> (usize, usize) {
    (1 + (round % 2) as usize, 1 + ((round + 1) % 2) as usize)
}

/// One row of the totals.
fn totals_of(step: &Step, row: usize, n_topics: usize) -> Vec<i32> {
    let mut totals = vec![0; n_topics];
    step.read::<i32>(TOTALS).copy_row(row, &mut totals);
    totals
}

impl Gibbs {
    /// Samples the topics of the tokens of one cell.
    fn visit(&mut self, mut step: Step) -> Outcome {
        let orders = Orders::read(step.orders());
        let (part, n_topics) = (step.part().index(), self.priors.alpha.len());
        let block = step.block().expect("a rotation picks the block").index();
        let mut totals = totals_of(&step, 0, n_topics);
        let (mut change, round) = (step.delta::<i32>(TOTALS), orders.round.map(rows_of));
        if let Some((_, before)) = round {
            let last = totals_of(&step, before, n_topics);
            totals.iter_mut().zip(&last).for_each(|(total, more)| *total += more);
            if part == 0 {
                // What the last round changed joins the rounds before it: its row is free for the next.
                change.add_row(0, &last);
                change.add_row(before, &last.iter().map(|count| -count).collect::<Vec<_>>());
            }
        }

        let setup = Arc::clone(&self.setup);
        let mut random = random(setup.seed, part, block, orders.pass);
        let [mut topics, frequent, rare] = step.lease::<i32, 3>([TOPICS, FREQUENT, RARE]);
        let mut rows = Counts { frequent, rare };
        let mut sums = Vec::new();
        let before = totals.clone();
        setup.with_documents(part, topics.values(), |tokens, documents| {
            let (topics, stamp) = tokens.split_at_mut(tokens.len() - STAMP);
            let topics = Assignment::of(topics, n_topics);
            let (of_part, n_dense) = (&setup.grid.parts[part], setup.grid.n_dense[block]);
            let mut cell = Cell { part: of_part, block, n_dense, rows: &mut rows, topics, documents };
            let changed = if orders.pass == 0 {
                cell.start(&mut totals, &mut random)
            } else {
                self.sampler.begin(&totals);
                let changed = cell.visit(&mut self.sampler, &mut random);
                totals.copy_from_slice(self.sampler.totals());
                changed
            };
            if orders.tell_part {
                sums.extend(of_documents(&self.priors.alpha, &of_part.lengths, documents));
            }
            let changed = changed ^ u64::from(stamp[0].cast_unsigned()).rotate_left(29);
            stamp[0] = (changed as u32).cast_signed();
            stamp[1] = ((changed >> 32) as u32 ^ stamp[1].cast_unsigned().rotate_left(7)).cast_signed();
        });
        if orders.tell_block {
            let prior = setup.grid.words.group.len() as f64 * self.priors.beta;
            let of_totals = Digammas::new(prior);
            let of_totals: f64 =
                totals.iter().map(|total| of_totals.of((*total).max(0).cast_unsigned().into())).sum();
            let n_words = setup.grid.words.group.len() as f64;
            sums.extend([of_words(self.priors.beta, &mut rows), n_words * of_totals]);
        }
        if orders.keep {
            keep(&mut step);
        }
        if let (0, Some((alpha, beta))) = (part, &orders.priors) {
            let mut priors = step.delta::<f64>(PRIORS);
            priors.add_row(0, &alpha.iter().copied().chain([*beta]).collect::<Vec<_>>());
            step.add(priors);
        }
        let row = round.map_or(0, |(row, _)| row);
        let more: Vec<i32> = totals.iter().zip(&before).map(|(after, before)| after - before).collect();
        change.add_row(row, &more);
        step.add(change);
        step.found(Findings { sums, ..Findings::default() })
    }

    /// The joint log-likelihood of a part's documents and of a share of the words, and the held-out documents of its share.
    fn score(&self, mut step: Step) -> Outcome {
        let (setup, n_topics) = (&self.setup, self.priors.alpha.len());
        let (part, n_parts) = (step.part().index(), setup.grid.parts.len());
        let rows = if setup.in_rounds { ROUNDS_ROWS } else { 1 };
        let mut totals = vec![0i64; n_topics];
        for row in 0..rows {
            let of_row = totals_of(&step, row, n_topics);
            totals.iter_mut().zip(of_row).for_each(|(total, more)| *total += i64::from(more));
        }
        let counted = Counted::new(&setup.layout, All::seen(&mut step), &totals, self.priors.beta);
        let [mut topics] = step.lease::<i32, 1>([TOPICS]);
        let of_part = &setup.grid.parts[part];
        let mut log = setup.with_documents(part, topics.values(), |_, documents| {
            log_of_documents(&self.priors.alpha, &of_part.lengths, documents)
        });
        let beta = self.priors.beta;
        let mut counts = Vec::new();
        for words in setup.grid.words.members.iter().skip(part).step_by(n_parts) {
            for word in words {
                counts.clear();
                counted.of_word(*word, |_, count| counts.push(count.cast_unsigned()));
                log += joint::of_counts(counts.iter().copied(), beta);
            }
        }
        if part == 0 {
            let totals = totals.iter().map(|total| total.max(&0).cast_unsigned());
            log += joint::of_totals(totals, setup.grid.words.group.len(), beta);
        }
        let mut sums = vec![0.0; 2];
        if let Some(held_out) = &setup.held_out {
            let docs = |part: usize| held_out.n_docs() * part / n_parts;
            let measured = held_out.measure(docs(part)..docs(part + 1), &counted);
            sums = vec![measured.log, measured.tokens as f64];
        }
        step.found(Findings { cost: log, sums, ..Findings::default() })
    }
}

/// Adds the counts of a block to its sums.
fn keep(step: &mut Step) {
    let [frequent, rare, mut frequent_sums, mut rare_sums] =
        step.lease::<i32, 4>([FREQUENT, RARE, FREQUENT_SUMS, RARE_SUMS]);
    let (mut frequent, mut rare) = (frequent, rare);
    frequent_sums.values().iter_mut().zip(frequent.values()).for_each(|(sum, count)| *sum += *count);
    for row in 0..rare.rows().len() {
        let (sums, counts) = (rare_sums.sparse_row(row), rare.sparse_row(row));
        sums.extend_from_slice(counts);
        sums.sort_unstable_by_key(|entry| entry.0);
        sums.dedup_by(|next, sum| {
            let same = next.0 == sum.0;
            sum.1 += if same { next.1 } else { 0 };
            same
        });
    }
}

/// `Σ_d [ψ(n_dk + α_k) - ψ(α_k)]` of every topic, then `Σ_d [ψ(n_d + Σα) - ψ(Σα)]`.
fn of_documents(alpha: &[f64], lengths: &[u32], documents: &Documents) -> Vec<f64> {
    let digammas: Vec<Digammas> = alpha.iter().map(|alpha| Digammas::new(*alpha)).collect();
    let mut sums = vec![0.0; alpha.len() + 1];
    with!(documents, lists => {
        for doc in 0..lengths.len() {
            lists.of(doc).for_each(|(k, count)| sums[k as usize] += digammas[k as usize].of(count.into()));
        }
    });
    let of_all = Digammas::new(alpha.iter().sum());
    sums[alpha.len()] = lengths.iter().map(|length| of_all.of((*length).into())).sum();
    sums
}

/// `Σ_wk [ψ(n_wk + β) - ψ(β)]` of the words of a block.
fn of_words(beta: f64, rows: &mut Counts<'_>) -> f64 {
    let digammas = Digammas::new(beta);
    let of = |count: i32| digammas.of(count.max(0).cast_unsigned().into());
    let mut sum: f64 = rows.frequent.values().iter().map(|count| of(*count)).sum();
    for row in 0..rows.rare.rows().len() {
        sum += rows.rare.sparse_row(row).iter().map(|entry| of(entry.1)).sum::<f64>();
    }
    sum
}
