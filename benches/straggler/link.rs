//! Two nodes with a long line between them: what is sent arrives later, and no faster than the line carries.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use slackline::cluster::{Expected, Place, Role, Seat, SeatError, Settings, Timing};

/// From one end to the other.
const DELAY: Duration = Duration::from_millis(20);
/// 100 Mbit/s.
const BYTES_PER_SECOND: f64 = 12.5e6;

/// The seats of two nodes with so many workers each; every message between them goes over the line.
pub(crate) fn seats(workers: usize) -> Result<[Seat; 2], Box<dyn std::error::Error>> {
    let others = vec![Expected { name: "b".into(), workers, shards: 1 }];
    let lead = take("a", workers, Role::Lead { others, replicas: 0, again: false })?;
    let address = line_to(lead.address())?.to_string();
    let follower = take("b", workers, Role::Follow { lead: "a".into(), address, late: false })?;
    Ok([lead, follower])
}

fn take(node: &str, workers: usize, role: Role) -> Result<Seat, SeatError> {
    let settings = Settings {
        cluster: "straggler".into(),
        node: node.into(),
        listen: (Ipv4Addr::LOCALHOST, 0).into(),
        token: None,
        tls: None,
        timing: Timing::default(),
    };
    Seat::take(Place { settings, workers, shards: 1, role })
}

/// One direction of the line, shared by all connections: when it is free again.
struct Line(Mutex<Instant>);

impl Line {
    /// When the last of `n` bytes that are sent now is there.
    fn carries(&self, n: usize) -> Instant {
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *free = (*free).max(Instant::now()) + Duration::from_secs_f64(n as f64 / BYTES_PER_SECOND);
        *free + DELAY
    }
}

/// A line to a listener: where its other end is.
fn line_to(target: SocketAddr) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    let [there, back] = [(); 2].map(|()| Arc::new(Line(Mutex::new(Instant::now()))));
    thread::spawn(move || {
        for near in listener.incoming().flatten() {
            let Ok(far) = TcpStream::connect(target) else { continue };
            let ends = [&near, &far].map(|end| end.set_nodelay(true).and_then(|()| end.try_clone()));
            if let [Ok(near_too), Ok(far_too)] = ends {
                carry(near, far_too, Arc::clone(&there));
                carry(far, near_too, Arc::clone(&back));
            }
        }
    });
    Ok(address)
}

/// Carries bytes from one connection to the other until either ends.
fn carry(mut from: TcpStream, mut to: TcpStream, line: Arc<Line>) {
    let (sender, arriving) = channel::<(Instant, Vec<u8>)>();
    thread::spawn(move || {
        let mut bytes = vec![0; 64 * 1024];
        while let Ok(n @ 1..) = from.read(&mut bytes) {
            if sender.send((line.carries(n), bytes[..n].to_vec())).is_err() {
                break;
            }
        }
    });
    thread::spawn(move || {
        for (when, bytes) in arriving {
            thread::sleep(when.saturating_duration_since(Instant::now()));
            if to.write_all(&bytes).is_err() {
                break;
            }
        }
        to.shutdown(Shutdown::Both).ok(); // the other end hears it
    });
}
