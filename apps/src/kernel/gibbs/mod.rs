//! Collapsed Gibbs sampling of topics (Griffiths and Steyvers 2004), one word at a time, exact.
//!
//! The topic of a token of word `w` in document `d`, given those of all other tokens, is `k` with a probability
//! proportional to
//!
//! ```text
//! (n_dk + α_k) φ_k        φ_k = (n_wk + β) / (n_k + V β)
//!
//! = n_dk φ_k  +  α_k φ_k
//!   the topics    all topics
//!   of d
//! ```
//!
//! where the `n` leave the token out. The tokens of a word are visited one after the other, so `φ` stays in the first
//! level cache and changes at two places a token at most. The first sum runs over the few topics of the document, 16 at a
//! time; the second is a tree of sums of 16, drawn from in `log₁₆ K` steps, so that a token costs the
//! topics of its document and no more, however many topics there are. The split is that of SparseLDA (Yao, Mimno and
//! McCallum 2009), turned round to go word by word as F+LDA does (Yu, Hsieh, Yun, Vishwanathan and Dhillon 2015).
//!
//! A token that keeps its topic, as most do once a run has settled, writes nothing at all.
//!
//! Words with a count for most topics are rows of `K` numbers ([`Sampler::dense`]). The others are lists of their
//! non-zeros ([`Sampler::sparse`]): their `φ` is that of a word without tokens, kept for all of them alike, and changed
//! at the topics of the list for as long as the word is at hand.
//!
//! [`portable`] is the definition of correct; `avx512` and `avx2` are the same where the processor has registers of 512 or
//! 256 bits, and give the same bits as each other.
#![allow(unsafe_code)] // its contract is at the head of `draw`

mod draw;
mod lists;
mod tree;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
pub mod portable;

#[cfg(test)]
mod tests;

use rand_xoshiro::Xoshiro256PlusPlus;

pub use lists::{Lists, Narrow, Packing, Topic, Topics, Wide};

use draw::Tokens;
use tree::Tree;

/// The tokens of one word in a part: the document of each, and its topic.
#[derive(Debug)]
pub struct Occurrences<'a, T> {
    /// Row of the document of each token; those of one document stand together.
    pub docs: &'a [u32],
    /// The topic of each token.
    pub topics: &'a mut [T],
}

/// The priors of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Priors {
    /// `α_k`: of each topic in a document, above 0.
    pub alpha: Vec<f64>,
    /// `β`: of each word in a topic, above 0.
    pub beta: f64,
    /// `V`: words of the vocabulary.
    pub n_words: usize,
}

/// What a worker samples with: the totals as it knows them, and `φ` of the word at hand.
#[derive(Debug)]
pub struct Sampler {
    n_topics: usize,
    alpha: Vec<f32>,
    beta: f32,
    /// `V β`.
    smoothing: f32,
    /// `n_k`: tokens of each topic.
    totals: Vec<i32>,
    /// `1 / (n_k + V β)`.
    inverse: Vec<f32>,
    /// `φ_k` of the word at hand, then zeros up to a multiple of 16.
    phi: Vec<f32>,
    /// Sums of `α_k φ_k`.
    tree: Tree,
    /// Whether `phi` is that of a word without tokens.
    at_base: bool,
    /// Changes of the tree since it was built.
    changes: usize,
    /// The counts of the sparse word at hand; all zero between words.
    counts: Vec<i32>,
    /// Topics that the sparse word at hand had a count for at any time.
    touched: Vec<u32>,
    scratch: draw::Scratch,
    lanes: Instructions,
}

/// Which instructions the processor has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Instructions {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Portable,
}

impl Instructions {
    fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("bmi1")
        {
            return Self::Avx512;
        }
        #[cfg(target_arch = "x86_64")]
        if Self::has_avx2() {
            return Self::Avx2;
        }
        Self::Portable
    }

    #[cfg(target_arch = "x86_64")]
    fn has_avx2() -> bool {
        is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("fma")
    }
}

/// Changes of a sparse word's tree after which its rounding errors are taken out.
const REBUILD: usize = 1 << 16;

impl Sampler {
    /// A sampler with these priors; it has seen no tokens.
    pub fn new(priors: &Priors) -> Self {
        let n_topics = priors.alpha.len();
        let mut sampler = Self {
            n_topics,
            alpha: Vec::new(),
            beta: 0.0,
            smoothing: 0.0,
            totals: vec![0; n_topics],
            inverse: vec![0.0; n_topics],
            phi: vec![0.0; n_topics.next_multiple_of(16)],
            tree: Tree::new(n_topics),
            at_base: false,
            changes: 0,
            counts: vec![0; n_topics],
            touched: Vec::new(),
            scratch: draw::Scratch::default(),
            lanes: Instructions::detect(),
        };
        sampler.set(priors);
        sampler
    }

    /// The same with [`portable`] loops, whatever the processor has.
    #[must_use]
    pub fn portable(mut self) -> Self {
        self.lanes = Instructions::Portable;
        self
    }

    /// The same in registers of 256 bits, where the processor has them.
    #[cfg(all(test, target_arch = "x86_64"))]
    fn halved(mut self) -> Self {
        self.lanes = if Instructions::has_avx2() { Instructions::Avx2 } else { Instructions::Portable };
        self
    }

    /// Goes on with other priors for the same number of topics.
    ///
    /// # Panics
    /// If their number is another.
    pub fn set(&mut self, priors: &Priors) {
        assert_eq!(priors.alpha.len(), self.n_topics, "one prior a topic");
        self.alpha = priors.alpha.iter().map(|alpha| *alpha as f32).collect();
        self.beta = priors.beta as f32;
        self.smoothing = (priors.beta * priors.n_words as f64) as f32;
        let totals = std::mem::take(&mut self.totals);
        self.begin(&totals);
    }

    /// Takes up the totals as they are known now: tokens of each topic. Where other workers' changes are still on their way
    /// a total may be off by them; one below zero is sampled with as zero.
    ///
    /// # Panics
    /// If there is not one for each topic.
    pub fn begin(&mut self, totals: &[i32]) {
        assert_eq!(totals.len(), self.n_topics, "one total a topic");
        self.totals.clear();
        self.totals.extend_from_slice(totals);
        for (inverse, total) in self.inverse.iter_mut().zip(&self.totals) {
            *inverse = 1.0 / ((*total).max(0) as f32 + self.smoothing);
        }
        self.at_base = false;
    }

    /// The totals, with what this sampler changed.
    pub fn totals(&self) -> &[i32] {
        &self.totals
    }

    /// Samples the topics of a word whose counts are a row of one number a topic. Returns a number that tells this change
    /// of the topics from others.
    ///
    /// # Panics
    /// If a token has a topic or a document that is not there, or `lists` is not that of these tokens.
    pub fn dense<P: Packing, T: Topic>(
        &mut self,
        counts: &mut [i32],
        tokens: &mut Occurrences<'_, T>,
        lists: &mut Lists<P>,
        random: &mut Xoshiro256PlusPlus,
    ) -> u64 {
        assert_eq!(counts.len(), self.n_topics, "one count a topic");
        for ((phi, count), inverse) in self.phi.iter_mut().zip(&*counts).zip(&self.inverse) {
            *phi = (*count as f32 + self.beta) * inverse;
        }
        self.tree.build(&self.alpha, &self.phi);
        self.at_base = false;
        self.resample::<P, T, false>(counts, tokens, lists, random)
    }

    /// Samples the topics of a word whose counts are a list of non-zeros, topics ascending. Returns as
    /// [`dense`](Self::dense) does.
    ///
    /// # Panics
    /// As [`dense`](Self::dense), and if the list has a topic that is not there.
    pub fn sparse<P: Packing, T: Topic>(
        &mut self,
        row: &mut Vec<(u32, i32)>,
        tokens: &mut Occurrences<'_, T>,
        lists: &mut Lists<P>,
        random: &mut Xoshiro256PlusPlus,
    ) -> u64 {
        if !self.at_base || self.changes > REBUILD {
            self.phi.iter_mut().zip(&self.inverse).for_each(|(phi, inverse)| *phi = self.beta * inverse);
            self.tree.build(&self.alpha, &self.phi);
            (self.at_base, self.changes) = (true, 0);
        }
        let mut counts = std::mem::take(&mut self.counts);
        for &(topic, count) in &*row {
            let k = topic as usize;
            counts[k] = count;
            self.touched.push(topic);
            self.put(k, (count as f32 + self.beta) * self.inverse[k]);
        }
        let change = self.resample::<P, T, true>(&mut counts, tokens, lists, random);
        row.clear();
        let mut touched = std::mem::take(&mut self.touched);
        touched.sort_unstable();
        touched.dedup();
        self.changes += 2 * touched.len();
        for topic in touched.drain(..) {
            let k = topic as usize;
            let count = std::mem::take(&mut counts[k]);
            if count != 0 {
                row.push((topic, count));
            }
            self.put(k, self.beta * self.inverse[k]);
        }
        (self.counts, self.touched) = (counts, touched);
        change
    }

    fn put(&mut self, k: usize, phi: f32) {
        self.tree.add(k, self.alpha[k] * (phi - self.phi[k]));
        self.phi[k] = phi;
    }

    fn resample<P: Packing, T: Topic, const SPARSE: bool>(
        &mut self,
        counts: &mut [i32],
        tokens: &mut Occurrences<'_, T>,
        lists: &mut Lists<P>,
        random: &mut Xoshiro256PlusPlus,
    ) -> u64 {
        assert_eq!(tokens.docs.len(), tokens.topics.len(), "one topic a token");
        assert_eq!(lists.n_topics(), self.n_topics, "the lists are of another number of topics");
        self.scratch.fit(lists.longest());
        let lanes = self.lanes;
        let tokens = Tokens { docs: tokens.docs, topics: tokens.topics, counts, lists, random };
        match lanes {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the processor has the instructions.
            Instructions::Avx512 => unsafe { avx512::resample::<P, T, SPARSE>(self, tokens) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the processor has the instructions.
            Instructions::Avx2 => unsafe { avx2::resample::<P, T, SPARSE>(self, tokens) },
            Instructions::Portable => portable::resample::<P, T, SPARSE>(self, tokens),
        }
    }
}

/// Gives tokens without a topic one each, all topics alike likely; returns as [`Sampler::dense`] does.
///
/// # Panics
/// If a token is of a document that is not there.
pub fn assign<P: Packing, T: Topic>(
    tokens: &mut Occurrences<'_, T>,
    lists: &mut Lists<P>,
    random: &mut Xoshiro256PlusPlus,
) -> u64 {
    use rand::RngExt;
    assert!(lists.n_topics() <= T::MOST, "a token tells {} topics apart", T::MOST);
    let n_topics = lists.n_topics() as u32;
    let mut change = 0u64;
    for (at, topic) in tokens.topics.iter_mut().enumerate() {
        let drawn = random.random_range(0..n_topics);
        *topic = T::of(drawn);
        change = change.wrapping_add(draw::fingerprint(at, drawn));
    }
    lists.add(tokens.docs, tokens.topics);
    change
}
