//! Pairs of rows that are similar or not: from a file, or drawn from labels.

use std::path::Path;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::Error;
use crate::catalog::News;
use crate::data::{grouped, read_row_pairs};

/// Two rows.
pub type Pair = [u32; 2];

/// Pairs of rows, from 0.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pairs {
    /// Those that should be near.
    pub similar: Vec<Pair>,
    /// Those that should be far.
    pub dissimilar: Vec<Pair>,
}

impl Pairs {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.similar.len() + self.dissimilar.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads `i j same` lines about `n_rows` rows.
    ///
    /// # Errors
    /// A line that is not such, a row that is not there, or only pairs of one kind.
    pub fn read(path: &Path, n_rows: usize, tell: &(dyn Fn(News) + Sync)) -> Result<Self, Error> {
        let mut pairs = Self::default();
        for (pair, same) in read_row_pairs(path, n_rows, tell)? {
            if same { &mut pairs.similar } else { &mut pairs.dissimilar }.push(pair);
        }
        let (similar, dissimilar) = (pairs.similar.len(), pairs.dissimilar.len());
        if similar == 0 || dissimilar == 0 {
            let problem =
                format!("{similar} similar and {dissimilar} dissimilar pairs, expected some of both");
            return Err(Error::Data { path: path.to_path_buf(), problem });
        }
        let counts = [similar, dissimilar].map(|n| grouped(n as u64));
        tell(News::Fact(format!("pairs: {} similar, {} dissimilar", counts[0], counts[1])));
        Ok(pairs)
    }

    /// Draws `n / 2` pairs of each kind, with replacement: similar ones from all rows that are not alone in their class,
    /// dissimilar ones from all of different classes. `None` where there is only one class, or no class of two rows.
    pub fn draw(classes: &[u32], n: usize, seed: u64) -> Option<Self> {
        let n_classes = *classes.iter().max()? as usize + 1;
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); n_classes];
        classes.iter().zip(0..).for_each(|(class, row)| members[*class as usize].push(row));
        let paired: Vec<u32> = members.iter().filter(|rows| rows.len() > 1).flatten().copied().collect();
        let one_class = members.iter().filter(|rows| !rows.is_empty()).count() < 2;
        if paired.is_empty() || one_class {
            return None;
        }
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut pairs = Self::default();
        while pairs.similar.len() < n / 2 {
            let row = paired[rng.random_range(0..paired.len())];
            let of_class = &members[classes[row as usize] as usize];
            let other = of_class[rng.random_range(0..of_class.len())];
            if other != row {
                pairs.similar.push([row, other]);
            }
        }
        while pairs.dissimilar.len() < n / 2 {
            let [row, other] = [(); 2].map(|()| rng.random_range(0..classes.len()));
            if classes[row] != classes[other] {
                pairs.dissimilar.push([row as u32, other as u32]);
            }
        }
        Some(pairs)
    }
}
