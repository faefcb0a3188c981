//! A run leaves nothing behind. Alone in its process, since it counts threads.

use std::time::{Duration, Instant};

use actix::prelude::*;
use slackline::Outcome;
use slackline::prelude::*;

struct App;

impl Actor for App {
    type Context = Context<Self>;
}

impl Handler<Step> for App {
    type Result = Outcome;
    fn handle(&mut self, step: Step, _: &mut Context<Self>) -> Outcome {
        assert!(step.orders() != [1.0] || step.part().0 != 2, "on the second pass");
        step.done(0.0)
    }
}

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").expect("Linux lists threads").count()
}

#[test]
#[cfg(target_os = "linux")]
fn no_thread_is_left_after_a_run_however_it_ends() {
    let before = threads();
    for passes in [1, 2] {
        let run = Job::new("threads").schedule(Fixed::new(4, passes)).local(3).start(|_| App).unwrap();
        assert!(threads() > before);
        assert_eq!(run.wait().is_ok(), passes == 1, "the second pass panics");
    }
    // The thread that waits for the others, and the system's own, end just after the outcome is handed over.
    let begun = Instant::now();
    while threads() > before && begun.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(threads(), before);
}
