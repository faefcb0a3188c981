//! The items that suit a user best, and those that are most like another.

use std::cmp::Reverse;
use std::path::Path;

use super::answers::ids;
use super::model::Model;
use super::ranking::{Ranker, Scored};
use super::rated::Rated;
use crate::Error;
use crate::catalog::News;
use crate::data::Ids;
use crate::nearest;
use crate::prediction::{About, Cell, Column, Predictions, Unknown, Wish};

/// Answers a wish: a row for each item of each user or item that was asked about, best first.
///
/// # Errors
/// A missing or foreign model, or a user or an item that it does not know.
pub(super) fn recommend(
    directory: &Path,
    wish: &Wish,
    tell: &(dyn Fn(News) + Sync),
) -> Result<Predictions, Error> {
    let folder = directory.join("model");
    let (users, items) = ids(&folder)?;
    let model = Model::read(&folder)?;
    let found = match &wish.about {
        About::Users(asked) => {
            let rated = Rated::read(&folder, (users.len(), items.len()))?;
            let of = Of { directory, model: &model, rated: &rated, users: &users };
            of.users(asked, wish, tell)?
        }
        About::Items(asked) => {
            let similar = |item: &String| {
                let index = items.index(item).ok_or_else(|| stranger(directory, "item", item, &items))?;
                Ok((item.clone(), similar(&model, index, wish.top)))
            };
            asked.iter().map(similar).collect::<Result<_, Error>>()?
        }
    };
    let names = match wish.about {
        About::Users(_) if model.confidence.is_some() => ["user", "item", "preference"],
        About::Users(_) => ["user", "item", "rating"],
        About::Items(_) => ["item", "similar", "cosine"],
    };
    let row = |of: &str, (item, score): &Scored| {
        let item = Cell::Text(items.id(*item).into_owned());
        vec![Cell::Text(of.to_owned()), item, Cell::Number(f64::from(*score))]
    };
    let rows: Vec<Vec<Cell>> =
        found.iter().flat_map(|(of, best)| best.iter().map(move |scored| row(of, scored))).collect();
    let columns = vec![Column::name(names[0]), Column::name(names[1]), Column::single(names[2])];
    Ok(Predictions { columns, n_rows: rows.len(), rows: Box::new(rows.into_iter()) })
}

/// What users are recommended from.
struct Of<'a> {
    directory: &'a Path,
    model: &'a Model,
    rated: &'a Rated,
    users: &'a Ids,
}

impl Of<'_> {
    /// The best items of each user, in the order of `asked`.
    fn users(
        &self,
        asked: &[String],
        wish: &Wish,
        tell: &(dyn Fn(News) + Sync),
    ) -> Result<Vec<(String, Vec<Scored>)>, Error> {
        let indices: Vec<Option<u32>> = asked.iter().map(|user| self.users.index(user)).collect();
        let strangers = indices.iter().filter(|index| index.is_none()).count();
        if let (Unknown::Error, Some(place)) = (wish.unknown, indices.iter().position(Option::is_none)) {
            return Err(stranger(self.directory, "user", &asked[place], self.users));
        }
        if strangers > 0 {
            let what = match wish.unknown {
                Unknown::Popular => "get the most rated items",
                _ => "are left out",
            };
            tell(News::Fact(format!("{strangers} of {} users are not known and {what}", asked.len())));
        }
        let known: Vec<u32> = indices.iter().copied().flatten().collect();
        let without = (!wish.include_rated).then_some(self.rated);
        let mut ranked = Ranker::new(self.model).rank(&known, wish.top, without).into_iter();
        let popular = if strangers > 0 { self.popular(wish.top) } else { Vec::new() };
        let mut found = Vec::new();
        for (user, index) in asked.iter().zip(indices) {
            let best = match index {
                Some(index) => ranked
                    .next()
                    .unwrap_or_default()
                    .into_iter()
                    .map(|(item, _)| (item, self.model.predict(index as usize, item as usize) as f32))
                    .collect(),
                None if wish.unknown == Unknown::Popular => popular.clone(),
                None => continue,
            };
            found.push((user.clone(), best));
        }
        Ok(found)
    }

    /// The items that most users have rated, with what is predicted of them for a user that is not known.
    fn popular(&self, top: usize) -> Vec<Scored> {
        let counts = self.rated.counts(self.model.item_bias.len());
        let mut items: Vec<u32> = (0..counts.len() as u32).collect();
        items.sort_by_key(|item| Reverse(counts[*item as usize]));
        let score = |item: u32| (item, self.model.predict(usize::MAX, item as usize) as f32);
        items.into_iter().take(top).map(score).collect()
    }
}

/// The items whose factors have the smallest angle with those of `item`, which is not among them.
fn similar(model: &Model, item: u32, top: usize) -> Vec<Scored> {
    let rows = &model.item_factors;
    let (one, length) = (rows.row(item as usize), |row: ndarray::ArrayView1<'_, f32>| row.dot(&row).sqrt());
    let own = length(one);
    let cosine = |other: u32| {
        let row = rows.row(other as usize);
        let both = own * length(row);
        if both > 0.0 { row.dot(&one) / both } else { 0.0 }
    };
    let others = (0..rows.nrows() as u32).filter(|other| *other != item);
    let mut all: Vec<Scored> = others.map(|other| (other, cosine(other))).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    all.truncate(top);
    all
}

fn stranger(directory: &Path, what: &str, id: &str, ids: &Ids) -> Error {
    let all: Vec<String> = ids.iter().map(std::borrow::Cow::into_owned).collect();
    let near = nearest(id, all.iter().map(String::as_str)).filter(|_| id.parse::<f64>().is_err());
    let remedy = match (near, what) {
        (Some(near), _) => format!("did you mean {near}?"),
        (None, "user") => "--cold popular gives it the most rated items".to_owned(),
        (None, _) => "model/items.txt lists those it knows".to_owned(),
    };
    let problem = format!("the model does not know {what} {id}; {remedy}");
    Error::Data { path: directory.to_owned(), problem }
}
