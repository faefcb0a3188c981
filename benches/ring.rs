//! What the runtime adds to a step: microseconds a step whose app computes nothing.
//!
//! `whole` reads and updates one small row, so that every arrow of the ring is passed: Assign, Pull, Rows, Step,
//! Outcome, Push, Applied, Report. `bare` has no table: Assign, Step, Outcome, Report. Under `ssp:2` the next step is
//! assigned while this one computes, so that most of the way is off the path.

use std::time::Duration;

use actix::prelude::*;
use criterion::{Criterion, criterion_group, criterion_main};
use slackline::prelude::*;

/// Steps a run has at least, so that starting it does not count.
const LEAST: u64 = 4_000;

struct Idle {
    touches: bool,
}

impl Actor for Idle {
    type Context = Context<Self>;
}

impl Handler<Step> for Idle {
    type Result = Outcome;
    fn handle(&mut self, mut step: Step, _: &mut Self::Context) -> Outcome {
        if self.touches {
            let mut change = step.delta::<f32>("row");
            change.row(0)[0] = step.read::<f32>("row").row(0)[1];
            step.add(change);
        }
        step.done(0.0)
    }
}

/// Seconds that a run of `steps` took, from its first assignment to its last report.
fn run(n_workers: usize, consistency: Consistency, touches: bool, steps: u64) -> f64 {
    let parts = 4 * n_workers;
    let mut job = Job::new("idle")
        .schedule(Fixed::new(parts, steps / parts as u64))
        .consistency(consistency)
        .local(n_workers);
    if touches {
        job = job.table(Table::dense("row", 1, 8));
    }
    let run = job.start(move |_| Idle { touches }).expect("the job is sound");
    run.wait().expect("nothing fails").seconds
}

fn bench(c: &mut Criterion) {
    let mut group = c.benchmark_group("ring");
    group.sample_size(10).measurement_time(Duration::from_secs(3));
    for (name, touches) in [("whole", true), ("bare", false)] {
        for consistency in [Consistency::Bsp, Consistency::Ssp(2)] {
            for n_workers in [1, 2] {
                let id = format!("{name}/{consistency}/workers {n_workers}");
                group.bench_function(id, |b| {
                    b.iter_custom(|steps| {
                        let done = steps.max(LEAST);
                        let seconds = run(n_workers, consistency, touches, done);
                        Duration::from_secs_f64(seconds * steps as f64 / done as f64)
                    });
                });
            }
        }
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
