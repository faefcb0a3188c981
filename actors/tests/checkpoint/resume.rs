//! A run that is ended and goes on from its checkpoint is the run that was never ended.

use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use slackline::checkpoint::Directory;
use slackline::prelude::*;
use slackline::{Event, RunError, Trained};

use crate::Does;

const EVERY: Duration = Duration::from_millis(5);

/// Shared and leased rows, dense and sparse; the sums depend on the order of additions and on what was read before.
fn job(consistency: Consistency) -> Job {
    let measure = |cost: f64, _: &[f64]| (cost, vec![("half".to_owned(), cost / 2.0)]);
    Job::new("sums")
        .table(Table::dense("sums", 3, 3).paged(3))
        .table(Table::sparse("seen", 2, 9).of::<i32>())
        .table(Table::dense("own", 6, 2).of::<f64>().leased_by_part(&[0, 2, 3, 4, 5]))
        .table(Table::sparse("marks", 4, 40).leased_by_block(&[0, 1, 3]))
        .schedule(Evaluated::new(Rotation::new(5, 3, 8, 1), 5, 2, Box::new(measure)))
        .consistency(consistency)
        .local(2)
        .seed(5)
}

fn step(mut step: Step) -> Outcome {
    std::thread::sleep(Duration::from_millis(1));
    let old = step.read::<f32>("sums").row(0).to_vec();
    if step.phase() == Phase::Evaluate {
        let [mut own] = step.lease::<f64, 1>(["own"]);
        let sum: f64 = own.values().iter().sum();
        return step.done(sum + f64::from(old[1]));
    }
    let part = step.part().0;
    let mut sums = step.delta::<f32>("sums");
    let scale = 1.0 / (part as f32 + 3.0);
    sums.row(0).copy_from_slice(&[1.0, scale * 1e4 - 0.1 * old[1], scale + old[1] * 1e-3]);
    sums.row(2)[0] = 1.0;
    let mut seen = step.delta::<i32>("seen");
    seen.add_at(1, part, 1);
    let noise = rand_of(&step);
    let pass = step.orders()[0] as u32;
    let [mut own] = step.lease::<f64, 1>(["own"]);
    own.values()[1] += f64::from(old[1]) + noise;
    let [mut marks] = step.lease::<f32, 1>(["marks"]);
    marks.sparse_row(0).push((part * 8 + pass, 1.0));
    marks.sparse_row(0).sort_unstable_by_key(|(column, _)| *column);
    step.add(sums);
    step.add(seen);
    step.done(1.0)
}

/// A step that leaves slow disks the time to write checkpoints before the run is over.
fn slow(step: Step) -> Outcome {
    std::thread::sleep(Duration::from_millis(20));
    self::step(step)
}

/// A number from the step's own generator, which depends on its clock.
fn rand_of(step: &Step) -> f64 {
    format!("{:?}", step.rng()).len() as f64 // the state as text: longer or shorter by chance
}

fn text(trained: &Trained) -> String {
    let model = &trained.model;
    let marks: Vec<_> =
        trained.history.iter().map(|progress| (progress.clock, progress.mark.clone())).collect();
    let dense = (model.dense::<f32>("sums"), model.dense::<f64>("own"));
    format!(
        "{:?} {dense:?} {:?} {:?} {marks:?}",
        trained.clocks,
        model.sparse::<i32>("seen"),
        model.sparse::<f32>("marks")
    )
}

/// Runs until so many checkpoints are written, then stops; returns how many were.
fn run_until(job: Job, checkpoints: u64, directory: &Path) -> (Trained, u64) {
    let (sender, written) = mpsc::channel();
    let job = job.checkpoint(directory, EVERY).watch(move |event| match event {
        Event::Checkpoint(written) => drop(sender.send(written.number)),
        Event::CheckpointFailed(why) => panic!("{why}"),
        _ => {}
    });
    let run = job.start(|_| Does(slow)).unwrap();
    let handle = run.handle();
    while written.recv().is_ok_and(|number| number < checkpoints) {}
    handle.stop();
    let trained = run.wait().unwrap();
    (trained, written.iter().last().unwrap_or(checkpoints))
}

/// The newest checkpoint, or the one before it: what a run finds that was killed a moment earlier.
fn found(directory: &Path, kill: bool) -> slackline::checkpoint::Checkpoint {
    let newest = Directory::newest(directory).unwrap().checkpoint.unwrap();
    if kill {
        std::fs::remove_file(&newest.path).unwrap();
        return Directory::newest(directory).unwrap().checkpoint.unwrap();
    }
    newest
}

#[test]
fn under_bsp_a_resumed_run_has_the_same_bits() {
    let whole = text(&job(Consistency::Bsp).start(|_| Does(step)).unwrap().wait().unwrap());
    for (checkpoints, kill) in [(2, false), (3, true), (5, false), (7, true)] {
        let directory = tempfile::tempdir().unwrap();
        let (stopped, last) = run_until(job(Consistency::Bsp), checkpoints, directory.path());
        assert!(stopped.stopped && last > checkpoints, "a stop leaves a last checkpoint");
        let checkpoint = found(directory.path(), kill);
        let resumed = job(Consistency::Bsp).resume(checkpoint).start(|_| Does(step)).unwrap().wait().unwrap();
        assert_eq!(text(&resumed), whole);
        assert!(!resumed.stopped);
    }
}

#[test]
fn checkpoints_do_not_change_a_run_under_bsp() {
    let whole = text(&job(Consistency::Bsp).start(|_| Does(step)).unwrap().wait().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let kept =
        job(Consistency::Bsp).checkpoint(directory.path(), EVERY).start(|_| Does(step)).unwrap().wait();
    assert_eq!(text(&kept.unwrap()), whole);
    assert!(Directory::holds_some(directory.path()));
}

#[test]
fn a_run_goes_on_with_other_workers_and_shards_under_every_consistency() {
    for consistency in [Consistency::Bsp, Consistency::Ssp(2), Consistency::Essp(1), Consistency::Async] {
        for (workers, shards) in [(1, 3), (3, 1), (4, 2)] {
            let directory = tempfile::tempdir().unwrap();
            run_until(job(consistency), 2, directory.path());
            let checkpoint = found(directory.path(), true);
            let seconds = checkpoint.saved.seconds;
            let resumed = job(consistency).local(workers).shards(shards).resume(checkpoint);
            let trained = resumed.start(|_| Does(step)).unwrap().wait().unwrap();
            let sums = trained.model.dense::<f32>("sums");
            assert_eq!((sums[[0, 0]], sums[[2, 0]]), (120.0, 120.0), "15 cells, 8 passes, each once");
            let seen = trained.model.sparse::<i32>("seen");
            assert_eq!(seen[1], (0..5).map(|part| (part, 24)).collect::<Vec<_>>());
            let marks = trained.model.sparse::<f32>("marks");
            assert!(marks[0].len() == 40 && marks[0].iter().all(|(_, times)| *times == 1.0));
            assert_eq!(trained.history.len(), 4, "evaluations before and after");
            assert!(trained.seconds > seconds);
            let steps: u64 = trained.workers.iter().map(|worker| worker.steps).sum();
            assert_eq!(steps, 120 + 4 * 5);
        }
    }
}

#[test]
fn watchers_hear_where_a_run_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    run_until(job(Consistency::Ssp(1)), 6, directory.path());
    let checkpoint = found(directory.path(), false);
    let (sender, events) = mpsc::channel();
    let expected = (checkpoint.path.clone(), checkpoint.saved.history.clone());
    let job =
        job(Consistency::Ssp(1)).resume(checkpoint).watch(move |event| drop(sender.send(event.clone())));
    job.start(|_| Does(step)).unwrap().wait().unwrap();
    let Event::Resumed(resumed) = events.recv().unwrap() else { panic!("first of all") };
    assert_eq!((resumed.path, resumed.history), expected);
}

#[test]
fn a_checkpoint_of_another_job_is_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    run_until(job(Consistency::Bsp), 1, directory.path());
    let checkpoint = found(directory.path(), false);
    let why = |job: Job| match job.resume(checkpoint.clone()).start(|_| Does(step)).err() {
        Some(RunError::Job(why)) => why,
        other => panic!("not refused: {other:?}"),
    };
    let name = checkpoint.path.display();
    let seed = why(job(Consistency::Bsp).seed(6));
    assert_eq!(seed, format!("{name}: seed is 6, but 5 in the checkpoint: it belongs to another run"));
    assert!(why(job(Consistency::Ssp(1))).contains("consistency is ssp:1, but bsp in the checkpoint"));
    assert!(
        why(job(Consistency::Bsp).table(Table::dense("more", 1, 1))).contains("the number of tables is 5")
    );
    assert!(why(job(Consistency::Bsp).schedule(Fixed::new(5, 1))).contains("the state is that of evaluated"));
}

#[test]
fn a_checkpoint_that_cannot_be_written_is_told_and_the_run_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("checkpoints");
    let (sender, events) = mpsc::channel();
    let gone = path.clone();
    let job = job(Consistency::Ssp(2)).checkpoint(&path, EVERY).watch(move |event| {
        if let Event::Checkpoint(_) = event {
            std::fs::remove_dir_all(&gone).ok(); // the disk is taken away
        }
        drop(sender.send(event.clone()));
    });
    let trained = job.start(|_| Does(step)).unwrap().wait().unwrap();
    assert!(!trained.stopped);
    let failed = events.iter().filter_map(|event| match event {
        Event::CheckpointFailed(why) => Some(why),
        _ => None,
    });
    let failed: Vec<_> = failed.collect();
    assert!(failed.len() > 1, "it is tried again");
    assert!(failed[0].contains("checkpoints") && failed[0].contains("No such file"), "{failed:?}");
}
