//! Bridges over a simulated network, in simulated time: cuts, holds, crashes, from a seed.

use std::cell::{Cell, RefCell};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use actix::Actor;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use slackline::bridge::net::{Doing, Listener, Network, Packed, Stream};
use slackline::bridge::{AskError, Bridge, Directory, PeerEvent};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use turmoil::{Builder, Sim};

use crate::stage::{Book, Note, Notes, Question, SCRIBE, Scribe, settings};

struct Simulated;
struct Door(turmoil::net::TcpListener);
struct Line(turmoil::net::TcpStream);

impl Network for Simulated {
    fn bind(&self, address: SocketAddr) -> Doing<'_, Box<dyn Listener>> {
        Box::pin(async move {
            Ok(Box::new(Door(turmoil::net::TcpListener::bind(address).await?)) as Box<dyn Listener>)
        })
    }
    fn connect<'a>(&'a self, address: &'a str) -> Doing<'a, Box<dyn Stream>> {
        Box::pin(async move {
            Ok(Box::new(Line(turmoil::net::TcpStream::connect(address).await?)) as Box<dyn Stream>)
        })
    }
}

impl Listener for Door {
    fn address(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
    fn accept(&mut self) -> Doing<'_, (Box<dyn Stream>, SocketAddr)> {
        Box::pin(async move {
            let (stream, from) = self.0.accept().await?;
            Ok((Box::new(Line(stream)) as Box<dyn Stream>, from))
        })
    }
}

impl Stream for Line {
    fn pack(self: Box<Self>) -> io::Result<Packed> {
        Ok(Box::new(move || Ok(self as Box<dyn Stream>)))
    }
}

impl AsyncRead for Line {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, to)
    }
}

impl AsyncWrite for Line {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, from)
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

/// One side of the play.
#[derive(Clone, Default)]
struct Side {
    book: Book,
    bridge: Rc<RefCell<Option<Bridge>>>,
    starts: Rc<Cell<u64>>,
    /// What happened, with the millisecond.
    log: Arc<Mutex<Vec<String>>>,
}

/// A port that all nodes of a simulation listen at.
const PORT: u16 = 7000;

impl Side {
    /// What a host of this name does: `a` dials `b`, again whenever it is down.
    async fn live(self, node: &'static str) -> turmoil::Result {
        self.starts.set(self.starts.get() + 1);
        let directory = Directory::default();
        let scribe = Scribe(Arc::clone(&self.book)).start();
        directory.expose::<Note>(SCRIBE, scribe.clone().recipient());
        directory.expose::<Notes>(SCRIBE, scribe.clone().recipient());
        directory.expose::<Question>(SCRIBE, scribe.recipient());
        let mut settings = settings(node);
        settings.listen = (Ipv4Addr::UNSPECIFIED, PORT).into();
        let log = Arc::clone(&self.log);
        let (tell, downs) = channel();
        let started = tokio::time::Instant::now();
        let events = move |event| {
            log.lock().unwrap().push(format!("{:?} {node} {event:?}", started.elapsed()));
            if matches!(event, PeerEvent::Down(..)) {
                tell.send(()).ok();
            }
        };
        let incarnation = 10 * u64::from(node.as_bytes()[0]) + self.starts.get();
        let bridge = Bridge::simulated(settings, directory, (Simulated, incarnation), events).await?;
        *self.bridge.borrow_mut() = Some(bridge.clone());
        if node == "a" {
            bridge.dial("b", &format!("b:{PORT}"));
            redial(&bridge, &downs).await;
        }
        std::future::pending().await
    }

    fn link(&self, to: &str) -> slackline::bridge::Link {
        self.bridge.borrow().as_ref().expect("it is alive").link(to)
    }

    fn seen(&self, what: &str) -> usize {
        self.log.lock().unwrap().iter().filter(|line| line.contains(what)).count()
    }
}

async fn redial(bridge: &Bridge, downs: &Receiver<()>) {
    loop {
        tokio::time::sleep(Duration::from_millis(100)).await;
        if downs.try_iter().count() > 0 {
            bridge.dial("b", &format!("b:{PORT}"));
        }
    }
}

struct Play {
    sim: Sim<'static>,
    a: Side,
    b: Side,
}

impl Play {
    fn new(seed: u64, slowest: u64) -> Self {
        let mut builder = Builder::new();
        builder
            .rng_seed(seed)
            .simulation_duration(Duration::from_secs(120))
            .tick_duration(Duration::from_millis(1));
        builder
            .min_message_latency(Duration::from_millis(1))
            .max_message_latency(Duration::from_millis(slowest));
        builder.tcp_capacity(10_000);
        let mut sim = builder.build();
        let (a, b) = (Side::default(), Side::default());
        let (on_a, on_b) = (a.clone(), b.clone());
        sim.host("b", move || on_b.clone().live("b"));
        sim.host("a", move || on_a.clone().live("a"));
        Self { sim, a, b }
    }

    fn until(&mut self, time: Duration) {
        while self.sim.elapsed() < time {
            self.sim.step().expect("no host fails");
        }
    }

    fn run(&mut self, time: Duration) {
        self.until(self.sim.elapsed() + time);
    }
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_cut_of_a_second_and_a_half_is_survived() {
    let mut play = Play::new(1, 5);
    play.run(SECOND);
    let link = play.a.link("b");
    (0..100).for_each(|n| link.tell(SCRIBE, Note(n)));
    play.sim.partition("a", "b");
    (100..200).for_each(|n| link.tell(SCRIBE, Note(n)));
    play.run(SECOND * 3 / 2);
    play.sim.repair("a", "b");
    play.run(4 * SECOND);
    assert_eq!(*play.b.book.lock().unwrap(), (0..200).collect::<Vec<_>>());
    assert_eq!(play.a.seen("Up") + play.b.seen("Up"), 2);
    assert_eq!((play.a.seen("Suspect"), play.a.seen("Back")), (1, 1), "{:?}", play.a.log);
    assert_eq!(play.a.seen("Down") + play.b.seen("Down"), 0);
}

#[test]
fn a_node_that_is_started_again_is_down_and_up_and_old_questions_have_no_answer() {
    let mut play = Play::new(2, 5);
    play.run(SECOND);
    let link = play.a.link("b");
    link.tell(SCRIBE, Note(1));
    play.run(SECOND / 2);
    play.sim.crash("b");
    let asked = Arc::new(Mutex::new(None));
    let (answer, asking) = (Arc::clone(&asked), link.ask(SCRIBE, Question(1), 60 * SECOND));
    play.sim.client("asker", async move {
        *answer.lock().unwrap() = Some(asking.await);
        Ok(())
    });
    play.run(SECOND / 2);
    play.sim.bounce("b");
    play.run(3 * SECOND);
    link.tell(SCRIBE, Note(2));
    play.run(SECOND);
    assert_eq!(*play.b.book.lock().unwrap(), [1, 2]);
    assert_eq!(*asked.lock().unwrap(), Some(Err(AskError::Closed)));
    let order: Vec<_> = play
        .a
        .log
        .lock()
        .unwrap()
        .iter()
        .map(|line| line.split(' ').nth(2).unwrap()[..2].to_owned())
        .collect();
    assert_eq!(order, ["Up", "Su", "Do", "Up"], "{:?}", play.a.log);
}

/// Cuts and holds at random, none so long that a side takes the other for dead; returns the log of both sides.
fn storm(seed: u64) -> Vec<String> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut play = Play::new(seed, random.random_range(2..40));
    play.run(SECOND);
    let (there, back) = (play.a.link("b"), play.b.link("a"));
    let mut n = 0;
    for _ in 0..5 {
        for _ in 0..random.random_range(1..40) {
            there.tell(SCRIBE, Note(n));
            back.tell(SCRIBE, Notes { first: n, values: vec![n as f32; random.random_range(0..300)] });
            n += 1;
        }
        match random.random_range(0..3) {
            0 => play.sim.partition("a", "b"),
            1 => play.sim.partition_oneway("a", "b"),
            _ => play.sim.hold("a", "b"),
        }
        play.run(Duration::from_millis(random.random_range(20..900)));
        play.sim.repair("a", "b");
        play.sim.release("a", "b");
        play.run(Duration::from_millis(random.random_range(500..3000)));
    }
    play.run(8 * SECOND);
    let all: Vec<u64> = (0..n).collect();
    assert_eq!(*play.b.book.lock().unwrap(), all, "seed {seed}: {:#?} {:#?}", play.a.log, play.b.log);
    assert_eq!(*play.a.book.lock().unwrap(), all, "seed {seed}: {:#?} {:#?}", play.a.log, play.b.log);
    let (a, b) = (play.a.log.lock().unwrap().clone(), play.b.log.lock().unwrap().clone());
    [a, b].concat()
}

#[test]
fn storms_lose_nothing() {
    let mut suspected = 0;
    for seed in 0..25 {
        let log = storm(seed);
        assert!(!log.iter().any(|line| line.contains("Down")), "seed {seed}: {log:#?}");
        suspected += log.iter().filter(|line| line.contains("Back")).count();
    }
    assert!(suspected > 10, "the storms were felt: {suspected}");
}

#[test]
fn the_same_seed_tells_the_same_story() {
    for seed in 0..5 {
        assert_eq!(storm(seed), storm(seed), "seed {seed}");
    }
}
