//! What a run of either method leaves in `model/`.

use super::model::Model;
use super::rated::Rated;
use crate::catalog::Array;
use crate::data::{Ids, Ratings};

/// The arrays of a model, and who has rated what.
pub(super) fn arrays(model: Model, rated: Rated) -> Vec<(String, Array)> {
    let (least, most) = model.range;
    let mut arrays = vec![
        ("user_factors".to_owned(), Array::F32(model.user_factors.into_dyn())),
        ("item_factors".to_owned(), Array::F32(model.item_factors.into_dyn())),
        ("user_bias".to_owned(), Array::F32(model.user_bias.into_dyn())),
        ("item_bias".to_owned(), Array::F32(model.item_bias.into_dyn())),
        ("mean".to_owned(), Array::F64(ndarray::arr1(&[model.mean]).into_dyn())),
        ("range".to_owned(), Array::F32(ndarray::arr1(&[least, most]).into_dyn())),
    ];
    if let Some(alpha) = model.confidence {
        arrays.push(("confidence".to_owned(), Array::F64(ndarray::arr1(&[alpha]).into_dyn())));
    }
    arrays.extend(rated.arrays());
    arrays
}

/// The ids of users and items, in the order of the rows.
pub(super) fn texts(ratings: &Ratings) -> Vec<(String, Vec<String>)> {
    let lines = |ids: &Ids| ids.iter().map(std::borrow::Cow::into_owned).collect();
    vec![
        ("users.txt".to_owned(), lines(&ratings.user_ids)),
        ("items.txt".to_owned(), lines(&ratings.item_ids)),
    ]
}
