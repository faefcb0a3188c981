//! The topics of the documents of a part: for each a short list of topics and how many of its tokens have them.

use std::fmt::Debug;

use super::Instructions;
use super::draw::{Lanes, find};

/// How sixteen topics and their counts are put into memory. Entries with the count 0 are free.
pub trait Packing: Copy + Default + Debug + Send + Sync + 'static {
    /// The largest topic and count that it holds.
    const LARGEST: usize;
    /// Topic and count of an entry.
    fn get(&self, lane: usize) -> (u32, u32);
    /// Writes an entry.
    fn put(&mut self, lane: usize, topic: u32, count: u32);
    /// The sixteen entries as they lie in memory: one line of topics and counts in halves of 32 bits, or one of each.
    fn words(&self) -> (&[u32; 16], Option<&[u32; 16]>);
}

/// How the topic of a token is put into memory.
pub trait Topic: Copy + Send + Sync + 'static {
    /// Topics it can tell apart.
    const MOST: usize;
    /// None yet.
    const NONE: Self;
    /// This topic, below [`Topic::MOST`].
    fn of(topic: u32) -> Self;
    /// The topic, if there is one.
    fn get(self) -> Option<u32>;
}

impl Topic for u16 {
    const MOST: usize = Self::MAX as usize;
    const NONE: Self = Self::MAX;

    #[inline(always)]
    fn of(topic: u32) -> Self {
        topic as Self
    }

    #[inline(always)]
    fn get(self) -> Option<u32> {
        (self != Self::NONE).then_some(u32::from(self))
    }
}

impl Topic for i32 {
    const MOST: usize = Self::MAX as usize;
    const NONE: Self = -1;

    #[inline(always)]
    fn of(topic: u32) -> Self {
        topic.cast_signed()
    }

    #[inline(always)]
    fn get(self) -> Option<u32> {
        u32::try_from(self).ok()
    }
}

/// Topics and counts below 2¹⁶: an entry is four bytes, sixteen are one line of the cache.
#[repr(align(64))]
#[derive(Debug, Clone, Copy, Default)]
pub struct Narrow([u32; 16]);

/// Topics and counts below 2³¹: an entry is eight bytes.
#[repr(align(64))]
#[derive(Debug, Clone, Copy, Default)]
pub struct Wide {
    topics: [u32; 16],
    counts: [u32; 16],
}

impl Packing for Narrow {
    const LARGEST: usize = u16::MAX as usize;

    #[inline(always)]
    fn get(&self, lane: usize) -> (u32, u32) {
        (self.0[lane] >> 16, self.0[lane] & 0xFFFF)
    }

    #[inline(always)]
    fn put(&mut self, lane: usize, topic: u32, count: u32) {
        self.0[lane] = topic << 16 | count;
    }

    #[inline(always)]
    fn words(&self) -> (&[u32; 16], Option<&[u32; 16]>) {
        (&self.0, None)
    }
}

impl Packing for Wide {
    const LARGEST: usize = i32::MAX as usize;

    #[inline(always)]
    fn get(&self, lane: usize) -> (u32, u32) {
        (self.topics[lane], self.counts[lane])
    }

    #[inline(always)]
    fn put(&mut self, lane: usize, topic: u32, count: u32) {
        (self.topics[lane], self.counts[lane]) = (topic, count);
    }

    #[inline(always)]
    fn words(&self) -> (&[u32; 16], Option<&[u32; 16]>) {
        (&self.topics, Some(&self.counts))
    }
}

/// The topics of each document of a part.
///
/// Every topic in it is below `n_topics`, every list is as long as it says, and what is not used of its lines is 0: the
/// sampler relies on that without looking.
#[derive(Debug, Clone)]
pub struct Lists<P> {
    n_topics: usize,
    heads: Vec<Head>,
    lines: Vec<P>,
    /// Lines of the longest list there may be.
    longest: usize,
}

/// Where the list of a document is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    /// Its first line.
    pub(super) start: u32,
    /// Its entries.
    pub(super) len: u32,
}

impl<P: Packing> Lists<P> {
    /// Empty lists for documents of so many tokens each.
    ///
    /// # Panics
    /// When the packing does not hold as many topics or tokens, or there are no topics.
    pub fn new(lengths: &[u32], n_topics: usize) -> Self {
        assert!((1..=P::LARGEST).contains(&n_topics), "{n_topics} topics do not fit");
        let (mut heads, mut n_lines, mut longest) = (Vec::with_capacity(lengths.len()), 0usize, 0);
        for &length in lengths {
            assert!(length as usize <= P::LARGEST, "a document of {length} tokens does not fit");
            let lines = (length as usize).min(n_topics).div_ceil(16);
            heads.push(Head { start: u32::try_from(n_lines).expect("a part has fewer lines"), len: 0 });
            (n_lines, longest) = (n_lines + lines, longest.max(lines));
        }
        Self { n_topics, heads, lines: vec![P::default(); n_lines], longest }
    }

    /// Topics there are.
    pub fn n_topics(&self) -> usize {
        self.n_topics
    }

    /// Documents.
    pub fn n_docs(&self) -> usize {
        self.heads.len()
    }

    /// Lines of the longest list there may be.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    /// Heads and lines, for the sampler.
    #[inline(always)]
    pub(super) fn raw(&mut self) -> (&mut [Head], &mut [P]) {
        (&mut self.heads, &mut self.lines)
    }

    /// The topics of a document, each with its count, in no order.
    pub fn of(&self, doc: usize) -> Topics<'_, P> {
        let Head { start, len } = self.heads[doc];
        let lines = (len as usize).div_ceil(16);
        Topics { lines: &self.lines[start as usize..start as usize + lines], len: len as usize, next: 0 }
    }

    /// Makes all lists empty.
    pub fn clear(&mut self) {
        self.heads.iter_mut().for_each(|head| head.len = 0);
        self.lines.fill(P::default());
    }

    /// Takes in tokens: the document and the topic of each, where it has one.
    ///
    /// # Panics
    /// If there is no such document or topic, or a document has more tokens now than it was made for.
    pub fn add<T: Topic>(&mut self, docs: &[u32], topics: &[T]) {
        assert_eq!(docs.len(), topics.len(), "one topic a token");
        match Instructions::detect() {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the processor has the instructions.
            Instructions::Avx512 => unsafe { super::avx512::add(self, docs, topics) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the processor has the instructions.
            Instructions::Avx2 => unsafe { super::avx2::add(self, docs, topics) },
            Instructions::Portable => super::portable::add(self, docs, topics),
        }
    }

    /// One more token of a document has this topic.
    ///
    /// # Safety
    /// See [`Lanes`].
    #[inline(always)]
    pub(super) unsafe fn add_one<L: Lanes>(&mut self, doc: usize, topic: u32) {
        assert!((topic as usize) < self.n_topics, "topic {topic} of {}", self.n_topics);
        let end = self.heads.get(doc + 1).map_or(self.lines.len(), |next| next.start as usize);
        let Head { start, len } = &mut self.heads[doc];
        let lines = &mut self.lines[*start as usize..end];
        let used = (*len as usize).div_ceil(16);
        // SAFETY: a list is inside its lines; what the caller promises.
        if let Some(place) = unsafe { find::<L, P>(lines.as_ptr(), used, topic) } {
            let line = &mut lines[place / 16];
            let count = line.get(place % 16).1;
            line.put(place % 16, topic, count + 1);
        } else {
            let place = *len as usize;
            assert!(place / 16 < lines.len(), "document {doc} has more topics than tokens");
            lines[place / 16].put(place % 16, topic, 1);
            *len += 1;
        }
    }
}

/// The topics of a document: an iterator over topics and counts.
#[derive(Debug, Clone)]
pub struct Topics<'a, P> {
    lines: &'a [P],
    len: usize,
    next: usize,
}

impl<P: Packing> Iterator for Topics<'_, P> {
    type Item = (u32, u32);

    fn next(&mut self) -> Option<(u32, u32)> {
        let at = self.next;
        (at < self.len).then(|| {
            self.next += 1;
            self.lines[at / 16].get(at % 16)
        })
    }
}
