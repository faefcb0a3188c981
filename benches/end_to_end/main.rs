//! Whole runs on medium data: the serial reference, one worker, two workers, in turn; medians and ratios.
//!
//! ```sh
//! cargo bench -p slackline-benches --bench end_to_end [-- NAME [ROUNDS]]
//! ```
//!
//! *tax* is one worker through the actors over the same kernels in a plain loop; *scaling* is one worker over two. All
//! reach the same objective: the certified gap for `lasso` and `logistic`, as many passes for `mf` and `softmax`.

mod cases;
mod made;

use cases::Case;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let rounds = args.get(1).and_then(|rounds| rounds.parse().ok()).unwrap_or(5);
    println!("{:<16} serial s   1 worker   2 workers   tax   scaling   objectives", "case");
    for case in cases::all() {
        if args.first().is_none_or(|name| case.name.starts_with(name.as_str())) {
            measure(&case, rounds);
        }
    }
}

fn measure(case: &Case, rounds: usize) {
    let mut seconds = [vec![], vec![], vec![]];
    let mut objectives = [0.0; 3];
    for _ in 0..rounds {
        let (objective, spent) = (case.serial)(&case.request(1));
        objectives[0] = objective;
        seconds[0].push(spent);
        for workers in [1, 2] {
            let trained = case.train(workers);
            objectives[workers] = trained.objective;
            seconds[workers].push(trained.train_seconds);
        }
    }
    let [serial, one, two] = seconds.map(median);
    let [a, b, c] = objectives;
    println!(
        "{:<16} {serial:>8.4} {one:>10.4} {two:>11.4} {:>5.2} {:>9.2}   {a:.7} {b:.7} {c:.7}",
        case.name,
        one / serial,
        one / two
    );
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
