//! Against plain loops, against planted clusters, and at the edges.

use ndarray::{Array2, arr2};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::actor::Setup;
use super::centres::{Centres, Rows};
use super::params::Params;
use super::serial::Serial;
use super::solver::{self, NONE, Room, Sums};
use super::{KMeans, seeding};
use crate::catalog::{App, Array, Request, Trained, Watch};
use crate::data::points::{Features, Sparse};

/// Rows without clusters: what a bound misses shows here first.
fn uniform(n: usize, columns: usize, seed: u64) -> Array2<f32> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    Array2::from_shape_simple_fn((n, columns), || rng.random_range(-1.0..1.0))
}

/// Rows around `k` corners, far from each other and from the origin.
fn planted(n: usize, k: usize, far: f32) -> Array2<f32> {
    let mut rows = uniform(n, 3, 5);
    for (i, mut row) in rows.outer_iter_mut().enumerate() {
        let corner = (i % k) as f32;
        row.iter_mut()
            .zip([corner, corner * corner, -corner])
            .for_each(|(x, at)| *x = *x * 0.1 + 4.0 * at + far);
    }
    rows
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

fn setup(rows: Rows, request: &Request) -> (Setup, Params) {
    let params = Params::parse(request).unwrap();
    let seeds = seeding::seeds(&rows, params.clusters, request.seed, 2).unwrap();
    (Setup::new(rows, seeds, &params, request.seed), params)
}

fn request(k: usize) -> Request {
    Request::on("unread").with("clusters", k)
}

/// Iterations of the step on one part, as a worker takes them; every cost is checked against the exact inertia.
fn iterate(rows: &Rows, seeds: &Array2<f32>, n: usize) -> (Centres, Vec<i32>) {
    let mut sums = Sums::zeros((seeds.nrows(), seeds.ncols() + 1));
    let mut centre = vec![NONE; rows.len()];
    let mut room = Room::new(seeds.ncols(), seeds.nrows());
    for _ in 0..n {
        let centres = solver::centres(&sums, seeds, rows);
        let mut change = Sums::zeros(sums.dim());
        let found = solver::full(rows, (0, 0..rows.len()), &centres, &mut room, (&mut centre, &mut change));
        let exact = solver::inertia(rows, &centres);
        assert!((found.cost - exact).abs() < 1e-5 * (exact + 1.0), "{} is not {exact}", found.cost);
        sums += &change;
    }
    (solver::centres(&sums, seeds, rows), centre)
}

#[test]
fn passes_are_iterations_of_lloyd_although_most_rows_are_passed_over() {
    for (n, columns, k) in [(2_000, 2, 7), (1_000, 20, 12), (300, 5, 1), (40, 3, 40)] {
        for features in [Features::Dense(uniform(n, columns, 3)), sparse(&uniform(n, columns, 3))] {
            let (setup, _) = setup(Rows::new(features), &request(k));
            let mut serial = Serial::new(&setup);
            (0..30).map(|_| serial.iteration()).for_each(drop);
            let (centres, _) = iterate(setup.rows(), setup.seeds(), 30);
            let off = centres.rows.iter().zip(serial.centres()).map(|(a, b)| (f64::from(*a) - b).abs());
            assert!(off.fold(0.0, f64::max) < 1e-5, "{n} x {columns}, {k} clusters");
        }
    }
}

#[test]
fn a_worker_that_gets_a_part_anew_finds_the_same() {
    let (setup, _) = setup(Rows::new(Features::Dense(uniform(500, 4, 1))), &request(6));
    let (rows, seeds) = (setup.rows(), setup.seeds());
    let (centres, mut centre) = iterate(rows, seeds, 3);
    let mut other = centre.clone();
    let mut changes = [(); 2].map(|()| Sums::zeros((6, 5)));
    let mut fresh = Room::new(4, 6);
    let first = solver::full(rows, (0, 0..500), &centres, &mut fresh, (&mut centre, &mut changes[0]));
    let again =
        solver::full(rows, (0, 0..500), &centres, &mut Room::new(4, 6), (&mut other, &mut changes[1]));
    assert_eq!((first, &changes[0], &centre), (again, &changes[1], &other));
    assert_eq!(first.shift, None);
}

#[test]
fn seeds_are_rows_one_in_each_planted_cluster_whatever_the_number_of_threads() {
    let rows = Rows::new(Features::Dense(planted(20_000, 9, 0.0)));
    let [one, three] = [1, 3].map(|threads| seeding::seeds(&rows, 9, 11, threads).unwrap());
    assert_eq!(one, three);
    let all = rows.features.to_dense();
    assert!(one.outer_iter().all(|seed| all.outer_iter().any(|row| row == seed)));
    assert_ne!(one, seeding::seeds(&rows, 9, 12, 1).unwrap());
    // Every cluster has a seed: the inertia is that of the noise, 3 columns of variance 0.01 / 3 around a random row each.
    let inertia = solver::inertia(&rows, &Centres::new(one, false));
    assert!(inertia / 20_000.0 < 0.05, "{inertia}");
}

fn train(data: &Array2<f32>, request: &Request) -> Trained {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.npy");
    crate::data::npy::write(&path, &Array::F32(data.clone().into_dyn())).unwrap();
    let request = Request { data: path, ..request.clone() };
    KMeans.train(&request, &Watch::nobody()).unwrap()
}

#[test]
fn a_run_under_bsp_is_lloyd_with_one_worker_and_with_three() {
    let data = uniform(3_000, 6, 8);
    let request = request(10).with("tol", 0);
    let (setup, _) = setup(Rows::new(Features::Dense(data.clone())), &request);
    let mut serial = Serial::new(&setup);
    serial.full(300, 0.0);
    let expected = serial.inertia();
    for workers in [1, 3] {
        let trained = train(&data, &Request { workers, ..request.clone() });
        assert!((trained.objective / expected - 1.0).abs() < 1e-6, "{} is not {expected}", trained.objective);
        assert_eq!(trained.metrics["inertia"], trained.objective);
        let Array::I64(sizes) = &trained.arrays[1].1 else { panic!("sizes are counts") };
        assert_eq!(sizes.sum(), 3_000);
    }
}

#[test]
fn batches_are_those_of_the_plain_loop() {
    let data = uniform(2_000, 5, 2);
    let request = request(8).with("method", "batch").with("batch", 100).with("epochs", 3).with("tol", 0);
    let (setup, params) = setup(Rows::new(Features::Dense(data.clone())), &request);
    let mut serial = Serial::new(&setup);
    serial.batches(&setup, params.epochs, 0);
    let trained = train(&data, &Request { consistency: Some("bsp".to_owned()), ..request });
    assert!((trained.objective / serial.inertia() - 1.0).abs() < 1e-5);
}

#[test]
fn planted_clusters_are_found_far_from_the_origin_by_every_consistency_and_method() {
    let data = planted(1_800, 6, 1_000.0);
    for method in ["full", "batch"] {
        for consistency in ["bsp", "ssp:2", "essp:2", "async"] {
            let request = Request {
                workers: 3,
                consistency: Some(consistency.to_owned()),
                ..request(6).with("method", method).with("batch", 64)
            };
            let trained = train(&data, &request);
            // 3 columns of variance 0.01 / 3 each.
            let each = trained.objective / 1_800.0;
            assert!((each - 0.01).abs() < 0.001, "{method} under {consistency}: {each}");
            assert_eq!(trained.metrics["empty_clusters"], 0.0);
        }
    }
}

#[test]
fn the_best_of_several_starts_is_kept() {
    let data = uniform(400, 3, 4);
    let alone: Vec<f64> =
        (0..4).map(|seed| train(&data, &Request { seed, ..request(7) }).objective).collect();
    let best = train(&data, &request(7).with("restarts", 4)).objective;
    assert_eq!(best, alone.into_iter().fold(f64::INFINITY, f64::min));
}

#[test]
fn equal_rows_and_one_row_are_clusters_too() {
    let equal = train(&Array2::from_elem((9, 2), 3.5), &request(4));
    assert_eq!((equal.objective, equal.metrics["empty_clusters"]), (0.0, 3.0));
    let one = train(&arr2(&[[1.0, -2.0]]), &request(1));
    assert_eq!(one.objective, 0.0);
    let Array::F32(centres) = &one.arrays[0].1 else { panic!("centres are single") };
    assert_eq!(centres, &arr2(&[[1.0f32, -2.0]]).into_dyn());
}

#[test]
fn fewer_rows_than_clusters_are_refused() {
    let rows = Rows::new(Features::Dense(uniform(3, 2, 1)));
    let said = seeding::seeds(&rows, 4, 0, 1).unwrap_err().to_string();
    assert_eq!(said, "3 rows make no 4 clusters; choose --clusters 3 or less");
}

#[test]
fn labels_of_a_table_are_left_out_where_they_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.csv");
    std::fs::write(&path, "x,kind,y\n1,a,2\n1,a,2\n9,b,9\n9,b,9\n").unwrap();
    let request = Request { data: path.clone(), ..request(2).with("label-column", "kind") };
    let trained = KMeans.train(&request, &Watch::nobody()).unwrap();
    assert_eq!(trained.objective, 0.0);
    let run = tempfile::tempdir().unwrap();
    let model = run.path().join("model");
    std::fs::create_dir(&model).unwrap();
    for (name, array) in &trained.arrays {
        crate::data::npy::write(&model.join(format!("{name}.npy")), array).unwrap();
    }
    for (name, lines) in &trained.texts {
        crate::data::text::write_lines(&model.join(name), lines).unwrap();
    }
    assert_eq!(KMeans.evaluate(run.path(), &path).unwrap()["inertia"], 0.0);
}
