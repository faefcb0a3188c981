//! What goes wrong in an app ends the run with a sentence, or is tried again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use slackline::Outcome;
use slackline::prelude::*;

use crate::{Does, summing, sums};

/// How a run of an app made of a function fails.
fn failure(job: Job, app: impl Fn(Step) -> Outcome + Clone + Send + Sync + Unpin + 'static) -> String {
    let run = job.start(move |_| Does(app.clone())).expect("it can be started");
    run.wait().expect_err("it fails").to_string()
}

fn leased(job: Job) -> Job {
    job.table(Table::dense("mine", 3, 1).leased_by_part(&[0, 1, 2]))
}

#[test]
fn an_app_that_panics_now_and_then_completes() {
    for consistency in [Consistency::Bsp, Consistency::Ssp(2), Consistency::Async] {
        let panics = Arc::new(AtomicU32::new(0));
        let counter = Arc::clone(&panics);
        let job = Job::new("p").table(sums()).schedule(Fixed::new(6, 4)).consistency(consistency).local(3);
        let run = job.start(move |_| {
            let counter = Arc::clone(&counter);
            Does(move |step: Step| {
                let part = step.part().0;
                assert!(
                    part != 2 || counter.fetch_add(1, Ordering::Relaxed).is_multiple_of(2),
                    "now and then"
                );
                summing(step)
            })
        });
        let trained = run.unwrap().wait().unwrap();
        assert!(panics.load(Ordering::Relaxed) > 4, "it did panic");
        assert_eq!(trained.model.dense::<f32>("sums")[[0, 0]], 24.0, "{consistency}");
    }
}

#[test]
fn an_app_that_always_panics_ends_the_run_after_three_tries() {
    let job = Job::new("p").schedule(Fixed::new(3, 2)).consistency(Consistency::Ssp(1)).local(2);
    let why = failure(job, |step| {
        assert!(step.part().0 != 1, "always");
        step.done(0.0)
    });
    assert!(why.contains("the app panicked on part 1"), "{why}");
    assert!(why.ends_with("for the 3rd time"), "{why}");
}

#[test]
fn an_app_that_panics_with_leased_rows_ends_the_run() {
    let job = leased(Job::new("p").schedule(Fixed::new(3, 2)).consistency(Consistency::Ssp(1)).local(2));
    let why = failure(job, |step| {
        assert!(step.part().0 != 1, "once");
        step.done(0.0)
    });
    assert!(why.ends_with("with leased rows in its hands, which are lost"), "{why}");
}

#[test]
fn a_cost_that_is_not_finite_ends_the_run() {
    let job = Job::new("p").schedule(Fixed::new(3, 2)).local(2);
    let why = failure(job, |step| {
        let cost = if step.part().0 == 2 { f64::NAN } else { 0.0 };
        step.done(cost)
    });
    assert_eq!(why, "the objective of part 2 is NaN at clock 1: the run diverged");
}

#[test]
fn an_app_that_cannot_be_made_ends_the_run() {
    let job = Job::new("p").schedule(Fixed::new(1, 1));
    let run = job.start(|_| -> Does<fn(Step) -> Outcome> { panic!("no data") });
    let why = run.unwrap().wait().unwrap_err().to_string();
    assert_eq!(why, "the app of worker 0 could not be made: making it panicked");
}

#[test]
fn a_part_without_a_block_to_lease_ends_the_run() {
    let job = leased(Job::new("p").schedule(Fixed::new(4, 1)).local(2));
    let why = failure(job, |step| step.done(0.0));
    assert_eq!(why, "part 3 leases block 3 of mine, which has 3 blocks");
}

#[test]
fn a_row_to_read_that_the_table_does_not_have_ends_the_run() {
    let table = Table::dense("few", 3, 1).reading(|part| vec![part.0]);
    let job = Job::new("p").table(table).schedule(Fixed::new(4, 1)).local(2);
    let why = failure(job, |step| step.done(0.0));
    assert_eq!(why, "part 3 reads row 3 of few, which has 3 rows");
}

#[test]
fn an_app_that_panics_when_asked_what_it_reads_ends_the_run() {
    let table = Table::dense("few", 3, 1).reading(|part| [vec![0], vec![2]][part.index()].clone());
    let job = Job::new("p").table(table).schedule(Fixed::new(3, 1)).local(2);
    let why = failure(job, |step| step.done(0.0));
    assert_eq!(why, "the app panicked when asked which rows of few part 2 reads");
}

#[test]
fn an_update_of_the_wrong_type_is_the_apps_mistake_and_no_shard_dies_of_it() {
    let job = Job::new("p").table(sums()).schedule(Fixed::new(1, 1));
    let why = failure(job, |mut step| {
        let mut delta = step.delta::<f64>("sums");
        delta.row(0)[0] = 1.0;
        step.add(delta);
        step.done(0.0)
    });
    assert!(why.contains("the app panicked on part 0"), "{why}");
}

#[test]
fn an_update_of_a_leased_table_is_the_apps_mistake_and_no_shard_dies_of_it() {
    let job = leased(Job::new("p").schedule(Fixed::new(1, 1)));
    let why = failure(job, |mut step| {
        let mut delta = step.delta::<f32>("mine");
        delta.row(0)[0] = 1.0;
        step.add(delta);
        step.done(0.0)
    });
    assert!(why.contains("the app panicked on part 0"), "{why}");
}

#[test]
fn a_job_that_cannot_run_is_refused_before_it_starts() {
    let refused = |job: Job| job.start(|_| Does(summing)).err().expect("refused").to_string();
    assert_eq!(refused(Job::new("j").local(0)), "workers is 0, must be 1 or more");
    assert_eq!(refused(Job::new("j").shards(0)), "shards is 0, must be 1 or more");
    assert_eq!(refused(Job::new("j").table(sums()).table(sums())), "two tables are called sums");
}

#[test]
fn an_app_that_cannot_be_made_anew_ends_the_run() {
    let made = AtomicU32::new(0);
    let run = Job::new("p").schedule(Fixed::new(2, 1)).start(move |_| {
        assert_eq!(made.fetch_add(1, Ordering::Relaxed), 0, "once only");
        Does(|_: Step| -> Outcome { panic!("always") })
    });
    let why = run.unwrap().wait().unwrap_err().to_string();
    assert_eq!(why, "the app of worker 0 could not be made: making it panicked");
}

#[test]
fn a_watcher_that_panics_is_told_nothing_more_and_the_run_goes_on() {
    let (told, events) = std::sync::mpsc::channel();
    let job = Job::new("p").table(sums()).schedule(Fixed::new(2, 100)).watch(|_| panic!("too much to see"));
    let job = job.watch(move |event| drop(told.send(event.clone())));
    let trained = job.start(|_| Does(summing)).unwrap().wait().unwrap();
    assert_eq!((trained.history.len(), events.iter().count()), (100, 100));
}

#[test]
fn a_slow_watcher_is_told_everything_before_the_run_ends() {
    let (told, events) = std::sync::mpsc::channel();
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let job = Job::new("slow").table(sums()).schedule(Fixed::new(2, 10)).watch(move |_| {
        wait.recv().ok(); // until somebody has seen that the run goes on without it
        told.send(()).expect("the test listens");
    });
    let steps = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&steps);
    let run = job.start(move |_| {
        let counter = Arc::clone(&counter);
        Does(move |step| {
            counter.fetch_add(1, Ordering::Relaxed);
            summing(step)
        })
    });
    while steps.load(Ordering::Relaxed) < 20 {
        std::thread::yield_now();
    }
    drop(go);
    run.unwrap().wait().unwrap();
    assert_eq!(events.try_iter().count(), 10);
}
