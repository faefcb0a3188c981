use super::*;
use crate::message::Findings;
use crate::scheduler::policy::{Evaluated, Fixed, Shuffled};
use crate::traffic::Traffic;
use proptest::prelude::*;

fn report(worker: u32, clock: u64) -> Report {
    with(worker, clock, Ok(Findings::default()))
}

fn with(worker: u32, clock: u64, result: Result<Findings, Failure>) -> Report {
    let (worker, clock) = (WorkerId(worker), Clock(clock));
    Report {
        worker,
        generation: 1,
        clock,
        result,
        computed: 0,
        waited: 0,
        staleness: 0,
        keeps: false,
        pushed: Vec::new(),
        traffic: Traffic::default(),
    }
}

fn panicked(worker: u32, clock: u64) -> Report {
    with(worker, clock, Err(Failure::Again("the app panicked".to_owned())))
}

/// A dispatch with its workers joined, and what it ordered when the last one did.
fn joined(
    consistency: Consistency,
    schedule: impl Schedule + 'static,
    workers: u32,
) -> (Dispatch, Vec<Order>) {
    let mut dispatch = Dispatch::new(consistency, Box::new(schedule), workers as usize);
    let orders = (0..workers).flat_map(|worker| dispatch.join(WorkerId(worker))).collect();
    (dispatch, orders)
}

/// The assignments among orders: worker, clock, part.
fn assigned(orders: &[Order]) -> Vec<(u32, u64, u32)> {
    let assign = |order: &Order| match order {
        Order::Assign(worker, assign) => Some((worker.0, assign.clock.0, assign.task.part.0)),
        _ => None,
    };
    orders.iter().filter_map(assign).collect()
}

fn ending(orders: &[Order]) -> Option<Ending> {
    orders.iter().find_map(|order| match order {
        Order::End(ending) => Some(ending.clone()),
        _ => None,
    })
}

fn failure(orders: &[Order]) -> String {
    ending(orders).expect("the run is over").failed.expect("it failed")
}

#[test]
fn nothing_begins_before_all_workers_have_joined() {
    let mut dispatch = Dispatch::new(Consistency::Bsp, Box::new(Fixed::new(4, 1)), 2);
    assert_eq!(dispatch.join(WorkerId(1)), []);
    assert_eq!(assigned(&dispatch.join(WorkerId(0))), [(0, 0, 0), (1, 0, 1)]);
}

#[test]
fn under_bsp_a_clock_ends_when_all_have_reported_and_the_next_begins_in_worker_order() {
    let (mut dispatch, orders) = joined(Consistency::Bsp, Fixed::new(4, 1), 2);
    assert_eq!(assigned(&orders), [(0, 0, 0), (1, 0, 1)], "one step each: no lookahead");
    assert_eq!(dispatch.report(report(1, 0)), []);
    let orders = dispatch.report(report(0, 0));
    assert_eq!(orders[0], Order::Advance(Clock(1)), "the shards hear of it before anyone pulls");
    assert_eq!(assigned(&orders), [(0, 1, 2), (1, 1, 3)]);
}

#[test]
fn under_bsp_the_schedule_learns_in_worker_order_whatever_the_order_of_reports() {
    let history = |first: u32, second: u32| {
        let (mut dispatch, _) = joined(Consistency::Bsp, Shuffled::new(2, 1, 3), 2);
        let cost = |worker| [1e16, -1.0][worker as usize]; // their sum has other bits in another order with 1.0
        let report = |w| with(w, 0, Ok(Findings { cost: cost(w), ..Findings::default() }));
        dispatch.report(report(first));
        format!("{:?}", dispatch.report(report(second)))
    };
    assert_eq!(history(0, 1), history(1, 0));
}

#[test]
fn a_worker_gets_its_next_step_while_it_computes_as_far_as_the_gate_allows() {
    let (mut dispatch, orders) = joined(Consistency::Ssp(1), Fixed::new(9, 1), 2);
    assert_eq!(assigned(&orders), [(0, 0, 0), (1, 0, 1), (0, 1, 2), (1, 1, 3)]);
    assert_eq!(dispatch.report(report(0, 0)), [], "clock 2 is more than one ahead of worker 1, at 0");
    let orders = dispatch.report(report(1, 0));
    assert_eq!(orders[0], Order::Advance(Clock(1)));
    assert_eq!(assigned(&orders), [(1, 2, 4), (0, 2, 5)], "who reported is served first");
}

#[test]
fn without_a_bound_nobody_waits_but_nobody_hoards() {
    let (mut dispatch, _) = joined(Consistency::Async, Fixed::new(100, 1), 2);
    for clock in 0..20 {
        assert_eq!(assigned(&dispatch.report(report(0, clock))).len(), 1);
    }
    assert_eq!(dispatch.in_flight().count(), 4, "two steps in hand each");
}

#[test]
fn a_worker_without_work_is_parked_and_opens_the_gate_for_the_others() {
    // Two parts, three passes, three workers: the third never finds a free part at first.
    let (mut dispatch, orders) = joined(Consistency::Ssp(0), Fixed::new(2, 3), 3);
    assert_eq!(assigned(&orders), [(0, 0, 0), (1, 0, 1)]);
    let orders = dispatch.report(report(0, 0));
    assert_eq!(assigned(&orders), [(2, 0, 0)], "worker 0 is gated, the idle worker comes in at min");
    let orders = dispatch.report(report(1, 0));
    assert!(assigned(&orders).iter().all(|(_, clock, _)| *clock == 0 || dispatch.min() == Clock(1)));
}

#[test]
fn a_schedule_that_is_done_ends_the_run_when_the_last_step_is_in() {
    let (mut dispatch, _) = joined(Consistency::Ssp(3), Fixed::new(2, 1), 2);
    assert_eq!(ending(&dispatch.report(report(1, 0))), None);
    assert_eq!(ending(&dispatch.report(report(0, 0))), Some(Ending::default()));
}

#[test]
fn a_run_is_ended_once() {
    let (mut dispatch, _) = joined(Consistency::Bsp, Fixed::new(1, 1), 1);
    assert!(ending(&dispatch.report(report(0, 0))).is_some());
    assert_eq!(dispatch.stop(), []);
}

#[test]
fn stop_lets_steps_in_flight_finish_and_hands_out_no_more() {
    let (mut dispatch, _) = joined(Consistency::Bsp, Fixed::new(9, 9), 2);
    assert_eq!(dispatch.stop(), []);
    dispatch.report(report(0, 0));
    let stopped = Ending { stopped: true, failed: None };
    assert_eq!(ending(&dispatch.report(report(1, 0))), Some(stopped));
}

#[test]
fn a_stop_that_leaves_out_no_work_does_not_count() {
    let mut dispatch = Dispatch::new(Consistency::Ssp(1), Box::new(Fixed::new(1, 1)), 1);
    dispatch.join(WorkerId(0));
    assert_eq!(dispatch.stop(), [], "its last task is in flight");
    assert_eq!(ending(&dispatch.report(report(0, 0))), Some(Ending { stopped: false, failed: None }));
}

#[test]
fn stop_before_the_workers_have_joined_ends_the_run_when_they_have() {
    let mut dispatch = Dispatch::new(Consistency::Ssp(1), Box::new(Fixed::new(9, 9)), 1);
    assert_eq!(dispatch.stop(), []);
    assert_eq!(ending(&dispatch.join(WorkerId(0))), Some(Ending { stopped: true, failed: None }));
}

/// Waits for ever, or fails with a sentence, or panics if asked.
struct Toy(Next);

impl Schedule for Toy {
    fn next(&mut self, _: WorkerId) -> Next {
        self.0.clone()
    }
    fn finished(&mut self, _: &Task, _: &Findings) -> Option<Mark> {
        Some(Mark { objective: f64::NAN, ..Mark::default() })
    }
    fn put_back(&mut self, _: Task) {}
    fn wind_down(&mut self) -> bool {
        true
    }
}

#[test]
fn a_schedule_that_is_stuck_ends_the_run_with_a_sentence() {
    let (_, orders) = joined(Consistency::Ssp(1), Toy(Next::Wait), 2);
    assert_eq!(failure(&orders), "the schedule has nothing to hand out and nothing is in flight");
}

#[test]
fn a_schedule_that_gives_up_ends_the_run_with_its_reason() {
    let (_, orders) = joined(Consistency::Bsp, Toy(Next::Failed("no step improves".to_owned())), 2);
    assert_eq!(failure(&orders), "no step improves");
}

#[test]
fn an_objective_that_is_not_finite_ends_the_run() {
    let task = Next::Task(Task::train(PartId(0)));
    let (mut dispatch, _) = joined(Consistency::Bsp, Toy(task), 1);
    assert_eq!(failure(&dispatch.report(report(0, 0))), "the objective is NaN: the run diverged");
}

#[test]
fn a_panicked_task_is_handed_out_again_and_the_run_completes() {
    let (mut dispatch, _) = joined(Consistency::Bsp, Fixed::new(1, 1), 1);
    assert_eq!(assigned(&dispatch.report(panicked(0, 0))), [(0, 1, 0)]);
    assert_eq!(assigned(&dispatch.report(panicked(0, 1))), [(0, 2, 0)]);
    assert_eq!(ending(&dispatch.report(report(0, 2))), Some(Ending::default()));
}

#[test]
fn a_task_that_panics_a_third_time_ends_the_run_with_a_sentence() {
    let (mut dispatch, _) = joined(Consistency::Ssp(1), Fixed::new(1, 1), 1);
    dispatch.report(panicked(0, 0));
    dispatch.report(panicked(0, 1));
    assert_eq!(failure(&dispatch.report(panicked(0, 2))), "the app panicked, for the 3rd time");
}

#[test]
fn after_a_fatal_failure_steps_in_flight_finish_and_then_the_first_reason_is_given() {
    let (mut dispatch, _) = joined(Consistency::Ssp(2), Fixed::new(9, 1), 2);
    let fatal = |why: &str| Err(Failure::Fatal(why.to_owned()));
    assert_eq!(dispatch.report(with(0, 0, fatal("the first"))), []);
    assert_eq!(dispatch.report(with(0, 1, fatal("the second"))), []);
    assert_eq!(ending(&dispatch.report(report(1, 0))), None);
    assert_eq!(failure(&dispatch.report(report(1, 1))), "the first");
}

proptest! {
    /// Whatever the order in which workers finish: the gate holds, clocks are in order, two steps in hand at most,
    /// `min` rises in the orders, and the run ends with every part done once a pass.
    #[test]
    fn every_order_of_reports_keeps_the_promises(
        workers in 1u32..5, parts in 1usize..9, passes in 1u64..5, consistency in consistency(),
        picks in proptest::collection::vec(any::<prop::sample::Index>(), 400),
    ) {
        let (mut dispatch, mut orders) = joined(consistency, Shuffled::new(parts, passes, 1), workers);
        let mut picks = picks.into_iter();
        let (mut done, mut min) = (vec![0u64; parts], Clock(0));
        loop {
            for order in &orders {
                match order {
                    Order::Advance(to) => { prop_assert!(*to > min); min = *to; }
                    Order::Assign(_, assign) => {
                        prop_assert!(consistency.opens(assign.clock, min));
                        prop_assert_eq!(assign.min, min);
                    }
                    _ => {}
                }
            }
            if let Some(ending) = ending(&orders) {
                prop_assert_eq!(ending, Ending::default());
                break;
            }
            let mut heads: Vec<(WorkerId, Clock, PartId)> = Vec::new();
            for (worker, clock, task) in dispatch.in_flight() {
                if heads.last().is_none_or(|head| head.0 != worker) {
                    heads.push((worker, clock, task.part));
                }
            }
            let pick = picks.next().map_or(0, |pick| pick.index(heads.len()));
            let (worker, clock, part) = heads[pick];
            done[part.index()] += 1;
            orders = dispatch.report(report(worker.0, clock.0));
        }
        prop_assert!(done.iter().all(|times| *times == passes), "{done:?}");
    }
}

fn consistency() -> impl Strategy<Value = Consistency> {
    prop_oneof![
        Just(Consistency::Bsp),
        (0u64..4).prop_map(Consistency::Ssp),
        (0u64..4).prop_map(Consistency::Essp),
        Just(Consistency::Async),
    ]
}

/// Lets odd workers run ahead and holds even ones to the slowest.
struct OddFirst;

impl Gate for OddFirst {
    fn opens(&mut self, worker: WorkerId, clock: Clock, min: Clock) -> bool {
        clock.ahead_of(min) <= if worker.0 % 2 == 1 { 3 } else { 0 }
    }
}

#[test]
fn a_gate_of_ones_own_decides_who_may_run_ahead() {
    let mut dispatch =
        Dispatch::new(Consistency::Ssp(1), Box::new(Fixed::new(40, 1)), 2).gated(Box::new(OddFirst));
    dispatch.join(WorkerId(0));
    let orders = dispatch.join(WorkerId(1));
    assert_eq!(assigned(&orders), [(0, 0, 0), (1, 0, 1), (1, 1, 2)], "worker 0 gets no second step ahead");
    assert_eq!(assigned(&dispatch.report(report(1, 0))), [(1, 2, 3)]);
    assert_eq!(assigned(&dispatch.report(report(1, 1))), [(1, 3, 4)], "three ahead of worker 0");
    assert_eq!(assigned(&dispatch.report(report(1, 2))), [], "and no further");
}

#[test]
fn only_shards_that_have_something_of_a_step_are_told_that_it_counts() {
    let measure = Box::new(|cost: f64, _: &[f64]| (cost, Vec::new()));
    let schedule = Evaluated::new(Fixed::new(2, 1), 2, 1, measure);
    let mut dispatch = Dispatch::new(Consistency::Ssp(1), Box::new(schedule), 1).transactional();
    dispatch.join(WorkerId(0));
    let of = |clock, pushed: &[u32]| Report {
        pushed: pushed.iter().map(|shard| ShardId(*shard)).collect(),
        ..report(0, clock)
    };
    let told = |orders: &[Order]| -> Vec<(u64, Vec<ShardId>)> {
        let commit = |order: &Order| match order {
            Order::Commit(_, clock, pushed) => Some((clock.0, pushed.clone())),
            _ => None,
        };
        orders.iter().filter_map(commit).collect()
    };
    assert_eq!(told(&dispatch.report(of(0, &[0, 2]))), [(0, vec![ShardId(0), ShardId(2)])]);
    let orders = dispatch.report(of(1, &[2]));
    let evaluation = orders.iter().find_map(|order| match order {
        Order::Assign(_, assign) if assign.task.fresh => Some(assign.commits.clone()),
        _ => None,
    });
    assert_eq!(evaluation.unwrap(), [(ShardId(0), 1), (ShardId(2), 2)], "each waits for what it is told of");
    assert_eq!(told(&dispatch.report(of(2, &[]))), []);
}
