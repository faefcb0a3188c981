//! A job runs wherever it is started.

use slackline::prelude::*;

use crate::{Does, bits, run_sums, summing, sums};

fn job() -> Job {
    Job::new("sums").schedule(Fixed::new(7, 3)).local(3)
}

#[test]
fn a_plain_program_runs_a_job() {
    let trained = run_sums(job()).unwrap();
    assert_eq!(trained.model.dense::<f32>("sums")[[0, 0]], 21.0);
    assert_eq!(trained.workers.iter().map(|worker| worker.steps).sum::<u64>(), 21);
    assert!(!trained.stopped);
}

#[actix::test]
async fn a_running_actix_system_runs_a_job() {
    let trained = job().table(sums()).run(|_| Does(summing)).await.unwrap();
    assert_eq!(trained.model.dense::<f32>("sums")[[0, 0]], 21.0);
    let again = job().table(sums()).run(|_| Does(summing)).await.unwrap();
    assert_eq!(bits(&trained), bits(&again));
}

#[test]
fn a_multi_thread_tokio_runtime_runs_jobs_side_by_side() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    runtime.block_on(async {
        let one = tokio::spawn(job().table(sums()).start(|_| Does(summing)).unwrap());
        let two = tokio::spawn(job().table(sums()).start(|_| Does(summing)).unwrap());
        let (one, two) = (one.await.unwrap().unwrap(), two.await.unwrap().unwrap());
        assert_eq!(bits(&one), bits(&two));
    });
}

#[test]
fn one_program_runs_many_jobs_one_after_the_other() {
    let first = bits(&run_sums(job()).unwrap());
    for _ in 0..10 {
        assert_eq!(bits(&run_sums(job()).unwrap()), first, "under bsp a run repeats to the bit");
    }
}

#[test]
fn a_job_runs_after_an_actix_system_of_this_thread_has_ended() {
    actix::System::new().block_on(async {});
    assert_eq!(run_sums(job()).unwrap().model.dense::<f32>("sums")[[0, 0]], 21.0);
}
