//! A launch under way: reports of processes, signals and time go to the [`Course`], and what it decides is done.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use serde_json::{Value, json};
use slackline_apps::catalog::News;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::Instant;

use super::Ready;
use super::child::{Report, Running, What};
use super::command::{Arguments, by_hand, command};
use super::course::{Course, Deed, Event, How, Time};
use super::heard::{Heard, Loading};
use super::record::{Entry, Held, Record};
use crate::Error;
use crate::console::{self, Console, Screen};
use crate::node::client;
use crate::signals::{INTERRUPT, TERMINATE};
use crate::topology::{Node, Start};
use crate::training;

/// For followers that should be ending because the run has ended.
const FAREWELL: Duration = Duration::from_secs(5);

/// For nodes that were let go of, and again for those that were killed.
const GRACE: Duration = Duration::from_secs(2);

/// For the lead's answer whether training has begun.
const ANSWER: Duration = Duration::from_secs(5);

/// What ssh says by its exit code when it is ssh that failed.
const SSH_FAILED: i32 = 255;

/// How the lead's final error begins; it is said once, at the end.
const ERROR: &str = "slackline: ";

/// A launch under way.
struct Flow {
    ready: Ready,
    held: Held,
    screen: Screen,
    console: Console,
    course: Course,
    running: BTreeMap<String, Running>,
    /// How many processes were started.
    started: u32,
    reports: Sender<Report>,
    /// Answers to what was asked in passing.
    answers: Sender<Event>,
    words: BTreeMap<String, Words>,
    loading: Loading,
    summary: Option<Value>,
    deadline: Option<Instant>,
    /// Where the lead listens, once it does, as others reach it.
    lead: Option<String>,
}

/// The last that a node said.
#[derive(Default)]
struct Words {
    error: Option<String>,
    line: Option<String>,
}

/// Sees a launch to its end.
pub(super) async fn run(ready: Ready, held: Held, screen: Screen) -> Result<u8, Error> {
    let (reports, mut heard) = channel(1024);
    let (answers, mut told) = channel(16);
    let problem = |error| Error::cluster(format!("cannot listen to signals: {error}"));
    let mut interrupt = signal(SignalKind::interrupt()).map_err(problem)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(problem)?;
    let mut hang_up = signal(SignalKind::hangup()).map_err(problem)?;
    let lead = ready.launch.topology.lead().name.clone();
    let checkpoints = ready.settings.request.checkpoint.is_some();
    let kept = ready.settings.out.is_some();
    let mut flow = Flow {
        console: Console::new(ready.settings.quiet || ready.settings.json, false, &screen),
        course: Course::new(&lead, checkpoints),
        running: BTreeMap::new(),
        started: 0,
        reports,
        answers,
        words: BTreeMap::new(),
        loading: Loading::default(),
        summary: None,
        deadline: Some(Instant::now() + ready.launch.topology.timing.patience),
        lead: None,
        ready,
        held,
        screen,
    };
    flow.start(&lead, false);
    while !flow.course.is_over() {
        let event =
            flow.next(&mut heard, &mut told, [&mut interrupt, &mut terminate, &mut hang_up], kept).await;
        if let Some(event) = event {
            flow.happens(event);
        }
    }
    flow.end()
}

impl Flow {
    /// The next event that the course has to know.
    async fn next(
        &mut self,
        heard: &mut Receiver<Report>,
        told: &mut Receiver<Event>,
        [interrupt, terminate, hang_up]: [&mut Signal; 3],
        outlive_terminal: bool,
    ) -> Option<Event> {
        let deadline = self.deadline;
        let time = async { tokio::time::sleep_until(deadline.unwrap_or_else(Instant::now)).await };
        tokio::select! {
            report = heard.recv() => report.and_then(|report| self.report(report)),
            event = told.recv() => event,
            _ = interrupt.recv() => Some(Event::Signal(INTERRUPT)),
            _ = terminate.recv() => Some(Event::Signal(TERMINATE)),
            _ = hang_up.recv(), if !outlive_terminal => Some(Event::Signal(TERMINATE)),
            () = time, if deadline.is_some() => {
                self.deadline = None;
                Some(Event::TimeUp)
            }
        }
    }

    fn happens(&mut self, event: Event) {
        for deed in self.course.on(event) {
            self.does(deed);
        }
    }

    fn does(&mut self, deed: Deed) {
        let name = self.ready.launch.topology.lead().name.clone();
        match deed {
            Deed::StartOthers => self.start_others(),
            Deed::RestartLead => {
                self.start(&name, true);
                self.deadline = Some(Instant::now() + self.ready.launch.topology.timing.patience);
            }
            Deed::Say(sentence) => self.note(&sentence),
            Deed::StopRun => {
                self.note(
                    "stopping at the next clock and keeping what there is; press Ctrl-C again to end at once",
                );
                self.running.get(&name).into_iter().for_each(Running::stop);
            }
            Deed::Ask => self.ask(),
            Deed::Release => self.running.values_mut().for_each(Running::release),
            Deed::Kill => self.running.values_mut().for_each(Running::kill),
            Deed::Wait(Time::Farewell) => self.deadline = Some(Instant::now() + FAREWELL),
            Deed::Wait(Time::Grace) => self.deadline = Some(Instant::now() + GRACE),
            Deed::WaitLong => self.deadline = None,
        }
    }

    /// Starts a node; the lead perhaps again.
    fn start(&mut self, name: &str, again: bool) {
        let launch = &self.ready.launch;
        let Some(node) = launch.topology.nodes.iter().find(|node| node.name == name) else { return };
        let leads = name == launch.topology.lead().name;
        let arguments = Arguments {
            lead: self.lead.clone().filter(|_| !leads),
            listen: self.lead.clone().filter(|_| leads && again),
            out: self
                .ready
                .settings
                .out
                .clone()
                .filter(|_| leads || self.ready.settings.request.audit.is_some()),
            force: launch.force,
            resume: launch.resume || again,
            json_log: launch.json_log,
        };
        let parcel = match (&node.start, &node.data) {
            (Start::Ssh(_), None) => &self.ready.elsewhere,
            _ => &self.ready.here,
        };
        self.started += 1;
        let started = command(node, &arguments).map_err(|error| error.to_string()).and_then(|command| {
            let shown = command.as_std().get_program().to_string_lossy().into_owned();
            Running::start(command, (name, self.started), std::sync::Arc::clone(parcel), &self.reports)
                .map_err(|error| format!("{shown}: {error}"))
        });
        match started {
            Ok(running) => {
                self.tell_program(&json!({"event": "node", "node": name, "pid": running.pid}));
                self.running.insert(name.to_owned(), running);
                self.words.remove(name);
                self.course.started(name);
            }
            Err(why) => self.happens(Event::Unstarted(name.to_owned(), why)),
        }
    }

    fn start_others(&mut self) {
        let others: Vec<Node> = self.ready.launch.topology.others().cloned().collect();
        for node in &others {
            match node.start {
                Start::Manual => {
                    let file = &self.ready.launch.topology.file;
                    let line = by_hand(node, file, self.lead.as_deref().unwrap_or_default(), "slackline");
                    self.note(&format!("waiting for node {}, to be started by hand: {line}", node.name));
                }
                _ => self.start(&node.name, false),
            }
        }
        self.write_record();
    }

    /// Takes in what a process reports; what of it the course has to know.
    fn report(&mut self, report: Report) -> Option<Event> {
        let current = self.running.get(&report.node).is_some_and(|running| running.number == report.number);
        match report.what {
            _ if !current => None, // from a process that was started anew since
            What::Out(line) if report.node == self.ready.launch.topology.lead().name => self.hear(&line),
            What::Out(_) => None,
            What::Err(line) => {
                self.complain(&report.node, line);
                None
            }
            What::Unsent(why) => Some(Event::Unsent(report.node, why)),
            What::Ended(status) => {
                self.running.remove(&report.node);
                let words = self.words.remove(&report.node).and_then(|words| words.error.or(words.line));
                let how = self.how(&report.node, status);
                Some(Event::Ended(report.node, how, words))
            }
        }
    }

    fn how(&self, name: &str, status: ExitStatus) -> How {
        let ssh = self.ready.launch.topology.node(name).is_ok_and(|node| matches!(node.start, Start::Ssh(_)));
        match (status.code(), status.signal()) {
            (Some(SSH_FAILED), _) if ssh => How::Connection,
            (Some(code), _) => How::Code(u8::try_from(code).unwrap_or(1)),
            (None, signal) => How::Signal(signal.unwrap_or_default()),
        }
    }

    /// A line of the lead.
    fn hear(&mut self, line: &str) -> Option<Event> {
        if self.ready.settings.json && !self.ready.settings.quiet {
            console::result(line);
        }
        match Heard::read(line) {
            Heard::Listening(address) => {
                let port =
                    address.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).unwrap_or_default();
                self.lead = Some(self.ready.launch.topology.lead().address.at(port).to_string());
                self.write_record();
                return Some(Event::Listening);
            }
            Heard::News(News::Loading { read, of }) => {
                let lead = self.ready.launch.topology.lead().name.clone();
                self.load(&lead, read as f64 / of.max(1) as f64);
            }
            Heard::Loading(node, share) => self.load(&node, share),
            Heard::News(news) => {
                self.console.tell(&news);
                return matches!(news, News::Progress(_)).then_some(Event::Training);
            }
            Heard::Member(Some(sentence)) => self.console.say(&sentence),
            Heard::Summary(summary) => self.summary = Some(summary),
            Heard::Member(None) | Heard::Other => {}
        }
        None
    }

    fn load(&mut self, node: &str, share: f64) {
        let news = self.loading.update(node, share);
        self.console.tell(&news);
    }

    /// A line of a node's stderr: said with its name, but for its final error, which the verdict says.
    fn complain(&mut self, node: &str, line: String) {
        let words = self.words.entry(node.to_owned()).or_default();
        if let Some(error) = line.strip_prefix(ERROR) {
            words.error = Some(error.to_owned());
            return;
        }
        let shown = if line.starts_with('{') { line.clone() } else { format!("[{node}] {line}") };
        if !line.trim().is_empty() && !line.starts_with("note: ") {
            words.line = Some(line);
        }
        self.screen.say(&shown);
    }

    /// Asks the lead, on a thread that may wait, whether training has begun.
    fn ask(&self) {
        let (topology, token) = (&self.ready.launch.topology, self.ready.token.clone());
        let settings = client(topology, token);
        let (address, answers) = (self.lead.clone().unwrap_or_default(), self.answers.clone());
        tokio::task::spawn_blocking(move || {
            let status = slackline::cluster::status(&settings, &address, ANSWER);
            let began = |status: slackline::cluster::Status| status.generation > 0; // it regroups, or trains
            let _ = answers.blocking_send(Event::Told(status.is_ok_and(began))); // the launch may be over
        });
    }

    /// Says something to whoever follows the launch.
    fn note(&mut self, sentence: &str) {
        self.tell_program(&json!({"event": "launcher", "text": sentence}));
        self.console.say(sentence);
    }

    fn tell_program(&self, object: &Value) {
        if self.ready.settings.json && !self.ready.settings.quiet {
            console::result(&object.to_string());
        }
    }

    fn write_record(&mut self) {
        let Ready { launch, token, generated, .. } = &self.ready;
        let token = token.as_ref().filter(|_| *generated);
        self.held.write(&Record {
            cluster: launch.topology.cluster.clone(),
            file: launch.topology.file.clone(),
            text: launch.topology.text.clone(),
            lead: self.lead.clone().unwrap_or_default(),
            launcher: std::process::id(),
            nodes: (self.running.iter())
                .map(|(name, running)| Entry { name: name.clone(), pid: running.pid })
                .collect(),
            token: token.map(|token| String::from_utf8_lossy(token.as_bytes()).into_owned()),
        });
    }

    /// The result, once.
    fn end(mut self) -> Result<u8, Error> {
        self.console.finish();
        let verdict = self.course.verdict();
        let (Some(summary), Ok(_)) = (&self.summary, &verdict) else { return verdict };
        let lead = self.ready.launch.topology.lead();
        let kept = self.ready.settings.out.clone().map(|out| match lead.start {
            Start::Local => out,
            _ => format!("{} on node {}", out.display(), lead.name).into(),
        });
        match (self.ready.settings.json, self.ready.settings.quiet) {
            (true, false) => {} // it was passed on
            _ => training::show(&self.ready.settings, &self.screen, summary, kept.as_deref()),
        }
        verdict
    }
}
