//! The gradient, the clip, and the fast kernel against the plain one.

use proptest::prelude::*;

use super::*;

const RATES: Rates = Rates {
    factor: 0.1,
    bias: 0.05,
    l2_factor: 0.02,
    l2_bias: 0.03,
    keep_factor: 0.25,
    keep_bias: 1.0,
    clip: 10.0,
    floor: f32::NEG_INFINITY,
};

/// Two users and two items with rows that differ.
fn rows(rank: usize, salt: f32) -> Vec<f32> {
    let width = width(rank);
    let mut rows = vec![0.0; 2 * width];
    for (r, row) in rows.chunks_exact_mut(width).enumerate() {
        row[..HEADER].copy_from_slice(&[0.1 * salt, 1.5, 2.0 + salt, 1.25]);
        for k in 0..rank {
            row[HEADER + k] = ((k + 3 * r) as f32 * 0.7 + salt).sin() * 0.5;
        }
    }
    rows
}

/// What the gradient of one rating follows, halved: `(v - b - c - p·q)²/2` and the row's own penalty.
fn half_loss(value: f32, user: &[f64], item: &[f64]) -> f64 {
    let dot: f64 = user[HEADER..].iter().zip(&item[HEADER..]).map(|(p, q)| p * q).sum();
    let error = f64::from(value) - user[0] - item[0] - dot;
    let size: f64 = user[HEADER..].iter().map(|p| p * p).sum();
    let penalty = f64::from(RATES.l2_factor) * size + f64::from(RATES.l2_bias) * user[0] * user[0];
    0.5 * (error * error + user[3] * penalty)
}

#[test]
fn a_step_follows_the_gradient_by_finite_differences() {
    let rank = 6;
    let (before, items) = (rows(rank, 0.3), rows(rank, 0.8));
    let mut after = before.clone();
    let rating = Rating { user: 0, item: 0, value: 1.7 };
    scalar(width(rank), &[rating], &mut after, &mut items.clone(), &RATES);

    let wide = |row: &[f32]| row[..width(rank)].iter().map(|&x| f64::from(x)).collect::<Vec<_>>();
    let (user, item) = (wide(&before), wide(&items));
    for k in std::iter::once(0).chain(HEADER..HEADER + rank) {
        let mut shifted = [user.clone(), user.clone()];
        shifted[0][k] += 1e-5;
        shifted[1][k] -= 1e-5;
        let [up, down] = shifted.map(|user| half_loss(rating.value, &user, &item));
        let step = if k == 0 { f64::from(RATES.bias) / 1.5f64.sqrt() } else { 0.1 / 2.3f64.sqrt() };
        let expected = user[k] - step * (up - down) / 2e-5;
        assert!((f64::from(after[k]) - expected).abs() < 1e-5, "lane {k}: {} not {expected}", after[k]);
    }
}

#[test]
fn a_wild_rating_moves_a_row_no_further_than_the_clip() {
    let mut users = rows(4, 0.0);
    let bias = users[0];
    visit(4, &[Rating { user: 0, item: 0, value: 1e30 }], &mut users, &mut rows(4, 0.1), &RATES);
    assert!((users[0] - bias).abs() <= 0.05 * 10.0);
    assert!(users.iter().all(|value| value.is_finite()));
}

#[test]
fn lanes_beyond_the_rank_stay_zero() {
    let mut users = rows(5, 0.2);
    let ratings = [Rating { user: 1, item: 0, value: 2.0 }; 20];
    visit(5, &ratings, &mut users, &mut rows(5, 0.9), &RATES);
    assert_eq!(users[width(5) + HEADER + 5..], [0.0; 3]);
}

proptest! {
    #[test]
    fn the_fast_kernel_agrees_with_plain_loops(
        rank in 1usize..100,
        ratings in prop::collection::vec((0u32..2, 0u32..2, -3.0f32..3.0), 0..20),
        floor in prop_oneof![Just(f32::NEG_INFINITY), Just(0.0)],
    ) {
        let rates = Rates { floor, ..RATES };
        let ratings: Vec<_> =
            ratings.into_iter().map(|(user, item, value)| Rating { user, item, value }).collect();
        let (mut users, mut items) = (rows(rank, 0.3), rows(rank, 0.8));
        let (mut plain_users, mut plain_items) = (users.clone(), items.clone());
        let seen = visit(rank, &ratings, &mut users, &mut items, &rates);
        let plain = scalar(width(rank), &ratings, &mut plain_users, &mut plain_items, &rates);
        prop_assert!((seen - plain).abs() <= 1e-2 * (1.0 + plain));
        for (fast, plain) in users.iter().chain(&items).zip(plain_users.iter().chain(&plain_items)) {
            prop_assert!((fast - plain).abs() <= 5e-3 * (1.0 + plain.abs()), "{fast} not {plain}");
        }
    }
}
