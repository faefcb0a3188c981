//! The shipped ratings: made here, from a known truth.
//!
//! Each of 150 users and 100 items has 3 factors and an offset, all about normal (12 uniform numbers added, less 6). A rating is
//! 3.5 + 0.3 user offset + 0.3 item offset + 0.5 (user factors · item factors) + 0.4 noise, rounded to halves and kept
//! in 0.5 to 5. One of four pairs is rated, in an order at random; one rating of ten is held out. Only additions and
//! products are used, so every machine makes the same bytes.

use std::path::PathBuf;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;

const USERS: usize = 150;
const ITEMS: usize = 100;

fn normal(random: &mut Xoshiro256PlusPlus) -> f64 {
    (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0
}

/// The texts of the training and of the held-out part.
fn generate() -> [String; 2] {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(2015);
    let mut rows = |n: usize| -> Vec<[f64; 4]> {
        (0..n).map(|_| std::array::from_fn(|_| normal(&mut random))).collect()
    };
    let (users, items) = (rows(USERS), rows(ITEMS));
    let mut lines = Vec::new();
    for (u, user) in users.iter().enumerate() {
        for (i, item) in items.iter().enumerate() {
            let (chosen, noise) = (random.random::<f64>() < 0.25, normal(&mut random));
            let product: f64 = (0..3).map(|k| user[k] * item[k]).sum();
            let score = 3.5 + 0.3 * user[3] + 0.3 * item[3] + 0.5 * product + 0.4 * noise;
            let rating = ((2.0 * score).round() / 2.0).clamp(0.5, 5.0);
            if chosen {
                lines.push(format!("{}\t{}\t{rating}\n", u + 1, i + 1));
            }
        }
    }
    for last in (1..lines.len()).rev() {
        lines.swap(last, random.random_range(0..=last));
    }
    let held_out = lines.len() / 10;
    [lines[held_out..].concat(), lines[..held_out].concat()]
}

fn paths() -> [PathBuf; 2] {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    ["ratings.train.tsv", "ratings.test.tsv"].map(|name| directory.join(name))
}

#[test]
fn the_shipped_ratings_are_the_ones_made_here() {
    for (path, text) in paths().iter().zip(generate()) {
        assert!(std::fs::read_to_string(path).unwrap() == text, "{} was made otherwise", path.display());
    }
}

#[test]
#[ignore = "writes the shipped ratings; needed only after a change above"]
fn write_the_shipped_ratings() {
    for (path, text) in paths().iter().zip(generate()) {
        std::fs::write(path, text).unwrap();
    }
}
