//! Many simulated runs, on all cores: until one breaks a promise, or there are no more seeds or no more time.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::simulation::{Circumstances, Tale};

/// A run that broke a promise.
#[derive(Debug, Clone, Copy)]
pub struct Broken {
    /// Its circumstances.
    pub circumstances: Circumstances,
    /// Its seed.
    pub seed: u64,
}

/// Runs each seed that `next` gives in all circumstances, on as many threads as there are cores.
///
/// # Errors
/// The first run that broke a promise.
pub fn soak(next: impl Fn() -> Option<u64> + Sync) -> Result<Tale, Broken> {
    let (told, broken) = (Mutex::new(Tale::default()), Mutex::new(None));
    let over = AtomicBool::new(false);
    let work = || {
        while let Some(seed) = next().filter(|_| !over.load(Ordering::Relaxed)) {
            for circumstances in Circumstances::ALL {
                match catch_unwind(AssertUnwindSafe(|| circumstances.run(seed))) {
                    Ok(tale) => told.lock().expect("no run holds it").add(&tale),
                    Err(_) => {
                        over.store(true, Ordering::Relaxed);
                        broken.lock().expect("no run holds it").get_or_insert(Broken { circumstances, seed });
                        return;
                    }
                }
            }
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|threads| (0..cores).for_each(|_| drop(threads.spawn(work))));
    match broken.into_inner().expect("no run holds it") {
        Some(broken) => Err(broken),
        None => Ok(told.into_inner().expect("no run holds it")),
    }
}
