//! Against finite differences, plain loops and planted metrics.

use std::path::PathBuf;

use ndarray::{Array2, arr2};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::actor::Setup;
use super::gradient::{Batch, Metric, Room};
use super::pairs::{Pair, Pairs};
use super::scores::{Classed, average_precision, knn_accuracy, transform};
use super::serial::{self, Serial};
use super::{MetricLearning, Params};
use crate::catalog::{App, Request, Trained, Watch};
use crate::data::points::{Features, Sparse};

fn random(n: usize, columns: usize, seed: u64) -> Array2<f32> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    Array2::from_shape_simple_fn((n, columns), || rng.random_range(-1.0..1.0))
}

/// Rows of three classes that differ in two of eight columns; the others are noise of four times their size.
fn planted(n: usize, seed: u64) -> (Array2<f32>, Vec<u32>) {
    let mut rows = random(n, 8, seed);
    let classes: Vec<u32> = (0..n as u32).map(|row| row % 3).collect();
    for (mut row, class) in rows.outer_iter_mut().zip(&classes) {
        row.iter_mut().skip(2).for_each(|x| *x *= 8.0);
        row[0] = 0.5 * row[0] + 2.0 * (*class as f32);
        row[1] = 0.5 * row[1] - 2.0 * f32::from(u8::from(*class == 1));
    }
    (rows, classes)
}

fn sparse(dense: &Array2<f32>) -> Features {
    let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in dense.outer_iter() {
        for (column, x) in row.iter().enumerate().filter(|(_, x)| **x != 0.0) {
            columns.push(column as u32);
            values.push(*x);
        }
        starts.push(columns.len());
    }
    Features::Sparse(Sparse::new(dense.dim(), starts, columns, values))
}

fn some_pairs(n_rows: u32, n: usize, seed: u64) -> Vec<Pair> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    (0..n).map(|_| [(); 2].map(|()| rng.random_range(0..n_rows))).collect()
}

#[test]
fn the_gradient_of_the_plain_loop_is_that_of_finite_differences() {
    let (rows, mut map) = (random(30, 5, 1).mapv(f64::from), random(3, 5, 2).mapv(f64::from));
    let (similar, dissimilar) = (some_pairs(30, 40, 3), some_pairs(30, 50, 4));
    let metric = Metric { lambda: 2.5, margin: 1.5 };
    let cost = |map: &Array2<f64>| serial::objective(metric, (&similar, &dissimilar), &rows, map).0;
    let gradient = serial::objective(metric, (&similar, &dissimilar), &rows, &map).1;
    for at in [(0, 0), (1, 3), (2, 4), (0, 2)] {
        let (value, step) = (map[at], 1e-6);
        map[at] = value + step;
        let above = cost(&map);
        map[at] = value - step;
        let slope = (above - cost(&map)) / (2.0 * step);
        map[at] = value;
        assert!(
            (slope - gradient[at]).abs() < 1e-6 * (1.0 + slope.abs()),
            "{at:?}: {slope} {}",
            gradient[at]
        );
    }
}

#[test]
fn the_gradient_by_products_of_matrices_is_that_of_the_plain_loop_dense_and_sparse() {
    let mut rows = random(200, 12, 5);
    rows.iter_mut().for_each(|x| *x = if *x < 0.2 { 0.0 } else { *x });
    let map = random(4, 12, 6);
    let (similar, dissimilar) = (some_pairs(200, 300, 7), some_pairs(200, 700, 8));
    let metric = Metric { lambda: 3.0, margin: 1.0 };
    let pairs = (similar.as_slice(), dissimilar.as_slice());
    let (cost, expected) = serial::objective(metric, pairs, &rows.mapv(f64::from), &map.mapv(f64::from));
    let batch = Batch { similar: &similar, dissimilar: &dissimilar };
    for features in [Features::Dense(rows.clone()), sparse(&rows)] {
        let (mut room, mut to) = (Room::new(&features, 4), Array2::from_elem((4, 12), f32::NAN));
        let losses = metric.gradient(&features, batch, &map, (&mut room, &mut to));
        assert_eq!(losses, metric.losses(&features, batch, &map, &mut room));
        let found = losses.similar / 300.0 + 3.0 * losses.dissimilar / 700.0;
        assert!((found / cost - 1.0).abs() < 1e-5, "{found} is not {cost}");
        let off = to.iter().zip(&expected).map(|(a, b)| (f64::from(*a) - b).abs());
        assert!(off.fold(0.0, f64::max) < 1e-5);
    }
}

#[test]
fn precision_is_the_mean_share_of_similar_pairs_among_those_as_near() {
    let rows = arr2(&[[0.0f32], [1.0], [3.0], [7.0]]);
    let pairs = Pairs { similar: vec![[0, 1], [0, 3]], dissimilar: vec![[1, 2], [2, 3]] };
    // By distance: 0-1 (similar), 1-2, 2-3, 0-3 (similar): (1/1 + 2/4) / 2.
    assert!((average_precision(&rows, &pairs) - 0.75).abs() < 1e-12);
}

#[test]
fn neighbours_vote_and_a_tie_goes_to_the_nearest() {
    let among = arr2(&[[0.0f32], [1.0], [2.0], [3.0], [4.0], [50.0]]);
    let classes = [7, 7, 1, 1, 2, 2];
    let among = Classed { rows: &among, classes: &classes };
    let accuracy = |at: f32, class: u32| {
        let row = arr2(&[[at]]);
        knn_accuracy(among, Classed { rows: &row, classes: &[class] }, false)
    };
    assert_eq!(
        [accuracy(0.4, 7), accuracy(0.4, 1), accuracy(2.6, 1), accuracy(1.4, 7)],
        [1.0, 0.0, 1.0, 1.0]
    );
    // Left out of its own vote, each row has one of its class among its five neighbours, and two of another.
    assert_eq!(knn_accuracy(among, among, true), 0.0);
}

#[test]
fn neighbours_over_many_blocks_are_those_of_a_plain_loop() {
    let (train, test) = (random(5_000, 3, 1), random(300, 3, 2));
    let classes: Vec<u32> =
        (0..5_000u32).map(|row| u32::from(train[[row as usize, 0]] > 0.0) + row % 2).collect();
    let mut right = 0;
    for row in test.outer_iter() {
        let distance = |i: usize| train.row(i).iter().zip(row).map(|(x, y)| (x - y) * (x - y)).sum::<f32>();
        let mut all: Vec<usize> = (0..5_000).collect();
        all.sort_by(|a, b| distance(*a).total_cmp(&distance(*b)));
        let mut votes = [0; 3];
        all[..5].iter().for_each(|i| votes[classes[*i] as usize] += 1);
        let most = votes.iter().max().unwrap();
        right += usize::from(
            all[..5].iter().map(|i| classes[*i]).find(|c| votes[*c as usize] == *most) == Some(1),
        );
    }
    let among = Classed { rows: &train, classes: &classes };
    let found = knn_accuracy(among, Classed { rows: &test, classes: &vec![1; 300] }, false);
    assert!((found - right as f64 / 300.0).abs() < 0.004, "{found} is not {right} of 300"); // a near tie may fall otherwise
}

#[test]
fn drawn_pairs_are_what_they_say() {
    let classes = [0, 1, 1, 2, 2, 2, 3];
    let pairs = Pairs::draw(&classes, 1_000, 5).unwrap();
    assert_eq!((pairs.similar.len(), pairs.dissimilar.len()), (500, 500));
    let same = |[a, b]: &Pair| classes[*a as usize] == classes[*b as usize];
    assert!(pairs.similar.iter().all(|pair| same(pair) && pair[0] != pair[1]));
    assert!(!pairs.dissimilar.iter().any(same));
    assert_eq!(Some(pairs), Pairs::draw(&classes, 1_000, 5));
    assert_eq!(Pairs::draw(&[4, 4, 4], 10, 1), None);
    assert_eq!(Pairs::draw(&[0, 1, 2], 10, 1), None);
    assert_eq!(Pairs::draw(&[], 10, 1), None);
}

fn request() -> Request {
    let request = Request::on("unread").with("rank", 2).with("batch", 60).with("n-pairs", 1_200);
    request.with("epochs", 8).with("lambda", 5)
}

#[test]
fn a_run_is_that_of_the_plain_loop_and_finds_the_planted_columns() {
    let (rows, classes) = planted(240, 3);
    let params = Params::parse(&request()).unwrap();
    let pairs = Pairs::draw(&classes, params.n_pairs, 0).unwrap();
    let setup = Setup::new(Features::Dense(rows.clone()), pairs, &params, 0).unwrap();
    let mut serial = Serial::new(&setup);
    let before = serial.objective();
    serial.run(0);
    assert!(serial.objective() < 0.7 * before, "{} of {before}", serial.objective());

    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, rows: &Array2<f32>, classes: &[u32]| -> PathBuf {
        let line = |(row, class): (ndarray::ArrayView1<'_, f32>, &u32)| {
            let values: Vec<String> = row.iter().map(ToString::to_string).collect();
            format!("{class},{}\n", values.join(","))
        };
        let path = folder.path().join(name);
        std::fs::write(&path, rows.outer_iter().zip(classes).map(line).collect::<String>()).unwrap();
        path
    };
    let (test_rows, test_classes) = planted(90, 4);
    let (data, test) = (write("train", &rows, &classes), write("test", &test_rows, &test_classes));
    let request = Request {
        data,
        test: Some(test),
        consistency: Some("bsp".to_owned()),
        ..request().with("standardise", false)
    };
    let trained = MetricLearning.train(&request, &Watch::nobody()).unwrap();
    // The first steps of AdaGrad are the signs of the gradient, where single precision now and then falls otherwise.
    let (found, expected) = (trained.objective, serial.objective());
    assert!((found / expected - 1.0).abs() < 1e-2, "{found} {expected}");
    let Trained { metrics, .. } = &trained;
    assert!(metrics["pair_ap"] > metrics["euclidean_pair_ap"] + 0.1, "{metrics:?}");
    assert!(metrics["knn_accuracy"] > metrics["euclidean_knn_accuracy"], "{metrics:?}");
    let mapped = transform(&sparse(&rows), &serial.map().mapv(|x| x as f32));
    let dense = transform(&Features::Dense(rows), &serial.map().mapv(|x| x as f32));
    assert!(mapped.iter().zip(&dense).all(|(a, b)| (a - b).abs() < 1e-5));
}

#[test]
fn every_consistency_reaches_the_objective() {
    let (rows, classes) = planted(240, 3);
    let folder = tempfile::tempdir().unwrap();
    let (data, labels, pairs) =
        (folder.path().join("x.npy"), folder.path().join("y"), folder.path().join("pairs"));
    crate::data::npy::write(&data, &crate::catalog::Array::F32(rows.into_dyn())).unwrap();
    std::fs::write(&labels, classes.iter().map(|class| format!("{class}\n")).collect::<String>()).unwrap();
    let drawn = Pairs::draw(&classes, 1_200, 9).unwrap();
    let lines =
        |pairs: &[Pair], same| pairs.iter().map(|[i, j]| format!("{i}\t{j}\t{same}\n")).collect::<String>();
    std::fs::write(&pairs, lines(&drawn.similar, 1) + &lines(&drawn.dissimilar, 0)).unwrap();
    let objective = |consistency: &str, rate: f64| {
        let request = request().with("pairs", pairs.display()).with("labels", labels.display());
        let request = request.with("baseline", false).with("rate", rate);
        let consistency = Some(consistency.to_owned());
        let request = Request { data: data.clone(), workers: 3, consistency, ..request };
        MetricLearning.train(&request, &Watch::nobody()).unwrap().objective
    };
    let begun = objective("bsp", 1e-9);
    for consistency in ["bsp", "ssp:2", "essp:2", "async"] {
        let ended = objective(consistency, 1.5);
        assert!(ended < 0.2 * begun, "{consistency}: {ended} of {begun}");
    }
}

#[test]
fn what_cannot_be_learned_from_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.csv");
    std::fs::write(&path, "a,1,2\na,2,1\n").unwrap();
    let said = |request: Request| MetricLearning.train(&request, &Watch::nobody()).unwrap_err().to_string();
    let alike = said(Request::on(&path));
    assert!(
        alike.contains("has no two classes of which one has two rows, so that no pairs can be drawn"),
        "{alike}"
    );
    let pairs = folder.path().join("pairs.tsv");
    std::fs::write(&pairs, "0\t1\t1\n").unwrap();
    let one_kind = said(Request::on(&path).with("pairs", pairs.display()));
    assert!(one_kind.ends_with("1 similar and 0 dissimilar pairs, expected some of both"), "{one_kind}");
    let alone = said(Request::on(&path).with("test-labels", "y"));
    assert_eq!(alone, "--test-labels is y, must be given with --test, the rows that they belong to");
}
