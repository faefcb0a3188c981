//! What the whole of it promises: the planted answer, the exact objective, the same bits, odd inputs.

use std::collections::BTreeMap;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::cells::{Triples, parts};
use super::params::Params;
use super::serial::Serial;
use super::solver::{Score, Summary};
use crate::deal::{Deal, count};
use crate::kernel::sgd::HEADER;

/// Ratings that own their columns.
struct Table {
    users: Vec<u32>,
    items: Vec<u32>,
    values: Vec<f32>,
}

impl Table {
    fn triples(&self) -> Triples<'_> {
        Triples { users: &self.users, items: &self.items, values: &self.values }
    }

    /// `3.5 + b_u + c_i + p_u·q_i` with rank 2 and no noise, each pair with probability `share`.
    fn planted(shape: (u32, u32), share: f64, seed: u64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut rows =
            |n: u32| (0..n).map(|_| std::array::from_fn(|_| random.random_range(-1.0..1.0))).collect();
        let (users, items): (Vec<[f64; 3]>, Vec<[f64; 3]>) = (rows(shape.0), rows(shape.1));
        let mut table = Self { users: vec![], items: vec![], values: vec![] };
        for (u, [b, p0, p1]) in users.iter().enumerate() {
            for (i, [c, q0, q1]) in items.iter().enumerate() {
                if random.random_bool(share) {
                    table.users.push(u as u32);
                    table.items.push(i as u32);
                    table.values.push((3.5 + b + c + p0 * q0 + p1 * q1) as f32);
                }
            }
        }
        table
    }
}

fn params(options: &[(&str, &str)]) -> Params {
    let options: BTreeMap<_, _> = options.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect();
    Params::parse(&options, 2).unwrap()
}

fn trained(table: &Table, shape: (usize, usize), options: &[(&str, &str)]) -> Serial {
    let mut run = Serial::new(&table.triples(), shape, params(options), 7).unwrap();
    for _ in 0..run.solver.params().epochs {
        run.pass().unwrap();
    }
    run
}

#[test]
fn a_planted_low_rank_matrix_is_recovered_on_pairs_never_seen() {
    let all = Table::planted((300, 200), 0.5, 1);
    let (mut train, mut test) = (Vec::new(), Vec::new());
    (0..all.values.len()).for_each(|k| if k % 10 == 0 { test.push(k) } else { train.push(k) });
    let pick = |which: &[usize]| Table {
        users: which.iter().map(|&k| all.users[k]).collect(),
        items: which.iter().map(|&k| all.items[k]).collect(),
        values: which.iter().map(|&k| all.values[k]).collect(),
    };
    let (train, test) = (pick(&train), pick(&test));
    for step in ["adaptive", "decay"] {
        let options =
            [("rank", "4"), ("epochs", "60"), ("l2", "0.0005"), ("l2-bias", "0.0005"), ("step", step)];
        let model = trained(&train, (300, 200), &options).model();
        let rmse = model.rmse(&test.users, &test.items, &test.values);
        // The values' own deviation is 0.9.
        assert!(rmse < 0.03, "{step}: {rmse}");
    }
}

#[test]
fn cells_hold_every_rating_exactly_once() {
    let table = Table::planted((40, 30), 0.3, 2);
    let users = Deal::even(&count(&table.users, 40), 7, 1);
    let items = Deal::even(&count(&table.items, 30), 5, 2);
    let parts = parts(&table.triples(), &users, &items, (0.0, 1.0), 3);
    let mut found = Vec::new();
    for (p, part) in parts.iter().enumerate() {
        assert_eq!(part.cells.len(), 5);
        for (b, cell) in part.cells.iter().enumerate() {
            for rating in cell {
                let user = users.members[p][rating.user as usize];
                let item = items.members[b][rating.item as usize];
                found.push((user, item, rating.value.to_bits()));
            }
        }
    }
    let mut expected: Vec<_> = (0..table.values.len())
        .map(|k| (table.users[k], table.items[k], table.values[k].to_bits()))
        .collect();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
}

#[test]
fn groups_are_dealt_nearly_the_same_number_of_ratings() {
    let counts: Vec<u32> = (1..=1000u32).map(|rank| 10_000 / rank).collect();
    let deal = Deal::even(&counts, 5, 1);
    let loads = deal.members.iter().map(|ids| ids.iter().map(|&id| counts[id as usize]).sum::<u32>());
    let (least, most) = (loads.clone().min().unwrap(), loads.max().unwrap());
    assert!(most - least < most / 20, "{least} to {most}");
    for (id, (&group, &row)) in deal.group.iter().zip(&deal.row).enumerate() {
        assert_eq!(deal.members[group as usize][row as usize] as usize, id);
    }
}

#[test]
fn the_objective_is_that_of_a_naive_loop_over_the_exported_model() {
    let table = Table::planted((30, 20), 0.4, 3);
    let run = trained(&table, (30, 20), &[("rank", "5"), ("l2", "0.3"), ("l2-bias", "0.2"), ("prior", "4")]);
    let model = run.model();
    let (of_users, of_items) = (count(&table.users, 30), count(&table.items, 20));
    let mut expected = Score::default();
    for ((&u, &i), &value) in table.users.iter().zip(&table.items).zip(&table.values) {
        let (u, i) = (u as usize, i as usize);
        let (p, q) = (model.user_factors.row(u), model.item_factors.row(i));
        let (b, c) = (f64::from(model.user_bias[u]), f64::from(model.item_bias[i]));
        let error = f64::from(value) - model.mean - b - c - f64::from(p.dot(&q));
        expected.squared_error += error * error;
        expected.penalty += (1.0 + 4.0 / f64::from(of_users[u])) * (0.3 * f64::from(p.dot(&p)) + 0.2 * b * b);
        expected.penalty += (1.0 + 4.0 / f64::from(of_items[i])) * (0.3 * f64::from(q.dot(&q)) + 0.2 * c * c);
    }
    let score = run.score();
    assert!((score.squared_error / expected.squared_error - 1.0).abs() < 1e-4, "{score:?} {expected:?}");
    assert!((score.penalty / expected.penalty - 1.0).abs() < 1e-4, "{score:?} {expected:?}");
}

#[test]
fn the_same_seed_gives_the_same_bits_and_another_seed_does_not() {
    let table = Table::planted((50, 40), 0.3, 4);
    let [one, two] = [(), ()].map(|()| trained(&table, (50, 40), &[("rank", "8")]).model());
    assert_eq!(one, two);
    let other = Serial::new(&table.triples(), (50, 40), params(&[("rank", "8")]), 8).unwrap();
    assert_ne!(
        other.model(),
        Serial::new(&table.triples(), (50, 40), params(&[("rank", "8")]), 7).unwrap().model()
    );
}

#[test]
fn first_rows_do_not_depend_on_how_ids_are_dealt() {
    let table = Table::planted((20, 10), 0.5, 5);
    let [coarse, fine] = [("1", "1"), ("7", "4")].map(|(parts, blocks)| {
        Serial::new(&table.triples(), (20, 10), params(&[("parts", parts), ("blocks", blocks)]), 1).unwrap()
    });
    assert_eq!(coarse.model(), fine.model());
}

#[test]
fn odd_inputs_train_to_finite_models() {
    let equal = Table { users: vec![0, 1, 2], items: vec![0, 0, 1], values: vec![4.0; 3] };
    let model = trained(&equal, (3, 2), &[]).model();
    assert!((model.predict(0, 1) - 4.0).abs() < 1e-6);

    let one = Table { users: vec![0], items: vec![0], values: vec![-7.5] };
    assert!(
        (trained(&one, (1, 1), &[("rank", "1"), ("parts", "9")]).model().predict(0, 0) + 7.5).abs() < 1e-6
    );

    let mut wild = Table::planted((40, 30), 0.3, 6);
    wild.values[3] = 1e9;
    let run = trained(&wild, (40, 30), &[("rate", "0.5")]);
    assert!(run.score().objective().is_finite());

    let mut large = Table::planted((40, 30), 0.5, 6);
    let rmse =
        |table: &Table| trained(table, (40, 30), &[]).model().rmse(&table.users, &table.items, &table.values);
    let small = rmse(&large);
    large.values.iter_mut().for_each(|value| *value *= 1000.0);
    assert!((rmse(&large) / small / 1000.0 - 1.0).abs() < 0.05, "the scale of the ratings matters");
}

#[test]
fn ids_without_ratings_are_predicted_by_the_mean_and_the_known_bias() {
    let table = Table::planted((30, 20), 0.5, 8);
    let run = trained(&table, (31, 20), &[]);
    let model = run.model();
    let expected =
        (model.mean + f64::from(model.item_bias[4])).clamp(model.range.0.into(), model.range.1.into());
    assert_eq!(model.predict(30, 4), expected);
    assert_eq!(model.predict(1_000_000, 4), expected);
    assert_eq!(model.predict(usize::MAX, usize::MAX), model.mean);
}

#[test]
fn a_run_out_of_range_is_said_and_not_hidden() {
    let table = Table::planted((40, 30), 0.5, 9);
    let mut run =
        Serial::new(&table.triples(), (40, 30), params(&[("step", "decay"), ("rate", "1e9")]), 1).unwrap();
    let outcome = (0..10).find_map(|_| run.pass().err());
    let said = outcome.unwrap().to_string();
    assert!(said.contains("the run diverged; choose a --rate below 1000000000.0 or"), "{said}"); // exit code 4
}

#[test]
fn no_ratings_or_a_rating_that_is_no_number_are_refused() {
    assert!(Summary::of(&[]).is_err());
    let message = Summary::of(&[1.0, f32::NAN]).unwrap_err().to_string();
    assert_eq!(message, "rating 2 is NaN, must be a finite number");
}

#[test]
fn rows_are_a_header_and_the_rank_in_fours() {
    let table = Table::planted((5, 5), 1.0, 1);
    let run = Serial::new(&table.triples(), (5, 5), params(&[("rank", "18")]), 1).unwrap();
    assert_eq!(run.solver.width(), HEADER + 20);
}

#[test]
fn factors_that_may_not_be_negative_are_not_and_still_learn() {
    let table = Table::planted((60, 40), 0.5, 10);
    let options =
        [("nonnegative", "true"), ("rank", "8"), ("epochs", "60"), ("l2", "0.001"), ("l2-bias", "0.001")];
    let run = trained(&table, (60, 40), &options);
    let model = run.model();
    let factors = || model.user_factors.iter().chain(&model.item_factors);
    assert!(factors().all(|factor| *factor >= 0.0) && factors().any(|factor| *factor == 0.0));
    // The products that are planted have a deviation of sqrt(2/9) = 0.47.
    let rmse = model.rmse(&table.users, &table.items, &table.values);
    assert!(rmse < 0.3, "{rmse}");
}
