//! A connection that breaks again and again: nothing is lost, nothing comes twice.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use slackline::bridge::PeerEvent;

use crate::stage::{LONG, Node, Note, Notes, Question, SCRIBE, settings};

/// Stands between two nodes and passes bytes on, until it cuts all connections.
struct Between {
    address: SocketAddr,
    open: Arc<Mutex<Vec<TcpStream>>>,
    /// Whether bytes are passed on at all.
    shut: Arc<AtomicBool>,
}

impl Between {
    fn before(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (open, shut) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (of_thread, is_shut) = (Arc::clone(&open), Arc::clone(&shut));
        std::thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let Ok(far) = TcpStream::connect(target) else { continue };
                near.set_nodelay(true).unwrap();
                far.set_nodelay(true).unwrap();
                let mut open = of_thread.lock().unwrap();
                if is_shut.load(Ordering::Relaxed) {
                    continue;
                }
                open.extend([near.try_clone().unwrap(), far.try_clone().unwrap()]);
                drop(open);
                let ways = [(near.try_clone().unwrap(), far.try_clone().unwrap()), (far, near)];
                ways.into_iter().for_each(|(from, to)| drop(std::thread::spawn(move || pass(from, to))));
            }
        });
        Self { address, open, shut }
    }

    /// Cuts all connections; one that is just being made is among them, or finds the door shut.
    fn cut(&self) {
        self.open.lock().unwrap().drain(..).for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream) {
    let mut bytes = [0; 16 * 1024];
    while let Ok(n @ 1..) = from.read(&mut bytes) {
        if to.write_all(&bytes[..n]).is_err() {
            break;
        }
    }
    to.shutdown(Shutdown::Both).ok();
}

#[actix::test]
async fn fifty_cuts_lose_nothing() {
    const N: u64 = 6000;
    let (a, b) = (Node::start(settings("a")), Node::start(settings("b")));
    let between = Between::before(b.bridge.address());
    a.bridge.dial("b", &between.address.to_string());
    let (cuts, done) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let (counted, stop) = (Arc::clone(&cuts), Arc::clone(&done));
    std::thread::spawn(move || {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        while !stop.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(random.random_range(5..60)));
            between.cut();
            counted.fetch_add(1, Ordering::Relaxed);
        }
    });
    let (there, back) = (a.bridge.link("b"), b.bridge.link("a"));
    let mut answers = Vec::new();
    let mut n = 0;
    let resent = || {
        let traffic = a.bridge.traffic().into_iter().chain(b.bridge.traffic());
        traffic.map(|traffic| traffic.resent.frames).sum::<u64>()
    };
    while n < N || cuts.load(Ordering::Relaxed) < 50 || resent() == 0 {
        assert!(n < 100 * N, "the cuts catch nothing under way");
        there.tell(SCRIBE, Note(n));
        back.tell(SCRIBE, Notes { first: n, values: vec![n as f32; (n % 50) as usize * 100] });
        if n.is_multiple_of(20) {
            answers.push((n, there.ask(SCRIBE, Question(n), LONG)));
        }
        n += 1;
        if n.is_multiple_of(5) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    done.store(true, Ordering::Relaxed);
    a.written(n as usize).await;
    b.written(n as usize).await;
    let all: Vec<u64> = (0..n).collect();
    assert_eq!(*b.book.lock().unwrap(), all);
    assert_eq!(*a.book.lock().unwrap(), all);
    for (number, answer) in answers {
        let answer = answer.await.expect("it is answered however often the connection was cut");
        assert_eq!(
            (answer.number, answer.so_far.len() as u64),
            (number, number + 1),
            "asks keep their place among tells"
        );
    }
    assert!(
        !a.events.try_iter().chain(b.events.try_iter()).any(|event| matches!(event, PeerEvent::Down(..)))
    );
}

#[actix::test]
async fn a_node_that_is_cut_off_is_down_in_time_and_stays_out() {
    let (a, b) = (Node::start(settings("a")), Node::start(settings("b")));
    let between = Between::before(b.bridge.address());
    a.bridge.dial("b", &between.address.to_string());
    let link = a.bridge.link("b");
    link.ask(SCRIBE, Question(0), LONG).await.expect("they speak to each other");
    between.shut.store(true, Ordering::Relaxed);
    between.cut();
    let waiting = link.ask(SCRIBE, Question(1), LONG);
    for node in [&a, &b] {
        assert!(matches!(node.events.recv_timeout(LONG), Ok(PeerEvent::Up(_))));
        let mut suspected = false;
        let why = loop {
            match node.events.recv_timeout(LONG).expect("it is down") {
                PeerEvent::Down(_, why) => break why,
                event => suspected |= matches!(event, PeerEvent::Suspect(_)),
            }
        };
        assert!(suspected, "down without a warning");
        assert_eq!(why, "nothing was heard of it for 2.0s");
    }
    waiting.await.expect_err("nobody is left to answer");
    between.shut.store(false, Ordering::Relaxed);
    a.bridge.dial("b", &between.address.to_string());
    let Ok(PeerEvent::Refused { why, .. }) = a.events.recv_timeout(LONG) else { panic!("let in") };
    assert_eq!(why, "it refused: it was taken to be dead here: nothing was heard of it for 2.0s");
}

#[actix::test]
async fn both_sides_may_dial() {
    for _ in 0..10 {
        let (a, b) = (Node::start(settings("a")), Node::start(settings("b")));
        a.dial(&b, "b");
        b.dial(&a, "a");
        let (there, back) = (a.bridge.link("b"), b.bridge.link("a"));
        for n in 0..100 {
            there.tell(SCRIBE, Note(n));
            back.tell(SCRIBE, Notes { first: n, values: vec![n as f32; 10] });
        }
        a.written(100).await;
        b.written(100).await;
        assert_eq!(*a.book.lock().unwrap(), (0..100).collect::<Vec<_>>());
        assert_eq!(*b.book.lock().unwrap(), (0..100).collect::<Vec<_>>());
        for node in [&a, &b] {
            let ups = node.events.try_iter().filter(|event| matches!(event, PeerEvent::Up(_))).count();
            assert_eq!(ups, 1, "one session");
        }
    }
}
