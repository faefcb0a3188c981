//! The parallel core: a visit of one cell. No actors and no threads; whoever calls makes sure that no two visits at the same
//! time share a part or a block.

use rand::Rng;
use rand::SeedableRng;
use rand_xoshiro::{SplitMix64, Xoshiro256PlusPlus};

use super::grid::Part;
use crate::kernel::gibbs::{Lists, Narrow, Occurrences, Packing, Sampler, Topic, Wide, assign};

/// The counts of the words of a block: how often each topic has the word.
pub trait Rows {
    /// A row of one number a topic.
    fn dense(&mut self, row: usize) -> &mut [i32];
    /// A list of topics, ascending, and their numbers. Rows are counted from the first word that has a list.
    fn sparse(&mut self, row: usize) -> &mut Vec<(u32, i32)>;
}

/// The topics of the documents of a part.
#[derive(Debug, Clone)]
pub enum Documents {
    /// Four bytes a topic of a document.
    Narrow(Lists<Narrow>),
    /// Eight bytes, where topics or tokens are too many for that.
    Wide(Lists<Wide>),
}

/// Does the same with lists of either kind.
macro_rules! with {
    ($documents:expr, $lists:ident => $body:expr) => {
        match $documents {
            Documents::Narrow($lists) => $body,
            Documents::Wide($lists) => $body,
        }
    };
}
pub(super) use with;

impl Documents {
    /// Documents of a part, without topics yet.
    pub fn new(part: &Part, n_topics: usize) -> Self {
        let longest = part.lengths.iter().copied().max().unwrap_or(0) as usize;
        if longest.max(n_topics) <= Narrow::LARGEST {
            Self::Narrow(Lists::new(&part.lengths, n_topics))
        } else {
            Self::Wide(Lists::new(&part.lengths, n_topics))
        }
    }

    /// Takes up the topics of all tokens.
    pub fn rebuild(&mut self, part: &Part, topics: &Assignment<'_>) {
        with!(self, lists => {
            lists.clear();
            match topics {
                Assignment::Short(topics) => lists.add(&part.docs, &topics[..part.n_tokens()]),
                Assignment::Long(topics) => lists.add(&part.docs, &topics[..part.n_tokens()]),
            }
        });
    }
}

/// The topics of the tokens of a part, in the rows of a table: two a row, where topics are few enough.
#[derive(Debug)]
pub enum Assignment<'a> {
    /// Two bytes a token.
    Short(&'a mut [u16]),
    /// Four bytes a token.
    Long(&'a mut [i32]),
}

impl<'a> Assignment<'a> {
    /// Rows of one number that hold so many tokens.
    pub fn n_rows(n_tokens: usize, n_topics: usize) -> usize {
        if n_topics <= u16::MOST { n_tokens.div_ceil(2) } else { n_tokens }
    }

    /// What the rows hold; rows of -1 are tokens without a topic.
    pub fn of(rows: &'a mut [i32], n_topics: usize) -> Self {
        if n_topics <= u16::MOST { Self::Short(bytemuck::cast_slice_mut(rows)) } else { Self::Long(rows) }
    }

    /// The topic of a token, if it has one.
    pub fn get(&self, token: usize) -> Option<u32> {
        match self {
            Self::Short(topics) => topics[token].get(),
            Self::Long(topics) => topics[token].get(),
        }
    }
}

/// What rows hold whose tokens have no topic yet.
pub const UNASSIGNED: i32 = -1;

/// A cell at hand.
#[derive(Debug)]
pub struct Cell<'a, R> {
    /// Its part.
    pub part: &'a Part,
    /// Its block.
    pub block: usize,
    /// How many of the first words of the block have dense rows.
    pub n_dense: usize,
    /// The counts of the block.
    pub rows: R,
    /// The topic of each token of the part.
    pub topics: Assignment<'a>,
    /// The topics of each document of the part.
    pub documents: &'a mut Documents,
}

/// The random numbers of a visit: those of (seed, part, block, pass) and no other, whoever makes it and when.
pub fn random(seed: u64, part: usize, block: usize, pass: u64) -> Xoshiro256PlusPlus {
    let mut mix = SplitMix64::seed_from_u64(seed ^ 0x6C64_6120_6769_6262);
    let mut place = mix.next_u64();
    for number in [part as u64, block as u64, pass] {
        place = SplitMix64::seed_from_u64(place ^ number).next_u64();
    }
    Xoshiro256PlusPlus::seed_from_u64(place)
}

impl<R: Rows + ?Sized> Rows for &mut R {
    fn dense(&mut self, row: usize) -> &mut [i32] {
        (**self).dense(row)
    }

    fn sparse(&mut self, row: usize) -> &mut Vec<(u32, i32)> {
        (**self).sparse(row)
    }
}

impl<R: Rows> Cell<'_, R> {
    /// Gives every token of the cell a topic, all alike likely. Adds the tokens of each topic to `totals`.
    pub fn start(&mut self, totals: &mut [i32], random: &mut Xoshiro256PlusPlus) -> u64 {
        let Self { part, block, n_dense, rows, topics, documents } = self;
        with!(documents, lists => match topics {
            Assignment::Short(topics) => start((part, *block, *n_dense), rows, (topics, lists), totals, random),
            Assignment::Long(topics) => start((part, *block, *n_dense), rows, (topics, lists), totals, random),
        })
    }

    /// Samples the topic of every token of the cell, word by word. Returns a number that tells this change from others.
    pub fn visit(&mut self, sampler: &mut Sampler, random: &mut Xoshiro256PlusPlus) -> u64 {
        let Self { part, block, n_dense, rows, topics, documents } = self;
        with!(documents, lists => match topics {
            Assignment::Short(topics) => visit((part, *block, *n_dense), rows, (topics, lists), sampler, random),
            Assignment::Long(topics) => visit((part, *block, *n_dense), rows, (topics, lists), sampler, random),
        })
    }
}

fn start<P: Packing, T: Topic>(
    (part, block, n_dense): (&Part, usize, usize),
    rows: &mut impl Rows,
    (topics, lists): (&mut [T], &mut Lists<P>),
    totals: &mut [i32],
    random: &mut Xoshiro256PlusPlus,
) -> u64 {
    let mut counts = vec![0; totals.len()];
    let mut change = 0u64;
    for (row, tokens) in part.words(block) {
        let mut tokens = Occurrences { docs: &part.docs[tokens.clone()], topics: &mut topics[tokens] };
        change = mixed(change, assign(&mut tokens, lists, random));
        let mut drawn: Vec<u32> = tokens.topics.iter().filter_map(|topic| topic.get()).collect();
        for topic in &drawn {
            counts[*topic as usize] += 1;
            totals[*topic as usize] += 1;
        }
        if row < n_dense {
            let row = rows.dense(row);
            row.iter_mut().zip(&mut counts).for_each(|(count, more)| *count += std::mem::take(more));
        } else {
            let row = rows.sparse(row - n_dense);
            row.iter().for_each(|(topic, count)| counts[*topic as usize] += count);
            drawn.extend(row.iter().map(|entry| entry.0));
            drawn.sort_unstable();
            drawn.dedup();
            *row =
                drawn.into_iter().map(|topic| (topic, std::mem::take(&mut counts[topic as usize]))).collect();
        }
    }
    change
}

fn visit<P: Packing, T: Topic>(
    (part, block, n_dense): (&Part, usize, usize),
    rows: &mut impl Rows,
    (topics, lists): (&mut [T], &mut Lists<P>),
    sampler: &mut Sampler,
    random: &mut Xoshiro256PlusPlus,
) -> u64 {
    let mut change = 0u64;
    for (row, tokens) in part.words(block) {
        let mut tokens = Occurrences { docs: &part.docs[tokens.clone()], topics: &mut topics[tokens] };
        let changed = if row < n_dense {
            sampler.dense(rows.dense(row), &mut tokens, lists, random)
        } else {
            sampler.sparse(rows.sparse(row - n_dense), &mut tokens, lists, random)
        };
        change = mixed(change, changed);
    }
    change
}

fn mixed(all: u64, next: u64) -> u64 {
    all.rotate_left(5).wrapping_add(next)
}
