//! What alternating least squares promises, each against an independent value: rows solve their equations, the objective is
//! that of the definition and never rises, bits do not depend on workers.

use std::collections::BTreeMap;
use std::path::Path;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::super::cells::Triples;
use super::super::model::Model;
use super::super::solver::Side;
use super::params::Params;
use super::serial::Serial;
use crate::catalog::{App, Array, Request, Watch};
use crate::matrix_factorization::MatrixFactorization;

const SHAPE: (usize, usize) = (40, 30);

/// Ratings that own their columns.
struct Table {
    users: Vec<u32>,
    items: Vec<u32>,
    values: Vec<f32>,
}

impl Table {
    /// A third of all pairs, from 1 to 5, with a planted structure.
    fn made(seed: u64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut rows = |n: usize| -> Vec<[f64; 3]> {
            (0..n).map(|_| std::array::from_fn(|_| random.random_range(-1.0..1.0))).collect()
        };
        let (users, items) = (rows(SHAPE.0), rows(SHAPE.1));
        let mut table = Self { users: vec![], items: vec![], values: vec![] };
        for (u, [b, p0, p1]) in users.iter().enumerate() {
            for (i, [c, q0, q1]) in items.iter().enumerate() {
                if random.random_bool(0.35) {
                    table.users.push(u as u32);
                    table.items.push(i as u32);
                    table.values.push((3.0 + b + c + p0 * q0 + p1 * q1).clamp(1.0, 5.0) as f32);
                }
            }
        }
        table
    }

    fn push(&mut self, user: u32, item: u32, value: f32) {
        self.users.push(user);
        self.items.push(item);
        self.values.push(value);
    }

    fn triples(&self) -> Triples<'_> {
        Triples { users: &self.users, items: &self.items, values: &self.values }
    }

    fn serial(&self, options: &[(&str, &str)]) -> Serial {
        let options: BTreeMap<_, _> = options.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect();
        Serial::new(&self.triples(), SHAPE, Params::parse(&options).unwrap(), 7).unwrap()
    }

    /// The ratings of a user, or of an item: the other id and the value.
    fn of(&self, side: Side, id: usize) -> Vec<(usize, f64)> {
        let all = self.users.iter().zip(&self.items).zip(&self.values);
        let pairs = all.map(|((&u, &i), &value)| match side {
            Side::Users => (u as usize, i as usize, f64::from(value)),
            Side::Items => (i as usize, u as usize, f64::from(value)),
        });
        pairs.filter(|(own, ..)| *own == id).map(|(_, other, value)| (other, value)).collect()
    }
}

const EXPLICIT: &[(&str, &str)] = &[("rank", "5"), ("l2", "0.3"), ("l2-bias", "0.2"), ("prior", "4")];
const IMPLICIT: &[(&str, &str)] = &[("rank", "5"), ("implicit", "true"), ("alpha", "2"), ("l2", "0.7")];

fn with<'a>(options: &[(&'a str, &'a str)], more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    [options, more].concat()
}

/// The gradient of half the objective with respect to a row `(factors, bias)`, by the definition; its bias last.
fn gradient(table: &Table, model: &Model, side: Side, id: usize) -> Vec<f64> {
    let (own, own_bias, others, other_bias) = match side {
        Side::Users => (&model.user_factors, &model.user_bias, &model.item_factors, &model.item_bias),
        Side::Items => (&model.item_factors, &model.item_bias, &model.user_factors, &model.user_bias),
    };
    let row: Vec<f64> = own.row(id).iter().map(|x| f64::from(*x)).collect();
    let other = |other: usize| -> Vec<f64> { others.row(other).iter().map(|y| f64::from(*y)).collect() };
    let dot = |y: &[f64]| row.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    let ratings = table.of(side, id);
    let mut gradient = vec![0.0; row.len() + 1];
    let mut add = |error: f64, y: &[f64]| {
        gradient.iter_mut().zip(y.iter().chain([&1.0])).for_each(|(g, y)| *g += error * y);
    };
    if model.confidence.is_some() {
        for k in 0..others.nrows() {
            let value: f64 = ratings.iter().filter(|(other, _)| *other == k).map(|(_, value)| value).sum();
            let (confidence, target) = (1.0 + 2.0 * value, if value > 0.0 { 1.0 } else { 0.0 });
            let y = other(k);
            add(confidence * (dot(&y) - target), &y);
        }
        gradient.iter_mut().zip(&row).for_each(|(g, x)| *g += 0.7 * x);
        gradient.pop();
    } else {
        let bias = f64::from(own_bias[id]);
        for (k, value) in &ratings {
            let y = other(*k);
            add(model.mean + bias + f64::from(other_bias[*k]) + dot(&y) - value, &y);
        }
        let n = ratings.len() as f64 + 4.0;
        gradient.iter_mut().zip(&row).for_each(|(g, x)| *g += n * 0.3 * x);
        *gradient.last_mut().unwrap() += n * 0.2 * bias;
    }
    gradient
}

/// The objective by its definition, pair by pair.
fn objective(table: &Table, model: &Model) -> f64 {
    let squares = |rows: &ndarray::Array2<f32>, id: usize| -> f64 {
        rows.row(id).iter().map(|x| f64::from(*x).powi(2)).sum()
    };
    let product = |u: usize, i: usize| -> f64 {
        let pairs = model.user_factors.row(u).into_iter().zip(model.item_factors.row(i));
        pairs.map(|(p, q)| f64::from(*p) * f64::from(*q)).sum()
    };
    let mut total = 0.0;
    for u in 0..SHAPE.0 {
        let ratings = table.of(Side::Users, u);
        let bias = f64::from(model.user_bias[u]);
        if model.confidence.is_some() {
            for i in 0..SHAPE.1 {
                let value: f64 =
                    ratings.iter().filter(|(other, _)| *other == i).map(|(_, value)| value).sum();
                let target = if value > 0.0 { 1.0 } else { 0.0 };
                total += (1.0 + 2.0 * value) * (target - product(u, i)).powi(2);
            }
            total += 0.7 * squares(&model.user_factors, u);
            continue;
        }
        for (i, value) in &ratings {
            let error = value - model.mean - bias - f64::from(model.item_bias[*i]) - product(u, *i);
            total += error * error;
        }
        let n = ratings.len() as f64 + 4.0;
        total += n * (0.3 * squares(&model.user_factors, u) + 0.2 * bias * bias);
    }
    for i in 0..SHAPE.1 {
        let n = table.of(Side::Items, i).len() as f64 + 4.0;
        let bias = f64::from(model.item_bias[i]);
        total += match model.confidence {
            Some(_) => 0.7 * squares(&model.item_factors, i),
            None => n * (0.3 * squares(&model.item_factors, i) + 0.2 * bias * bias),
        };
    }
    total
}

#[test]
fn every_row_of_a_half_pass_solves_its_normal_equations() {
    let table = Table::made(1);
    for feedback in [EXPLICIT, IMPLICIT] {
        for exact in [("solver", "cholesky"), ("cg-steps", "60")] {
            let mut run = table.serial(&with(feedback, &[exact]));
            run.pass();
            for (side, n) in [(Side::Users, SHAPE.0), (Side::Items, SHAPE.1)] {
                run.half(side);
                let model = run.model();
                for id in 0..n {
                    let gradient = gradient(&table, &model, side, id);
                    assert!(gradient.iter().all(|g| g.abs() < 1e-3), "{exact:?} {side:?} {id}: {gradient:?}");
                }
            }
        }
    }
}

#[test]
fn rows_that_are_not_negative_satisfy_the_conditions_of_karush_kuhn_and_tucker() {
    let table = Table::made(2);
    for feedback in [EXPLICIT, IMPLICIT] {
        let mut run = table.serial(&with(feedback, &[("nonnegative", "true")]));
        for _ in 0..3 {
            run.pass();
        }
        let model = run.model();
        let mut bound = 0;
        for id in 0..SHAPE.1 {
            let gradient = gradient(&table, &model, Side::Items, id);
            for (k, (&x, g)) in model.item_factors.row(id).iter().zip(&gradient).enumerate() {
                assert!(x >= 0.0 && *g > -5e-3, "item {id}, factor {k}: {x}, {g}");
                assert!(x == 0.0 || g.abs() < 5e-3, "item {id}, factor {k}: {x}, {g}");
                bound += usize::from(x == 0.0);
            }
            if model.confidence.is_none() {
                assert!(gradient[5].abs() < 5e-3, "the bias of item {id} is free: {}", gradient[5]);
            }
        }
        assert!(bound > 0 && model.user_factors.iter().all(|x| *x >= 0.0));
    }
}

#[test]
fn the_objective_is_that_of_the_definition() {
    let table = Table::made(3);
    for options in [EXPLICIT, IMPLICIT] {
        let mut run = table.serial(options);
        for _ in 0..2 {
            run.pass();
            let (found, expected) = (run.score().objective(), objective(&table, &run.model()));
            assert!((found / expected - 1.0).abs() < 1e-5, "{found} for {expected}");
        }
    }
}

#[test]
fn no_half_pass_raises_the_objective() {
    let table = Table::made(4);
    let solvers = [("cg-steps", "1"), ("cg-steps", "3"), ("solver", "cholesky"), ("nonnegative", "true")];
    for feedback in [EXPLICIT, IMPLICIT] {
        for solver in solvers {
            let mut run = table.serial(&with(feedback, &[solver]));
            let mut last = f64::INFINITY;
            for pass in 0..8 {
                for side in [Side::Users, Side::Items] {
                    run.half(side);
                    let now = run.score().objective();
                    assert!(now <= last * (1.0 + 1e-6), "{solver:?}, pass {pass}, {side:?}: {last} to {now}");
                    last = now;
                }
            }
        }
    }
}

#[test]
fn a_few_steps_of_conjugate_gradients_come_where_exact_solutions_come() {
    let table = Table::made(5);
    for feedback in [EXPLICIT, IMPLICIT] {
        let [few, exact] = [("cg-steps", "3"), ("solver", "cholesky")].map(|solver| {
            let mut run = table.serial(&with(feedback, &[solver]));
            (0..40).for_each(|_| run.pass());
            run.score().objective()
        });
        assert!((few / exact - 1.0).abs() < 0.01, "{few} against {exact}");
    }
}

#[test]
fn of_implicit_feedback_pairs_add_up_and_ratings_of_zero_say_nothing() {
    let mut table = Table::made(6);
    let mut once = table.serial(IMPLICIT);
    once.pass();
    let (half, n) = (table.values[0] / 2.0, table.values.len());
    let (user, item) = (table.users[0], table.items[0]);
    table.values[0] = half;
    table.push(user, item, half);
    let unrated = (0..SHAPE.1 as u32).find(|i| !(0..n).any(|k| table.users[k] == 3 && table.items[k] == *i));
    table.push(3, unrated.unwrap(), 0.0);
    let mut twice = table.serial(IMPLICIT);
    twice.pass();
    let (once, twice) = (once.score().objective(), twice.score().objective());
    assert!((once / twice - 1.0).abs() < 1e-3, "{once} against {twice}");
}

#[test]
fn a_negative_rating_is_no_choice() {
    let mut table = Table::made(7);
    table.values[5] = -1.0;
    let options: BTreeMap<_, _> = BTreeMap::from([("implicit".to_owned(), "true".to_owned())]);
    let error = Serial::new(&table.triples(), SHAPE, Params::parse(&options).unwrap(), 0).unwrap_err();
    assert!(error.to_string().starts_with("a rating is -1, must be 0 or more with --implicit"), "{error}");
}

#[test]
fn the_model_has_the_same_bits_for_any_number_of_workers() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/ratings.train.tsv");
    for implicit in ["false", "true"] {
        let train = |workers: usize, consistency: &str| -> Vec<u32> {
            let mut request = Request::on(&data).with("method", "als").with("implicit", implicit);
            (request.workers, request.consistency) = (workers, Some(consistency.to_owned()));
            let request = request.with("rank", 6).with("epochs", 3);
            let trained = MatrixFactorization.train(&request, &Watch::nobody()).unwrap();
            let bits = |array: &Array| match array {
                Array::F32(array) => array.iter().map(|x| x.to_bits()).collect(),
                _ => Vec::new(),
            };
            trained.arrays.iter().flat_map(|(_, array)| bits(array)).collect()
        };
        let one = train(1, "bsp");
        for (workers, consistency) in [(2, "bsp"), (3, "bsp"), (1, "essp:0"), (4, "essp:0")] {
            assert_eq!(train(workers, consistency), one, "{workers} workers, {consistency}");
        }
    }
}
