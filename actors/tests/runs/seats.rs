//! Nodes of a cluster inside one program.

use std::net::Ipv4Addr;
use std::thread;

use slackline::cluster::{Expected, Place, Role, Seat, Settings, Timing};
use slackline::prelude::*;
use slackline::{Clock, RunError};

use crate::run_sums;

fn seat(node: &str, role: Role) -> Seat {
    let settings = Settings {
        cluster: "seats".to_owned(),
        node: node.to_owned(),
        listen: (Ipv4Addr::LOCALHOST, 0).into(),
        token: None,
        tls: None,
        timing: Timing::default(),
    };
    Seat::take(Place { settings, workers: 1, shards: 1, role }).expect("the other one answers")
}

#[test]
fn a_job_keeps_its_seat_to_the_end() {
    let others = vec![Expected { name: "b".to_owned(), workers: 1, shards: 1 }];
    let a = seat("a", Role::Lead { others, replicas: 0, again: false });
    let address = a.address().to_string();
    let b = seat("b", Role::Follow { lead: "a".to_owned(), address, late: false });
    let job = || Job::new("seats").schedule(Fixed::new(4, 3));
    let follower = job().seat(b); // nobody else has it
    let follower = thread::spawn(move || run_sums(follower));
    let trained = run_sums(job().seat(a)).expect("nothing fails");
    assert_eq!((trained.clocks, trained.model.dense::<f32>("sums")[[0, 0]]), (Clock(6), 12.0));
    let ended = follower.join().expect("it does not panic");
    assert!(matches!(ended, Err(RunError::Elsewhere)), "{ended:?}");
}
