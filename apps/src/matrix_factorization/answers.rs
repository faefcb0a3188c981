//! What a written model says of ratings and of pairs, and of users and items that it does not know.

use std::collections::BTreeMap;
use std::path::Path;

use super::model::Model;
use super::ranking::{Held, measure_ranking};
use super::rated::Rated;
use crate::Error;
use crate::catalog::News;
use crate::data::{HeldOutRatings, Ids, read_pairs, read_ratings_with, text};
use crate::prediction::{Cell, Cold, Column, Predictions};

/// The users and the items of a written model.
///
/// # Errors
/// A file that is not there or cannot be read.
pub(super) fn ids(folder: &Path) -> Result<(Ids, Ids), Error> {
    let ids = |name: &str| Ok(Ids::from_lines(&text::read_lines(&folder.join(name))?));
    Ok((ids("users.txt")?, ids("items.txt")?))
}

/// An index as the model takes it: one that is not known is beyond all others.
fn dense(index: Option<u32>) -> usize {
    index.map_or(usize::MAX, |index| index as usize)
}

/// Scores a model on ratings: the error of predictions, or of implicit feedback how well it ranks.
///
/// # Errors
/// A missing or foreign model, bad data, or unknown users or items where they are errors.
pub(super) fn evaluate(
    directory: &Path,
    data: &Path,
    cold: Cold,
    tell: &(dyn Fn(News) + Sync),
) -> Result<BTreeMap<String, f64>, Error> {
    let folder = directory.join("model");
    let (users, items) = ids(&folder)?;
    let model = Model::read(&folder)?;
    let ratings = read_ratings_with(data, &users, &items, tell)?;
    let pairs = ratings.users.iter().zip(&ratings.items);
    let unknown = pairs.filter(|(user, item)| user.is_none() || item.is_none()).count();
    if cold == Cold::Error && unknown > 0 {
        return Err(strangers(data, unknown, "ratings"));
    }
    let missing = |ids: &[Option<u32>]| ids.iter().filter(|id| id.is_none()).count() as f64;
    let mut metrics = BTreeMap::from([
        ("ratings".to_owned(), ratings.values.len() as f64),
        ("ratings_of_unknown_users".to_owned(), missing(&ratings.users)),
        ("ratings_of_unknown_items".to_owned(), missing(&ratings.items)),
    ]);
    if model.confidence.is_some() {
        let rated = Rated::read(&folder, (users.len(), items.len()))?;
        metrics.extend(measure_ranking(&model, &rated, &Held::of(&ratings, &rated)).metrics(""));
        return Ok(metrics);
    }
    let dropped = if cold == Cold::Drop { unknown } else { 0 };
    let n = ratings.values.len() - dropped;
    if n == 0 {
        let problem = "has no rating of a user and an item that the model both knows; leave --cold out to \
                       score what it says of the others"
            .to_owned();
        return Err(Error::Data { path: data.to_owned(), problem });
    }
    metrics.insert("ratings_dropped".to_owned(), dropped as f64);
    metrics.insert("rmse".to_owned(), (squares(&model, &ratings, cold) / n as f64).sqrt());
    Ok(metrics)
}

fn squares(model: &Model, ratings: &HeldOutRatings, cold: Cold) -> f64 {
    let all = ratings.users.iter().zip(&ratings.items).zip(&ratings.values);
    let counted = all.filter(|((user, item), _)| cold != Cold::Drop || user.is_some() && item.is_some());
    let square = |((user, item), value): ((&Option<u32>, &Option<u32>), &f32)| {
        (model.predict(dense(*user), dense(*item)) - f64::from(*value)).powi(2)
    };
    counted.map(square).sum()
}

/// The rating of each pair, or of implicit feedback the preference.
///
/// # Errors
/// A missing or foreign model, bad data, or unknown users or items where they are errors.
pub(super) fn predict(
    directory: &Path,
    data: &Path,
    cold: Cold,
    tell: &(dyn Fn(News) + Sync),
) -> Result<Predictions, Error> {
    let folder = directory.join("model");
    let (users, items) = ids(&folder)?;
    let model = Model::read(&folder)?;
    let pairs = read_pairs(data, &users, &items, tell)?;
    let is_known = |row: &usize| pairs.pair(*row).iter().all(|named| named.index.is_some());
    let unknown = (0..pairs.len()).filter(|row| !is_known(row)).count();
    let asked: Vec<usize> = match cold {
        Cold::Error if unknown > 0 => return Err(strangers(data, unknown, "pairs")),
        Cold::Drop => (0..pairs.len()).filter(is_known).collect(),
        _ => (0..pairs.len()).collect(),
    };
    if cold == Cold::Drop && unknown > 0 {
        tell(News::Fact(format!("{unknown} of {} pairs are left out (--cold drop)", pairs.len())));
    }
    let what = if model.confidence.is_some() { "preference" } else { "rating" };
    let columns = vec![Column::name("user"), Column::name("item"), Column::single(what)];
    let row = move |row: usize| {
        let [user, item] = pairs.pair(row);
        let rating = model.predict(dense(user.index), dense(item.index));
        let names = [user.id, item.id].map(|id| Cell::Text(id.into_owned()));
        names.into_iter().chain([Cell::Number(rating)]).collect()
    };
    Ok(Predictions { columns, n_rows: asked.len(), rows: Box::new(asked.into_iter().map(row)) })
}

fn strangers(data: &Path, n: usize, what: &str) -> Error {
    let problem = format!(
        "{n} {what} have a user or an item that the model does not know (--cold error); --cold mean predicts \
         what is known of them, --cold drop leaves them out"
    );
    Error::Data { path: data.to_owned(), problem }
}
