//! The whole ring without actors: one `Dispatch`, several `Desk`s and several `Store`s, joined by lanes that keep
//! their own order while a seeded generator decides which lane delivers next.
//!
//! A toy app adds 1 to its worker's column of a shared table and appends to a leased block, so that what every read
//! must contain, and what must be there at the end, is known exactly. A run is a number: the same seed is the same run.

mod invariants;
mod members;
mod plan;
mod ring;
mod toy;

use plan::Plan;
use ring::Ring;
use slackline::Consistency;

/// Runs every seed in a range and names the one that broke a promise.
fn each_seed(seeds: std::ops::Range<u64>, check: impl Fn(u64) + std::panic::RefUnwindSafe) {
    for seed in seeds {
        if std::panic::catch_unwind(|| check(seed)).is_err() {
            panic!("seed {seed} broke a promise: {:?} or {:?}", Plan::random(seed), Plan::of_cluster(seed));
        }
    }
}

#[test]
fn every_read_is_fresh_every_update_counts_once_and_every_run_ends() {
    each_seed(0..3000, |seed| {
        let mut ring = Ring::new(&Plan::random(seed), seed);
        let ending = ring.run();
        let failed = ending.failed.clone().unwrap_or_default();
        assert!(failed.is_empty() || failed.ends_with("for the 3rd time"), "{failed}");
        let model = ring.model();
        invariants::exactly_once(&ring.world, &model);
        invariants::every_pass_is_complete(&ring.world, &ending);
    });
}

#[test]
fn members_come_and_go_and_every_step_counts_once() {
    each_seed(10_000..14_000, |seed| {
        let plan = Plan::of_cluster(seed);
        let mut ring = Ring::new(&plan, seed);
        let ending = ring.run();
        let failed = ending.failed.clone().unwrap_or_default();
        assert!(failed.is_empty() || failed.ends_with("for the 3rd time"), "{failed}");
        let model = ring.model();
        invariants::exactly_once(&ring.world, &model);
        invariants::every_pass_is_complete(&ring.world, &ending);
    });
}

#[test]
fn under_bsp_the_order_of_delivery_leaves_no_trace_in_the_bits() {
    each_seed(0..500, |seed| {
        let plan = Plan { consistency: Consistency::Bsp, stop_after: None, ..Plan::random(seed) };
        let bits = |delivery| {
            let mut ring = Ring::new(&plan, delivery);
            ring.run();
            invariants::bits(&ring.model())
        };
        assert_eq!(bits(seed), bits(seed + 1_000_000), "two orders of delivery, one result");
    });
}

#[test]
fn the_gate_bounds_every_run_however_slow_one_lane_is() {
    each_seed(5000..6000, |seed| {
        let consistency =
            if seed % 2 == 0 { Consistency::Ssp(seed % 5) } else { Consistency::Essp(seed % 5) };
        let plan = Plan { consistency, uneven: true, workers: 4, parts: 8, ..Plan::random(seed) };
        let mut ring = Ring::new(&plan, seed);
        ring.run();
        let model = ring.model();
        invariants::exactly_once(&ring.world, &model);
    });
}
