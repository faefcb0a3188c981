//! The draw of one topic after the other for the tokens of a word, over any registers of sixteen numbers.
//!
//! # Safety contract
//! Unchecked: topics of [`Lists`] into `phi` and lists inside their lines, which its construction and `add` guarantee and
//! this file keeps; a document's place among the heads and a topic's among the totals, which are compared here once a
//! token. Registers that not every processor has are used only in functions that say so, which are called after the
//! processor has said that it has them.

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::Sampler;
use super::lists::{Head, Lists, Packing, Topic};
use super::tree::Line;

/// Registers of sixteen numbers.
///
/// # Safety
/// The functions are called where the processor has the instructions of the implementation, with lines of lists whose
/// topics are all below the length of `phi`.
pub(super) trait Lanes {
    type Floats: Copy;
    unsafe fn zero() -> Self::Floats;
    unsafe fn sum(a: Self::Floats, b: Self::Floats) -> Self::Floats;
    /// `n_dk φ_k` of a line; of the topic `old` with one token less and `removed` for `φ`. And the lanes that are `old`.
    unsafe fn products<P: Packing>(line: &P, phi: &[f32], old: u32, removed: f32) -> (Self::Floats, u16);
    /// The lane of a line that has the topic, if one has.
    unsafe fn place<P: Packing>(line: &P, topic: u32) -> Option<usize>;
    unsafe fn load(line: &Line) -> Self::Floats;
    unsafe fn store(floats: Self::Floats, line: &mut Line);
    /// Sums of the lanes up to each.
    unsafe fn running(floats: Self::Floats) -> Self::Floats;
    unsafe fn last(running: Self::Floats) -> f32;
    /// The first lane whose running sum passes `point`, or the last that is not zero; and the sum before it.
    unsafe fn first_past(floats: Self::Floats, running: Self::Floats, point: f32) -> (usize, f32);
    unsafe fn prefetch<T>(place: *const T);
}

/// What `resample` works on.
pub(super) struct Tokens<'a, P, T> {
    pub(super) docs: &'a [u32],
    pub(super) topics: &'a mut [T],
    pub(super) counts: &'a mut [i32],
    pub(super) lists: &'a mut Lists<P>,
    pub(super) random: &'a mut Xoshiro256PlusPlus,
}

/// Sums of the products of each lane, up to each line of a list; room for the longest.
#[derive(Debug, Default)]
pub(super) struct Scratch(Vec<Line>);

impl Scratch {
    pub(super) fn fit(&mut self, lines: usize) {
        if self.0.len() < lines {
            self.0.resize(lines, Line::default());
        }
    }
}

impl Scratch {
    /// The first of the lines up to which the sum of a lane passes `point`, or the last that adds to it.
    ///
    /// # Safety
    /// There is room for so many lines.
    #[inline(always)]
    unsafe fn line(&self, n_lines: usize, lane: usize, point: f32) -> usize {
        let (mut at, mut line) = (0, 0);
        while at < n_lines {
            // SAFETY: what the caller promises; a lane is one of sixteen.
            line += usize::from(unsafe { *self.0.get_unchecked(at).0.get_unchecked(lane) } <= point);
            at += 1;
        }
        if line < n_lines { line } else { self.last(n_lines, lane) }
    }

    /// The last line that adds to the sum of a lane.
    #[cold]
    fn last(&self, n_lines: usize, lane: usize) -> usize {
        (1..n_lines).rev().find(|line| self.0[*line].0[lane] > self.0[line - 1].0[lane]).unwrap_or(0)
    }
}

/// How many tokens ahead lists are fetched.
const AHEAD: usize = 12;
/// How many lines of them.
const FETCHED: usize = 8;

/// A number for the change of a token, to be added up.
#[inline(always)]
pub(super) fn fingerprint(token: usize, topic: u32) -> u64 {
    let place = (token as u64 ^ u64::from(topic) << 32).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (place ^ place >> 32).wrapping_mul(0xD6E8_FEB8_6659_FD93)
}

/// Draws the topic of every token in turn.
///
/// # Safety
/// See [`Lanes`].
#[inline(always)]
pub(super) unsafe fn resample<L: Lanes, P: Packing, T: Topic, const SPARSE: bool>(
    sampler: &mut Sampler,
    tokens: Tokens<'_, P, T>,
) -> u64 {
    let Tokens { docs, topics, counts, lists, random } = tokens;
    let (heads, lines) = lists.raw();
    let mut change = 0u64;
    for at in 0..docs.len() {
        // SAFETY: the contract at the head of this file; prefetching reads nothing.
        unsafe {
            if let Some(next) = docs.get(at + AHEAD).and_then(|doc| heads.get(*doc as usize)) {
                let place = lines.as_ptr().wrapping_add(next.start as usize);
                for line in 0..(next.len as usize).div_ceil(16).min(FETCHED) {
                    L::prefetch(place.wrapping_add(line));
                }
            }
            let (old, doc) = (topics[at].get().unwrap_or(u32::MAX), docs[at] as usize);
            if old as usize >= counts.len() || doc >= heads.len() {
                lost(old, doc);
            }
            let head = heads.get_unchecked_mut(doc);
            let list = lines.as_mut_ptr().add(head.start as usize);
            if let Some(new) = draw::<L, P, SPARSE>(sampler, counts, (old, head, list), random) {
                *topics.get_unchecked_mut(at) = T::of(new);
                change = change.wrapping_add(fingerprint(at, new));
            }
        }
    }
    change
}

#[cold]
fn lost(topic: u32, doc: usize) -> ! {
    panic!("a token of document {doc} has the topic {topic}: one of them is not there, or its list lacks it")
}

/// Draws a token's topic; where it is another than before, counts it and returns it.
///
/// # Safety
/// `list` is the list of `head`, and `old` is below the number of topics.
#[inline(always)]
unsafe fn draw<L: Lanes, P: Packing, const SPARSE: bool>(
    sampler: &mut Sampler,
    counts: &mut [i32],
    (old, head, list): (u32, &mut Head, *mut P),
    random: &mut Xoshiro256PlusPlus,
) -> Option<u32> {
    // SAFETY: what the caller promises, and the contract at the head of this file.
    unsafe {
        let o = old as usize;
        let (count, total) = (*counts.get_unchecked(o) - 1, *sampler.totals.get_unchecked(o) - 1);
        let inverse = 1.0 / (total.max(0) as f32 + sampler.smoothing);
        let removed = (count as f32 + sampler.beta) * inverse;
        let less = *sampler.alpha.get_unchecked(o) * (removed - *sampler.phi.get_unchecked(o));

        // Entries are taken in the order of lanes, and in a lane in that of lines: one running sum does for all of them.
        let n_lines = (head.len as usize).div_ceil(16);
        let (mut sums, mut is_there) = (L::zero(), 0);
        for at in 0..n_lines {
            let (products, lanes) = L::products(&*list.add(at), &sampler.phi, old, removed);
            (sums, is_there) = (L::sum(sums, products), is_there | lanes);
            if n_lines > 1 {
                L::store(sums, sampler.scratch.0.get_unchecked_mut(at));
            }
        }
        if is_there == 0 {
            lost(old, 0);
        }
        let running = L::running(sums);
        let of_doc = L::last(running);

        let of_all = sampler.tree.total() + less;
        let point = random.random::<f32>() * (of_doc + of_all);
        let (new, place_of_new);
        if point < of_doc {
            let (lane, before) = L::first_past(sums, running, point);
            let line = if n_lines == 1 { 0 } else { sampler.scratch.line(n_lines, lane, point - before) };
            new = (*list.add(line)).get(lane).0;
            if new == old {
                return None;
            }
            place_of_new = Some(line * 16 + lane);
            sampler.tree.add(o, less);
        } else {
            sampler.tree.add(o, less);
            new = sampler.tree.find::<L>(point - of_doc) as u32;
            if new == old {
                sampler.tree.add(o, -less);
                return None;
            }
            place_of_new = find::<L, P>(list, n_lines, new);
        }
        let Some(place_of_old) = find::<L, P>(list, n_lines, old) else { lost(old, 0) };

        *sampler.phi.get_unchecked_mut(o) = removed;
        *sampler.inverse.get_unchecked_mut(o) = inverse;
        *sampler.totals.get_unchecked_mut(o) = total;
        *counts.get_unchecked_mut(o) = count;
        let n = new as usize;
        let (count, total) = (*counts.get_unchecked(n) + 1, *sampler.totals.get_unchecked(n) + 1);
        let inverse = 1.0 / (total.max(0) as f32 + sampler.smoothing);
        let phi = (count as f32 + sampler.beta) * inverse;
        sampler.tree.add(n, *sampler.alpha.get_unchecked(n) * (phi - *sampler.phi.get_unchecked(n)));
        *sampler.phi.get_unchecked_mut(n) = phi;
        *sampler.inverse.get_unchecked_mut(n) = inverse;
        *sampler.totals.get_unchecked_mut(n) = total;
        *counts.get_unchecked_mut(n) = count;
        if SPARSE && count == 1 {
            sampler.touched.push(new);
        }
        move_one(head, list, place_of_old, (new, place_of_new));
        Some(new)
    }
}

/// Takes in tokens as [`Lists::add`] says.
///
/// # Safety
/// See [`Lanes`].
#[inline(always)]
pub(super) unsafe fn add<L: Lanes, P: Packing, T: Topic>(lists: &mut Lists<P>, docs: &[u32], topics: &[T]) {
    for (doc, topic) in docs.iter().zip(topics) {
        if let Some(topic) = topic.get() {
            // SAFETY: what the caller promises.
            unsafe { lists.add_one::<L>(*doc as usize, topic) };
        }
    }
}

/// The place of a topic in the first lines of a list.
///
/// # Safety
/// There are so many lines.
#[inline(always)]
pub(super) unsafe fn find<L: Lanes, P: Packing>(list: *const P, n_lines: usize, topic: u32) -> Option<usize> {
    let mut at = 0;
    while at < n_lines {
        // SAFETY: what the caller promises.
        if let Some(lane) = unsafe { L::place(&*list.add(at), topic) } {
            return Some(at * 16 + lane);
        }
        at += 1;
    }
    None
}

/// A token moves from the entry at `from` to the topic `to`, which is in the list at the place given or not at all.
///
/// # Safety
/// `list` is the list of `head`, and the places are in it.
#[inline(always)]
unsafe fn move_one<P: Packing>(
    head: &mut Head,
    list: *mut P,
    from: usize,
    (to, place): (u32, Option<usize>),
) {
    // SAFETY: places in the list are in its lines. A new entry has room: of `min(tokens, topics)` entries there may be, one
    // more is needed only where another topic has two tokens.
    unsafe {
        let (old, left) = (*list.add(from / 16)).get(from % 16);
        if let Some(place) = place {
            let line = &mut *list.add(place / 16);
            let count = line.get(place % 16).1;
            line.put(place % 16, to, count + 1);
        }
        if left > 1 {
            (*list.add(from / 16)).put(from % 16, old, left - 1);
            if place.is_none() {
                let end = head.len as usize;
                (*list.add(end / 16)).put(end % 16, to, 1);
                head.len += 1;
            }
        } else if place.is_none() {
            (*list.add(from / 16)).put(from % 16, to, 1);
        } else {
            head.len -= 1;
            let last = head.len as usize;
            let (topic, count) = (*list.add(last / 16)).get(last % 16);
            (*list.add(from / 16)).put(from % 16, topic, count);
            (*list.add(last / 16)).put(last % 16, 0, 0);
        }
    }
}
