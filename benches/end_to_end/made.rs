//! Medium data, made from a seed once and kept in the folder for temporary files.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Text that `write` makes, as a file.
fn kept(name: &str, write: impl FnOnce(&mut String, &mut Xoshiro256PlusPlus)) -> PathBuf {
    let folder = std::env::temp_dir().join("slackline-benches");
    let path = folder.join(name);
    if !path.exists() {
        fs::create_dir_all(&folder).expect("a folder for temporary files");
        let mut text = String::new();
        write(&mut text, &mut Xoshiro256PlusPlus::seed_from_u64(7));
        let unfinished = folder.join(format!("{name}.new"));
        fs::write(&unfinished, text).expect("room for the data");
        fs::rename(unfinished, &path).expect("the same folder");
    }
    path
}

/// Nearly normal: twelve uniform numbers, less their mean.
fn normal(random: &mut Xoshiro256PlusPlus) -> f64 {
    (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0
}

/// 20,000 rows x 100,000 columns, 5 million non-zeros whose columns fall off as a power law, as words do; 200 of the
/// frequent columns explain the target (`classes` = 0) or the class.
pub(crate) fn rows(name: &str, classes: usize) -> PathBuf {
    const COLUMNS: usize = 100_000;
    kept(name, |text, random| {
        let weights: Vec<f64> =
            (0..COLUMNS).map(|j| if j % 25 == 0 && j < 5000 { 2.0 * normal(random) } else { 0.0 }).collect();
        for _ in 0..20_000 {
            let mut columns: Vec<usize> =
                (0..252).map(|_| (random.random::<f64>().powi(2) * COLUMNS as f64) as usize).collect();
            columns.sort_unstable();
            columns.dedup();
            let entries: Vec<(usize, f64)> = columns.into_iter().map(|j| (j, normal(random))).collect();
            let score: f64 = entries.iter().map(|(j, x)| weights[*j] * x).sum();
            let noisy = score + normal(random);
            match classes {
                0 => write!(text, "{noisy:.4}"),
                2 => write!(text, "{}", if noisy > 0.0 { 1 } else { -1 }),
                n => write!(text, "{}", 1 + ((noisy + 8.0).clamp(0.0, 15.99) / 16.0 * n as f64) as usize),
            }
            .expect("a string has room");
            entries.iter().for_each(|(j, x)| write!(text, " {}:{x:.4}", j + 1).expect("a string has room"));
            text.push('\n');
        }
    })
}

/// 4.5 million ratings of 10,000 items by 50,000 users, of rank 8 with biases and noise.
pub(crate) fn ratings(name: &str) -> PathBuf {
    kept(name, |text, random| {
        let mut side = |n: usize| -> Vec<[f64; 9]> {
            (0..n).map(|_| std::array::from_fn(|_| 0.4 * normal(random))).collect()
        };
        let (users, items) = (side(50_000), side(10_000));
        for _ in 0..4_500_000 {
            let (u, i) =
                (random.random_range(0..users.len()), (random.random::<f64>().powi(2) * 1e4) as usize);
            let product: f64 = users[u][..8].iter().zip(&items[i]).map(|(p, q)| p * q).sum();
            let rating = (3.0 + users[u][8] + items[i][8] + product + 0.5 * normal(random)).clamp(0.5, 5.0);
            writeln!(text, "{u} {i} {:.1}", (rating * 2.0).round() / 2.0).expect("a string has room");
        }
    })
}

/// 3 million tokens in 20,000 documents of two topics each, out of 50, over 20,000 words that fall off as a power law: in
/// each topic in an order of its own, and in half of the tokens in one for all.
pub(crate) fn documents(name: &str) -> PathBuf {
    const WORDS: usize = 20_000;
    kept(name, |text, random| {
        for _ in 0..20_000 {
            let two: [usize; 2] = std::array::from_fn(|_| random.random_range(1..=50));
            let mut words: Vec<usize> = (0..150)
                .map(|_| {
                    let rank = (random.random::<f64>().powi(4) * WORDS as f64) as usize;
                    let topic =
                        if random.random() { two[usize::from(random.random::<f64>() < 0.3)] } else { 0 };
                    // Odd and no multiple of 5, so that all words have a place.
                    1 + (rank * (10 * topic + 1) + 397 * topic) % WORDS
                })
                .collect();
            words.sort_unstable();
            text.push('0');
            for equal in words.chunk_by(|a, b| a == b) {
                write!(text, " {}:{}", equal[0], equal.len()).expect("a string has room");
            }
            text.push('\n');
        }
    })
}
