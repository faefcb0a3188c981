//! Ratings: `user item rating` text, a rating a line, or a MatrixMarket matrix of users x items.
//!
//! What separates the fields is told from the first line, a header is skipped, further columns (such as a time) are ignored.
//! Ids may be whole numbers or any text. The dense index of an id does not depend on the number of threads: whole
//! numbers count in ascending order, texts in the order in which they come.

use std::path::Path;

use super::ids::{Ids, Interner};
use super::matrix_market::{self, Header};
use super::pipeline;
use super::source::Source;
use crate::Error;
use crate::catalog::News;

mod facts;
mod lines;
mod pairs;
mod separator;

pub use facts::RatingFacts;
use lines::{Head, Lines};
pub use pairs::{Pairs, read_pairs};
pub use separator::Separator;

/// Ratings to train on: one entry a rating in each of the first three vectors.
#[derive(Debug, Clone)]
pub struct Ratings {
    /// The dense index of the user, for [`Ratings::user_ids`].
    pub users: Vec<u32>,
    /// The dense index of the item, for [`Ratings::item_ids`].
    pub items: Vec<u32>,
    /// The rating, finite.
    pub values: Vec<f32>,
    /// The users.
    pub user_ids: Ids,
    /// The items.
    pub item_ids: Ids,
    /// What was found in the file.
    pub facts: RatingFacts,
}

/// Held-out ratings, by the indices of the training data; users and items that are not in it are `None`.
#[derive(Debug, Clone)]
pub struct HeldOutRatings {
    /// The dense index of the user.
    pub users: Vec<Option<u32>>,
    /// The dense index of the item.
    pub items: Vec<Option<u32>>,
    /// The rating, finite.
    pub values: Vec<f32>,
    /// What was found in the file.
    pub facts: RatingFacts,
}

/// Reads ratings to train on.
///
/// Tells [`News::Loading`] while it reads and one [`News::Fact`] at the end, from this thread.
///
/// # Errors
/// A file that cannot be read, a line that is no rating, or a file without ratings.
pub fn read_ratings(path: &Path, tell: &(dyn Fn(News) + Sync)) -> Result<Ratings, Error> {
    let ratings = read(Source::open(path)?, 0, tell)?.into_ratings();
    tell(News::Fact(ratings.facts.to_string()));
    Ok(ratings)
}

/// Reads held-out ratings against the ids of the training data.
///
/// # Errors
/// As [`read_ratings`].
pub fn read_ratings_with(
    path: &Path,
    users: &Ids,
    items: &Ids,
    tell: &(dyn Fn(News) + Sync),
) -> Result<HeldOutRatings, Error> {
    let ratings = read(Source::open(path)?, 0, tell)?.into_held_out(users, items);
    tell(News::Fact(ratings.facts.to_string()));
    Ok(ratings)
}

/// Ratings with ids numbered as they came.
pub(super) struct Raw {
    users: Vec<u32>,
    items: Vec<u32>,
    values: Vec<f32>,
    user_names: Interner,
    item_names: Interner,
    facts: RatingFacts,
}

pub(super) fn read(mut source: Source, threads: usize, tell: &(dyn Fn(News) + Sync)) -> Result<Raw, Error> {
    let matrix = source.starts_with(matrix_market::BANNER);
    let head = if matrix { Head::default() } else { Head::read(&mut source)? };
    let facts = RatingFacts {
        separator: (!matrix).then_some(head.separator),
        compression: source.compression(),
        header: head.header,
        users: 0,
        items: 0,
        ratings: 0,
        min: f32::INFINITY,
        max: f32::NEG_INFINITY,
        repeated: 0,
        blank_lines: head.blank_lines,
        comment_lines: head.comment_lines,
        unseen_users: 0,
        unseen_items: 0,
    };
    let (user_names, item_names) = (Interner::default(), Interner::default());
    let (users, items, values) = (Vec::new(), Vec::new(), Vec::new());
    let mut raw = Raw { users, items, values, user_names, item_names, facts };
    if matrix {
        raw.append_matrix(&mut source, threads, tell)?;
    } else {
        pipeline::parse(&mut source, threads, &head.separator, tell, |lines: &Lines, _| {
            raw.append(lines);
            Ok(())
        })?;
    }
    if raw.values.is_empty() {
        return Err(source.data_error("no ratings in the file, expected lines such as `user item rating`"));
    }
    raw.note();
    Ok(raw)
}

impl Raw {
    fn append(&mut self, lines: &Lines) {
        self.user_names.extend(&lines.users, &lines.user_texts, &mut self.users);
        self.item_names.extend(&lines.items, &lines.item_texts, &mut self.items);
        self.values.extend_from_slice(&lines.values);
        self.facts.blank_lines += lines.blank_lines;
    }

    /// Reads a matrix of users x items whose ids are the numbers of its rows and columns, from 1.
    fn append_matrix(
        &mut self,
        source: &mut Source,
        threads: usize,
        tell: &(dyn Fn(News) + Sync),
    ) -> Result<(), Error> {
        let header = Header::read(source)?;
        let entries = matrix_market::read_entries(source, &header, threads, tell)?;
        (self.facts.blank_lines, self.facts.comment_lines) = (entries.blank_lines, entries.comment_lines);
        self.users = entries.rows.iter().map(|&row| self.user_names.integer(u64::from(row) + 1)).collect();
        self.items =
            entries.columns.iter().map(|&item| self.item_names.integer(u64::from(item) + 1)).collect();
        self.values = entries.values.iter().map(|&value| value as f32).collect();
        if self.values.iter().all(|value| value.is_finite()) {
            Ok(())
        } else {
            Err(source.data_error("a rating is beyond the range of single precision"))
        }
    }

    /// Notes what shows only when all ratings are there.
    fn note(&mut self) {
        let facts = &mut self.facts;
        (facts.users, facts.items) = (self.user_names.len(), self.item_names.len());
        facts.ratings = self.values.len();
        facts.min = self.values.iter().copied().fold(f32::INFINITY, f32::min);
        facts.max = self.values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        facts.repeated = repeated(&self.users, &self.items, facts.users, facts.items);
    }

    pub(super) fn into_ratings(mut self) -> Ratings {
        let (user_ids, user_order) = self.user_names.finish();
        let (item_ids, item_order) = self.item_names.finish();
        for (indices, order) in [(&mut self.users, user_order), (&mut self.items, item_order)] {
            if let Some(order) = order {
                indices.iter_mut().for_each(|index| *index = order[*index as usize]);
            }
            indices.shrink_to_fit();
        }
        self.values.shrink_to_fit();
        let Self { users, items, values, facts, .. } = self;
        Ratings { users, items, values, user_ids, item_ids, facts }
    }

    fn into_held_out(self, users: &Ids, items: &Ids) -> HeldOutRatings {
        let find = |indices: Vec<u32>, names: &Interner, ids: &Ids| -> Vec<Option<u32>> {
            let found = names.find_in(ids);
            indices.into_iter().map(|index| found[index as usize]).collect()
        };
        let (users, items) =
            (find(self.users, &self.user_names, users), find(self.items, &self.item_names, items));
        let unseen = |indices: &[Option<u32>]| indices.iter().filter(|index| index.is_none()).count() as u64;
        let (unseen_users, unseen_items) = (unseen(&users), unseen(&items));
        let facts = RatingFacts { unseen_users, unseen_items, ..self.facts };
        HeldOutRatings { users, items, values: self.values, facts }
    }
}

/// How many ratings repeat the user and the item of an earlier one.
fn repeated(users: &[u32], items: &[u32], n_users: usize, n_items: usize) -> u64 {
    let mut next = vec![0_usize; n_users + 1];
    for &user in users {
        next[user as usize + 1] += 1;
    }
    for user in 0..n_users {
        next[user + 1] += next[user];
    }
    let mut by_user = vec![0; items.len()];
    for (&user, &item) in users.iter().zip(items) {
        by_user[next[user as usize]] = item;
        next[user as usize] += 1;
    }
    // Every start has moved to the end of its user.
    let (mut last_user, mut count, mut start) = (vec![0; n_items], 0, 0);
    for (user, &end) in (1_u32..).zip(&next[..n_users]) {
        for &item in &by_user[start..end] {
            count += u64::from(std::mem::replace(&mut last_user[item as usize], user) == user);
        }
        start = end;
    }
    count
}
