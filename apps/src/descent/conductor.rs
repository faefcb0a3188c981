//! The [`Guide`] of coordinate descent as the guide of a priority schedule: it speaks in findings and verdicts.

use std::collections::BTreeSet;
use std::sync::mpsc::Sender;

use serde::{Deserialize, Serialize};
use slackline::checkpoint::{pack, unpack};
use slackline::scheduler::policy;
use slackline::{Findings, Mark, PartId};

use super::guide::{Guide, Step, Verdict};
use super::task::{FocusReport, SweepReport};
use super::words::{self, Arranged, Layout};

/// Drives a [`Guide`] from inside the scheduler.
pub struct Conductor {
    guide: Guide,
    layout: Layout,
    /// The gap to reach, relative to the objective, and the number of penalties: for the share of the run that is done.
    goal: (f64, usize),
    width: usize,
    sweeps: Vec<SweepReport>,
    focuses: Vec<FocusReport>,
    /// The order in which the last focuses left their columns.
    arranged: Arranged,
    /// Relative gap of the first certificate at this penalty.
    first_gap: Option<f64>,
    mark: Option<Mark>,
    ending: bool,
    /// Solutions already handed over.
    told: usize,
    solutions: Sender<Step>,
}

/// What a checkpoint keeps of it.
#[derive(Serialize, Deserialize)]
struct Saved {
    guide: Guide,
    width: usize,
    sweeps: Vec<SweepReport>,
    focuses: Vec<FocusReport>,
    arranged: Arranged,
    first_gap: Option<f64>,
    told: usize,
}

impl Conductor {
    /// Conducts `guide`; solutions go to `solutions` as they are found. `goal` is the relative gap to reach and the
    /// number of penalties.
    pub fn new(guide: Guide, layout: Layout, goal: (f64, usize), solutions: Sender<Step>) -> Self {
        Self {
            width: guide.width(),
            guide,
            layout,
            goal,
            sweeps: Vec::new(),
            focuses: Vec::new(),
            arranged: Arranged::new(),
            first_gap: None,
            mark: None,
            ending: false,
            told: 0,
            solutions,
        }
    }

    fn translate(&mut self, verdict: Verdict) -> policy::Verdict {
        match verdict {
            Verdict::Sweep => policy::Verdict::Sweep,
            Verdict::Stop => policy::Verdict::Stop,
            Verdict::Focus { size, width } => {
                self.width = width;
                policy::Verdict::Focus { size }
            }
        }
    }

    /// A line of history for what the last sweep proved.
    fn say(&mut self) {
        let certificate = *self.guide.certificate();
        let gap = (certificate.gap / certificate.objective).max(f64::MIN_POSITIVE);
        let first = *self.first_gap.get_or_insert(gap);
        let (tolerance, n_penalties) = self.goal;
        let here = ((first / gap).ln() / (first / tolerance).ln().max(1e-9)).clamp(0.0, 1.0);
        let solved = self.guide.steps().len();
        let done = if solved >= n_penalties { 1.0 } else { (solved as f64 + here) / n_penalties as f64 };
        let solution = self.guide.steps().last().filter(|_| solved > self.told).cloned();
        let lambda = solution.as_ref().map_or(self.guide.orders().lambda, |solution| solution.lambda);
        if let Some(solution) = solution {
            self.told = solved;
            self.first_gap = None;
            self.solutions.send(solution).ok(); // nobody waits for the solutions of a run that was given up
        }
        self.mark = Some(Mark {
            epoch: self.guide.n_sweeps() as f64,
            objective: certificate.objective,
            done: Some(done),
            metrics: vec![
                ("gap".to_owned(), certificate.gap),
                ("nnz".to_owned(), certificate.nonzero as f64),
                ("lambda".to_owned(), lambda),
                ("intercept".to_owned(), certificate.intercept),
            ],
        });
    }
}

impl policy::Guide for Conductor {
    fn swept(&mut self, part: PartId, findings: &Findings) {
        self.sweeps.push(words::read_sweep(part.index(), findings, &self.layout));
    }

    fn after_sweep(&mut self) -> policy::Verdict {
        let mut sweeps = std::mem::take(&mut self.sweeps);
        sweeps.sort_by_key(|report| report.part);
        let before = self.guide.n_sweeps();
        let verdict = self.guide.swept(&sweeps);
        if self.guide.n_sweeps() > before {
            self.say();
            if self.ending {
                return policy::Verdict::Stop;
            }
        }
        self.translate(verdict)
    }

    fn worked(&mut self, _: PartId, findings: &Findings) {
        self.focuses.push(words::read_focus(findings));
        let mut seen = BTreeSet::new();
        let parts: BTreeSet<i64> = findings.values.iter().map(|(_, key)| *key as i64).collect();
        for key in parts {
            let of_part = findings.values.iter().filter(|(_, of)| *of as i64 == key);
            let columns =
                of_part.map(|(variable, _)| *variable).filter(|variable| seen.insert((key, *variable)));
            self.arranged.insert(usize::try_from(key).ok(), columns.collect());
        }
    }

    fn after_round(&mut self) -> policy::Verdict {
        let focuses = std::mem::take(&mut self.focuses);
        match self.guide.focused(&focuses) {
            _ if self.ending => policy::Verdict::Sweep,
            Verdict::Focus { width, .. } => {
                self.width = width;
                policy::Verdict::Again
            }
            verdict => self.translate(verdict),
        }
    }

    fn orders(&self, sweep: bool) -> Vec<f64> {
        let mut orders = words::write_orders(self.guide.orders());
        if !sweep {
            words::write_arranged(&self.arranged, &mut orders);
        }
        orders
    }

    fn width(&self) -> usize {
        self.width
    }

    fn pooled(&self) -> bool {
        self.width == 1
    }

    fn mark(&mut self) -> Option<Mark> {
        self.mark.take()
    }

    fn wind_down(&mut self) {
        self.ending = true;
    }

    fn save(&self) -> Result<Vec<u8>, String> {
        let Self { width, first_gap, told, .. } = *self;
        let (guide, arranged) = (self.guide.clone(), self.arranged.clone());
        let (sweeps, focuses) = (self.sweeps.clone(), self.focuses.clone());
        let saved = Saved { guide, width, sweeps, focuses, arranged, first_gap, told };
        pack("descent", 1, &saved)
    }

    /// The solutions found so far are told again: who waits for them may be another process than before, or has to
    /// forget later ones.
    fn restore(&mut self, state: &[u8]) -> Result<(), String> {
        let saved: Saved = unpack("descent", 1, state)?;
        let Saved { guide, width, sweeps, focuses, arranged, first_gap, told } = saved;
        for solution in guide.steps().iter().take(told) {
            self.solutions.send(solution.clone()).ok(); // as above
        }
        self.guide.go_on_as(guide);
        (self.width, self.sweeps, self.focuses) = (width, sweeps, focuses);
        self.arranged = arranged;
        (self.first_gap, self.told, self.mark) = (first_gap, told, None);
        Ok(())
    }
}
