//! A schedule that is saved and restored goes on as the one that was not.

use std::collections::VecDeque;

use proptest::prelude::*;
use slackline::checkpoint::{pack, unpack};
use slackline::prelude::*;
use slackline::scheduler::policy::{Dependency, Guide, Verdict};

/// Sweeps and rounds of a fixed rhythm; what it counts decides what it says.
#[derive(Default)]
struct Rhythm(Counts);

type Counts = (u64, u64, f64);

impl Guide for Rhythm {
    fn swept(&mut self, part: PartId, findings: &Findings) {
        self.0.2 += findings.cost + f64::from(part.0);
    }
    fn after_sweep(&mut self) -> Verdict {
        self.0.0 += 1;
        if self.0.0 > 4 { Verdict::Stop } else { Verdict::Focus { size: 3 + self.0.0 as usize } }
    }
    fn worked(&mut self, _: PartId, findings: &Findings) {
        self.0.2 += findings.cost;
    }
    fn after_round(&mut self) -> Verdict {
        self.0.1 += 1;
        if self.0.1.is_multiple_of(3) { Verdict::Sweep } else { Verdict::Again }
    }
    fn orders(&self, _: bool) -> Vec<f64> {
        vec![self.0.2]
    }
    fn width(&self) -> usize {
        2
    }
    fn mark(&mut self) -> Option<Mark> {
        None
    }
    fn wind_down(&mut self) {}
    fn save(&self) -> Result<Vec<u8>, String> {
        pack("rhythm", 1, &self.0)
    }
    fn restore(&mut self, state: &[u8]) -> Result<(), String> {
        self.0 = unpack("rhythm", 1, state)?;
        Ok(())
    }
}

fn schedules() -> Vec<Box<dyn Schedule>> {
    let measure = || Box::new(|cost: f64, sums: &[f64]| (cost, vec![("sum".to_owned(), sums[0])]));
    let interference = |a: VariableId, b: VariableId| f64::from(u8::from(a.0 % 2 == b.0 % 2));
    vec![
        Box::new(Fixed::new(5, 4)),
        Box::new(Shuffled::new(5, 4, 9)),
        Box::new(Rotation::new(3, 4, 3, 9)),
        Box::new(Evaluated::new(Shuffled::new(4, 4, 9), 4, 2, measure())),
        Box::new(Evaluated::new(Rotation::new(3, 2, 4, 9), 3, 1, measure())),
        Box::new(Priority::new(4, Rhythm::default())),
        Box::new(Dependency::new(Priority::new(4, Rhythm::default()), interference, 0.5)),
    ]
}

/// What a task finds, from nothing but the task.
fn findings(task: &Task) -> Findings {
    let cost = f64::from(task.part.0) + 0.1 + task.variables.len() as f64 * 0.01;
    let priorities = match (task.phase, task.variables.is_empty()) {
        (Phase::Train, true) => {
            (0..3).map(|v| (VariableId(task.part.0 * 3 + v), (v + task.part.0) as f32)).collect()
        }
        _ => Vec::new(),
    };
    Findings { cost, sums: vec![cost * 2.0], priorities, values: Vec::new() }
}

/// Drives a schedule to its end with up to `hands` tasks in flight, and says all that it said. Where `restart` says so
/// everything in flight is finished and a new schedule goes on from the state.
fn drive(number: usize, hands: usize, drains: &[bool], restart: bool) -> Vec<String> {
    let mut schedule = schedules().swap_remove(number);
    let mut drains = drains.iter().cycle();
    let (mut flying, mut said) = (VecDeque::new(), Vec::new());
    for turn in 0.. {
        assert!(turn < 10_000, "it ends");
        if *drains.next().expect("an endless list") {
            while let Some(task) = flying.pop_front() {
                said.push(format!("{:?}", schedule.finished(&task, &findings(&task))));
            }
            if restart {
                let state = schedule.save().expect("it can be saved");
                schedule = schedules().swap_remove(number);
                schedule.restore(&state).expect("its own state");
                assert_eq!(schedule.save(), Ok(state), "a state is restored whole");
            }
        }
        while flying.len() < hands {
            match schedule.next(WorkerId(flying.len() as u32)) {
                Next::Task(task) => {
                    said.push(format!("{task:?}"));
                    flying.push_back(task);
                }
                Next::Done if flying.is_empty() => return said,
                _ => break,
            }
        }
        let Some(task) = flying.pop_front() else { panic!("stuck") };
        said.push(format!("{:?}", schedule.finished(&task, &findings(&task))));
    }
    said
}

proptest! {
    #[test]
    fn a_restored_schedule_says_what_the_other_would_have_said(
        number in 0usize..7, hands in 1usize..4, drains in proptest::collection::vec(any::<bool>(), 1..12)
    ) {
        prop_assert_eq!(drive(number, hands, &drains, true), drive(number, hands, &drains, false));
    }
}

#[test]
fn a_state_of_another_schedule_or_shape_is_refused() {
    let states: Vec<_> = schedules().iter().map(|schedule| schedule.save().unwrap()).collect();
    let why = |schedule: &mut dyn Schedule, of: usize| schedule.restore(&states[of]).unwrap_err();
    assert_eq!(why(&mut Fixed::new(5, 4), 1), "the state is that of shuffled, expected fixed");
    assert_eq!(why(&mut Fixed::new(6, 4), 0), "the state of fixed is of 5 parts, not 6");
    let rotation = why(&mut Rotation::new(4, 3, 3, 9), 2);
    assert_eq!(rotation, "the state of rotation is of 12 cells in 4 blocks, not 12 in 3");
    assert!(why(&mut Priority::new(5, Rhythm::default()), 5).contains("is of 4 parts, not 5"));
}

#[test]
fn a_schedule_that_does_not_say_how_cannot_be_saved() {
    struct Mine;
    impl Schedule for Mine {
        fn next(&mut self, _: WorkerId) -> Next {
            Next::Done
        }
        fn finished(&mut self, _: &Task, _: &Findings) -> Option<Mark> {
            None
        }
        fn put_back(&mut self, _: Task) {}
        fn wind_down(&mut self) -> bool {
            false
        }
    }
    assert!(Mine.save().unwrap_err().starts_with("this schedule cannot be checkpointed"));
    let directory = tempfile::tempdir().unwrap();
    let job = Job::new("mine").schedule(Mine).checkpoint(directory.path(), std::time::Duration::from_secs(1));
    let refused =
        job.start(|_| crate::Does(|step: Step| step.done(0.0))).err().expect("a refusal").to_string();
    assert!(refused.starts_with("this schedule cannot be checkpointed"), "{refused}");
}
