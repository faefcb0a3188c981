//! The protocol of clocks, gate, leases and commits, model-checked: every order in which a few workers, shards and clocks
//! can hear of each other, with a push that arrives twice, the death of a worker, and a backup that takes a shard's place.
//!
//! The states are of small copies of the cores (`parts`, `worker`, `shard`, `system`), which share the real vector clock
//! and the real bounds; `tie` checks that they say what the real ones do.

mod parts;
mod shard;
mod system;
mod tie;
mod worker;

use parts::{Mutation, Rules};
use stateright::{Checker, Model, Property};
use system::{Action, Budget, Promise, System};

/// A few actors and what may happen to them.
#[derive(Debug, Clone)]
pub(crate) struct Protocol {
    pub(crate) rules: Rules,
    pub(crate) workers: u8,
    pub(crate) backed: bool,
    pub(crate) budget: Budget,
}

impl Protocol {
    fn new(shards: u8, tasks: u8, parts: u8, s: u8) -> Self {
        let rules = Rules { shards, tasks, parts, s, mutation: None };
        let budget = Budget { duplicates: 0, worker_deaths: 0, promotions: 0 };
        Self { rules, workers: 2, backed: false, budget }
    }

    fn mutated(mut self, mutation: Mutation) -> Self {
        self.rules.mutation = Some(mutation);
        self
    }

    pub(crate) fn start(&self) -> System {
        System::new(&self.rules, self.workers, self.backed, self.budget)
    }
}

impl Model for Protocol {
    type State = System;
    type Action = Action;

    fn init_states(&self) -> Vec<System> {
        vec![self.start()]
    }

    fn actions(&self, state: &System, actions: &mut Vec<Action>) {
        if state.known.broken.is_none() {
            actions.extend(state.actions());
        }
    }

    fn next_state(&self, state: &System, action: Action) -> Option<System> {
        let mut next = state.clone();
        next.act(action, &self.rules);
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("gate", |_, state: &System| state.known.broken != Some(Promise::Gate)),
            Property::always("freshness", |_, state: &System| state.known.broken != Some(Promise::Freshness)),
            Property::always("own writes", |_, state: &System| {
                state.known.broken != Some(Promise::OwnWrites)
            }),
            Property::always("leases", |_, state: &System| state.known.broken != Some(Promise::Leases)),
            Property::always("exactly once", |_, state: &System| {
                state.known.broken != Some(Promise::ExactlyOnce) && (!state.is_done() || state.all_is_in())
            }),
            Property::eventually("every task is done", |_, state: &System| state.is_done()),
        ]
    }
}

/// Looks at every state; returns how many there are.
fn check_all(name: &str, protocol: Protocol) -> usize {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let checker = protocol.checker().threads(threads).spawn_bfs().join();
    println!("{name}: {} states, {} ways there", checker.unique_state_count(), checker.state_count());
    checker.assert_properties();
    checker.unique_state_count()
}

/// The promises that a fault breaks.
fn broken_by(mutation: Mutation, protocol: Protocol) -> Vec<&'static str> {
    let checker = protocol.mutated(mutation).checker().spawn_dfs().join();
    let names: Vec<_> = checker.discoveries().into_keys().collect();
    println!("{mutation:?}: {} states until {names:?}", checker.unique_state_count());
    names
}

#[test]
fn two_workers_keep_every_promise_in_every_order() {
    assert!(check_all("bulk synchronous", Protocol::new(1, 6, 3, 0)) > 100);
    assert!(check_all("one clock apart", Protocol::new(1, 6, 3, 1)) > 1000);
    assert!(check_all("two shards", Protocol::new(2, 4, 3, 1)) > 1000);
}

#[test]
fn pushes_that_arrive_twice_count_once() {
    let budget = Budget { duplicates: 2, worker_deaths: 0, promotions: 0 };
    check_all("pushes twice", Protocol { budget, ..Protocol::new(1, 5, 3, 1) });
}

#[test]
fn the_death_of_a_worker_at_any_moment_loses_and_doubles_nothing() {
    let budget = Budget { duplicates: 1, worker_deaths: 1, promotions: 0 };
    check_all("a worker dies", Protocol { budget, ..Protocol::new(1, 5, 3, 1) });
}

#[test]
fn a_backup_takes_its_shards_place_at_any_moment() {
    let budget = Budget { duplicates: 0, worker_deaths: 1, promotions: 1 };
    check_all("a shard and a worker die", Protocol { budget, backed: true, ..Protocol::new(1, 3, 2, 1) });
}

#[test]
fn shards_that_do_not_wait_for_the_commit_are_found_out() {
    let budget = Budget { duplicates: 0, worker_deaths: 1, promotions: 0 };
    let broken = broken_by(Mutation::NoHold, Protocol { budget, ..Protocol::new(1, 3, 2, 1) });
    assert!(!broken.is_empty());
}

#[test]
fn a_gate_that_opens_one_clock_too_far_is_found_out() {
    let broken = broken_by(Mutation::WideGate, Protocol::new(1, 4, 2, 0));
    assert!(broken.contains(&"gate"), "{broken:?}");
}

#[test]
fn shards_that_fold_in_whatever_comes_are_found_out() {
    let budget = Budget { duplicates: 1, worker_deaths: 0, promotions: 0 };
    let broken = broken_by(Mutation::NoDedup, Protocol { budget, ..Protocol::new(1, 2, 2, 1) });
    assert!(broken.contains(&"exactly once"), "{broken:?}");
}
