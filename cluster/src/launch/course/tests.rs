//! Launches as stories: what happens, what is done about it, how it ends.

use super::*;

const KILLED: How = How::Signal(9);

fn ended(node: &str, how: How) -> Event {
    Event::Ended(node.into(), how, None)
}

fn said(node: &str, code: u8, words: &str) -> Event {
    Event::Ended(node.into(), How::Code(code), Some(words.into()))
}

/// A launch of leads `a` and followers `b` and `c` that trains.
fn training(checkpoints: bool) -> Course {
    let mut course = Course::new("a", checkpoints);
    assert_eq!(course.on(Event::Listening), [Deed::WaitLong, Deed::StartOthers]);
    course.started("b");
    course.started("c");
    assert_eq!(course.on(Event::Training), []);
    course
}

fn failure(course: &Course) -> (String, u8) {
    let Err(Error::Cluster { problem, code }) = course.verdict() else { panic!("{:?}", course.verdict()) };
    (problem, code)
}

#[test]
fn a_run_that_ends_well_waits_for_everyone() {
    let mut course = training(false);
    assert_eq!(course.on(ended("b", How::Code(0))), []);
    assert_eq!(course.on(ended("a", How::Code(0))), [Deed::Wait(Time::Farewell)]);
    assert!(!course.is_over());
    assert_eq!(course.on(Event::TimeUp), [Deed::Release, Deed::Wait(Time::Grace)], "c does not end");
    assert_eq!(course.on(Event::TimeUp), [Deed::Kill, Deed::Wait(Time::Grace)]);
    course.on(ended("c", KILLED));
    assert!(course.is_over());
    assert_eq!(course.verdict().unwrap(), 0);
}

#[test]
fn a_node_that_fails_before_training_ends_everything_and_is_named() {
    let mut course = Course::new("a", true);
    course.on(Event::Listening);
    course.started("b");
    course.started("c");
    let deeds = course.on(said("c", 1, "node b: b.svm: no such file"));
    assert_eq!(deeds, [Deed::Release, Deed::Wait(Time::Grace)]);
    course.on(said("b", 3, "b.svm: no such file"));
    course.on(said("a", 1, "node b: b.svm: no such file"));
    assert!(course.is_over());
    assert_eq!(failure(&course), ("node b: b.svm: no such file".into(), 3), "b knows the kind of its error");
}

#[test]
fn a_node_that_cannot_be_started_ends_everything() {
    let mut course = Course::new("a", false);
    course.on(Event::Listening);
    assert_eq!(
        course.on(Event::Unstarted("b".into(), "no such file".into())),
        [Deed::Release, Deed::Wait(Time::Grace)]
    );
    course.on(ended("a", How::Code(1)));
    assert!(course.is_over());
    assert_eq!(failure(&course), ("node b cannot be started: no such file".into(), 1));
    let mut course = Course::new("a", false);
    course.on(Event::TimeUp);
    assert_eq!(failure(&course).0, "node a did not say in time that it listens");
}

#[test]
fn a_follower_killed_before_the_first_news_is_a_failure_only_if_training_had_not_begun() {
    for began in [false, true] {
        let mut course = Course::new("a", false);
        course.on(Event::Listening);
        course.started("b");
        assert_eq!(course.on(ended("b", KILLED)), [Deed::Ask]);
        let deeds = course.on(Event::Told(began));
        assert_eq!(deeds.contains(&Deed::Release), !began);
        assert_eq!(course.verdict().is_err() && course.failure.is_some(), !began);
    }
}

#[test]
fn a_follower_killed_in_training_is_said_and_left_to_the_run() {
    let mut course = training(false);
    let Deed::Say(sentence) = &course.on(ended("b", How::Signal(11)))[0] else { panic!() };
    assert_eq!(sentence, "node b was killed by SIGSEGV");
    course.on(ended("c", How::Code(0)));
    course.on(ended("a", How::Code(0)));
    assert_eq!((course.is_over(), course.verdict().unwrap()), (true, 0));
}

#[test]
fn a_killed_lead_is_started_again_three_times_where_there_are_checkpoints() {
    let mut course = training(true);
    for time in 1..=3 {
        let deeds = course.on(ended("a", KILLED));
        let Deed::Say(sentence) = &deeds[0] else { panic!() };
        assert!(
            sentence.ends_with(&format!("started again from the last checkpoint ({time} of 3)")),
            "{sentence}"
        );
        assert_eq!(deeds[1], Deed::RestartLead);
        course.started("a");
        assert_eq!(course.on(Event::Listening), [Deed::WaitLong]);
    }
    assert_eq!(course.on(ended("a", KILLED))[0], Deed::Release);
    assert!(failure(&course).0.ends_with("for the 4th time: not started again"));

    let mut course = training(false);
    course.on(ended("a", KILLED));
    assert!(failure(&course).0.contains("with `checkpoint: {directory: DIR, every: 30s}`"));
    let mut course = training(true);
    course.on(said("a", 4, "the objective is NaN"));
    assert_eq!(failure(&course), ("node a: the objective is NaN".into(), 4), "an exit code is no accident");
}

#[test]
fn the_first_signal_stops_at_a_clock_and_the_second_kills() {
    for (signal, code, expected) in [(2, 75, 75), (15, 75, 75), (15, 130, 143), (2, 130, 130)] {
        let mut course = training(true);
        assert_eq!(course.on(Event::Signal(signal)), [Deed::StopRun]);
        course.on(ended("a", How::Code(code)));
        course.on(ended("b", How::Code(0)));
        course.on(ended("c", How::Code(0)));
        assert_eq!((course.is_over(), course.verdict().unwrap()), (true, expected));
    }
    let mut course = training(true);
    course.on(Event::Signal(2));
    assert_eq!(course.on(Event::Signal(2)), [Deed::Kill, Deed::Wait(Time::Grace)]);
    ["a", "b", "c"].into_iter().for_each(|node| drop(course.on(ended(node, KILLED))));
    assert_eq!((course.is_over(), course.verdict().unwrap()), (true, 130));
    let mut stuck = training(true);
    stuck.on(Event::Signal(15));
    stuck.on(Event::Signal(15));
    stuck.on(Event::TimeUp);
    assert_eq!((stuck.is_over(), stuck.verdict().unwrap()), (true, 143), "no wait without an end");
}

#[test]
fn a_run_stopped_by_somebody_else_has_the_leads_code() {
    let mut course = training(true);
    course.on(ended("a", How::Code(75)));
    assert_eq!(course.verdict().unwrap(), 75);
}
