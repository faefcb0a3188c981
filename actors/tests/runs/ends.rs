//! Every consistency with every schedule ends; so does a run that is stopped.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use slackline::prelude::*;
use slackline::scheduler::policy::{Dependency, Guide, Schedule, Verdict};
use slackline::{Outcome, VariableId};

use crate::{Does, bits, run_sums, summing, sums};

const CONSISTENCIES: [Consistency; 7] = [
    Consistency::Bsp,
    Consistency::Ssp(0),
    Consistency::Ssp(3),
    Consistency::Essp(2),
    Consistency::BoundedError { error: 0.01, s: 2 },
    Consistency::Adaptive { least: 0, most: 3 },
    Consistency::Async,
];

/// One sweep, one round, the end.
struct Once;

impl Guide for Once {
    fn swept(&mut self, _: PartId, _: &Findings) {}
    fn after_sweep(&mut self) -> Verdict {
        Verdict::Focus { size: 4 }
    }
    fn worked(&mut self, _: PartId, _: &Findings) {}
    fn after_round(&mut self) -> Verdict {
        Verdict::Stop
    }
    fn orders(&self, _: bool) -> Vec<f64> {
        Vec::new()
    }
    fn width(&self) -> usize {
        2
    }
    fn mark(&mut self) -> Option<Mark> {
        None
    }
    fn wind_down(&mut self) {}
}

fn schedules() -> Vec<(&'static str, f32, Box<dyn Schedule>)> {
    let guided = || Priority::new(5, Once);
    let interference = |a: VariableId, b: VariableId| f64::from(u8::from(a.0 % 2 == b.0 % 2));
    let evaluated = Evaluated::new(Shuffled::new(5, 2, 1), 5, 1, Box::new(|cost, _| (cost, Vec::new())));
    vec![
        ("fixed", 10.0, Box::new(Fixed::new(5, 2))),
        ("shuffled", 10.0, Box::new(Shuffled::new(5, 2, 1))),
        ("rotation", 30.0, Box::new(Rotation::new(5, 3, 2, 1))),
        ("evaluated", 10.0, Box::new(evaluated)),
        ("priority", 9.0, Box::new(guided())),
        ("dependency", 9.0, Box::new(Dependency::new(guided(), interference, 0.5))),
    ]
}

/// Counts steps; tells a priority schedule of one variable a part.
fn counting(mut step: Step) -> Outcome {
    if step.phase() == Phase::Evaluate {
        return summing(step);
    }
    let mut delta = step.delta::<f32>("sums");
    delta.row(0)[0] = 1.0;
    step.add(delta);
    let priorities = vec![(VariableId(step.part().0), 1.0 + step.part().0 as f32)];
    step.found(Findings { priorities, ..Findings::default() })
}

#[test]
fn every_schedule_ends_under_every_consistency_with_exact_sums() {
    for consistency in CONSISTENCIES {
        for (name, steps, schedule) in schedules() {
            let job = Job::new(name).table(sums()).schedule(schedule).consistency(consistency).local(3);
            let trained = job.start(|_| Does(counting)).unwrap().wait().unwrap();
            let count = trained.model.dense::<f32>("sums")[[0, 0]];
            assert_eq!(count, steps, "{name} under {consistency}");
        }
    }
}

#[test]
fn an_evaluation_sees_the_whole_pass_before_it() {
    for consistency in CONSISTENCIES {
        let schedule = Evaluated::new(Fixed::new(4, 3), 1, 1, Box::new(|cost, _| (cost, Vec::new())));
        let trained = run_sums(Job::new("e").schedule(schedule).consistency(consistency).local(2)).unwrap();
        let seen: Vec<_> = trained.history.iter().map(|p| (p.mark.epoch, p.mark.objective)).collect();
        assert_eq!(
            seen,
            [(1.0, 4.0), (2.0, 8.0), (3.0, 12.0)],
            "{consistency}: that pass and nothing after it"
        );
    }
}

#[test]
fn more_workers_than_parts_and_one_part_end_too() {
    for consistency in CONSISTENCIES {
        let trained =
            run_sums(Job::new("one").schedule(Fixed::new(1, 5)).consistency(consistency).local(4)).unwrap();
        assert_eq!(trained.model.dense::<f32>("sums")[[0, 0]], 5.0, "{consistency}");
        assert_eq!(trained.workers.len(), 4);
    }
}

#[test]
fn a_job_without_tables_or_parts_ends() {
    let empty = Job::new("empty").schedule(Fixed::new(0, 5)).start(|_| Does(|step: Step| step.done(0.0)));
    assert_eq!(empty.unwrap().wait().unwrap().history.len(), 0);
    let no_tables = Job::new("no tables").schedule(Fixed::new(3, 2)).local(2);
    assert_eq!(
        no_tables.start(|_| Does(|step: Step| step.done(1.5))).unwrap().wait().unwrap().history.len(),
        2
    );
}

#[test]
fn under_bsp_runs_repeat_to_the_bit_and_the_encoding_changes_nothing() {
    let job = |encoded: bool, shards| {
        let job = Job::new("bits").schedule(Shuffled::new(6, 5, 3)).local(3).shards(shards);
        bits(&run_sums(if encoded { job.encoded() } else { job }).unwrap())
    };
    let plain = job(false, 1);
    assert_eq!(plain, job(false, 1));
    assert_eq!(plain, job(true, 1));
    assert_eq!(plain, job(true, 2), "nor does the number of shards");
}

#[test]
fn every_consistency_works_through_the_encoding() {
    for consistency in CONSISTENCIES {
        let job = Job::new("e").schedule(Fixed::new(5, 4)).consistency(consistency).local(3).encoded();
        let trained = run_sums(job).unwrap();
        assert_eq!(trained.model.dense::<f32>("sums")[[0, 0]], 20.0, "{consistency}");
    }
}

#[test]
fn stop_ends_a_run_at_a_clock_and_keeps_what_it_has() {
    for consistency in CONSISTENCIES {
        let steps = Arc::new(AtomicU64::new(0));
        let job = Job::new("long").table(sums()).schedule(Fixed::new(4, u64::MAX)).consistency(consistency);
        let counter = Arc::clone(&steps);
        let run = job.local(2).start(move |_| {
            let counter = Arc::clone(&counter);
            Does(move |step| {
                counter.fetch_add(1, Ordering::Relaxed);
                summing(step)
            })
        });
        let run = run.unwrap();
        while steps.load(Ordering::Relaxed) < 20 {
            std::thread::yield_now();
        }
        run.handle().stop();
        let trained = run.wait().unwrap();
        assert!(trained.stopped, "{consistency}");
        let count = trained.model.dense::<f32>("sums")[[0, 0]];
        assert_eq!(count as u64, steps.load(Ordering::Relaxed), "{consistency}");
    }
}

#[test]
fn a_stop_before_the_first_step_ends_the_run_at_once() {
    let run = Job::new("none").table(sums()).schedule(Fixed::new(4, u64::MAX)).start(|_| Does(summing));
    let run = run.unwrap();
    run.handle().stop();
    assert!(run.wait().unwrap().stopped);
}

#[actix::test]
async fn a_run_that_is_dropped_stops_and_its_handle_works_until_then() {
    let (alive, over) = std::sync::mpsc::channel::<()>();
    let job =
        Job::new("dropped").table(sums()).schedule(Fixed::new(4, u64::MAX)).consistency(Consistency::Ssp(1));
    let alive = std::sync::Mutex::new(alive);
    let run = job.start(move |_| {
        let alive = alive.lock().unwrap().clone();
        Does(move |step| {
            let _ = &alive;
            summing(step)
        })
    });
    let run = run.unwrap();
    let handle = run.handle();
    assert!(handle.model().await.is_ok());
    drop(run);
    while handle.model().await.is_ok() {}
    assert!(over.recv().is_err(), "the app and what made it are gone");
    handle.stop(); // nobody hears it any more
}

#[actix::test]
async fn tables_can_be_read_while_the_run_goes_on_but_not_after_it() {
    let job = Job::new("read").table(sums()).schedule(Fixed::new(4, u64::MAX)).local(2);
    let job = job.table(Table::dense("mine", 4, 1).leased_by_part(&[0, 1, 2, 3]));
    let run = job
        .start(|_| {
            Does(|mut step: Step| {
                step.lease::<f32, 1>(["mine"])[0].values()[0] += 1.0;
                summing(step)
            })
        })
        .unwrap();
    let handle = run.handle();
    let mut seen = 0.0;
    for _ in 0..20 {
        let model = handle.model().await.unwrap();
        let now = model.dense::<f32>("sums")[[0, 0]];
        assert!(now >= seen, "counts only grow");
        seen = now;
        assert_eq!(model.dense::<f32>("mine").len(), 4);
    }
    handle.stop();
    run.await.unwrap();
    assert!(handle.model().await.is_err());
}
