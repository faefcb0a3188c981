//! Tables of every kind hold what apps put into them.

use std::sync::Arc;

use slackline::prelude::*;
use slackline::values::{Buffer, Content, Element};
use slackline::{Beside, BlockId, Outcome, Trained, UpdateRule};

use crate::Does;

fn train(job: Job, app: impl Fn(Step) -> Outcome + Clone + Send + Sync + Unpin + 'static) -> Trained {
    let run = job.start(move |_| Does(app.clone())).expect("it can be started");
    run.wait().expect("it completes")
}

fn ssp() -> Job {
    Job::new("tables").schedule(Fixed::new(4, 3)).consistency(Consistency::Ssp(1)).local(2).shards(3)
}

/// Twelve steps add the numbers 0, 1, 2, … to a row wider than a page.
fn wide<T: Element + From<i8>>() {
    let table = Table::dense("wide", 2, 50).of::<T>().paged(7);
    let trained = train(ssp().table(table), |mut step| {
        let mut delta = step.delta::<T>("wide");
        let row: Vec<T> = (0..50).map(|column| T::from(column as i8)).collect();
        delta.add_row(1, &row);
        step.add(delta);
        step.done(0.0)
    });
    let array = trained.model.dense::<T>("wide");
    let mut expected = T::default();
    (0..12).for_each(|_| expected += T::from(49));
    assert_eq!((array[[0, 49]], array[[1, 49]]), (T::default(), expected));
}

#[test]
fn rows_of_every_type_add_up() {
    wide::<f32>();
    wide::<f64>();
    wide::<i32>();
}

#[test]
fn sparse_shared_rows_add_up_and_lose_what_became_zero() {
    let table = Table::sparse("sparse", 2, 1000).of::<i32>().paged(100);
    let trained = train(ssp().table(table), |mut step| {
        let mut delta = step.delta::<i32>("sparse");
        delta.add_at(0, 999, 1);
        delta.add_at(0, 5, 2);
        delta.add_at(1, 7, if step.part().0.is_multiple_of(2) { 1 } else { -1 });
        step.add(delta);
        step.done(0.0)
    });
    assert_eq!(trained.model.sparse::<i32>("sparse"), [vec![(5, 24), (999, 12)], vec![]]);
}

#[test]
fn leased_rows_are_written_in_place_dense_and_sparse() {
    let dense = Table::dense("dense", 5, 2).of::<f64>().leased_by_part(&[0, 2, 3, 4]);
    let dense = dense.starting(|row, values: &mut [f64]| values.fill(row as f64));
    let sparse = Table::sparse("sparse", 4, 9).of::<i32>().leased_by_part(&[0, 1, 2, 3]);
    let trained = train(ssp().table(dense).table(sparse), |mut step| {
        let [mut dense] = step.lease::<f64, 1>(["dense"]);
        dense.row(0)[1] += 1.0;
        let [mut sparse] = step.lease::<i32, 1>(["sparse"]);
        let row = sparse.sparse_row(0);
        row.push((row.len() as u32, 7));
        step.done(0.0)
    });
    let array = trained.model.dense::<f64>("dense");
    assert_eq!(array.row(1).to_vec(), [1.0, 1.0], "not the first row of its block");
    assert_eq!(array.row(2).to_vec(), [2.0, 5.0]);
    assert_eq!(trained.model.sparse::<i32>("sparse")[3], [(0, 7), (1, 7), (2, 7)]);
}

#[test]
fn a_rotation_writes_part_and_block_in_one_step() {
    let users = Table::dense("users", 3, 1).of::<i32>().leased_by_part(&[0, 1, 2]);
    let items = Table::dense("items", 4, 1).of::<i32>().leased_by_block(&[0, 1, 2, 3]);
    let job = Job::new("cells").table(users).table(items).schedule(Rotation::new(3, 4, 5, 1));
    let trained = train(job.consistency(Consistency::Ssp(2)).local(3), |mut step| {
        let [mut user, mut item] = step.lease::<i32, 2>(["users", "items"]);
        user.values()[0] += 1;
        item.values()[0] += 1;
        step.done(0.0)
    });
    assert_eq!(trained.model.dense::<i32>("users").as_slice(), Some(&[20; 3][..]));
    assert_eq!(trained.model.dense::<i32>("items").as_slice(), Some(&[15; 4][..]));
}

#[test]
fn a_table_reads_just_the_rows_it_was_told_to() {
    let table = Table::dense("rows", 8, 4).paged(4).reading(|part| vec![part.0 * 2]);
    train(ssp().table(table), |step| {
        let rows = step.read::<f32>("rows");
        assert_eq!(rows.row(step.part().index() * 2).len(), 4);
        step.done(0.0)
    });
}

#[test]
fn empty_tables_and_empty_readings_are_read_as_such() {
    let empty = Table::dense("empty", 0, 3);
    let unread = Table::dense("unread", 3, 1).reading(|_| Vec::new());
    let narrow = Table::dense("narrow", 3, 0);
    let blocks = Table::dense("blocks", 0, 2).leased_by_part(&[0, 0, 0, 0]);
    let job = ssp().table(empty).table(unread).table(narrow).table(blocks);
    let trained = train(job, |mut step| {
        assert_eq!(step.read::<f32>("empty").to_array().dim(), (0, 3));
        step.read::<f32>("unread");
        assert_eq!(step.read::<f32>("narrow").to_array().dim(), (3, 0));
        assert_eq!(step.lease::<f32, 1>(["blocks"])[0].values().len(), 0);
        step.done(0.0)
    });
    assert_eq!(trained.model.dense::<f32>("empty").dim(), (0, 3));
    assert_eq!(trained.model.dense::<f32>("blocks").dim(), (0, 2));
}

/// Keeps the largest.
struct Largest;

impl UpdateRule for Largest {
    fn fold(&self, page: &mut Buffer, delta: &Buffer, _: Beside<'_>) {
        let (Buffer::I32(Content::Dense(page)), Buffer::I32(Content::Dense(delta))) = (page, delta) else {
            panic!("an i32 table");
        };
        page.iter_mut().zip(delta).for_each(|(page, delta)| *page = (*page).max(*delta));
    }
}

#[test]
fn a_rule_of_ones_own_folds_updates_and_is_read_back() {
    let table = Table::dense("largest", 1, 2).of::<i32>().rule(Rule::Custom(Arc::new(Largest)));
    let trained = train(ssp().table(table), |mut step| {
        let clock = step.clock().0 as i32;
        let seen = step.read::<i32>("largest").row(0)[1];
        assert!(clock == 0 || seen >= 1, "a worker reads after it wrote");
        let mut delta = step.delta::<i32>("largest");
        delta.row(0).copy_from_slice(&[step.part().0 as i32, 1]);
        step.add(delta);
        step.done(0.0)
    });
    assert_eq!(trained.model.dense::<i32>("largest").as_slice(), Some(&[3, 1][..]));
}

/// Momentum: `v ← v / 2 + g`, `w ← w + v`.
struct Momentum;

impl UpdateRule for Momentum {
    fn n_kept(&self, n: usize) -> usize {
        n
    }
    fn fold(&self, page: &mut Buffer, delta: &Buffer, beside: Beside<'_>) {
        let (Buffer::F32(page), Buffer::F32(delta), Buffer::F32(kept)) = (page, delta, beside.kept) else {
            panic!("an f32 table");
        };
        let pairs = kept.dense_mut().iter_mut().zip(delta.dense());
        for (weight, (velocity, gradient)) in page.dense_mut().iter_mut().zip(pairs) {
            *velocity = *velocity / 2.0 + gradient;
            *weight += *velocity;
        }
    }
}

#[test]
fn a_rule_that_keeps_numbers_of_its_own_gets_them_back_whether_updates_leave_early_or_not() {
    for early in [false, true] {
        let table = Table::dense("w", 2, 3).paged(2).rule(Rule::Custom(Arc::new(Momentum)));
        let job = Job::new("momentum").schedule(Fixed::new(1, 4)).table(table).shards(2);
        let trained = train(job, move |mut step| {
            let mut delta = step.delta::<f32>("w");
            delta.add_row(1, &[1.0, 2.0, 0.0]);
            if early {
                step.send(delta);
            } else {
                step.add(delta);
            }
            step.done(0.0)
        });
        // v = 1, 3/2, 7/4, 15/8
        let row = [6.125, 12.25, 0.0];
        assert_eq!(trained.model.dense::<f32>("w").row(1).to_vec(), row);
    }
}

#[test]
fn a_table_that_is_read_by_row_has_no_room_for_numbers_of_a_rule() {
    let table = Table::dense("w", 2, 3).rule(Rule::Custom(Arc::new(Momentum))).reading(|_| vec![0]);
    let Err(error) = Job::new("momentum").table(table).start(|_| Does(|step: Step| step.done(0.0))) else {
        panic!("refused");
    };
    let expected = "the update rule of table w keeps numbers beside pages: the table must be shared and dense, and be \
                    read whole instead of by row";
    assert!(error.to_string().ends_with(expected), "{error}");
}

#[test]
fn assigned_values_stay_as_they_were_written() {
    let table = Table::dense("last", 4, 2).rule(Rule::Assign);
    let trained = train(ssp().table(table), |mut step| {
        let mut delta = step.delta::<f32>("last");
        delta.row(step.part().index()).fill(step.orders()[0] as f32);
        step.add(delta);
        step.done(0.0)
    });
    assert_eq!(trained.model.dense::<f32>("last").as_slice(), Some(&[2.0; 8][..]));
}

#[test]
fn an_evaluation_reads_every_block_and_changes_none() {
    let items = Table::dense("items", 4, 1).leased_by_block(&[0, 1, 2, 3]);
    let rotation = Rotation::new(2, 4, 2, 1);
    let schedule = Evaluated::new(rotation, 2, 1, Box::new(|cost, _| (cost, Vec::new())));
    let job = Job::new("evaluated").table(items).schedule(schedule).consistency(Consistency::Essp(1));
    let trained = train(job.local(2), |mut step| {
        if step.phase() == Phase::Evaluate {
            let blocks = step.blocks::<f32>("items");
            return step.done(blocks.iter().map(|block| f64::from(block.values()[0])).sum());
        }
        assert!(step.block().is_some_and(|block| block < BlockId(4)));
        step.lease::<f32, 1>(["items"])[0].values()[0] += 1.0;
        step.done(0.0)
    });
    assert_eq!(trained.history.last().unwrap().mark.objective, 2.0 * 16.0, "16 cells, seen by both parts");
}
