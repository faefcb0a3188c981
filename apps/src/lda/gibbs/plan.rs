//! The schedule of the sampler: passes over all cells, with the priors fitted in between and an early end.

use serde::{Deserialize, Serialize};
use slackline::checkpoint::{Bytes, pack, unpack};
use slackline::cluster::Homes;
use slackline::prelude::*;

use super::priors::{Fit, Statistics};
use crate::kernel::gibbs::Priors;

/// What a task tells the app beyond part and block.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Orders {
    /// The pass, from 0: the first gives tokens their first topics.
    pub(super) pass: u64,
    /// The round, where the schedule goes in rounds.
    pub(super) round: Option<u64>,
    /// Whether to tell what the documents of the part say of `α`.
    pub(super) tell_part: bool,
    /// Whether to tell what the words of the block say of `β`.
    pub(super) tell_block: bool,
    /// Whether to add the counts of the block to its sums.
    pub(super) keep: bool,
    /// The priors, where they are not those of the start.
    pub(super) priors: Option<(Vec<f64>, f64)>,
}

impl Orders {
    fn write(&self) -> Vec<f64> {
        let flags = [self.tell_part, self.tell_block, self.keep].map(f64::from);
        let mut orders = vec![self.pass as f64, self.round.map_or(-1.0, |round| round as f64)];
        orders.extend(flags);
        if let Some((alpha, beta)) = &self.priors {
            orders.push(*beta);
            orders.extend(alpha);
        }
        orders
    }

    /// What [`Orders::write`] wrote.
    pub(super) fn read(orders: &[f64]) -> Self {
        let [pass, round, tell_part, tell_block, keep, priors @ ..] = orders else {
            unreachable!("the plan writes five numbers or more")
        };
        Self {
            pass: *pass as u64,
            round: (*round >= 0.0).then_some(*round as u64),
            tell_part: *tell_part != 0.0,
            tell_block: *tell_block != 0.0,
            keep: *keep != 0.0,
            priors: priors.split_first().map(|(beta, alpha)| (alpha.to_vec(), *beta)),
        }
    }
}

/// When the priors are fitted, samples kept, and the run ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Course {
    /// Passes after the first.
    pub(super) sweeps: u64,
    /// What is fitted.
    pub(super) fit: Fit,
    /// Passes before anything is fitted.
    pub(super) burn_in: u64,
    /// The last so many passes are kept in sums.
    pub(super) samples: u64,
    /// The run ends when perplexity gained less than this share over the last [`PATIENCE`] evaluations.
    pub(super) tolerance: f64,
}

/// Evaluations over which the perplexity must gain.
const PATIENCE: usize = 3;

/// Another schedule over `n_parts x n_blocks` cells, whose tasks carry [`Orders`].
pub(super) struct Plan<S> {
    inner: S,
    course: Course,
    state: State,
    /// Whether the priors are still those of the start.
    n_parts: usize,
    n_blocks: usize,
}

/// What a checkpoint keeps of it, beside the inner schedule.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct State {
    alpha: Vec<f64>,
    beta: f64,
    fitted: bool,
    /// Visits of each part and of each block that were handed out.
    of_part: Vec<u64>,
    of_block: Vec<u64>,
    statistics: Statistics,
    /// What the evaluations measured: the smaller the better.
    scores: Vec<f64>,
    over: bool,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    inner: Bytes,
    state: State,
}

impl<S: Schedule> Plan<S> {
    pub(super) fn new(
        inner: S,
        (n_parts, n_blocks): (usize, usize),
        priors: &Priors,
        course: Course,
    ) -> Self {
        let state = State {
            alpha: priors.alpha.clone(),
            beta: priors.beta,
            fitted: false,
            of_part: vec![0; n_parts],
            of_block: vec![0; n_blocks],
            statistics: Statistics::new(n_parts, n_blocks),
            scores: Vec::new(),
            over: false,
        };
        Self { inner, course, state, n_parts, n_blocks }
    }

    /// The inner schedule's task with the orders of this one.
    fn dress(&mut self, mut task: Task) -> Task {
        let state = &mut self.state;
        let priors = state.fitted.then(|| (state.alpha.clone(), state.beta));
        let mut orders =
            Orders { pass: 0, round: None, tell_part: false, tell_block: false, keep: false, priors };
        if let (Phase::Train, Some(block)) = (task.phase, task.block) {
            orders.pass = task.orders[0] as u64;
            orders.round = task.orders.get(1).map(|round| *round as u64);
            let (of_part, of_block) =
                (&mut state.of_part[task.part.index()], &mut state.of_block[block.index()]);
            *of_part += 1;
            *of_block += 1;
            let fits = self.course.fit != Fit::Nothing && orders.pass > self.course.burn_in;
            orders.tell_part = fits && of_part.is_multiple_of(self.n_blocks as u64);
            orders.tell_block =
                fits && self.course.fit == Fit::Both && of_block.is_multiple_of(self.n_parts as u64);
            orders.keep = self.course.samples > 1 && orders.pass + self.course.samples > self.course.sweeps;
        }
        task.orders = orders.write();
        task
    }

    /// Takes in what a visit told of the priors.
    fn learn(&mut self, task: &Task, findings: &Findings) {
        let orders = Orders::read(&task.orders);
        let state = &mut self.state;
        let (of_part, of_block) =
            findings.sums.split_at(if orders.tell_part { state.alpha.len() + 1 } else { 0 });
        if orders.tell_part {
            state.statistics.tell_part(task.part.index(), of_part);
        }
        if let (true, Some(block)) = (orders.tell_block, task.block) {
            state.statistics.tell_block(block.index(), of_block);
        }
        if state.statistics.fit_alpha(&mut state.alpha) | state.statistics.fit_beta(&mut state.beta) {
            state.fitted = true;
        }
    }

    /// Takes in a mark: the first pass does not count as one, and a run that gains no more is over.
    fn judge(&mut self, mut mark: Mark) -> Mark {
        mark.epoch = (mark.epoch - 1.0).max(0.0);
        mark.done = Some((mark.epoch / self.course.sweeps as f64).min(1.0));
        let perplexity = mark.metrics.iter().find(|metric| metric.0 == crate::lda::PERPLEXITY);
        let scores = &mut self.state.scores;
        scores.push(perplexity.map_or((-mark.objective).exp(), |metric| metric.1));
        if let Some(earlier) = scores.len().checked_sub(PATIENCE + 1) {
            let (before, now) = (scores[earlier], *scores.last().expect("just pushed"));
            if self.course.tolerance > 0.0 && now >= before * (1.0 - self.course.tolerance) {
                self.state.over = true;
                self.inner.wind_down();
            }
        }
        mark
    }
}

impl<S: Schedule> Schedule for Plan<S> {
    fn next(&mut self, worker: WorkerId) -> Next {
        match self.inner.next(worker) {
            Next::Task(task) => Next::Task(self.dress(task)),
            other => other,
        }
    }

    fn finished(&mut self, task: &Task, findings: &Findings) -> Option<Mark> {
        if task.phase == Phase::Train {
            self.learn(task, findings);
        }
        self.inner.finished(task, findings).map(|mark| self.judge(mark))
    }

    fn put_back(&mut self, task: Task) {
        if let (Phase::Train, Some(block)) = (task.phase, task.block) {
            self.state.of_part[task.part.index()] -= 1;
            self.state.of_block[block.index()] -= 1;
        }
        self.inner.put_back(task);
    }

    fn wind_down(&mut self) -> bool {
        self.inner.wind_down() && !self.state.over
    }

    fn pass_of(&self, task: &Task) -> Option<u64> {
        self.inner.pass_of(task)
    }

    fn settle(&mut self, homes: &Homes) {
        self.inner.settle(homes);
    }

    fn save(&self) -> Result<Vec<u8>, String> {
        pack("lda", 1, &Saved { inner: Bytes(self.inner.save()?), state: self.state.clone() })
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), String> {
        let Saved { inner, state } = unpack("lda", 1, state)?;
        let shape = |state: &State| (state.alpha.len(), state.of_part.len(), state.of_block.len());
        if shape(&state) != shape(&self.state) {
            return Err(format!(
                "the state of lda is of {:?} topics, parts and blocks, not {:?}",
                shape(&state),
                shape(&self.state)
            ));
        }
        self.inner.restore(&inner.0)?;
        if state.over {
            self.inner.wind_down();
        }
        self.state = state;
        Ok(())
    }
}
