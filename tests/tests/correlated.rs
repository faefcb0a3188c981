//! Columns that are nearly the same, worked on side by side: what makes parallel coordinate descent diverge (Bradley et
//! al. 2011, §3). Whatever the consistency and the number of workers, the certified gap must reach the tolerance.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use slackline_apps::catalog::{self, Request, Watch};

/// 80 rows of 48 columns: six signals, each eight times with a little noise (or none), dealt so that copies of one
/// signal fall into different parts.
fn copies(noise: f64, seed: u64) -> PathBuf {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut normal = move || (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
    let mut text = String::new();
    for _ in 0..80 {
        let signals: [f64; 6] = std::array::from_fn(|_| normal());
        let target = 2.0 * signals[0] - 1.5 * signals[1] + signals[2] + 0.3 * normal();
        write!(text, "{target:.6}").expect("a string has room");
        for column in 0..48 {
            let value = signals[column / 8] + noise * normal();
            write!(text, " {}:{value:.9}", column + 1).expect("a string has room");
        }
        text.push('\n');
    }
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("copies-{noise}-{seed}.svm"));
    std::fs::write(&path, text).expect("the target folder can be written");
    path
}

fn reaches_its_gap(request: &Request) {
    let lasso = catalog::find("lasso").expect("the Lasso is in the catalog");
    let trained = lasso.train(request, &Watch::nobody()).unwrap_or_else(|error| panic!("{error}"));
    let (gap, objective) = (trained.metrics["gap"], trained.objective);
    assert!(gap <= 1e-6 * objective, "{request:?}: gap {gap} at objective {objective}");
}

#[test]
fn copies_of_columns_in_different_parts_do_not_keep_the_gap_open() {
    for (noise, seed) in [(0.0, 1), (1e-3, 2), (0.1, 3)] {
        let data = copies(noise, seed);
        for consistency in ["bsp", "ssp:2", "essp:2", "async"] {
            for schedule in ["priority", "dependency"] {
                let request = Request {
                    workers: 4,
                    consistency: Some(consistency.to_owned()),
                    schedule: Some(schedule.to_owned()),
                    ..Request::on(&data)
                };
                reaches_its_gap(&request.with("lambda-ratio", 0.05));
            }
        }
    }
}
