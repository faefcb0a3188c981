//! The exact objective, part by part, in double precision; see the head of [`super`].

use super::super::solver::{Score, Side, Summary};
use super::layout::Layout;
use super::params::Feedback;
use super::setup::Setup;
use super::solver::other;

impl Setup {
    /// The share of the objective that a part of the users has, against all parts of the items: errors and penalty.
    pub fn score_users(&self, part: usize, values: &[f32], items: &[&[f32]]) -> Score {
        let members = self.side(Side::Users);
        let (layout, of_items) = (members.layout, other(self, Side::Users).layout);
        let mut score = Score { squared_error: 0.0, penalty: self.penalty(Side::Users, part, values) };
        for row in 0..members.deal.members[part].len() {
            let user = &values[layout.row(row)];
            let bias = layout.bias(values, row);
            let (to, ratings) = members.lists[part].of(row);
            for (to, &rating) in to.iter().zip(ratings) {
                let (items, row) = (items[to.part as usize], to.row as usize);
                let product = dot(&user[..layout.rank], &items[of_items.row(row)][..layout.rank]);
                score.squared_error += match self.params.feedback {
                    Feedback::Explicit { .. } => {
                        let biases = f64::from(bias) + f64::from(of_items.bias(items, row));
                        (f64::from(rating) - biases - product).powi(2)
                    }
                    // What the sum over all pairs below says of this one is taken back.
                    Feedback::Implicit { .. } => {
                        (1.0 + f64::from(rating)) * (1.0 - product).powi(2) - product.powi(2)
                    }
                };
            }
        }
        if !layout.has_biases {
            score.squared_error += items
                .iter()
                .map(|items| {
                    let grams = values[layout.rest()].iter().zip(&items[of_items.rest()]);
                    grams.map(|(p, q)| f64::from(*p) * f64::from(*q)).sum::<f64>()
                })
                .sum::<f64>();
        }
        score
    }

    /// The rating that a row of each side predicts, each given with its part, clipped to the range of the training ratings;
    /// `None` stands for a user or an item without a row.
    pub fn predict(&self, user: Option<(&[f32], usize)>, item: Option<(&[f32], usize)>) -> f64 {
        let [of_users, of_items] = self.sides.each_ref().map(|side| side.layout);
        let bias = |of: Option<(&[f32], usize)>, layout: Layout| {
            of.map_or(0.0, |(part, row)| f64::from(layout.bias(part, row)))
        };
        let product = match (user, item) {
            (Some((users, user)), Some((items, item))) => {
                let (p, q) = (&users[of_users.row(user)], &items[of_items.row(item)]);
                dot(&p[..of_users.rank], &q[..of_users.rank])
            }
            _ => 0.0,
        };
        let Summary { mean, least, most, .. } = self.summary;
        let rating = mean + bias(user, of_users) + bias(item, of_items) + product;
        rating.clamp(f64::from(least), f64::from(most))
    }

    /// The penalty of the rows of a part.
    pub fn penalty(&self, side: Side, part: usize, values: &[f32]) -> f64 {
        let members = self.side(side);
        let (layout, (l2, l2_bias)) = (members.layout, self.penalties());
        let of_row = |row: usize| {
            let factors = &values[layout.row(row)][..layout.rank];
            let bias = f64::from(layout.bias(values, row));
            let penalty = l2 * dot(factors, factors) + l2_bias * bias * bias;
            self.weight(members.lists[part].of(row).0.len()) * penalty
        };
        (0..members.deal.members[part].len()).map(of_row).sum()
    }
}

/// The product of two runs of factors, in double precision.
pub(super) fn dot(left: &[f32], right: &[f32]) -> f64 {
    left.iter().zip(right).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum()
}
