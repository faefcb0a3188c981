//! Which items each user has rated: kept with the model, so that they are not recommended again.

use std::path::Path;

use ndarray::arr1;

use crate::Error;
use crate::catalog::Array;
use crate::data::npy;

/// The rated items of every user, by dense index: ascending, each once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rated {
    /// Where the items of each user begin, and last where those of the last one end.
    starts: Vec<i64>,
    items: Vec<i32>,
}

impl Rated {
    /// Of ratings, by the dense indices of their users and items.
    pub fn of(users: &[u32], items: &[u32], n_users: usize) -> Self {
        let mut lists: Vec<usize> = vec![0; n_users + 1];
        users.iter().for_each(|&user| lists[user as usize + 1] += 1);
        (0..n_users).for_each(|user| lists[user + 1] += lists[user]);
        let (mut next, mut sorted) = (lists.clone(), vec![0i32; items.len()]);
        for (&user, &item) in users.iter().zip(items) {
            let place = &mut next[user as usize];
            sorted[*place] = item.cast_signed();
            *place += 1;
        }
        let mut rated = Self { starts: vec![0], items: Vec::with_capacity(items.len()) };
        for user in lists.windows(2) {
            let of_user = &mut sorted[user[0]..user[1]];
            of_user.sort_unstable();
            let start = rated.items.len();
            for &item in of_user.iter() {
                if rated.items.len() == start || rated.items.last() != Some(&item) {
                    rated.items.push(item);
                }
            }
            rated.starts.push(rated.items.len() as i64);
        }
        rated
    }

    /// Those of a user; none of one that is not known.
    pub fn by(&self, user: usize) -> &[i32] {
        match self.starts.get(user..user + 2) {
            Some(&[start, end]) => &self.items[start as usize..end as usize],
            _ => &[],
        }
    }

    /// Whether a user has rated an item.
    pub fn has(&self, user: usize, item: u32) -> bool {
        self.by(user).binary_search(&item.cast_signed()).is_ok()
    }

    /// How many users have rated each of `n_items` items.
    pub fn counts(&self, n_items: usize) -> Vec<u32> {
        let mut counts = vec![0; n_items];
        self.items.iter().for_each(|&item| counts[item.cast_unsigned() as usize] += 1);
        counts
    }

    /// The arrays of a model that say it.
    pub(super) fn arrays(self) -> [(String, Array); 2] {
        [
            ("rated_starts".to_owned(), Array::I64(arr1(&self.starts).into_dyn())),
            ("rated_items".to_owned(), Array::I32(arr1(&self.items).into_dyn())),
        ]
    }

    /// Reads them back from the `model/` folder of a run with so many users and items.
    ///
    /// # Errors
    /// An array that is missing, or says what cannot be.
    pub fn read(folder: &Path, (n_users, n_items): (usize, usize)) -> Result<Self, Error> {
        let path = folder.join("rated_starts.npy");
        if !path.exists() {
            let problem = "is not there: the run was trained before rated items were kept; train it again";
            return Err(Error::Data { path, problem: problem.to_owned() });
        }
        let starts: Vec<i64> = npy::read_i64(&path)?.iter().copied().collect();
        let items: Vec<i32> = npy::read_i32(&folder.join("rated_items.npy"))?.iter().copied().collect();
        let n = i64::try_from(items.len()).unwrap_or(i64::MAX);
        let fits = starts.len() == n_users + 1
            && starts.first() == Some(&0)
            && starts.last() == Some(&n)
            && starts.is_sorted()
            && items.iter().all(|&item| usize::try_from(item).is_ok_and(|item| item < n_items));
        if !fits {
            let problem = format!("does not list the items of {n_users} users; copy the model again");
            return Err(Error::Data { path, problem });
        }
        Ok(Self { starts, items })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_items_of_each_user_are_listed_once_in_order() {
        let rated = Rated::of(&[2, 0, 2, 2, 0], &[5, 1, 3, 5, 0], 4);
        assert_eq!((rated.by(0), rated.by(2)), (&[0, 1][..], &[3, 5][..]));
        assert!(rated.by(1).is_empty() && rated.by(3).is_empty() && rated.by(9).is_empty());
        assert!(rated.has(2, 5) && !rated.has(2, 1) && !rated.has(7, 0));
        assert_eq!(rated.counts(6), [1, 1, 0, 1, 0, 1]);
    }

    #[test]
    fn what_was_written_is_read_back_and_a_list_of_others_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let rated = Rated::of(&[0, 1], &[2, 0], 2);
        for (name, array) in rated.clone().arrays() {
            npy::write(&folder.path().join(format!("{name}.npy")), &array).unwrap();
        }
        assert_eq!(Rated::read(folder.path(), (2, 3)).unwrap(), rated);
        assert!(Rated::read(folder.path(), (3, 3)).is_err());
        assert!(Rated::read(folder.path(), (2, 2)).is_err());
        let none = tempfile::tempdir().unwrap();
        let why = Rated::read(none.path(), (2, 3)).unwrap_err().to_string();
        assert!(why.ends_with("train it again"), "{why}");
    }
}
