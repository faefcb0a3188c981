//! Strangers at the door: each is refused with one line, and a session under way does not notice.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, Once};
use std::time::Duration;

use slackline::bridge::settings::{Settings, Token};
use slackline::bridge::{Bridge, Directory, PeerEvent, ask_once};

use crate::stage::{LONG, Node, Note, Question, SCRIBE, settings};

/// What was logged, by all tests of this program.
static LOG: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static START: Once = Once::new();

struct Log;

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        LOG.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn start_log() {
    START.call_once(|| {
        let log = tracing_subscriber::fmt()
            .with_writer(|| Log)
            .with_ansi(false)
            .with_max_level(tracing::Level::WARN);
        log.init();
    });
}

/// How often something was logged about a connection from this port.
fn lines(stranger: &TcpStream, what: &str) -> usize {
    let from = format!("from={}", stranger.local_addr().unwrap());
    let log = String::from_utf8(LOG.lock().unwrap().clone()).unwrap();
    log.lines().filter(|line| line.contains(&from) && line.contains(what)).count()
}

/// Connects, says something, and waits until it is hung up on; returns what it heard.
async fn say(bridge: &Bridge, bytes: &[u8]) -> (TcpStream, Vec<u8>) {
    let (address, bytes) = (bridge.address(), bytes.to_vec());
    let said = tokio::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream.write_all(&bytes).ok();
        let mut heard = Vec::new();
        stream.read_to_end(&mut heard).ok(); // it may be reset: it sent more than anybody read
        (stream, heard)
    });
    said.await.unwrap()
}

async fn logged(stranger: &TcpStream, what: &str) {
    let begun = std::time::Instant::now();
    while lines(stranger, what) == 0 {
        assert!(begun.elapsed() < LONG, "{what:?} was not logged");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(lines(stranger, ""), 1, "one line");
}

/// A frame's prefix: lengths of the head, segments, body; its kind.
fn prefix(head: u16, segments: u32, body: u32, kind: u8) -> Vec<u8> {
    let mut bytes = vec![0; 64];
    bytes[..2].copy_from_slice(&head.to_le_bytes());
    bytes[2] = kind;
    bytes[4..8].copy_from_slice(&segments.to_le_bytes());
    bytes[8..12].copy_from_slice(&body.to_le_bytes());
    bytes
}

fn opened(frame: &[u8]) -> Vec<u8> {
    [b"SLACKLN\0", frame].concat()
}

#[actix::test]
async fn whoever_speaks_another_protocol_is_told_so() {
    start_log();
    let (a, b) = (Node::start(settings("a")), Node::start(settings("b")));
    a.dial(&b, "b");
    a.bridge.link("b").ask(SCRIBE, Question(0), LONG).await.unwrap();
    let (stranger, heard) = say(&b.bridge, b"GET / HTTP/1.1\r\n\r\n").await;
    assert_eq!(heard, b"this is a node of a slackline cluster; it speaks no other protocol\n");
    logged(&stranger, "it speaks another protocol").await;
    let garbage: Vec<u8> = (0..100_000u32).map(|n| ((n * 7919) >> 3) as u8).collect();
    let (stranger, _) = say(&b.bridge, &garbage).await;
    logged(&stranger, "it speaks another protocol").await;
    let (stranger, _) = say(&b.bridge, b"SLACKLN\xff").await;
    logged(&stranger, "255 is no purpose of a connection").await;
    a.bridge.link("b").tell(SCRIBE, Note(1));
    b.written(1).await;
    assert!(!a.events.try_iter().chain(b.events.try_iter()).any(|event| !matches!(event, PeerEvent::Up(_))));
}

#[actix::test]
async fn lengths_that_lie_are_refused_before_anything_is_allocated() {
    start_log();
    let b = Node::start(settings("b"));
    for (lie, why) in [
        (prefix(0, 0, u32::MAX, 1), "a body of 4294967295 bytes, at most 0 are allowed"),
        (prefix(u16::MAX, 0, 0, 1), "a head of 65535 bytes, at most 4096 are allowed"),
        (prefix(10, u32::MAX, 0, 1), "4294967295 segments, at most 0 are allowed"),
        (prefix(10, 0, 0, 77), "77 is not a kind of frame"),
        ([prefix(4, 0, 0, 1), vec![0xc1; 4]].concat(), "its hello cannot be read"),
        ([prefix(32, 0, 0, 2), vec![0; 32]].concat(), "it sent Proof where the handshake has another step"),
    ] {
        let (stranger, heard) = say(&b.bridge, &opened(&lie)).await;
        logged(&stranger, why).await;
        assert!(String::from_utf8_lossy(&heard).contains(why), "it is told why");
    }
}

#[actix::test]
async fn whoever_is_slow_or_silent_is_not_waited_for() {
    start_log();
    let (a, b) = (Node::start(settings("a")), Node::start(settings("b")));
    let address = b.bridge.address();
    let silent: Vec<_> = (0..5).map(|_| TcpStream::connect(address).unwrap()).collect();
    let slow = std::thread::spawn(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        for byte in opened(&prefix(4000, 0, 0, 1)) {
            if stream.write_all(&[byte]).is_err() {
                break;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        stream
    });
    let slow = tokio::task::spawn_blocking(move || slow.join().unwrap()).await.unwrap();
    logged(&slow, "the handshake was not done within 1.0s").await;
    let crowd: Vec<_> = (0..200).map(|_| TcpStream::connect(address).unwrap()).collect();
    a.dial(&b, "b"); // two hundred at the door do not keep a node out
    a.bridge.link("b").ask(SCRIBE, Question(0), LONG).await.unwrap();
    assert_eq!(a.events.try_iter().filter(|event| !matches!(event, PeerEvent::Up(_))).count(), 0);
    drop((silent, crowd));
}

#[actix::test]
async fn what_was_overheard_opens_no_door() {
    start_log();
    let b = Node::start(settings("b"));
    let heard = Arc::new(Mutex::new(Vec::new()));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (between, target, writes) = (listener.local_addr().unwrap(), b.bridge.address(), Arc::clone(&heard));
    std::thread::spawn(move || {
        let (mut near, mut far) = (listener.accept().unwrap().0, TcpStream::connect(target).unwrap());
        let (mut near_in, mut far_out) = (near.try_clone().unwrap(), far.try_clone().unwrap());
        std::thread::spawn(move || std::io::copy(&mut far, &mut near));
        let mut bytes = [0; 4096];
        while let Ok(n @ 1..) = near_in.read(&mut bytes) {
            writes.lock().unwrap().extend_from_slice(&bytes[..n]);
            far_out.write_all(&bytes[..n]).unwrap();
        }
    });
    let a = settings("a");
    ask_once(&a, &between.to_string(), SCRIBE, Question(0), LONG).await.unwrap();
    let overheard = heard.lock().unwrap().clone();
    let (stranger, _) = say(&b.bridge, &overheard).await;
    logged(&stranger, "it does not know the cluster's token").await;
}

#[actix::test]
async fn a_node_with_another_token_cluster_or_name_is_told_why() {
    start_log();
    let b = Node::start(settings("b"));
    let other_token =
        Settings { token: Some(Token::new("incorrect horse battery").unwrap()), ..settings("a") };
    let none = Settings { token: None, ..settings("a") };
    let other_cluster = Settings { cluster: "rehearsal".to_owned(), ..settings("a") };
    for (settings, name, reason) in [
        (other_token, "b", "it refused: it does not know the cluster's token"),
        (none, "b", "it refused: it does not know the cluster's token"),
        (other_cluster, "b", "it refused: it belongs to cluster \"rehearsal\", this is \"stage\""),
        (settings("b"), "b", "it refused: two nodes have the name \"b\""),
        (settings("a"), "c", "node \"b\" answers where \"c\" should"),
    ] {
        let a = Node::start(settings);
        a.dial(&b, name);
        let Ok(PeerEvent::Refused { node, why }) = a.events.recv_timeout(LONG) else { panic!("let in") };
        assert_eq!((&*node, &*why), (name, reason));
    }
    assert_eq!(b.events.try_iter().count(), 0);
}

#[actix::test]
async fn whoever_runs_a_bridge_says_whom_to_let_in() {
    start_log();
    let bridge = Bridge::start(
        settings("b"),
        Directory::default(),
        |peer| Err(format!("{} is not expected", peer.node)),
        |_| {},
    );
    let (a, bridge) = (Node::start(settings("a")), bridge.unwrap());
    a.bridge.dial("b", &bridge.address().to_string());
    let Ok(PeerEvent::Refused { why, .. }) = a.events.recv_timeout(LONG) else { panic!("let in") };
    assert_eq!(why, "it refused: a is not expected");
    tokio::task::spawn_blocking(|| bridge.stop()).await.unwrap();
}

#[test]
fn without_a_token_nobody_listens_to_the_world() {
    let settings = Settings { token: None, listen: "0.0.0.0:0".parse().unwrap(), ..settings("a") };
    let error = Bridge::start(settings, Directory::default(), |_| Ok(()), |_| {}).unwrap_err();
    assert_eq!(error.to_string(), "others can reach 0.0.0.0:0, so the cluster needs a token");
}

#[actix::test]
async fn a_visitor_is_answered_once_it_has_proved_the_token() {
    let b = Node::start(settings("b"));
    let address = b.bridge.address().to_string();
    assert_eq!(ask_once(&settings("v"), &address, SCRIBE, Question(5), LONG).await.unwrap().number, 5);
    let stranger = Settings { token: None, ..settings("v") };
    let why = ask_once(&stranger, &address, SCRIBE, Question(5), LONG).await.unwrap_err().to_string();
    assert_eq!(why, format!("{address}: it refused: it does not know the cluster's token"));
    assert_eq!(b.events.try_iter().count(), 0, "a visit is no session");
}
