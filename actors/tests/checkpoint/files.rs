//! A file is read as it was written or refused by name, whatever happened to it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::prelude::*;
use slackline::checkpoint::{Checkpoint, Directory, Fingerprint, Saved, Shape};
use slackline::id::{PageId, ShardId};
use slackline::message::Snapshot;
use slackline::placement::Placement;
use slackline::values::Content;
use slackline::{Beside, BlockId, Buffer, Clock, Mark, Progress, Rule, Table, UpdateRule, WorkerId};

/// Keeps one number more than a page has.
struct Keeps;

impl UpdateRule for Keeps {
    fn n_kept(&self, n: usize) -> usize {
        n + 1
    }
    fn fold(&self, page: &mut Buffer, delta: &Buffer, _: Beside<'_>) {
        page.add(delta);
    }
}

/// A table of every element type, dense and sparse, shared and leased, and one whose rule keeps numbers of its own.
fn tables() -> Vec<Table> {
    vec![
        Table::dense("a", 5, 3).paged(6),
        Table::dense("b", 4, 2).of::<f64>().leased_by_part(&[0, 1]),
        Table::dense("c", 2, 9).of::<i32>().paged(4),
        Table::sparse("d", 3, 10).paged(10),
        Table::sparse("e", 3, 10).of::<f64>().leased_by_block(&[0, 2]),
        Table::sparse("f", 1, 5).of::<i32>(),
        Table::dense("g", 2, 1).paged(1).rule(Rule::Custom(Arc::new(Keeps))),
    ]
}

fn fingerprint() -> Fingerprint {
    Fingerprint {
        job: "a job".to_owned(),
        settings: BTreeMap::from([("rank".to_owned(), "8".to_owned())]),
        seed: 7,
        consistency: "ssp:3".to_owned(),
        tables: tables().iter().map(Shape::of).collect(),
    }
}

fn saved() -> Saved {
    let f32s = |values: &[f32]| Arc::new(Buffer::F32(Content::Dense(values.to_vec())));
    let i32s = |values: &[i32]| Arc::new(Buffer::I32(Content::Dense(values.to_vec())));
    let sparse = |rows: Vec<Vec<(u32, f32)>>| Arc::new(Buffer::F32(Content::Sparse(rows)));
    let blocks = vec![
        (BlockId(0), Buffer::F64(Content::Dense(vec![1.5, -2.5]))),
        (BlockId(1), Buffer::F64(Content::Dense(vec![f64::INFINITY, 1e-300, 0.0, -0.0, 1.0, 2.0]))),
    ];
    let sparse_blocks = vec![
        (BlockId(0), Buffer::F64(Content::Sparse(vec![vec![(3, 0.25)], vec![]]))),
        (BlockId(1), Buffer::F64(Content::Sparse(vec![vec![(0, 1.0), (9, 2.0)]]))),
    ];
    let pages = |pages: Vec<Arc<Buffer>>| Snapshot {
        pages: pages.into_iter().enumerate().map(|(page, rows)| (PageId::at(page), rows)).collect(),
        kept: Vec::new(),
        blocks: Vec::new(),
    };
    let numbers = |first: f32| Buffer::F32(Content::Dense(vec![first, 0.5]));
    let kept = [(PageId(0), numbers(3.0)), (PageId(1), numbers(4.0))];
    let narrow = |n: usize| i32s(&vec![-7; n]);
    let mark = Mark { epoch: 1.0, objective: 0.5, done: None, metrics: vec![("gap".to_owned(), 1e-3)] };
    Saved {
        tables: vec![
            pages(vec![f32s(&[1.0; 6]), f32s(&[2.0; 6]), f32s(&[-0.0, 1e-40, 3.0])]),
            Snapshot { pages: Vec::new(), kept: Vec::new(), blocks },
            pages((0..6).map(|_| narrow(3)).collect()),
            pages(vec![sparse(vec![vec![(1, 2.0), (9, -1.0)]]), sparse(vec![vec![]]), sparse(vec![vec![]])]),
            Snapshot { pages: Vec::new(), kept: Vec::new(), blocks: sparse_blocks },
            pages(vec![Arc::new(Buffer::I32(Content::Sparse(vec![vec![(4, -1)]])))]),
            Snapshot { kept: kept.to_vec(), ..pages(vec![f32s(&[1.0]), f32s(&[2.0])]) },
        ],
        schedule: vec![0, 255, 7],
        clock: Clock(12),
        seconds: 1.25,
        staleness: 3,
        history: vec![Progress { seconds: 0.5, clock: Clock(6), staleness: 1, mark }],
        records: BTreeMap::from([(WorkerId(3), Default::default())]),
    }
}

fn text(saved: &Saved) -> String {
    format!("{saved:?}")
}

/// The one file of a directory that was just written to.
fn written(directory: &Path) -> PathBuf {
    Directory::create(directory).unwrap().put(&fingerprint(), &saved()).unwrap().1
}

#[test]
fn a_checkpoint_reads_as_it_was_written() {
    let directory = tempfile::tempdir().unwrap();
    let checkpoint = Checkpoint::read(&written(directory.path())).unwrap();
    assert_eq!(text(&checkpoint.saved), text(&saved()));
    assert_eq!((checkpoint.number, checkpoint.fingerprint), (1, fingerprint()));
    assert_eq!(checkpoint.saved.check(&tables()), Ok(()));
}

#[test]
fn rows_that_are_missing_or_doubled_are_noticed() {
    let why = |change: fn(&mut Saved)| {
        let mut saved = saved();
        change(&mut saved);
        saved.check(&tables()).unwrap_err()
    };
    assert_eq!(why(|saved| drop(saved.tables[2].pages.pop())), "the rows of table c are not all there");
    assert!(why(|saved| saved.tables[1].blocks[0].0 = BlockId(1)).contains("table b"));
    assert!(
        why(|saved| saved.tables[0].pages[1].1 = Arc::clone(&saved.tables[0].pages[2].1)).contains("table a")
    );
    assert!(why(|saved| drop(saved.tables[6].kept.pop())).contains("table g"));
    assert!(why(|saved| saved.tables[6].kept[0].0 = PageId(1)).contains("table g"));
    assert!(
        why(|saved| saved.tables[6].kept[0].1 = (*saved.tables[6].pages[0].1).clone()).contains("table g")
    );
    assert!(why(|saved| saved.tables.truncate(1)).contains("it has 1 tables, the job has 7"));
}

#[test]
fn shards_get_every_row_once_however_many_there_are() {
    let saved = saved();
    for n in 1..5 {
        let placement = Placement::over(n);
        let shares: Vec<_> = (0..n).flat_map(|shard| saved.share_of(ShardId::at(shard), placement)).collect();
        let count = |of: fn(&Snapshot) -> usize| shares.iter().map(|(_, share)| of(share)).sum::<usize>();
        assert_eq!(
            (count(|share| share.pages.len()), count(|share| share.blocks.len())),
            (3 + 6 + 3 + 1 + 2, 4)
        );
        assert_eq!(count(|share| share.kept.len()), 2);
    }
}

#[test]
fn every_flipped_byte_and_every_truncation_is_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let path = written(directory.path());
    let whole = fs::read(&path).unwrap();
    let refused = |bytes: &[u8], what: String| {
        fs::write(&path, bytes).unwrap();
        let error = Checkpoint::read(&path).expect_err(&what).to_string();
        assert!(
            error.starts_with(&path.display().to_string()) && error.contains("remove it"),
            "{what}: {error}"
        );
    };
    for at in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[at] ^= 1 << (at % 8);
        refused(&flipped, format!("byte {at} flipped"));
        refused(&whole[..at], format!("cut at {at}"));
    }
    refused(&[&whole[..], &[0]].concat(), "a byte too many".to_owned());
    fs::write(&path, &whole).unwrap();
    Checkpoint::read(&path).unwrap();
}

proptest! {
    #[test]
    fn garbage_is_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300), keep in 0usize..40, at in 0usize..2000) {
        let directory = tempfile::tempdir().unwrap();
        let path = written(directory.path());
        let mut damaged = fs::read(&path).unwrap();
        let at = at.min(damaged.len());
        damaged.splice(at..(at + keep).min(damaged.len()), bytes);
        let same = damaged == fs::read(&path).unwrap();
        fs::write(&path, &damaged).unwrap();
        prop_assert!(same || Checkpoint::read(&path).is_err());
    }
}

#[test]
fn a_newer_format_is_refused_with_both_numbers() {
    let directory = tempfile::tempdir().unwrap();
    let path = written(directory.path());
    let mut bytes = fs::read(&path).unwrap();
    bytes[8] = 9;
    fs::write(&path, bytes).unwrap();
    let error = Checkpoint::read(&path).unwrap_err().to_string();
    assert!(error.contains("is a checkpoint of format 9, this program reads format 1"), "{error}");
}

#[test]
fn the_newest_two_are_kept_and_the_newest_whole_one_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("deeper");
    let names = || {
        let mut names: Vec<_> = fs::read_dir(&path)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    assert!(Directory::newest(&path).unwrap().checkpoint.is_none());
    assert!(!Directory::holds_some(&path));
    for _ in 0..4 {
        written(&path);
    }
    assert_eq!(names(), ["checkpoint-00000003.slk", "checkpoint-00000004.slk"]);
    assert!(Directory::holds_some(&path));
    let bytes = fs::read(path.join("checkpoint-00000004.slk")).unwrap();
    fs::write(path.join("checkpoint-00000004.slk"), &bytes[..bytes.len() / 2]).unwrap();
    let newest = Directory::newest(&path).unwrap();
    assert_eq!(newest.checkpoint.unwrap().number, 3);
    assert!(newest.refused[0].to_string().contains("checkpoint-00000004.slk: "), "{:?}", newest.refused);
    written(&path);
    assert_eq!(Directory::newest(&path).unwrap().checkpoint.unwrap().number, 5);
    Directory::clear(&path).unwrap();
    assert_eq!(names(), [""; 0]);
}

#[test]
fn what_cannot_be_written_leaves_the_last_one() {
    let directory = tempfile::tempdir().unwrap();
    let kept = Directory::create(directory.path()).unwrap();
    kept.put(&fingerprint(), &saved()).unwrap();
    let mut damaged = saved();
    damaged.tables[0].pages[2].1 = Arc::new(Buffer::F32(Content::Dense(vec![0.0, f32::NAN, 0.0])));
    let error = kept.put(&fingerprint(), &damaged).unwrap_err().to_string();
    assert!(error.contains("table a holds a NaN"), "{error}");
    fs::create_dir(directory.path().join(".checkpoint.partial")).unwrap(); // in the way of the next one
    assert!(kept.put(&fingerprint(), &saved()).unwrap_err().to_string().contains("the last one is kept"));
    assert_eq!(Directory::newest(directory.path()).unwrap().checkpoint.unwrap().number, 1);
    assert!(Directory::create(&directory.path().join("checkpoint-00000001.slk")).is_err());
}
