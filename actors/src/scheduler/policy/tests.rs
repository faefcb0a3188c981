//! Every schedule against the promises that bind them all, driven by random workers.

use std::collections::BTreeMap;

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;
use crate::cluster::{Host, Layout};
use crate::id::{PartId, VariableId};
use crate::message::Phase;

/// How hard a schedule is driven.
#[derive(Debug, Clone)]
struct Drive {
    workers: u32,
    /// Steps in hand of a worker, at most.
    depth: usize,
    /// How many of a hundred tasks come back unfinished.
    put_back: u32,
    /// After how many finished tasks the run is told to end.
    wind_down: Option<usize>,
    seed: u64,
}

fn drive() -> impl Strategy<Value = Drive> {
    let put_back = prop_oneof![Just(0u32), 1u32..30];
    let wind_down = prop_oneof![3 => Just(None), 1 => (0usize..40).prop_map(Some)];
    (1u32..6, 1usize..3, put_back, wind_down, any::<u64>()).prop_map(
        |(workers, depth, put_back, wind_down, seed)| Drive { workers, depth, put_back, wind_down, seed },
    )
}

/// Which variables interfere; those of one part need not be told apart.
type Conflict = fn(VariableId, VariableId) -> bool;

/// What a driven schedule did.
#[derive(Default)]
struct Driven {
    finished: Vec<Task>,
    marks: Vec<Mark>,
}

/// Runs a schedule to its end: random workers ask, tasks end in a random order, some come back.
/// Checks on the way what no schedule may do.
fn run(
    schedule: &mut dyn Schedule,
    drive: &Drive,
    find: impl Fn(&Task) -> Findings,
    conflict: Conflict,
) -> Driven {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(drive.seed);
    let mut flight: Vec<(WorkerId, Task)> = Vec::new();
    let mut driven = Driven::default();
    for _ in 0..100_000 {
        if drive.wind_down == Some(driven.finished.len()) {
            schedule.wind_down();
        }
        let worker = WorkerId(rng.random_range(0..drive.workers));
        let in_hand = flight.iter().filter(|(w, _)| *w == worker).count();
        if !flight.is_empty() && (in_hand >= drive.depth || rng.random_range(0..3) == 0) {
            let (_, task) = flight.swap_remove(rng.random_range(0..flight.len()));
            if rng.random_range(0..100) < drive.put_back {
                schedule.put_back(task);
            } else {
                driven.marks.extend(schedule.finished(&task, &find(&task)));
                driven.finished.push(task);
            }
            continue;
        }
        match schedule.next(worker) {
            Next::Task(task) => {
                flight.iter().for_each(|(_, other)| assert_apart(&task, other, conflict));
                flight.push((worker, task));
            }
            Next::Wait => assert!(!flight.is_empty(), "it waits, and nothing is in flight"),
            Next::Done if flight.is_empty() => return driven,
            Next::Done => {}
            Next::Failed(why) => panic!("{why}"),
        }
    }
    panic!("the schedule does not end");
}

/// The promise: two tasks in flight share neither part nor block, and no two of their variables interfere.
fn assert_apart(a: &Task, b: &Task, conflict: Conflict) {
    assert_ne!(a.part, b.part, "two tasks in flight on one part");
    assert!(a.block.is_none() || a.block != b.block, "two tasks in flight on one block: {a:?}, {b:?}");
    for v in &a.variables {
        assert!(
            b.variables.iter().all(|w| !conflict(*v, *w)),
            "{v} and another variable in flight interfere"
        );
    }
}

fn none(_: VariableId, _: VariableId) -> bool {
    false
}

fn cost(task: &Task) -> Findings {
    Findings { cost: f64::from(task.part.0) + 1.0, ..Findings::default() }
}

/// How often each (part, block, pass or phase) was finished.
fn visits(tasks: &[Task]) -> BTreeMap<(PartId, Option<u32>, String), u32> {
    let mut visits = BTreeMap::new();
    for task in tasks {
        let pass = format!("{:?}", task.orders);
        *visits.entry((task.part, task.block.map(|b| b.0), pass)).or_default() += 1;
    }
    visits
}

proptest! {
    #[test]
    fn a_pass_covers_every_part_once(
        shuffled: bool, parts in 1usize..9, passes in 1u64..5, drive in drive()
    ) {
        let mut schedule: Box<dyn Schedule> = match shuffled {
            true => Box::new(Shuffled::new(parts, passes, drive.seed)),
            false => Box::new(Fixed::new(parts, passes)),
        };
        let driven = run(&mut schedule, &drive, cost, none);
        let visits = visits(&driven.finished);
        prop_assert!(visits.values().all(|times| *times == 1));
        if drive.wind_down.is_none() {
            prop_assert_eq!(visits.len(), parts * passes as usize);
            prop_assert_eq!(driven.marks.len(), passes as usize);
            let once = (parts * (parts + 1) / 2) as f64;
            prop_assert!(driven.marks.iter().all(|mark| mark.objective == once));
            prop_assert_eq!(driven.marks.iter().map(|mark| mark.epoch).fold(0.0, f64::max), passes as f64);
        }
    }

    #[test]
    fn a_rotation_visits_every_cell_once_a_pass(
        parts in 1usize..6, blocks in 1usize..6, passes in 1u64..4, drive in drive()
    ) {
        let mut schedule = Rotation::new(parts, blocks, passes, drive.seed);
        let driven = run(&mut schedule, &drive, cost, none);
        let visits = visits(&driven.finished);
        prop_assert!(visits.values().all(|times| *times == 1));
        for mark in &driven.marks {
            let done = mark.done.unwrap();
            prop_assert!(done > 0.0 && done <= 1.0, "a share of the run is {done}");
        }
        if drive.wind_down.is_none() {
            prop_assert_eq!(visits.len(), parts * blocks * passes as usize);
            let epochs: Vec<f64> = driven.marks.iter().map(|mark| mark.epoch).collect();
            prop_assert_eq!(epochs, (1..=passes).map(|pass| pass as f64).collect::<Vec<_>>());
        }
    }

    #[test]
    fn rounds_visit_every_cell_once_a_pass_and_one_round_after_the_other(
        parts in 1usize..6, passes in 1u64..4, drive in drive()
    ) {
        let mut schedule = Rounds::new(parts, passes);
        let driven = run(&mut schedule, &drive, cost, none);
        let rounds: Vec<u64> = driven.finished.iter().map(|task| task.orders[1] as u64).collect();
        prop_assert!(rounds.is_sorted(), "no round begins before the one before it is finished");
        prop_assert!(visits(&driven.finished).values().all(|times| *times == 1));
        if drive.wind_down.is_none() {
            prop_assert_eq!(driven.finished.len(), parts * parts * passes as usize);
            let epochs: Vec<f64> = driven.marks.iter().map(|mark| mark.epoch).collect();
            prop_assert_eq!(epochs, (1..=passes).map(|pass| pass as f64).collect::<Vec<_>>());
        }
    }

    #[test]
    fn phases_take_turns_and_visit_their_parts_once_a_pass(
        parts in proptest::collection::vec(1usize..5, 1..4), passes in 1u64..4, drive in drive()
    ) {
        let mut schedule = Phases::new(&parts, passes);
        let driven = run(&mut schedule, &drive, cost, none);
        let phases: Vec<u64> = driven.finished.iter()
            .map(|task| task.orders[0] as u64 * parts.len() as u64 + task.orders[1] as u64)
            .collect();
        prop_assert!(phases.is_sorted(), "no phase begins before the one before it is finished");
        prop_assert!(visits(&driven.finished).values().all(|times| *times == 1));
        if drive.wind_down.is_none() {
            prop_assert_eq!(driven.finished.len(), parts.iter().sum::<usize>() * passes as usize);
            let epochs: Vec<f64> = driven.marks.iter().map(|mark| mark.epoch).collect();
            prop_assert_eq!(epochs, (1..=passes).map(|pass| pass as f64).collect::<Vec<_>>());
        }
    }

    #[test]
    fn an_evaluation_measures_every_part_once_while_nothing_trains(
        kind in 0..4, parts in 1usize..6, passes in 1u64..6, every in 0u64..4, drive in drive()
    ) {
        let inner: Box<dyn Schedule> = match kind {
            0 => Box::new(Rotation::new(parts, 2, passes, drive.seed)),
            1 => Box::new(Rounds::new(parts, passes)),
            2 => Box::new(Phases::new(&[parts, 2], passes)),
            _ => Box::new(Shuffled::new(parts, passes, drive.seed)),
        };
        let measure: Measure = Box::new(|cost, sums| (cost, vec![("parts".to_owned(), sums[0])]));
        let mut schedule = Evaluated::new(inner, parts, every, measure);
        let find = |task: &Task| match task.phase {
            Phase::Train => cost(task),
            Phase::Evaluate => Findings { cost: 2.0, sums: vec![1.0], ..Findings::default() },
        };
        let driven = run(&mut schedule, &drive, find, none);
        prop_assert!(!driven.marks.is_empty(), "it is evaluated at the end");
        for mark in &driven.marks {
            prop_assert_eq!(mark.objective, 2.0 * parts as f64);
            prop_assert_eq!(&mark.metrics, &[("parts".to_owned(), parts as f64)]);
        }
        let last = driven.finished.iter().rev().take(parts);
        prop_assert!(last.clone().all(|task| task.phase == Phase::Evaluate));
        let mut phases: Vec<Phase> = driven.finished.iter().map(|task| task.phase).collect();
        phases.dedup();
        prop_assert!(phases.len() >= driven.marks.len(), "evaluation and training do not mix");
    }

    #[test]
    fn priorities_end_and_rounds_hold_the_width_and_the_best(
        parts in 1usize..5, per_part in 1u32..9, width in 0usize..4, size in 1usize..12, drive in drive()
    ) {
        let toy = Toy::new(width, size);
        let mut schedule = Priority::new(parts, toy);
        let driven = run(&mut schedule, &drive, |task| look(task, per_part), none);
        let swept = driven.finished.iter().filter(|task| task.variables.is_empty()).count();
        prop_assert_eq!(swept % parts, 0, "a sweep looks at every part");
        prop_assert!(swept >= parts);
    }

    #[test]
    fn variables_that_interfere_are_never_in_flight_together(
        parts in 1usize..6, per_part in 1u32..9, size in 1usize..30, evaluated: bool, drive in drive()
    ) {
        let inner = Priority::new(parts, Toy::new(8, size));
        let dependency = Dependency::new(inner, interference, 0.5);
        let mut schedule: Box<dyn Schedule> = match evaluated {
            true => Box::new(Evaluated::new(dependency, parts, 1, Box::new(|cost, _| (cost, Vec::new())))),
            false => Box::new(dependency),
        };
        let find = |task: &Task| match task.phase {
            Phase::Train => look(task, per_part),
            Phase::Evaluate => cost(task),
        };
        let driven = run(&mut schedule, &drive, find, |a, b| interference(a, b) >= 0.5);
        if drive.wind_down.is_none() && drive.put_back == 0 && !evaluated {
            // Each round works on each variable of its working set once, though in several tasks.
            let mut worked: BTreeMap<VariableId, u32> = BTreeMap::new();
            let variables = driven.finished.iter().flat_map(|task| &task.variables);
            variables.for_each(|v| *worked.entry(*v).or_default() += 1);
            prop_assert!(worked.values().all(|times| *times <= Toy::ROUNDS));
            let best = (parts * per_part as usize).min(size) as u32;
            prop_assert_eq!(worked.values().sum::<u32>(), best * Toy::ROUNDS);
        }
    }
}

/// Variables whose numbers end in the same digit interfere.
fn interference(a: VariableId, b: VariableId) -> f64 {
    if a.0 % 10 == b.0 % 10 { 1.0 } else { 0.1 }
}

/// A sweep finds `per_part` variables in a part; a round moves them.
fn look(task: &Task, per_part: u32) -> Findings {
    let of_part = |v: u32| (VariableId(task.part.0 * per_part + v), (v % 3) as f32 + 1.0);
    match task.variables.is_empty() {
        true => Findings { priorities: (0..per_part).map(of_part).collect(), ..Findings::default() },
        false => Findings { cost: task.variables.len() as f64, ..Findings::default() },
    }
}

/// A guide: a sweep, a round, the same round again, a sweep, the end.
struct Toy {
    width: usize,
    size: usize,
    sweeps: u32,
    rounds: u32,
    in_round: usize,
    ending: bool,
    mark: Option<Mark>,
}

impl Toy {
    const ROUNDS: u32 = 2;

    fn new(width: usize, size: usize) -> Self {
        Self { width, size, sweeps: 0, rounds: 0, in_round: 0, ending: false, mark: None }
    }
}

impl Guide for Toy {
    fn swept(&mut self, _: PartId, _: &Findings) {}

    fn after_sweep(&mut self) -> Verdict {
        self.sweeps += 1;
        self.mark = Some(Mark { epoch: f64::from(self.sweeps), ..Mark::default() });
        match self.ending || self.sweeps == 2 {
            true => Verdict::Stop,
            false => Verdict::Focus { size: self.size },
        }
    }

    fn worked(&mut self, _: PartId, findings: &Findings) {
        self.in_round += findings.cost as usize;
    }

    fn after_round(&mut self) -> Verdict {
        assert!(std::mem::take(&mut self.in_round) <= self.size, "a round is as large as its guide said");
        self.rounds += 1;
        match self.ending || self.rounds == Self::ROUNDS {
            true => Verdict::Sweep,
            false => Verdict::Again,
        }
    }

    fn orders(&self, sweep: bool) -> Vec<f64> {
        vec![f64::from(u8::from(sweep))]
    }

    fn width(&self) -> usize {
        self.width
    }

    fn mark(&mut self) -> Option<Mark> {
        self.mark.take()
    }

    fn wind_down(&mut self) {
        self.ending = true;
    }
}

#[test]
fn a_job_without_parts_is_done_at_once() {
    assert_eq!(Fixed::new(0, 3).next(WorkerId(0)), Next::Done);
}

#[test]
fn a_round_hands_out_the_highest_priorities_by_part() {
    let mut schedule = Priority::new(2, Toy::new(8, 3));
    for _ in 0..2 {
        let Next::Task(task) = schedule.next(WorkerId(0)) else { panic!("a sweep comes first") };
        assert!(task.fresh, "a sweep measures the model as it is");
        // Part 0 has variables 0, 1, 2 and part 1 has 3, 4, 5, of priority 1, 2, 3 each.
        schedule.finished(&task, &look(&task, 3));
    }
    let mut round = Vec::new();
    while let Next::Task(task) = schedule.next(WorkerId(0)) {
        round.push((task.part.0, task.variables.iter().map(|v| v.0).collect::<Vec<_>>()));
    }
    assert_eq!(round, [(0, vec![1, 2]), (1, vec![5])], "of equal priorities the lowest variable");
}

#[test]
fn a_variable_that_interferes_is_handed_out_when_the_other_is_finished() {
    let inner = Priority::new(2, Toy::new(8, 4));
    let mut schedule = Dependency::new(inner, |_: VariableId, _: VariableId| 1.0, 0.5);
    for _ in 0..2 {
        let Next::Task(task) = schedule.next(WorkerId(0)) else { panic!("a sweep comes first") };
        schedule.finished(&task, &look(&task, 2));
    }
    let Next::Task(first) = schedule.next(WorkerId(0)) else { panic!("a round") };
    assert_eq!(first.variables.len(), 2, "variables of one task are worked on one after the other");
    assert_eq!(schedule.next(WorkerId(1)), Next::Wait, "everything interferes");
    assert_eq!(schedule.finished(&first, &Findings::default()), None);
    let Next::Task(second) = schedule.next(WorkerId(1)) else { panic!("now it is free") };
    assert_ne!(second.part, first.part);
}

#[test]
fn a_rotation_leaves_blocks_on_the_node_where_they_were_last() {
    let host =
        |number: usize| Host { name: number.to_string(), workers: vec![WorkerId::at(number)], shards: 1 };
    let homes = Layout::first(1, "0", &[host(0), host(1)], 0).homes();
    let (n_blocks, passes) = (4, 5);
    let mut rotation = Rotation::new(6, n_blocks, passes, 3);
    rotation.settle(&homes);
    let (mut moves, mut last) = (0, [None; 4]);
    'run: loop {
        for worker in [0, 1].map(WorkerId) {
            let Next::Task(task) = rotation.next(worker) else { break 'run };
            let block = task.block.unwrap().index();
            moves += u64::from(last[block].replace(worker) != Some(worker));
            assert!(homes.is_home(worker, task.part), "each has three parts at home");
            rotation.finished(&task, &Findings::default());
        }
    }
    assert_eq!(moves, n_blocks as u64 * (passes + 1), "a block changes its node once a pass");
}

#[test]
fn the_first_evaluation_may_come_later_than_the_others() {
    let measure: Measure = Box::new(|cost, _| (cost, Vec::new()));
    let mut schedule = Evaluated::new(Fixed::new(1, 12), 1, 5, measure).first_after(6);
    let mut epochs = Vec::new();
    while let Next::Task(task) = schedule.next(WorkerId(0)) {
        epochs.extend(schedule.finished(&task, &Findings::default()).map(|mark| mark.epoch));
    }
    assert_eq!(epochs, [6.0, 11.0, 12.0]);
}
