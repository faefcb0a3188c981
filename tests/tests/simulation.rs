//! Whole runs of the cores over thousands of seeds: see `tests/src/simulation`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use slackline_tests::simulation::{Circumstances, Mutation};
use slackline_tests::soak::soak;

const SEEDS: u64 = 2000;

#[test]
fn no_seed_breaks_a_promise() {
    let drawn = AtomicU64::new(0);
    let next = || Some(drawn.fetch_add(1, Ordering::Relaxed)).filter(|seed| *seed < SEEDS);
    match soak(next) {
        Ok(tale) => {
            println!("{tale:?}");
            assert!(tale.completed * 10 > tale.runs * 8, "most runs come to their end: {tale:?}");
            let frames = tale.frames;
            assert!(
                frames.lost > 0 && frames.doubled > 0 && frames.early > 0 && tale.rollbacks > 0,
                "{tale:?}"
            );
        }
        Err(broken) => panic!("{}", broken.circumstances.describe(broken.seed)),
    }
}

/// How many seeds it takes to find a fault of the runtime.
fn seeds_to_find(fault: Mutation, circumstances: Circumstances) -> u64 {
    let breaks =
        |seed: &u64| catch_unwind(AssertUnwindSafe(|| circumstances.run_mutated(*seed, fault))).is_err();
    let found = (0..20_000).find(breaks).expect("the fault is found");
    println!("{fault:?}: found by seed {found}");
    found + 1
}

#[test]
fn a_shard_that_does_not_hear_what_counts_is_found_out() {
    assert!(seeds_to_find(Mutation::DropsCommits, Circumstances::Cluster) < 200);
}

#[test]
fn an_update_that_is_folded_twice_is_found_out() {
    assert!(seeds_to_find(Mutation::FoldsTwice, Circumstances::Alone) < 50);
}

#[test]
fn a_stale_page_is_found_out() {
    assert!(seeds_to_find(Mutation::ServesStalePages, Circumstances::Alone) < 50);
}

#[test]
fn a_scheduler_that_forgets_who_is_early_is_found_out() {
    assert!(seeds_to_find(Mutation::ForgetsWhoIsEarly, Circumstances::Cluster) < 50);
}

#[test]
fn a_lead_that_is_not_told_who_cannot_reach_whom_is_found_out() {
    assert!(seeds_to_find(Mutation::ForgetsWhoIsDown, Circumstances::Cluster) < 20_000);
}

#[test]
fn a_shard_that_counts_steps_before_the_scheduler_does_is_found_out() {
    assert!(seeds_to_find(Mutation::FoldsAtOnce, Circumstances::Cluster) < 200);
}

#[test]
fn a_node_that_takes_an_old_block_for_the_present_one_is_found_out() {
    assert!(seeds_to_find(Mutation::TrustsOldBlocks, Circumstances::Cluster) < 200);
}
