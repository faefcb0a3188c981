//! Simulated runs with random seeds, for as long as asked; the seed that broke a promise is printed.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::Parser;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::SplitMix64;
use slackline_tests::simulation::{Circumstances, Tale};
use slackline_tests::soak::{Broken, soak};

/// Simulates runs of the runtime until one breaks a promise.
#[derive(Debug, Parser)]
struct Options {
    /// How long: 90s, 10m, 2h; until Ctrl-C without.
    #[arg(long = "for", value_parser = duration)]
    how_long: Option<Duration>,
    /// Runs this seed alone, and says what it is.
    #[arg(long)]
    seed: Option<u64>,
}

fn duration(text: &str) -> Result<Duration, String> {
    let (number, seconds) = match text.split_at(text.len().saturating_sub(1)) {
        (number, "s") => (number, 1),
        (number, "m") => (number, 60),
        (number, "h") => (number, 3600),
        _ => (text, 1),
    };
    let number: u64 = number.parse().map_err(|_| format!("{text} must be a time such as 90s, 10m or 2h"))?;
    Ok(Duration::from_secs(number * seconds))
}

fn main() -> ExitCode {
    let Options { how_long, seed } = Options::parse();
    if let Some(seed) = seed {
        for circumstances in Circumstances::ALL {
            println!("{}", circumstances.describe(seed));
            println!("{:#?}", circumstances.run(seed));
        }
        return ExitCode::SUCCESS;
    }
    let (since, drawn) = (Instant::now(), AtomicU64::new(std::process::id().into()));
    let start = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let next = || {
        let number = drawn.fetch_add(1, Ordering::Relaxed) ^ start.as_nanos() as u64;
        let more = how_long.is_none_or(|how_long| since.elapsed() < how_long);
        more.then(|| SplitMix64::seed_from_u64(number).random_range(0..u64::from(u32::MAX)))
    };
    match soak(next) {
        Ok(Tale { runs, completed, deliveries, generations, rollbacks, frames }) => {
            println!(
                "{runs} runs ({completed} to their end), {deliveries} deliveries, {generations} generations, \
                 {rollbacks} rollbacks, {} of {} frames lost, {} doubled, {} early: no promise was broken",
                frames.lost, frames.sent, frames.doubled, frames.early
            );
            ExitCode::SUCCESS
        }
        Err(Broken { circumstances, seed }) => {
            eprintln!("{}", circumstances.describe(seed));
            eprintln!("replay it: cargo run -p slackline-tests --bin soak -- --seed {seed}");
            ExitCode::FAILURE
        }
    }
}
