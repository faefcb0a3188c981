//! A priority queue of variables whose priorities change: an indexed binary heap.
//!
//! Variables are columns of the data, numbered from 0: their places are a plain list, not a map.

/// The place of a variable that the queue does not hold.
const NOWHERE: u32 = u32::MAX;

use crate::id::VariableId;

/// Variables by priority, the highest first; of equal ones the lowest id, so that runs repeat.
///
/// ```
/// use slackline::{PriorityQueue, VariableId};
/// let mut queue = PriorityQueue::default();
/// queue.set(VariableId(3), 1.0);
/// queue.set(VariableId(5), 2.0);
/// queue.set(VariableId(3), 4.0);
/// assert_eq!(queue.pop(), Some((VariableId(3), 4.0)));
/// ```
#[derive(Debug, Clone, Default)]
pub struct PriorityQueue {
    heap: Vec<(VariableId, f32)>,
    /// Where each variable is in the heap, as long as the largest one ever held.
    places: Vec<u32>,
}

impl PriorityQueue {
    /// Adds a variable or changes its priority: O(log n). A NaN counts as the lowest priority.
    pub fn set(&mut self, variable: VariableId, priority: f32) {
        let priority = if priority.is_nan() { f32::NEG_INFINITY } else { priority };
        match self.place_of(variable) {
            Some(place) => {
                self.heap[place].1 = priority;
                self.settle(place);
            }
            None => {
                if self.places.len() <= variable.index() {
                    self.places.resize(variable.index() + 1, NOWHERE);
                }
                self.heap.push((variable, priority));
                self.rise(self.heap.len() - 1);
            }
        }
    }

    /// Removes and returns the variable with the highest priority: O(log n).
    pub fn pop(&mut self) -> Option<(VariableId, f32)> {
        let top = self.heap.first().copied()?;
        self.remove_at(0);
        Some(top)
    }

    /// The variable with the highest priority.
    pub fn peek(&self) -> Option<(VariableId, f32)> {
        self.heap.first().copied()
    }

    /// Removes a variable; returns its priority if it was there.
    pub fn remove(&mut self, variable: VariableId) -> Option<f32> {
        let place = self.place_of(variable)?;
        let priority = self.heap[place].1;
        self.remove_at(place);
        Some(priority)
    }

    /// Variables held.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// The variables held with their priorities, in no particular order.
    pub(crate) fn entries(&self) -> &[(VariableId, f32)] {
        &self.heap
    }

    /// Removes all variables.
    pub fn clear(&mut self) {
        self.heap.clear();
        self.places.fill(NOWHERE);
    }

    fn place_of(&self, variable: VariableId) -> Option<usize> {
        self.places.get(variable.index()).filter(|place| **place != NOWHERE).map(|place| *place as usize)
    }

    fn remove_at(&mut self, place: usize) {
        let (gone, _) = self.heap.swap_remove(place);
        self.places[gone.index()] = NOWHERE;
        if place < self.heap.len() {
            self.settle(place);
        }
    }

    /// Brings the entry at `place`, whose priority has changed, to where it belongs.
    fn settle(&mut self, place: usize) {
        let place = self.rise(place);
        self.sink(place);
    }

    /// Moves the entry at `place` up past those that come after it; returns where it stays.
    fn rise(&mut self, mut place: usize) -> usize {
        let entry = self.heap[place];
        while place > 0 && before(entry, self.heap[(place - 1) / 2]) {
            self.put(place, self.heap[(place - 1) / 2]);
            place = (place - 1) / 2;
        }
        self.put(place, entry);
        place
    }

    /// Moves the entry at `place` down past those that come before it.
    fn sink(&mut self, mut place: usize) {
        let entry = self.heap[place];
        loop {
            let (left, right) = (2 * place + 1, 2 * place + 2);
            let Some(mut child) = self.heap.get(left).map(|_| left) else { break };
            if self.heap.get(right).is_some_and(|right| before(*right, self.heap[left])) {
                child = right;
            }
            if !before(self.heap[child], entry) {
                break;
            }
            self.put(place, self.heap[child]);
            place = child;
        }
        self.put(place, entry);
    }

    fn put(&mut self, place: usize, entry: (VariableId, f32)) {
        self.heap[place] = entry;
        self.places[entry.0.index()] = u32::try_from(place).expect("fewer than 2³² variables");
    }
}

/// Whether `a` leaves the queue before `b`.
fn before(a: (VariableId, f32), b: (VariableId, f32)) -> bool {
    a.1 > b.1 || (a.1 == b.1 && a.0 < b.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// Against a sorted list, over any sequence of changes.
        #[test]
        fn it_pops_in_order_of_priority(
            moves in proptest::collection::vec((0u32..20, proptest::option::of(-5i8..5)), 0..200)
        ) {
            let mut queue = PriorityQueue::default();
            let mut model = BTreeMap::new();
            for (variable, priority) in moves {
                match priority {
                    Some(priority) => {
                        queue.set(VariableId(variable), f32::from(priority));
                        model.insert(variable, priority);
                    }
                    None => {
                        let gone = queue.remove(VariableId(variable));
                        prop_assert_eq!(gone, model.remove(&variable).map(f32::from));
                    }
                }
            }
            let mut expected: Vec<(u32, i8)> = model.into_iter().collect();
            expected.sort_by_key(|(variable, priority)| (std::cmp::Reverse(*priority), *variable));
            let popped: Vec<(u32, i8)> = std::iter::from_fn(|| queue.pop()).map(|(v, p)| (v.0, p as i8)).collect();
            prop_assert_eq!(popped, expected);
        }
    }
}
