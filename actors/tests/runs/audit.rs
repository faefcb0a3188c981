//! Runs that are recorded, and what the record proves.

use slackline::audit;
use slackline::prelude::*;
use slackline::scheduler::policy::Schedule;

use crate::{Does, run_sums};

const CONSISTENCIES: [&str; 6] = ["bsp", "ssp:1", "essp:2", "bounded_error:0.05,3", "adaptive:0,4", "async"];

#[test]
fn a_run_under_any_consistency_stands_up_to_its_audit() {
    let directory = std::env::temp_dir().join(format!("slackline-runs-{}", std::process::id()));
    for text in CONSISTENCIES {
        for encoded in [false, true] {
            let measure = Box::new(|cost, _: &[f64]| (cost, Vec::new()));
            let schedule: Box<dyn Schedule> = Box::new(Evaluated::new(Shuffled::new(6, 8, 1), 6, 3, measure));
            let job = Job::new("recorded").schedule(schedule).consistency(text.parse().expect("it is one"));
            let job = job.local(3).shards(2).bandwidth(100_000).audit(&directory);
            let job = if encoded { job.encoded() } else { job };
            let trained = run_sums(job).expect("nothing fails");
            assert_eq!(trained.model.dense::<f32>("sums")[[0, 0]], 48.0, "{text}: every step counts once");
            let records = audit::read(&directory).expect("the record is whole");
            let verdict = audit::check(&records);
            assert_eq!(verdict.broken, [], "{text}");
            assert!(verdict.reads >= 48 && verdict.folds == verdict.pushes, "{text}: {verdict:?}");
            let traffic = trained.workers.iter().fold(0, |sum, worker| sum + worker.traffic.total());
            assert!(traffic > 0, "{text}");
        }
    }
    std::fs::remove_dir_all(&directory).expect("it was made here");
}

#[test]
fn a_record_that_cannot_be_written_is_refused_before_the_run() {
    let file = std::env::temp_dir().join(format!("slackline-file-{}", std::process::id()));
    std::fs::write(&file, "").expect("a temporary file");
    let refused =
        run_sums(Job::new("refused").audit(file.join("audit"))).expect_err("a file is no directory");
    assert!(refused.to_string().contains("slackline-file"), "{refused}");
    std::fs::remove_file(&file).expect("it was made here");
}

#[test]
fn rows_read_one_by_one_are_kept_back_and_count_once() {
    let directory = std::env::temp_dir().join(format!("slackline-rows-{}", std::process::id()));
    let table = Table::dense("rows", 12, 2).paged(4).reading(|part| vec![part.0, part.0 + 3, 9]);
    let job = Job::new("rows").table(table).schedule(Fixed::new(6, 20));
    let job = job.consistency(Consistency::BoundedError { error: 0.2, s: 3 }).local(3).shards(2);
    let adding = |mut step: Step| {
        let mut delta = step.delta::<f32>("rows");
        for row in [step.part().index(), 9] {
            delta.add_row(row, &[1.0, 0.5]);
        }
        step.add(delta);
        step.done(0.0)
    };
    let run = job.audit(&directory).start(move |_| Does(adding)).expect("the job is sound");
    let rows = run.wait().expect("nothing fails").model.dense::<f32>("rows");
    assert_eq!((rows[[9, 0]], rows[[2, 0]], rows[[2, 1]]), (120.0, 20.0, 10.0));
    let verdict = audit::check(&audit::read(&directory).expect("the record is whole"));
    assert_eq!(verdict.broken, []);
    std::fs::remove_dir_all(&directory).expect("it was made here");
}
