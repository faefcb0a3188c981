//! A priority queue of variables whose priorities change: an indexed binary heap.

use std::collections::HashMap;

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
    place: HashMap<VariableId, usize>,
}

impl PriorityQueue {
    /// Adds a variable or changes its priority: O(log n). A NaN counts as the lowest priority.
    pub fn set(&mut self, variable: VariableId, priority: f32) {
        let priority = if priority.is_nan() { f32::NEG_INFINITY } else { priority };
        match self.place.get(&variable) {
            Some(place) => {
                let place = *place;
                self.heap[place].1 = priority;
                let place = self.rise(place);
                self.sink(place);
            }
            None => {
                self.heap.push((variable, priority));
                self.place.insert(variable, self.heap.len() - 1);
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
        let place = *self.place.get(&variable)?;
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

    /// Removes all variables.
    pub fn clear(&mut self) {
        self.heap.clear();
        self.place.clear();
    }

    fn remove_at(&mut self, place: usize) {
        self.swap(place, self.heap.len() - 1);
        let (gone, _) = self.heap.pop().expect("the place is in the heap");
        self.place.remove(&gone);
        if place < self.heap.len() {
            let place = self.rise(place);
            self.sink(place);
        }
    }

    fn before(&self, a: usize, b: usize) -> bool {
        let ((id_a, a), (id_b, b)) = (self.heap[a], self.heap[b]);
        a > b || (a == b && id_a < id_b)
    }

    fn rise(&mut self, mut place: usize) -> usize {
        while place > 0 && self.before(place, (place - 1) / 2) {
            self.swap(place, (place - 1) / 2);
            place = (place - 1) / 2;
        }
        place
    }

    fn sink(&mut self, mut place: usize) {
        loop {
            let mut best = place;
            for child in [2 * place + 1, 2 * place + 2] {
                if child < self.heap.len() && self.before(child, best) {
                    best = child;
                }
            }
            if best == place {
                return;
            }
            self.swap(place, best);
            place = best;
        }
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.place.insert(self.heap[a].0, a);
        self.place.insert(self.heap[b].0, b);
    }
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
