//! Updates that leave while their step computes.

use super::*;

#[test]
fn an_update_that_is_let_out_leaves_at_once_and_counts_with_its_step() {
    let mut desk = desk_of(Consistency::Ssp(3), vec![shared(), Table::dense("other", 1, 1)], 1);
    let mut first = begin(&mut desk, step(0, 0), 0, 0.0);
    let mut update = first.delta::<f32>("sum");
    update.row(0)[0] = 1.0;
    first.send(update);
    let actions = desk.let_out();
    let [Action::Push(_, push)] = &actions[..] else { panic!("one push, not {actions:?}") };
    assert_eq!((push.sequence, push.clock, push.deltas.len()), (1, Clock(0), 1));
    assert!(desk.applied(acknowledged(1)).is_empty(), "the step goes on");
    let mut update = first.delta::<f32>("other");
    update.row(0)[0] = 2.0;
    first.send(update);
    let actions = desk.computed(Some(first.done(0.0)), Spent::default());
    let [Action::Push(_, push)] = &actions[..] else { panic!("the rest, and no report yet: {actions:?}") };
    assert_eq!((push.sequence, push.clock), (2, Clock(0)));
    assert_eq!(reports(&desk.applied(acknowledged(2))).len(), 1);
}

#[test]
fn a_panic_after_an_update_was_let_out_ends_the_run() {
    let mut desk = desk_of(Consistency::Ssp(3), vec![shared()], 1);
    let mut first = begin(&mut desk, step(0, 0), 0, 0.0);
    let mut update = first.delta::<f32>("sum");
    update.row(0)[0] = 1.0;
    first.send(update);
    desk.computed(None, Spent::default());
    let actions = desk.applied(acknowledged(1));
    let why = "worker 0: the app panicked on part 0 at clock 0 after it had sent updates, which cannot be taken back";
    assert_eq!(reports(&actions)[0].result, Err(Failure::Fatal(why.to_owned())));
}

#[test]
fn updates_that_are_kept_back_wait_for_the_end_of_the_step() {
    let mut desk = desk_of(Consistency::BoundedError { error: 0.5, s: 3 }, vec![shared()], 1);
    let mut first = begin(&mut desk, step(0, 0), 0, 0.0);
    let update = first.delta::<f32>("sum");
    first.send(update);
    assert!(desk.let_out().is_empty());
}
