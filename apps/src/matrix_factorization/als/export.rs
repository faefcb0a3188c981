//! The rows of all parts as a model, by id.

use ndarray::{Array1, Array2};

use super::super::model::Model;
use super::super::solver::Side;
use super::params::Feedback;
use super::setup::Setup;

impl Setup {
    /// The model that the parts of both sides are.
    pub fn model(&self, users: &[&[f32]], items: &[&[f32]]) -> Model {
        let (user_factors, user_bias) = self.export(Side::Users, users);
        let (item_factors, item_bias) = self.export(Side::Items, items);
        let confidence = match self.params.feedback {
            Feedback::Explicit { .. } => None,
            Feedback::Implicit { alpha, .. } => Some(alpha),
        };
        let range = (self.summary.least, self.summary.most);
        Model { user_factors, item_factors, user_bias, item_bias, mean: self.summary.mean, range, confidence }
    }

    fn export(&self, side: Side, parts: &[&[f32]]) -> (Array2<f32>, Array1<f32>) {
        let members = self.side(side);
        let (layout, n) = (members.layout, members.deal.group.len());
        let (mut factors, mut biases) = (Array2::zeros((n, layout.rank)), Array1::zeros(n));
        for (ids, part) in members.deal.members.iter().zip(parts) {
            for (row, &id) in ids.iter().enumerate() {
                biases[id as usize] = layout.bias(part, row);
                let to = factors.row_mut(id as usize);
                to.into_iter().zip(&part[layout.row(row)]).for_each(|(to, value)| *to = *value);
            }
        }
        (factors, biases)
    }
}
