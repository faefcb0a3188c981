//! The bridge against raw loopback TCP in the same run: processor time for a byte, the round trip of an ask, asks a
//! second, keys a second.
//!
//! Both nodes share this process and its cores, each with threads of its own, as does raw TCP: a thread that writes
//! and one that reads. What is compared is the ratio; neighbours on the machine spoil both sides alike.

use std::future::Future;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use actix::prelude::*;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use slackline::Clock;
use slackline::bridge::settings::{Settings, Timing};
use slackline::bridge::{Actor as Who, Address, Bridge, Directory, Lane, Link, wire};
use slackline::id::{PageId, ShardId, TableId, WorkerId};
use slackline::message::{Page, Pull, Push, RowBatch, Rows};
use slackline::values::{Buffer, Content};
use tokio::sync::Notify;

const AT: Address = Address { generation: 1, actor: Who::Scheduler };
const LONG: Duration = Duration::from_secs(60);
const MIB: usize = 1 << 20;
const KEYS: usize = 1000;

/// Answered with its number.
#[derive(Message, Serialize, Deserialize)]
#[rtype(result = "Pong")]
struct Ping(u64);
wire!(Ping, "ping/1", Lane::Control);

#[derive(Serialize, Deserialize)]
struct Pong(u64);
slackline::bridge::form!(Pong);

/// Answers, takes in, gathers.
struct Server {
    values: Vec<f32>,
    rows: Recipient<Rows>,
    pushes: Arc<Counter>,
}

/// Counts what came; wakes whoever waits for it.
#[derive(Default)]
struct Counter {
    n: AtomicU64,
    more: Notify,
}

impl Counter {
    fn add(&self) {
        self.n.fetch_add(1, Ordering::Relaxed);
        self.more.notify_waiters();
    }

    async fn reaches(&self, n: u64) {
        loop {
            let more = self.more.notified();
            if self.n.load(Ordering::Relaxed) >= n {
                return;
            }
            more.await;
        }
    }
}

impl Actor for Server {
    type Context = Context<Self>;
}

impl Handler<Ping> for Server {
    type Result = MessageResult<Ping>;
    fn handle(&mut self, ping: Ping, _: &mut Self::Context) -> Self::Result {
        MessageResult(Pong(ping.0))
    }
}

impl Handler<Push> for Server {
    type Result = ();
    fn handle(&mut self, push: Push, _: &mut Self::Context) {
        assert_eq!(push.deltas[0].rows.n_values(), MIB / 4);
        self.pushes.add();
    }
}

impl Handler<Pull> for Server {
    type Result = ();
    fn handle(&mut self, pull: Pull, _: &mut Self::Context) {
        let batch = |(table, rows): (TableId, Arc<Vec<u32>>)| {
            let values = rows.iter().map(|row| self.values[*row as usize]).collect();
            RowBatch { table, rows, values: Arc::new(Buffer::F32(Content::Dense(values))) }
        };
        self.rows.do_send(Rows {
            shard: ShardId(0),
            ticket: pull.ticket,
            min: pull.need,
            applied: Arc::new(vec![0]),
            pages: Vec::new(),
            withheld: Vec::new(),
            batches: pull.rows.into_iter().map(batch).collect(),
            leases: Vec::new(),
            copies: Vec::new(),
            known_leases: Vec::new(),
            known_copies: Vec::new(),
        });
    }
}

/// Counts the rows that it pulled.
struct Client(Arc<Counter>);

impl Actor for Client {
    type Context = Context<Self>;
}

impl Handler<Rows> for Client {
    type Result = ();
    fn handle(&mut self, rows: Rows, _: &mut Self::Context) {
        assert_eq!(rows.batches[0].values.n_values(), KEYS);
        self.0.add();
    }
}

/// Processor time of the whole process.
fn processor_time() -> f64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

/// Repeats a measurement; the median of what it returns.
async fn median<F: Future<Output = f64>>(mut measure: impl FnMut() -> F) -> f64 {
    let mut results = Vec::new();
    for _ in 0..5 {
        results.push(measure().await);
    }
    results.sort_by(f64::total_cmp);
    results[results.len() / 2]
}

/// Nanoseconds of processor time for a KiB, raw: writes of a MiB, read into one buffer.
fn raw_bulk(n: usize) -> f64 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let address = listener.local_addr().expect("bound");
    let begun = processor_time();
    let reader = std::thread::spawn(move || {
        let (mut stream, mut buffer) = (listener.accept().expect("a connection").0, vec![0; MIB]);
        (0..n).for_each(|_| stream.read_exact(&mut buffer).expect("a MiB"));
    });
    let (mut stream, buffer) = (TcpStream::connect(address).expect("loopback"), vec![1; MIB]);
    (0..n).for_each(|_| stream.write_all(&buffer).expect("a MiB"));
    reader.join().expect("the reader is done");
    (processor_time() - begun) * 1e9 / (n as f64 * 1024.0)
}

/// The same through the bridge: pushes of one page.
async fn bulk(link: &Link, pushes: &Counter, n: u64) -> f64 {
    let rows = Arc::new(Buffer::F32(Content::Dense(vec![1.0; MIB / 4])));
    let (to, have) = (link.recipient::<Push>(AT), pushes.n.load(Ordering::Relaxed));
    let begun = processor_time();
    for sequence in 0..n {
        let deltas = vec![Page { table: TableId(0), page: PageId(0), seen: 0, rows: Arc::clone(&rows) }];
        let push =
            Push { worker: WorkerId(0), sequence, clock: Clock(0), deltas, batches: vec![], returns: vec![] };
        to.do_send(push);
        pushes.reaches(have + (sequence + 1).saturating_sub(2)).await;
    }
    pushes.reaches(have + n).await;
    (processor_time() - begun) * 1e9 / (n as f64 * 1024.0)
}

/// Microseconds of a round trip of 100 bytes, raw, between two runtimes: the median.
fn raw_round_trip(n: usize) -> f64 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let address = listener.local_addr().expect("bound");
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let echo = std::thread::spawn(move || {
        runtime().block_on(async move {
            use tokio::io::{AsyncReadExt, AsyncWriteExt};
            listener.set_nonblocking(true).expect("loopback");
            let listener = tokio::net::TcpListener::from_std(listener).expect("loopback");
            let (mut stream, mut bytes) = (listener.accept().await.expect("a connection").0, [0; 100]);
            stream.set_nodelay(true).expect("tcp");
            while stream.read_exact(&mut bytes).await.is_ok() {
                stream.write_all(&bytes).await.expect("loopback");
            }
        });
    });
    let times = std::thread::spawn(move || {
        runtime().block_on(async move {
            use tokio::io::{AsyncReadExt, AsyncWriteExt};
            let mut stream = tokio::net::TcpStream::connect(address).await.expect("loopback");
            stream.set_nodelay(true).expect("tcp");
            let (mut bytes, mut times) = ([0; 100], Vec::new());
            for _ in 0..n {
                let begun = Instant::now();
                stream.write_all(&bytes).await.expect("loopback");
                stream.read_exact(&mut bytes).await.expect("loopback");
                times.push(begun.elapsed().as_secs_f64() * 1e6);
            }
            times
        })
    });
    let mut times = times.join().expect("the asker is done");
    echo.join().expect("the echo is done");
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

async fn round_trip(link: &Link, n: u64) -> f64 {
    let mut times = Vec::new();
    for number in 0..n {
        let begun = Instant::now();
        assert_eq!(link.ask(AT, Ping(number), LONG).await.expect("an answer").0, number);
        times.push(begun.elapsed().as_secs_f64() * 1e6);
    }
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Asks a second, so many at once.
async fn pipelined(link: &Link, at_once: u64, n: u64) -> f64 {
    let begun = Instant::now();
    let each = n / at_once;
    let ask = |link: Link| async move {
        for number in 0..each {
            link.ask(AT, Ping(number), LONG).await.expect("an answer");
        }
    };
    let tasks: Vec<_> = (0..at_once).map(|_| tokio::task::spawn_local(ask(link.clone()))).collect();
    for task in tasks {
        task.await.expect("asked");
    }
    (each * at_once) as f64 / begun.elapsed().as_secs_f64()
}

/// Keys a second: pulls of a thousand rows of one number, so many at once.
async fn pulls(link: &Link, rows: &Counter, at_once: u64, n: u64) -> f64 {
    let (to, have) = (link.recipient::<Pull>(AT), rows.n.load(Ordering::Relaxed));
    let begun = Instant::now();
    for ticket in 0..n {
        let keys = (0..KEYS as u32).map(|key| key * 7 + (ticket % 100) as u32).collect();
        to.do_send(Pull {
            worker: WorkerId(0),
            ticket,
            need: Clock(0),
            after: 0,
            commits: 0,
            pages: Vec::new(),
            rows: vec![(TableId(0), Arc::new(keys))],
            leases: Vec::new(),
            copies: Vec::new(),
            known: Vec::new(),
            subscribe: false,
        });
        rows.reaches(have + (ticket + 1).saturating_sub(at_once)).await;
    }
    rows.reaches(have + n).await;
    (n as usize * KEYS) as f64 / begun.elapsed().as_secs_f64()
}

fn node(name: &str, directory: Directory) -> Bridge {
    let settings = Settings {
        cluster: "bench".to_owned(),
        node: name.to_owned(),
        listen: "127.0.0.1:0".parse().expect("an address"),
        token: None,
        tls: None,
        timing: Timing::default(),
    };
    Bridge::start(settings, directory, |_| Ok(()), |_| {}).expect("a bridge on loopback")
}

#[actix::main]
async fn main() {
    let (here, there) = (Directory::default(), Directory::default());
    let (a, b) = (node("a", here.clone()), node("b", there.clone()));
    let (rows, pushes) = (Arc::new(Counter::default()), Arc::new(Counter::default()));
    here.expose::<Rows>(AT, Client(Arc::clone(&rows)).start().recipient());
    let (arbiter, back, counter) = (Arbiter::new(), b.link("a"), Arc::clone(&pushes));
    let server = Server::start_in_arbiter(&arbiter.handle(), move |_| Server {
        values: vec![0.5; 8 * KEYS],
        rows: back.recipient::<Rows>(AT),
        pushes: counter,
    });
    there.expose::<Ping>(AT, server.clone().recipient());
    there.expose::<Push>(AT, server.clone().recipient());
    there.expose::<Pull>(AT, server.recipient());
    a.dial("b", &b.address().to_string());
    let link = a.link("b");
    link.ask(AT, Ping(0), LONG).await.expect("they speak to each other");

    let only = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let wanted = |name: &str| only.as_deref().is_none_or(|only| only == name);
    if wanted("bulk") {
        let raw = median(|| async { raw_bulk(500) }).await;
        let ours = median(|| bulk(&link, &pushes, 500)).await;
        println!("bulk, 1 MiB: {ours:.0} ns/KiB, raw {raw:.0}: {:.2} times (goal 1.5)", ours / raw);
    }
    if wanted("ask") {
        let raw = median(|| async { raw_round_trip(5000) }).await;
        let ours = median(|| round_trip(&link, 5000)).await;
        println!("ask, one by one: {ours:.1} µs, raw {raw:.1}: {:.2} times (goal 2.5)", ours / raw);
    }
    if wanted("pipelined") {
        let rate = median(|| pipelined(&link, 256, 200_000)).await;
        println!("ask, 256 at once: {:.0} thousand a second (goal 250)", rate / 1e3);
    }
    if wanted("pulls") {
        let rate = median(|| pulls(&link, &rows, 16, 20_000)).await;
        println!("pulls of {KEYS} keys: {:.1} million keys a second (goal 10)", rate / 1e6);
    }
    a.stop();
    b.stop();
    System::current().stop();
}
