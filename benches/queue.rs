//! How many changes a second the priority queue of a priority schedule takes.
//!
//! `set` gives random variables random priorities in a queue that holds them all; `pop and set` is a priority
//! schedule at work: the highest comes out and goes back in with a smaller priority.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use slackline::{PriorityQueue, VariableId};
use slackline_benches::ProcessorTime;

const CHANGES: u64 = 10_000;

/// A well-mixed sequence (splitmix64): the bench needs variety, not a generator.
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

fn priority(number: u64) -> f32 {
    (mixed(number) >> 40) as f32
}

fn full(variables: u32) -> PriorityQueue {
    let mut queue = PriorityQueue::default();
    (0..variables).for_each(|v| queue.set(VariableId(v), priority(u64::from(v))));
    queue
}

fn bench(c: &mut Criterion<ProcessorTime>) {
    let mut group = c.benchmark_group("queue");
    group.throughput(Throughput::Elements(CHANGES)).sample_size(20);
    for variables in [10_000u32, 1_000_000] {
        let mut queue = full(variables);
        let mut number = 0;
        group.bench_function(format!("set/{variables}"), |b| {
            b.iter(|| {
                for _ in 0..CHANGES {
                    number += 1;
                    queue.set(VariableId((mixed(number) % u64::from(variables)) as u32), priority(number));
                }
            });
        });
        group.bench_function(format!("pop and set/{variables}"), |b| {
            b.iter(|| {
                for _ in 0..CHANGES {
                    let (variable, priority) = queue.pop().expect("every variable goes back in");
                    queue.set(variable, priority * 0.5);
                }
            });
        });
    }
    group.bench_function("fill/10000", |b| {
        b.iter_batched(|| (), |()| full(CHANGES as u32), BatchSize::LargeInput);
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(ProcessorTime);
    targets = bench
}
criterion_main!(benches);
