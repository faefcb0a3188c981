//! A correct record passes; each way of breaking it is found.

use super::*;
use crate::audit::entry::{PageRead, Reading};
use crate::clock::{Clock, Consistency};
use crate::id::{PageId, PageKey, ShardId, TableId, WorkerId};

const PAGE: PageKey = (TableId(0), PageId(0));
const SHARD: ShardId = ShardId(0);

/// Two workers that do two clocks each on one page, one after the other, under `consistency`.
fn record(consistency: Consistency) -> Record {
    let mut entries = vec![Entry::Regroup { min: Clock(0), back: false }];
    entries.extend((0..2).map(|worker| Entry::Join { worker: WorkerId(worker) }));
    let mut applied = vec![0, 0];
    for clock in 0..2 {
        for worker in 0..2 {
            let staleness = consistency.staleness();
            let (worker, clock, min) = (WorkerId(worker), Clock(clock), Clock(clock));
            entries.push(Entry::Assign { worker, clock, min, staleness, fresh: false, flushes: false });
        }
        for worker in 0..2u32 {
            let (number, worker, clock) = (worker as usize, WorkerId(worker), Clock(clock));
            let page = PageRead { page: PAGE, folds: applied.iter().sum(), sent: vec![], kept: vec![] };
            let (shard, min, rows, pages) = (SHARD, clock, vec![], vec![page]);
            let readings = vec![Reading { shard, min, applied: applied.clone(), pages, rows }];
            entries.push(Entry::Read { worker, clock, readings });
            entries.push(Entry::Made { worker, clock, pages: vec![PAGE], rows: vec![] });
            let (sequence, pages, rows) = (clock.0 + 1, vec![(PAGE, vec![clock])], vec![]);
            entries.push(Entry::Push { worker, shard, sequence, clock, pages, rows });
            entries.push(Entry::Fold { shard, backup: false, worker, sequence });
            applied[number] += 1;
        }
        entries.extend((0..2).map(|worker| Entry::Finish { worker: WorkerId(worker), clock: Clock(clock) }));
    }
    entries.push(Entry::End);
    let head =
        Head { job: "two".into(), seed: 0, consistency, own_gate: false, node: String::new(), life: 1 };
    let entries = entries.into_iter().map(|entry| (1, entry)).collect();
    Record { name: "run.audit".into(), head, torn: false, entries }
}

/// The promises that are found broken once the entries have been tampered with.
fn broken(tamper: impl Fn(&mut Vec<(u32, Entry)>)) -> Vec<&'static str> {
    let mut record = record(Consistency::Ssp(0));
    tamper(&mut record.entries);
    let verdict = check(&[record]);
    verdict.broken.iter().map(|broken| broken.promise).collect()
}

fn place(entries: &[(u32, Entry)], is: impl Fn(&Entry) -> bool) -> usize {
    entries.iter().position(|(_, entry)| is(entry)).unwrap()
}

/// The reading of worker 1 at clock 1.
fn last_reading(entries: &mut [(u32, Entry)]) -> &mut Reading {
    let read = entries.iter_mut().rev().find_map(|(_, entry)| match entry {
        Entry::Read { readings, .. } => Some(&mut readings[0]),
        _ => None,
    });
    read.unwrap()
}

#[test]
fn a_correct_record_passes_and_is_counted() {
    for text in ["ssp:0", "ssp:2", "essp:1", "bounded_error:0.1,1", "adaptive:0,2"] {
        let verdict = check(&[record(text.parse().unwrap())]);
        assert_eq!(verdict.broken, [], "{text}");
        assert_eq!((verdict.steps, verdict.reads, verdict.pushes, verdict.folds), (4, 4, 4, 4));
    }
}

#[test]
fn a_missing_update_is_found() {
    let found = broken(|entries| {
        let last = entries.iter().rposition(|(_, entry)| matches!(entry, Entry::Fold { .. })).unwrap();
        entries.remove(last);
    });
    assert_eq!(found, ["exactly once"]);
}

#[test]
fn an_update_that_is_folded_in_twice_is_found() {
    let found = broken(|entries| {
        let last = entries.iter().rposition(|(_, entry)| matches!(entry, Entry::Fold { .. })).unwrap();
        let twice = entries[last].clone();
        entries.insert(last, twice);
    });
    assert_eq!(found, ["exactly once"]);
}

#[test]
fn an_update_that_was_never_sent_is_found() {
    let found = broken(|entries| {
        let last = entries.iter().rposition(|(_, entry)| matches!(entry, Entry::Push { .. })).unwrap();
        entries.remove(last);
    });
    assert!(found.contains(&"exactly once"), "{found:?}");
}

#[test]
fn a_read_that_is_too_old_is_found() {
    let found = broken(|entries| {
        let reading = last_reading(entries);
        (reading.min, reading.applied) = (Clock(0), vec![1, 0]);
        reading.pages[0].folds = 1;
        reading.pages[0].sent = vec![1];
    });
    assert_eq!(found, ["freshness", "freshness"], "its clock, and an update that it lacks");
}

#[test]
fn a_page_that_changed_and_was_taken_for_unchanged_is_found() {
    assert_eq!(broken(|entries| last_reading(entries).pages[0].folds = 1), ["freshness"]);
}

#[test]
fn a_state_that_the_shard_never_had_is_found() {
    let found = broken(|entries| last_reading(entries).applied = vec![1, 2]);
    assert!(found.iter().all(|promise| ["freshness", "own writes"].contains(promise)) && !found.is_empty());
}

#[test]
fn a_read_without_an_own_update_or_with_one_twice_is_found() {
    let kept = broken(|entries| last_reading(entries).pages[0].kept = vec![Clock(0)]);
    let twice = broken(|entries| last_reading(entries).pages[0].sent = vec![1]);
    assert_eq!((&kept[..], &twice[..]), (&["own writes"][..], &["own writes"][..]));
}

#[test]
fn a_step_that_began_too_early_is_found() {
    let found = broken(|entries| {
        let second = |entry: &Entry| matches!(entry, Entry::Assign { clock: Clock(1), .. });
        let early = entries.remove(place(entries, second));
        let finish = |entry: &Entry| matches!(entry, Entry::Finish { .. });
        let before = place(entries, finish);
        entries.insert(before, early);
    });
    assert!(found.contains(&"gate"), "{found:?}");
}

#[test]
fn files_read_back_as_they_were_written_and_others_are_refused_by_name() {
    let directory = std::env::temp_dir().join(format!("slackline-audit-{}", std::process::id()));
    let record = record(Consistency::Essp(2));
    crate::audit::write(&directory, &record).unwrap();
    let why = || crate::audit::read(&directory).unwrap_err().to_string();
    let path = directory.join("run.audit");
    let whole = std::fs::read(&path).unwrap();
    assert_eq!(crate::audit::read(&directory).unwrap(), [record]);
    std::fs::write(&path, &whole[..whole.len() - 9]).unwrap();
    assert!(why().contains("run.audit: is torn"), "{}", why());
    let mut damaged = whole.clone();
    *damaged.iter_mut().rev().nth(20).unwrap() ^= 1;
    std::fs::write(&path, &damaged).unwrap();
    assert!(why().contains("run.audit: is damaged"), "{}", why());
    std::fs::write(&path, b"GIF89a").unwrap();
    assert!(why().ends_with("run.audit: is not an audit record"), "{}", why());
    std::fs::write(directory.join("other.audit"), &whole).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(crate::audit::read(&directory).is_ok());
    std::fs::remove_dir_all(&directory).unwrap();
    assert!(why().contains("slackline-audit"));
}

#[test]
fn what_a_run_goes_back_behind_is_void() {
    let verdict = |back| {
        let mut lost = record(Consistency::Ssp(0));
        let last = place(&lost.entries, |entry| matches!(entry, Entry::End)) - 3;
        assert!(matches!(lost.entries[last].1, Entry::Fold { .. }));
        lost.entries.remove(last);
        lost.entries.pop();
        let again = record(Consistency::Ssp(0)).entries.into_iter().skip(1).map(|(_, entry)| (2, entry));
        lost.entries.push((2, Entry::Regroup { min: Clock(0), back }));
        lost.entries.extend(again);
        check(&[lost])
    };
    assert_eq!(verdict(true).broken, []);
    assert_eq!(verdict(false).broken[0].what, "push 2 was never folded in");
}

/// The record of a second node that died: its worker is worker 1, and it told nothing after the first clock.
fn torn() -> Vec<Record> {
    let whole = record(Consistency::Ssp(0));
    let of_worker = |entry: &Entry| match entry {
        Entry::Read { worker, .. } | Entry::Made { worker, .. } | Entry::Push { worker, .. } => {
            *worker == WorkerId(1)
        }
        _ => false,
    };
    let (second, first): (Vec<_>, Vec<_>) =
        whole.entries.into_iter().partition(|(_, entry)| of_worker(entry));
    let node = |name: &str, torn, entries| Record {
        name: format!("{name}.audit"),
        head: Head { node: name.to_owned(), ..whole.head.clone() },
        torn,
        entries,
    };
    vec![node("a", false, first), node("b", true, second[..3].to_vec())]
}

#[test]
fn a_torn_record_leaves_its_generation_unproved_but_for_the_gate() {
    let records = torn();
    let verdict = check(&records);
    assert_eq!((verdict.broken.len(), verdict.in_part.len(), verdict.steps, verdict.reads), (0, 1, 4, 0));
    let mut hasty = records;
    let assign = place(&hasty[0].entries, |entry| matches!(entry, Entry::Assign { clock: Clock(1), .. }));
    let Entry::Assign { min, .. } = &mut hasty[0].entries[assign].1 else { unreachable!() };
    *min = Clock(0);
    assert_eq!(check(&hasty).broken[0].promise, "gate");
}

#[test]
fn what_a_node_did_before_the_cluster_began_anew_is_void() {
    let records = torn();
    let (mut a, mut b) = (record(Consistency::Ssp(0)), records[1].clone());
    a.head.node = "b".into();
    (a.head.life, b.head.life) = (2, 1);
    let verdict = check(&[b, a]);
    assert_eq!((verdict.broken.len(), verdict.in_part.len(), verdict.reads), (0, 0, 4));
}

#[test]
fn a_missing_record_is_no_broken_promise() {
    let mut records = torn();
    records.pop();
    let verdict = check(&records);
    assert_eq!((verdict.broken.len(), verdict.in_part.len(), verdict.steps), (0, 1, 4));
}

#[test]
fn the_end_of_an_earlier_life_is_not_the_end_of_the_run_and_only_records_are_cleared() {
    let directory = std::env::temp_dir().join(format!("slackline-lives-{}", std::process::id()));
    let mut record = record(Consistency::Ssp(0));
    record.head.node = "a".into();
    for _ in 0..2 {
        crate::audit::write(&directory, &record).unwrap();
    }
    assert_eq!(crate::audit::read(&directory).unwrap().len(), 2);
    let second = directory.join("a+2.audit");
    let whole = std::fs::read(&second).unwrap();
    std::fs::write(&second, &whole[..whole.len() - 9]).unwrap();
    let refused = crate::audit::read(&directory).unwrap_err().to_string();
    assert!(refused.contains("a+2.audit: is torn"), "{refused}");

    std::fs::write(directory.join("notes.txt"), "mine").unwrap();
    crate::audit::clear(&directory, Some("b")).unwrap();
    assert!(second.exists(), "it is another node's");
    crate::audit::clear(&directory, Some("a")).unwrap();
    let left: Vec<_> =
        std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["notes.txt"]);
    std::fs::remove_dir_all(&directory).unwrap();
}
