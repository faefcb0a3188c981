//! Same bits: under `bsp` the order of delivery leaves no trace.

use slackline::Model;

/// The bits of the sums that depend on the order of additions.
pub(crate) fn of(model: &Model) -> Vec<u32> {
    model.dense::<f32>("noise").iter().map(|value| value.to_bits()).collect()
}
