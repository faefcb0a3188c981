//! The service of `examples/embedded.rs` as its users have it: a process, asked over loopback, told to stop.
//!
//! This binary starts itself again with only [`service`] to run, so that exit code, signals and threads are real.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking, helpers included")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

#[path = "../examples/embedded.rs"]
#[expect(dead_code, reason = "the example has a main")]
mod embedded;

/// Nothing here takes this long; a service that hangs is killed and the test fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// The service itself, in a process of its own.
#[test]
#[ignore = "started by the other tests of this file"]
fn service() {
    let before = threads();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let trained = runtime.block_on(embedded::serve("127.0.0.1:0")).unwrap();
    assert!(trained.stopped && trained.clocks.0 > 0);
    drop(runtime);
    let begun = Instant::now();
    while threads() > before {
        assert!(begun.elapsed() < PATIENCE, "{} threads before the service, {} after it", before, threads());
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

struct Service {
    process: Child,
    address: String,
}

impl Service {
    fn start() -> Self {
        let itself = std::env::current_exe().unwrap();
        let mut process = Command::new(itself)
            .args(["--exact", "service", "--ignored", "--nocapture"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines().map(Result::unwrap);
        let mut addresses = lines.filter_map(|line| Some(line.split_once("http://")?.1.to_owned()));
        let address = addresses.next().expect("the service says where it is");
        std::thread::spawn(move || addresses.count()); // the rest of its output must go somewhere
        Self { process, address }
    }

    fn ask(&self, method: &str, path: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(stream, "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    fn get(&self, path: &str) -> Value {
        let (code, body) = self.ask("GET", path);
        assert_eq!(code, 200, "{body}");
        serde_json::from_str(&body).unwrap()
    }

    /// Asks until the answer satisfies.
    fn await_that(&self, path: &str, satisfies: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            let answer = self.get(path);
            if satisfies(&answer) {
                return answer;
            }
            assert!(begun.elapsed() < PATIENCE, "{path} still answers {answer}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn ends_well(mut self) {
        let begun = Instant::now();
        let code = loop {
            if let Some(code) = self.process.try_wait().unwrap() {
                break code;
            }
            assert!(begun.elapsed() < PATIENCE, "the service does not stop");
            std::thread::sleep(Duration::from_millis(10));
        };
        assert!(code.success(), "{code}");
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.process.kill().ok(); // it is over, or this test has failed
        self.process.wait().ok();
    }
}

#[test]
fn predictions_come_from_the_run_while_it_learns() {
    let service = Service::start();
    let first = service.await_that("/status", |status| status["clock"].as_u64() > Some(0));
    assert_eq!(first["training"], true);
    let learned = |answer: &Value| (answer["y"].as_f64().unwrap() - 4.0).abs() < 0.01; // 3 · 2 − 2
    service.await_that("/predict?x=2", learned);
    let later = service.await_that("/status", |status| status["objective"].as_f64() < Some(1.0));
    assert!(later["clock"].as_u64() > first["clock"].as_u64());
    assert_eq!(service.ask("GET", "/predict?x=two").0, 400);
    assert_eq!(service.ask("POST", "/stop").0, 200);
    service.ends_well();
}

#[test]
fn a_signal_ends_the_service_as_a_request_does() {
    let service = Service::start();
    service.await_that("/status", |status| status["clock"].as_u64() > Some(0));
    let kill = Command::new("kill").arg(service.process.id().to_string()).status().unwrap();
    assert!(kill.success());
    service.ends_well();
}

#[test]
fn a_client_that_never_finishes_its_request_does_not_keep_the_service_up() {
    let service = Service::start();
    let mut half = TcpStream::connect(&service.address).unwrap();
    half.write_all(b"GET /status HTTP/1.1\r\n").unwrap();
    service.await_that("/status", |status| status["clock"].as_u64() > Some(0));
    assert_eq!(service.ask("POST", "/stop").0, 200);
    service.ends_well();
}
