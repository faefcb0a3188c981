//! Who owns which row: documents or users are dealt to parts, words or items to blocks, so that every cell has its share
//! of the data.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Rows dealt to groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deal {
    /// Group of each dense id.
    pub group: Vec<u32>,
    /// Row of each dense id within its group.
    pub row: Vec<u32>,
    /// The ids of each group, in row order: heaviest first.
    pub members: Vec<Vec<u32>>,
}

impl Deal {
    /// Deals ids to `n_groups` so that the groups are nearly of the same weight.
    ///
    /// `counts` has how often each id occurs. Ids go to the lightest group, those that occur most first (Graham's
    /// longest-processing-time rule: the heaviest group has at most 4/3 of the least possible), ties in an order
    /// drawn from `seed`. An id weighs its occurrences plus one, so rare ids are spread too.
    pub fn even(counts: &[u32], n_groups: usize, seed: u64) -> Self {
        let n_groups = n_groups.max(1);
        let mut order: Vec<u32> = (0..counts.len() as u32).collect();
        order.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
        order.sort_by_key(|&id| Reverse(counts[id as usize]));

        let mut lightest: BinaryHeap<Reverse<(u64, usize)>> =
            (0..n_groups).map(|group| Reverse((0, group))).collect();
        let mut deal = Self {
            group: vec![0; counts.len()],
            row: vec![0; counts.len()],
            members: vec![Vec::new(); n_groups],
        };
        for id in order {
            let Some(mut top) = lightest.peek_mut() else { break };
            let group = top.0.1;
            top.0.0 += u64::from(counts[id as usize]) + 1;
            deal.group[id as usize] = group as u32;
            deal.row[id as usize] = deal.members[group].len() as u32;
            deal.members[group].push(id);
        }
        deal
    }

    /// Deals ids to `n_groups` that differ by one id at most and are nearly of the same weight: ids of like counts go to
    /// all groups in turn, the heaviest of them to the group that has least. Ties in an order drawn from `seed`.
    pub fn level(counts: &[u32], n_groups: usize, seed: u64) -> Self {
        let n_groups = n_groups.max(1);
        let mut order: Vec<u32> = (0..counts.len() as u32).collect();
        order.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
        order.sort_by_key(|&id| Reverse(counts[id as usize]));
        let mut deal = Self {
            group: vec![0; counts.len()],
            row: vec![0; counts.len()],
            members: vec![Vec::new(); n_groups],
        };
        let mut groups: Vec<(u64, usize)> = (0..n_groups).map(|group| (0, group)).collect();
        for like in order.chunks(n_groups) {
            groups.sort_unstable();
            for (&id, (weight, group)) in like.iter().zip(&mut groups) {
                *weight += u64::from(counts[id as usize]);
                deal.group[id as usize] = *group as u32;
                deal.row[id as usize] = deal.members[*group].len() as u32;
                deal.members[*group].push(id);
            }
        }
        deal
    }

    /// How many groups there are.
    pub fn n_groups(&self) -> usize {
        self.members.len()
    }
}

/// How often each of `n` ids occurs.
pub fn count(ids: &[u32], n: usize) -> Vec<u32> {
    let mut counts = vec![0u32; n];
    for &id in ids {
        counts[id as usize] += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_deal_has_groups_of_one_size_and_nearly_one_weight() {
        let counts: Vec<u32> = (1..=1003u32).map(|rank| 5_000 / (rank + 20)).collect();
        let deal = Deal::level(&counts, 8, 3);
        let weights = deal.members.iter().map(|ids| ids.iter().map(|&id| counts[id as usize]).sum::<u32>());
        let (least, most) = (weights.clone().min().unwrap(), weights.max().unwrap());
        assert!(most - least < most / 50, "{least} to {most}");
        assert!(deal.members.iter().all(|ids| (125..=126).contains(&ids.len())));
        for (id, (&group, &row)) in deal.group.iter().zip(&deal.row).enumerate() {
            assert_eq!(deal.members[group as usize][row as usize] as usize, id);
        }
    }

    #[test]
    fn more_groups_than_ids_leave_empty_ones() {
        let deal = Deal::level(&[3, 1], 4, 0);
        assert_eq!(deal.members.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 0, 0]);
    }
}
