//! What a launcher does about what happens: a plain struct without processes, pipes or clocks.

use std::collections::BTreeSet;

use crate::Error;
use crate::signals::{INTERRUPT, RESUMABLE, SIGNALLED, TERMINATE};

/// How often a lead that was killed is started again.
const RESTARTS: u8 = 3;

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Event {
    /// The lead listens, at an address that is known now.
    Listening,
    /// Training has begun.
    Training,
    /// Whether training had begun, as the lead answered when it was asked.
    Told(bool),
    /// A node could not be started, and why.
    Unstarted(String, String),
    /// A node is not sent its data, and why.
    Unsent(String, String),
    /// A node ended, how, and the last that it said.
    Ended(String, How, Option<String>),
    /// A signal of this number asks the launcher to stop.
    Signal(u8),
    /// The time that was asked for last is over.
    TimeUp,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// By itself, with this code.
    Code(u8),
    /// Killed by this signal.
    Signal(i32),
    /// The connection to its machine broke, or never came about.
    Connection,
}

/// Something to do.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Deed {
    StartOthers,
    /// Start the lead again, on its address, from its checkpoint.
    RestartLead,
    /// Tell the user.
    Say(String),
    /// Ask the lead to stop the run at a clock.
    StopRun,
    /// Ask the lead whether training has begun.
    Ask,
    /// Let go of all nodes: they end by themselves.
    Release,
    /// Kill those that have not ended.
    Kill,
    /// Wait so long for the next thing.
    Wait(Time),
    /// Wait as long as it takes.
    WaitLong,
}

/// A stretch of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Time {
    /// For nodes that should be ending by themselves.
    Farewell,
    /// For nodes that were let go.
    Grace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Starting,
    Gathering,
    Training,
    /// The lead is done; the others should be ending.
    Parting,
    Released,
    Killed,
}

/// The course of a launch.
pub(super) struct Course {
    lead: String,
    /// Whether a lead that is killed can go on from a checkpoint.
    checkpoints: bool,
    phase: Phase,
    alive: BTreeSet<String>,
    restarts: u8,
    /// The signal that asked to stop, if one did.
    signal: Option<u8>,
    /// The lead's exit code.
    code: Option<u8>,
    /// What went wrong first, and the code that says it.
    failure: Option<(String, u8)>,
    /// A node that died, while it is not known whether training had begun.
    doubt: Vec<(String, u8)>,
}

impl Course {
    /// The lead is being started.
    pub(super) fn new(lead: &str, checkpoints: bool) -> Self {
        Self {
            lead: lead.to_owned(),
            checkpoints,
            phase: Phase::Starting,
            alive: BTreeSet::from([lead.to_owned()]),
            restarts: 0,
            signal: None,
            code: None,
            failure: None,
            doubt: Vec::new(),
        }
    }

    /// A node has been started.
    pub(super) fn started(&mut self, node: &str) {
        self.alive.insert(node.to_owned());
    }

    /// Whether there is nothing left to wait for.
    pub(super) fn is_over(&self) -> bool {
        self.alive.is_empty() && self.phase >= Phase::Parting
    }

    /// What to do about an event.
    pub(super) fn on(&mut self, event: Event) -> Vec<Deed> {
        match event {
            Event::Listening if self.phase == Phase::Starting => {
                self.phase = Phase::Gathering;
                vec![Deed::WaitLong, Deed::StartOthers]
            }
            Event::Listening => vec![Deed::WaitLong], // the lead is back; the others find it by themselves
            Event::Training | Event::Told(true) => self.training(),
            Event::Told(false) if self.phase == Phase::Gathering => match self.doubt.first().cloned() {
                Some((problem, code)) => self.fail(problem, code),
                None => Vec::new(),
            },
            Event::Told(false) => Vec::new(),
            Event::Unstarted(node, why) => {
                self.alive.remove(&node);
                self.fail(format!("node {node} cannot be started: {why}"), 1)
            }
            Event::Unsent(node, why) => self.fail(format!("node {node} cannot be sent its data: {why}"), 1),
            Event::Ended(node, how, words) => self.ended(&node, how, words.as_deref()),
            Event::Signal(number) => self.signal(number),
            Event::TimeUp => self.time_up(),
        }
    }

    fn training(&mut self) -> Vec<Deed> {
        if self.phase == Phase::Gathering {
            self.phase = Phase::Training;
        }
        let deaths = std::mem::take(&mut self.doubt);
        deaths.into_iter().map(|(problem, _)| Deed::Say(problem)).collect()
    }

    fn ended(&mut self, node: &str, how: How, words: Option<&str>) -> Vec<Deed> {
        self.alive.remove(node);
        let problem = sentence(node, how, words);
        let code = if let How::Code(code) = how { code } else { 1 };
        if self.phase >= Phase::Parting {
            // Others end because of the first one; whoever knows the kind of the error knew it first.
            if let Some(failure) = &mut self.failure
                && failure.1 == 1
                && matches!(code, 2..=4)
            {
                *failure = (problem, code);
            }
            return Vec::new();
        }
        if node == self.lead {
            return self.lead_ended(how, problem, code);
        }
        match (how, self.phase) {
            (How::Code(0), _) => Vec::new(),
            (_, Phase::Training) => vec![Deed::Say(problem)],
            (How::Code(_), _) => self.fail(problem, code),
            (_, _) => {
                self.doubt.push((format!("{problem} before training began"), code));
                vec![Deed::Ask]
            }
        }
    }

    fn lead_ended(&mut self, how: How, problem: String, code: u8) -> Vec<Deed> {
        match how {
            How::Code(0) => self.part(0),
            How::Code(code) if self.is_stop(code) => self.part(code),
            How::Code(code) => self.fail(problem, code),
            _ if self.phase == Phase::Training && self.checkpoints && self.signal.is_none() => {
                if self.restarts == RESTARTS {
                    return self.fail(
                        format!("{problem}, for the {}th time: not started again", RESTARTS + 1),
                        code,
                    );
                }
                self.restarts += 1;
                let again =
                    format!("started again from the last checkpoint ({} of {RESTARTS})", self.restarts);
                vec![Deed::Say(format!("{problem}: {again}")), Deed::RestartLead]
            }
            _ if self.phase == Phase::Training && !self.checkpoints => {
                let remedy =
                    "with `checkpoint: {directory: DIR, every: 30s}` it would have been started again";
                self.fail(format!("{problem}; it led the run, and {remedy}"), code)
            }
            _ => self.fail(problem, code),
        }
    }

    /// Whether the lead's code says that it was stopped and kept what there was.
    fn is_stop(&self, code: u8) -> bool {
        code == RESUMABLE || code == SIGNALLED + INTERRUPT || code == SIGNALLED + TERMINATE
    }

    fn part(&mut self, code: u8) -> Vec<Deed> {
        self.phase = Phase::Parting;
        self.code = Some(code);
        vec![Deed::Wait(Time::Farewell)]
    }

    fn fail(&mut self, problem: String, code: u8) -> Vec<Deed> {
        if self.phase >= Phase::Parting {
            return Vec::new();
        }
        self.failure = Some((problem, code));
        self.phase = Phase::Released;
        vec![Deed::Release, Deed::Wait(Time::Grace)]
    }

    fn signal(&mut self, number: u8) -> Vec<Deed> {
        let again = self.signal.replace(number).is_some();
        match (again, self.phase) {
            (false, Phase::Starting | Phase::Gathering | Phase::Training) => vec![Deed::StopRun],
            (false, _) => Vec::new(),
            (true, _) => {
                self.phase = Phase::Killed;
                self.code = Some(SIGNALLED + number);
                self.failure = None;
                vec![Deed::Kill, Deed::Wait(Time::Grace)]
            }
        }
    }

    fn time_up(&mut self) -> Vec<Deed> {
        match self.phase {
            Phase::Starting => {
                self.fail(format!("node {} did not say in time that it listens", self.lead), 1)
            }
            Phase::Gathering | Phase::Training => Vec::new(),
            Phase::Parting => {
                self.phase = Phase::Released;
                vec![Deed::Release, Deed::Wait(Time::Grace)]
            }
            Phase::Released => {
                self.phase = Phase::Killed;
                vec![Deed::Kill, Deed::Wait(Time::Grace)]
            }
            Phase::Killed => {
                self.alive.clear(); // the system holds them; there is nothing more to be done
                Vec::new()
            }
        }
    }

    /// How the launch ended: the exit code of the run.
    ///
    /// # Errors
    /// Which node failed and why.
    pub(super) fn verdict(&self) -> Result<u8, Error> {
        match (&self.failure, self.code, self.signal) {
            (Some((problem, code)), _, _) => Err(Error::Cluster { problem: problem.clone(), code: *code }),
            // The lead was asked through its pipe and cannot know who pressed which key.
            (None, Some(130 | 143), Some(number)) => Ok(SIGNALLED + number),
            (None, code, _) => Ok(code.unwrap_or(1)),
        }
    }
}

/// How a node ended, as a sentence that names it.
fn sentence(node: &str, how: How, words: Option<&str>) -> String {
    match (how, words) {
        (How::Code(_), Some(words)) if words.starts_with("node ") => words.to_owned(),
        (How::Code(_), Some(words)) => format!("node {node}: {words}"),
        (How::Code(code), None) => format!("node {node} ended with exit code {code} and did not say why"),
        (How::Signal(number), _) => format!("node {node} was killed by {}", signal_name(number)),
        (How::Connection, Some(words)) => format!("node {node}: the connection by ssh broke: {words}"),
        (How::Connection, None) => format!("node {node}: the connection by ssh broke"),
    }
}

fn signal_name(number: i32) -> String {
    let name = match number {
        1 => "SIGHUP",
        2 => "SIGINT",
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        _ => return format!("signal {number}"),
    };
    if number == 9 {
        format!("{name} (by hand, or by the system when memory ran out)")
    } else {
        name.to_owned()
    }
}

#[cfg(test)]
mod tests;
