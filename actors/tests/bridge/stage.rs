//! Nodes to put on a stage, and an actor that writes down what it is told.

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use actix::prelude::*;
use serde::{Deserialize, Serialize};
use slackline::bridge::settings::{Settings, Timing, Token};
use slackline::bridge::{Actor as Who, Address, Bridge, Directory, Lane, PeerEvent, wire};

/// Where the scribe of a node is.
pub(crate) const SCRIBE: Address = Address { generation: 1, actor: Who::Scheduler };
/// Longer than anything takes unless it hangs.
pub(crate) const LONG: Duration = Duration::from_secs(20);

/// A number to write down.
#[derive(Debug, Clone, Message, Serialize, Deserialize)]
#[rtype(result = "()")]
pub(crate) struct Note(pub u64);
wire!(Note, "note/1", Lane::Control);

/// Numbers to write down, in bulk.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub(crate) struct Notes {
    pub(crate) first: u64,
    pub(crate) values: Vec<f32>,
}
wire!(Notes, "notes/1", Lane::Bulk, plain { first: u64 }, bulk { values: Vec<f32> });

/// Answered with the number and what was written down before it.
#[derive(Debug, Clone, Message, Serialize, Deserialize)]
#[rtype(result = "Answer")]
pub(crate) struct Question(pub u64);
wire!(Question, "question/1", Lane::Control);

/// The answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    pub(crate) number: u64,
    pub(crate) so_far: Vec<u64>,
}
slackline::bridge::form!(Answer, plain { number: u64 }, bulk { so_far: Vec<u64> });

/// What a scribe has written down.
pub(crate) type Book = Arc<Mutex<Vec<u64>>>;

/// Writes down what it is told.
pub(crate) struct Scribe(pub Book);

impl Actor for Scribe {
    type Context = Context<Self>;
}

impl Handler<Note> for Scribe {
    type Result = ();
    fn handle(&mut self, note: Note, _: &mut Self::Context) {
        self.0.lock().unwrap().push(note.0);
    }
}

impl Handler<Notes> for Scribe {
    type Result = ();
    fn handle(&mut self, notes: Notes, _: &mut Self::Context) {
        assert!(notes.values.iter().all(|value| *value == notes.first as f32));
        self.0.lock().unwrap().push(notes.first);
    }
}

impl Handler<Question> for Scribe {
    type Result = MessageResult<Question>;
    fn handle(&mut self, question: Question, _: &mut Self::Context) -> Self::Result {
        MessageResult(Answer { number: question.0, so_far: self.0.lock().unwrap().clone() })
    }
}

/// A node with a scribe.
pub(crate) struct Node {
    pub(crate) bridge: Bridge,
    pub(crate) book: Book,
    pub(crate) events: Receiver<PeerEvent>,
    pub(crate) directory: Directory,
}

/// Settings of a node on loopback.
pub(crate) fn settings(node: &str) -> Settings {
    Settings {
        cluster: "stage".to_owned(),
        node: node.to_owned(),
        listen: "127.0.0.1:0".parse().unwrap(),
        token: Some(Token::new("correct horse battery").unwrap()),
        tls: None,
        timing: Timing { handshake: Duration::from_secs(1), ..Timing::default() },
    }
}

impl Node {
    /// Must be called on a thread that runs actors.
    pub(crate) fn start(settings: Settings) -> Self {
        let (book, directory) = (Book::default(), Directory::default());
        let scribe = Scribe(Arc::clone(&book)).start();
        directory.expose::<Note>(SCRIBE, scribe.clone().recipient());
        directory.expose::<Notes>(SCRIBE, scribe.clone().recipient());
        directory.expose::<Question>(SCRIBE, scribe.recipient());
        let (tell, events) = channel();
        let bridge = Bridge::start(
            settings,
            directory.clone(),
            |_| Ok(()),
            move |event| {
                tell.send(event).ok();
            },
        );
        Self { bridge: bridge.unwrap(), book, events, directory }
    }

    pub(crate) fn dial(&self, other: &Self, name: &str) {
        self.bridge.dial(name, &other.bridge.address().to_string());
    }

    /// Waits until its scribe has written down so many numbers.
    pub(crate) async fn written(&self, n: usize) {
        let begun = Instant::now();
        while self.book.lock().unwrap().len() < n {
            let have = self.book.lock().unwrap().len();
            assert!(begun.elapsed() < LONG, "{have} of {n} were written down");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}
