//! What was found in a file of ratings.

use std::fmt;

use super::Separator;
use crate::data::facts::{Compression, grouped, some};

/// What was found in a file of ratings.
#[derive(Debug, Clone, PartialEq)]
pub struct RatingFacts {
    /// What stands between the fields; `None` in a MatrixMarket file.
    pub separator: Option<Separator>,
    /// How the file is packed.
    pub compression: Compression,
    /// Whether the first line names the columns.
    pub header: bool,
    /// Distinct users.
    pub users: usize,
    /// Distinct items.
    pub items: usize,
    /// Ratings, those of repeated pairs included.
    pub ratings: usize,
    /// The least rating.
    pub min: f32,
    /// The greatest rating.
    pub max: f32,
    /// Ratings whose user and item came together before; they are kept.
    pub repeated: u64,
    /// Lines with nothing in them.
    pub blank_lines: u64,
    /// Lines with nothing but a comment.
    pub comment_lines: u64,
    /// Held-out ratings whose user is not in the training data.
    pub unseen_users: u64,
    /// Held-out ratings whose item is not in the training data.
    pub unseen_items: u64,
}

impl fmt::Display for RatingFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.separator {
            Some(separator) => write!(f, "ratings between {separator}")?,
            None => f.write_str("MatrixMarket ratings")?,
        }
        if self.compression != Compression::None {
            write!(f, ", {}", self.compression)?;
        }
        f.write_str(if self.header { ", header line" } else { "" })?;
        let (users, items) = (grouped(self.users as u64), grouped(self.items as u64));
        write!(f, ", {users} users x {items} items, {} ratings", grouped(self.ratings as u64))?;
        write!(f, " from {} to {}", self.min, self.max)?;
        some(f, self.repeated, "rating", " of a repeated user and item (all kept)")?;
        some(f, self.unseen_users, "rating", " of users not in the training data")?;
        some(f, self.unseen_items, "rating", " of items not in the training data")?;
        some(f, self.blank_lines, "blank line", "")?;
        some(f, self.comment_lines, "comment line", "")
    }
}
